/* digest_reader_internal.h - reads the objects of digest.def. A part that the reader has no
 * function for, or a function whose key digest.def lacks, does not build.
 */
#ifndef TIDE_SNAPSHOT_DIGEST_READER_INTERNAL_H
#define TIDE_SNAPSHOT_DIGEST_READER_INTERNAL_H

#include <stddef.h>

#include "snapshot/ranks/digest.h"
#include "snapshot/format/json_reader.h"

typedef struct tide_digest_reader {
    tide_json json;
    tide_arena *arena; /* borrowed */
    size_t limit_at;   /* offset at which the digest has ended; SIZE_MAX: the file has a limit */
} tide_digest_reader;

typedef struct tide_digest_readable_key {
    const char *name;
    size_t offset; /* of the member that its value goes to */
    bool is_number;
    int64_t least; /* of a number */
    bool is_required;
    void (*read)(tide_digest_reader *in, void *to); /* of a part; else NULL */
} tide_digest_readable_key;

typedef struct tide_digest_readable {
    const tide_digest_readable_key *keys;
    size_t n_keys;
} tide_digest_readable;

/* tide_digest_readable_peak and the like; tide_digest_read_device_peak and the like, each of which
 * takes the value of its key. */
#define OBJECT(object, type, place) extern const tide_digest_readable tide_digest_readable_##object;
#define KEY(object, key, kind, member, presence, meaning)
#define PART(object, key, shape, presence, meaning)                                                \
    void tide_digest_read_##object##_##key(tide_digest_reader *in, void *into);
#define END(object)
#include "snapshot/ranks/digest.def"

/* The object at hand. Members that do not come keep what they have. */
void tide_digest_read_object(tide_digest_reader *in, const tide_digest_readable *of, void *to);

/* Rows of an array. */
typedef struct tide_digest_list {
    const tide_digest_readable *of;
    size_t row_bytes, limit;
    const void *empty; /* a row of which nothing is known */
    void *rows;        /* in the arena */
    size_t n;
} tide_digest_list;

void tide_digest_read_list(tide_digest_reader *in, tide_digest_list *to);

/* Refuses the digest because of the length of its text. */
void tide_digest_fail_length(tide_digest_reader *in);

/* The document at hand, which is a digest. */
void tide_digest_read_whole(tide_digest_reader *in, tide_digest *digest);

/* The text of the key "format" into `word`, of n_room bytes; "" if it does not come among the first
 * bytes of the file. */
TIDE_NODISCARD tide_status tide_digest_format(const char *path, const tide_hostmem *mem, char *word,
                                              size_t n_room, tide_error *error);

/* Puts the file's name before the message of a failure. */
void tide_digest_name_file(tide_error *error, const char *path);

#endif
