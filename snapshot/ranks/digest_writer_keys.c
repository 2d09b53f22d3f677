/* The text of a digest. */
#include "common/text/text.h"
#include "snapshot/ranks/digest_writer_internal.h"

enum { MOST_TEXT_BYTES = 1024 };

/* A key of an object and the member that it is written from, or the function of a part. */
typedef struct writable_key {
    const char *name;
    size_t offset;
    enum { NUMBER, COUNT, SIGNED, TEXT, CUT_TEXT, A_PART } kind;
    void (*write)(tide_json_writer *json, const char *key, const void *object);
} writable_key;

typedef struct writable {
    const writable_key *keys;
    size_t n_keys;
} writable;

#define OBJECT(object, type, place)
#define KEY(object, key, kind, member, presence, meaning)
#define PART(object, key, shape, presence, meaning)                                                \
    static void write_##object##_##key(tide_json_writer *json, const char *called,                 \
                                       const void *from);
#define END(object)
#include "snapshot/ranks/digest.def"

#define OBJECT(object, type, place)                                                                \
    typedef type type_of_##object;                                                                 \
    static const writable_key keys_of_##object[] = {
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {#key, offsetof(type_of_##object, member), kind, NULL},
#define PART(object, key, shape, presence, meaning) {#key, 0, A_PART, write_##object##_##key},
#define END(object)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    static const writable writable_##object = {keys_of_##object, sizeof(keys_of_##object) /        \
                                                                     sizeof(keys_of_##object[0])};
#include "snapshot/ranks/digest.def"

/* Readers refuse what is beyond the limits, and a program may have asked for as much. */
static int64_t within(int64_t number, int kind) {
    int64_t most = TIDE_DIGEST_MOST_NUMBER;
    int64_t least = kind == SIGNED ? -most : kind == COUNT ? 0 : -1;
    return number > most ? most : number < least ? least : number;
}

/* A text of which a hostile source may have made much. */
static void cut_text(tide_json_writer *json, const char *key, const char *text) {
    char cut[MOST_TEXT_BYTES];
    tide_text to = tide_text_in(cut, sizeof(cut));
    tide_text_add(&to, "%s", text);
    tide_json_key_text(json, key, cut);
}

/* `key` NULL: an item of a list. */
static void write_object(tide_json_writer *json, const char *key, const writable *of,
                         const void *object) {
    if (key != NULL) {
        tide_json_key(json, key);
    }
    tide_json_begin_object(json);
    for (size_t i = 0; i < of->n_keys; i++) {
        const writable_key *to = &of->keys[i];
        const void *member = (const char *)object + to->offset;
        if (to->kind <= SIGNED) {
            tide_json_key_integer(json, to->name, within(*(const int64_t *)member, to->kind));
        } else if (to->kind == TEXT) {
            tide_json_key_text(json, to->name, *(const char *const *)member);
        } else if (to->kind == CUT_TEXT) {
            cut_text(json, to->name, *(const char *const *)member);
        } else {
            to->write(json, to->name, object);
        }
    }
    tide_json_end_object(json);
}

/* `has_lines`: each row is a line of the text. */
typedef struct row_list {
    const void *rows; /* borrowed */
    size_t n_rows, row_bytes;
    bool has_lines;
} row_list;

static void write_list(tide_json_writer *json, const char *key, const writable *of, row_list list) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < list.n_rows; i++) {
        write_object(json, NULL, of, (const char *)list.rows + i * list.row_bytes);
        if (list.has_lines) {
            tide_json_line(json);
        }
    }
    tide_json_end_array(json);
}

static void write_document_format(tide_json_writer *json, const char *key, const void *digest) {
    (void)digest;
    tide_json_key_text(json, key, "tidemark-digest");
}

static void write_document_version(tide_json_writer *json, const char *key, const void *digest) {
    (void)digest;
    tide_json_key_integer(json, key, TIDE_DIGEST_VERSION);
}

static void write_document_tool(tide_json_writer *json, const char *key, const void *digest) {
    write_object(json, key, &writable_tool, digest);
}

static void write_document_source(tide_json_writer *json, const char *key, const void *digest) {
    write_object(json, key, &writable_source, digest);
    tide_json_line(json);
}

static void write_document_rank(tide_json_writer *json, const char *key, const void *digest) {
    write_object(json, key, &writable_rank, digest);
    tide_json_line(json);
}

static void write_document_host(tide_json_writer *json, const char *key, const void *digest) {
    write_object(json, key, &writable_host, digest);
    tide_json_line(json);
}

static void write_rank_groups(tide_json_writer *json, const char *key, const void *digest) {
    const tide_snapshot_rank *rank = &((const tide_digest *)digest)->rank;
    const row_list list = {rank->groups, rank->n_groups, sizeof(*rank->groups), false};
    write_list(json, key, &writable_group, list);
}

