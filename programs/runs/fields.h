/* fields.h - members of a struct as members of a JSON object. One table serves the writer and the
 * reader, so both have the same keys.
 */
#ifndef TIDE_PROGRAMS_RUNS_FIELDS_H
#define TIDE_PROGRAMS_RUNS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_json_field_kind {
    TIDE_JSON_FIELD_TEXT = 0, /* char[]; "" is unknown */
    TIDE_JSON_FIELD_BORROWED, /* const char *; NULL is not written. Read: borrowed from the JSON */
    TIDE_JSON_FIELD_INT,      /* int or an enumeration; -1 is unknown */
    TIDE_JSON_FIELD_INT64,    /* -1 is unknown; within 2^53 */
    TIDE_JSON_FIELD_COUNT,    /* uint64_t, written as decimal text: JSON numbers are exact only up
                                 to 2^53 */
    TIDE_JSON_FIELD_REAL,     /* double */
    TIDE_JSON_FIELD_FLAG      /* bool */
} tide_json_field_kind;

typedef struct tide_json_field {
    const char *key;
    tide_json_field_kind kind;
    size_t offset;    /* of the member */
    size_t n_bytes;   /* of the member */
    int n_values;     /* INT: must be in 0 .. n_values - 1; 0: any number is allowed */
    bool is_optional; /* it may be missing, and an unknown one is not written */
} tide_json_field;

#define TIDE_JSON_FIELD(type, field_kind, name, member)                                            \
    {                                                                                              \
        .key = (name), .kind = (field_kind), .offset = offsetof(type, member),                     \
        .n_bytes = sizeof(((type *)0)->member)                                                     \
    }

/* An enumeration with `n` values. */
#define TIDE_JSON_FIELD_CHOICE(type, name, member, n)                                              \
    {                                                                                              \
        .key = (name), .kind = TIDE_JSON_FIELD_INT, .offset = offsetof(type, member),              \
        .n_bytes = sizeof(((type *)0)->member), .n_values = (int)(n)                               \
    }
/* A field that older files lack. */
#define TIDE_JSON_FIELD_OPTIONAL(type, field_kind, name, member)                                   \
    {                                                                                              \
        .key = (name), .kind = (field_kind), .offset = offsetof(type, member),                     \
        .n_bytes = sizeof(((type *)0)->member), .is_optional = true                                \
    }

/* Adds the fields of the struct at `from`. False without host memory. */
bool tide_json_fields_write(cJSON *json, const tide_json_field *fields, size_t n, const void *from);

/* Sets the fields of the struct at `to`; an optional field that is missing is left unchanged. The
 * message of TIDE_FORMAT names the key. */
TIDE_NODISCARD tide_status tide_json_fields_read(const cJSON *json, const tide_json_field *fields,
                                                 size_t n, void *to, tide_error *error);

/* Whether the struct at `from` has a known value in this field. True for kinds without an unknown
 * value. */
bool tide_field_is_known(const tide_json_field *field, const void *from);
/* Whether two structs have the same value in this field. */
bool tide_field_is_equal(const tide_json_field *field, const void *a, const void *b);

#ifdef __cplusplus
}
#endif

#endif
