#include "snapshot/format/writer_keys_internal.h"

#include "common/statistics.h"
#include "snapshot/format/columns_internal.h"

#define OBJECT(object, type, place)                                                                \
    typedef type type_of_##object;                                                                 \
    static const tide_writable_key keys_of_##object[] = {
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {TIDE_KEY_VALUE(object, key, kind, member, presence), NULL},
#define PART(object, key, shape, presence, meaning)                                                \
    {TIDE_KEY_PART_OF(key, presence), tide_write_##object##_##key},
#define WRITTEN(object, key, shape, meaning) PART(object, key, shape, DERIVED, meaning)
#define END(object)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    const tide_writable tide_writable_##object = {                                                 \
        keys_of_##object, sizeof(keys_of_##object) / sizeof(keys_of_##object[0])};
#include "snapshot/format/keys.def"

static void write_text(tide_json_writer *json, const tide_key *key, const char *text) {
    if (key->presence != TIDE_KEY_IF_KNOWN || text[0] != '\0') {
        tide_json_key_text(json, key->name, text);
    }
}

static void write_boolean(tide_json_writer *json, const tide_key *key, bool value) {
    if (key->presence != TIDE_KEY_IF_KNOWN || value) {
        tide_json_key(json, key->name);
        tide_json_boolean(json, value);
    }
}

static void write_integer(const tide_writer *writer, const tide_key *key, const void *member) {
    int64_t value = 0;
    tide_column_load(TIDE_COLUMN_NUMBER, (tide_column_step){key->width, key->width}, member, 1,
                     &value);
    if (key->kind == TIDE_KEY_ADDRESS) {
        value = (int64_t)((uint64_t)value / writer->unit_bytes);
    }
    if (key->presence != TIDE_KEY_IF_KNOWN || value > 0) {
        tide_json_key_integer(writer->json, key->name, value);
    }
}

static void write_value(const tide_writer *writer, const tide_writable_key *key,
                        const void *object) {
    const void *member = (const char *)object + key->of.offset;
    switch ((tide_key_kind)key->of.kind) {
    case TIDE_KEY_PART:
        key->write(writer, key->of.name, object);
        break;
    case TIDE_KEY_TEXT:
    case TIDE_KEY_SHOWN_TEXT:
        write_text(writer->json, &key->of, *(const char *const *)member);
        break;
    case TIDE_KEY_SHOWN_BOOLEAN:
        write_boolean(writer->json, &key->of, *(const bool *)member);
        break;
    case TIDE_KEY_SHOWN_REAL:
        tide_json_key_real(writer->json, key->of.name, *(const double *)member);
        break;
    default:
        write_integer(writer, &key->of, member);
    }
}

void tide_write_members(const tide_writer *writer, const tide_writable *of, const void *object) {
    for (size_t i = 0; i < of->n_keys; i++) {
        write_value(writer, &of->keys[i], object);
    }
}

void tide_write_object(const tide_writer *writer, const char *key, const tide_writable *of,
                       const void *object) {
    if (key != NULL) {
        tide_json_key(writer->json, key);
    }
    tide_json_begin_object(writer->json);
    tide_write_members(writer, of, object);
    tide_json_end_object(writer->json);
}

void tide_write_rows(const tide_writer *writer, const char *key, const tide_writable *of,
                     tide_row_list list) {
    tide_json_key(writer->json, key);
    tide_json_begin_array(writer->json);
    for (size_t i = 0; i < list.n_rows; i++) {
        tide_write_object(writer, NULL, of, (const char *)list.rows + i * list.row_bytes);
    }
    tide_json_end_array(writer->json);
}
