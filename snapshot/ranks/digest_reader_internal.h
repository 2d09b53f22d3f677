/* digest_reader_internal.h - what the files of the reader of digests share.
 */
#ifndef TIDE_SNAPSHOT_DIGEST_READER_INTERNAL_H
#define TIDE_SNAPSHOT_DIGEST_READER_INTERNAL_H

#include <stddef.h>

#include "snapshot/ranks/digest.h"
#include "snapshot/format/json_reader.h"

#define TIDE_N_OF(items) (sizeof(items) / sizeof((items)[0]))

typedef struct tide_digest_reader {
    tide_json json;
    tide_arena *arena; /* borrowed */
} tide_digest_reader;

/* A key of an object, and the member that its value goes to: a text, a number where `is_number`, or
 * what `read` reads. */
typedef struct tide_digest_field {
    const char *key;
    size_t offset;
    bool is_number;
    void (*read)(tide_digest_reader *in, void *to);
} tide_digest_field;

#define TIDE_DIGEST_TEXT_AT(key, type, member)                                                     \
    { (key), offsetof(type, member), false, NULL }
#define TIDE_DIGEST_NUMBER_AT(key, type, member)                                                   \
    { (key), offsetof(type, member), true, NULL }
#define TIDE_DIGEST_PART_AT(key, reads)                                                            \
    { (key), 0, false, (reads) }

/* Rows of an array. */
typedef struct tide_digest_list {
    size_t row_bytes, limit;
    const void *empty; /* a row of which nothing is known */
    void (*read)(tide_digest_reader *in, void *row);
    void *rows; /* in the arena */
    size_t n;
} tide_digest_list;

/* Members that do not come keep what they have. */
void tide_digest_read_fields(tide_digest_reader *in, const tide_digest_field *fields, size_t n,
                             uint32_t required, void *to);
void tide_digest_read_list(tide_digest_reader *in, tide_digest_list *to);

/* One of the devices. */
void tide_digest_read_device(tide_digest_reader *in, void *row);

#endif