static void write_settings(tide_json_writer *json, const char *key,
                           const tide_snapshot_setting *settings, size_t n) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    for (size_t i = 0; i < n; i++) {
        if (settings[i].text != NULL) {
            cut_text(json, settings[i].name, settings[i].text);
        } else {
            tide_json_key_real(json, settings[i].name, settings[i].number);
        }
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_document_software(tide_json_writer *json, const char *key, const void *digest) {
    const tide_digest *of = digest;
    write_settings(json, key, of->software, of->n_software);
}

static void write_document_settings(tide_json_writer *json, const char *key, const void *digest) {
    const tide_digest *of = digest;
    write_settings(json, key, of->settings, of->n_settings);
}

static void write_document_devices(tide_json_writer *json, const char *key, const void *digest) {
    const tide_digest *of = digest;
    const row_list list = {of->devices, of->n_devices, sizeof(*of->devices), true};
    write_list(json, key, &writable_device, list);
    tide_json_line(json);
}

static void write_document_owners(tide_json_writer *json, const char *key, const void *digest) {
    const tide_digest *of = digest;
    const row_list list = {of->owners, of->n_owners, sizeof(*of->owners), false};
    write_list(json, key, &writable_owner, list);
    tide_json_line(json);
}

static void write_owner_device(tide_json_writer *json, const char *key, const void *owner) {
    tide_json_key_integer(json, key, ((const tide_snapshot_owner *)owner)->device);
}

static void write_document_inexact(tide_json_writer *json, const char *key, const void *digest) {
    const tide_digest *of = digest;
    const row_list list = {of->inexact, of->n_inexact, sizeof(*of->inexact), false};
    write_list(json, key, &writable_inexact, list);
}

static void write_device_counts(tide_json_writer *json, const char *key, const void *device) {
    write_object(json, key, &writable_counts, device);
    tide_json_line(json);
}

static void write_device_peak(tide_json_writer *json, const char *key, const void *device) {
    write_object(json, key, &writable_peak, device);
}

static void write_device_max(tide_json_writer *json, const char *key, const void *device) {
    write_object(json, key, &writable_max, device);
}

static void write_device_end(tide_json_writer *json, const char *key, const void *device) {
    write_object(json, key, &writable_end, device);
}

static void write_device_oom(tide_json_writer *json, const char *key, const void *device) {
    tide_json_line(json);
    if (((const tide_digest_device *)device)->oom.event >= 0) {
        write_object(json, key, &writable_oom, device);
    } else {
        tide_json_key(json, key);
        tide_json_null(json);
    }
}

/* ---- explained ---- */

static void write_device_explained(tide_json_writer *json, const char *key, const void *device) {
    if (((const tide_digest_device *)device)->explained.is_known) {
        write_object(json, key, &writable_explained, device);
    } else {
        tide_json_key(json, key);
        tide_json_null(json);
    }
    tide_json_line(json);
}

static void write_explained_version(tide_json_writer *json, const char *key, const void *device) {
    (void)device;
    tide_json_key_integer(json, key, TIDE_DIGEST_EXPLAINED);
}

static void write_explained_failure(tide_json_writer *json, const char *key, const void *device) {
    const tide_digest_failure *failure = &((const tide_digest_device *)device)->explained.failure;
    if (failure->event >= 0) {
        write_object(json, key, &writable_failure, failure);
    } else {
        tide_json_key(json, key);
        tide_json_null(json);
    }
}

static void write_explained_growth(tide_json_writer *json, const char *key, const void *device) {
    const tide_digest_explained *of = &((const tide_digest_device *)device)->explained;
    const row_list list = {of->growth, of->n_growth, sizeof(*of->growth), false};
    write_list(json, key, &writable_growth, list);
}

static void write_explained_causes(tide_json_writer *json, const char *key, const void *device) {
    const tide_digest_explained *of = &((const tide_digest_device *)device)->explained;
    const row_list list = {of->causes, of->n_causes, sizeof(*of->causes), true};
    write_list(json, key, &writable_cause, list);
}

static void write_explained_sentences(tide_json_writer *json, const char *key, const void *device) {
    const tide_digest_explained *of = &((const tide_digest_device *)device)->explained;
    const row_list list = {of->sentences, of->n_sentences, sizeof(*of->sentences), true};
    write_list(json, key, &writable_sentence, list);
}

static void write_device_rows(tide_json_writer *json, const char *key, const void *device) {
    const tide_digest_device *of = device;
    const row_list list = {of->rows, of->n_rows, sizeof(*of->rows), true};
    write_list(json, key, &writable_row, list);
}

static void write_device_rest(tide_json_writer *json, const char *key, const void *device) {
    write_object(json, key, &writable_rest, device);
    tide_json_line(json);
}

static void write_device_steps(tide_json_writer *json, const char *key, const void *device) {
    const tide_digest_device *of = device;
    const row_list list = {of->steps, of->n_steps, sizeof(*of->steps), true};
    write_list(json, key, &writable_step, list);
}

static void write_device_timeline(tide_json_writer *json, const char *key, const void *device) {
    write_object(json, key, &writable_timeline, device);
}

/* The member at `offset` of each point. */
static void write_column(tide_json_writer *json, const char *key, const tide_digest_device *device,
                         size_t offset) {
    tide_json_key(json, key);
    tide_json_begin_array(json);
    for (size_t i = 0; i < device->n_points; i++) {
        const char *point = (const char *)&device->points[i];
        tide_json_integer(json, within(*(const int64_t *)(const void *)(point + offset), NUMBER));
    }
    tide_json_end_array(json);
}

static void write_timeline_time_ns(tide_json_writer *json, const char *key, const void *device) {
    write_column(json, key, device, offsetof(tide_digest_point, time_ns));
}

static void write_timeline_allocated_bytes(tide_json_writer *json, const char *key,
                                           const void *device) {
    write_column(json, key, device, offsetof(tide_digest_point, allocated_bytes));
}

static void write_timeline_reserved_bytes(tide_json_writer *json, const char *key,
                                          const void *device) {
    write_column(json, key, device, offsetof(tide_digest_point, reserved_bytes));
}

void tide_digest_write_document(tide_json_writer *json, const tide_digest *digest) {
    write_object(json, NULL, &writable_document, digest);
    tide_json_line(json);
}
