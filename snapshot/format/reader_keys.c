#include "snapshot/format/reader_keys_internal.h"

#include <string.h>

#include "common/assert.h"
#include "common/statistics.h"
#include "snapshot/format/columns_internal.h"

#define OBJECT(object, type, place)                                                                \
    typedef type type_of_##object;                                                                 \
    static const tide_readable_key keys_of_##object[] = {
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {TIDE_KEY_VALUE(object, key, kind, member, presence), NULL},
#define PART(object, key, shape, presence, meaning)                                                \
    {TIDE_KEY_PART_OF(key, presence), tide_read_##object##_##key},
#define WRITTEN(object, key, shape, meaning) {TIDE_KEY_PART_OF(key, DERIVED), NULL},
#define END(object)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    const tide_readable tide_readable_##object = {                                                 \
        keys_of_##object, sizeof(keys_of_##object) / sizeof(keys_of_##object[0])};
#include "snapshot/format/keys.def"

/* Of the kinds that are integers. */
static int64_t get_integer(tide_json *json, tide_key_kind kind) {
    static const tide_json_odd UNKNOWN = {.unknown = -1};
    switch (kind) {
    case TIDE_KEY_SMALL:
        return tide_json_get_integer(json, 0, UINT8_MAX);
    case TIDE_KEY_NUMBER:
        return tide_json_get_integer(json, -1, INT64_MAX);
    case TIDE_KEY_SHOWN_NUMBER:
        return tide_json_get_odd_integer(json, -1, INT64_MAX, UNKNOWN);
    case TIDE_KEY_SHOWN_INTEGER:
        return tide_json_get_odd_integer(json, INT64_MIN, INT64_MAX, UNKNOWN);
    default: /* TIDE_KEY_COUNT, TIDE_KEY_ADDRESS */
        return tide_json_get_integer(json, 0, INT64_MAX);
    }
}

static void read_value(tide_reader *reader, const tide_readable_key *key, void *object) {
    tide_json *json = &reader->json;
    void *member = (char *)object + key->of.offset;
    int64_t integer = 0;
    switch ((tide_key_kind)key->of.kind) {
    case TIDE_KEY_PART:
        key->read(reader, object);
        break;
    case TIDE_KEY_TEXT:
        *(const char **)member = tide_json_get_text(json, &reader->snapshot->arena);
        break;
    case TIDE_KEY_SHOWN_TEXT:
        *(const char **)member = tide_json_get_odd_text(json, &reader->snapshot->arena);
        break;
    case TIDE_KEY_SHOWN_BOOLEAN:
        *(bool *)member = tide_json_get_odd_boolean(json);
        break;
    case TIDE_KEY_SHOWN_REAL:
        *(double *)member = tide_json_get_odd_real(json);
        break;
    case TIDE_KEY_HANDLE:
        *(uint64_t *)member = tide_json_get_handle(json);
        break;
    default:
        integer = get_integer(json, (tide_key_kind)key->of.kind);
        tide_column_store((tide_column_step){key->of.width, key->of.width}, member, 1, &integer);
    }
}

void tide_read_members(tide_reader *reader, const tide_readable *of, void *object) {
    const char *names[TIDE_JSON_MAX_FIELDS];
    const tide_readable_key *keys[TIDE_JSON_MAX_FIELDS];
    uint64_t required = 0;
    size_t n = 0;
    int field = -1;
    for (size_t i = 0; i < of->n_keys; i++) {
        const tide_key *key = &of->keys[i].of;
        if (key->presence != TIDE_KEY_DERIVED) {
            TIDE_ASSERT(n < TIDE_JSON_MAX_FIELDS);
            required |= key->presence == TIDE_KEY_REQUIRED ? UINT64_C(1) << n : 0;
            names[n] = key->name;
            keys[n++] = &of->keys[i];
        }
    }
    while ((field = tide_json_next_field(&reader->json, names, n, required)) >= 0) {
        read_value(reader, keys[field], object);
    }
}

void tide_read_object(tide_reader *reader, const tide_readable *of, void *object) {
    tide_json_enter_object(&reader->json);
    tide_read_members(reader, of, object);
}

void tide_read_shown_object(tide_reader *reader, const tide_readable *of, void *object) {
    if (tide_json_enter_odd_object(&reader->json)) {
        tide_read_members(reader, of, object);
    }
}

static void read_row(tide_reader *reader, const tide_row_rule *rule, void *row) {
    memcpy(row, rule->empty, rule->row_bytes);
    if (rule->read != NULL) {
        rule->read(reader, row);
    } else if (rule->is_shown) {
        tide_read_shown_object(reader, rule->of, row);
    } else {
        tide_read_object(reader, rule->of, row);
    }
}

bool tide_read_room_for(tide_reader *reader, size_t n_rows, size_t limit) {
    if (n_rows == limit) {
        tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at,
                       "more than the limit of %zu of them", limit);
    }
    return n_rows < limit;
}

void *tide_read_rows(tide_reader *reader, const tide_row_rule *rule, size_t *ret_n_rows) {
    tide_json *json = &reader->json;
    char *rows = NULL; /* owned */
    size_t n_rows = 0;
    size_t capacity = 0;
    tide_json_enter_array(json);
    while (tide_json_next_item(json) && tide_read_room_for(reader, n_rows, rule->limit)) {
        char *grown = tide_hostmem_grow(reader->mem, rows, &capacity, n_rows + 1, rule->row_bytes);
        if (grown == NULL) {
            tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for these rows");
            break;
        }
        rows = grown;
        read_row(reader, rule, rows + n_rows * rule->row_bytes);
        n_rows++;
    }
    void *kept = tide_arena_copy(&reader->snapshot->arena, rows, n_rows, rule->row_bytes);
    if (kept == NULL) {
        tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for these rows");
    }
    reader->mem->release(reader->mem->ctx, rows);
    *ret_n_rows = kept != NULL ? n_rows : 0;
    return kept;
}
