/* reader_keys_internal.h - reads the objects of keys.def. A key without a function in the reader,
 * and a function without a key in keys.def, do not build.
 */
#ifndef TIDE_SNAPSHOT_READER_KEYS_INTERNAL_H
#define TIDE_SNAPSHOT_READER_KEYS_INTERNAL_H

#include "snapshot/format/keys_internal.h"
#include "snapshot/format/reader_internal.h"

typedef struct tide_readable_key {
    tide_key of;
    void (*read)(tide_reader *reader, void *object); /* of a part; else NULL */
} tide_readable_key;

/* The keys of an object, including those that readers skip. */
typedef struct tide_readable {
    const tide_readable_key *keys;
    size_t n_keys;
} tide_readable;

/* Declares tide_readable_run and the like, and tide_read_run_model and the like, which take the
 * value of their key and put it into the object. */
#define OBJECT(object, type, place) extern const tide_readable tide_readable_##object;
#define KEY(object, key, kind, member, presence, meaning)
#define PART(object, key, shape, presence, meaning)                                                \
    void tide_read_##object##_##key(tide_reader *reader, void *into);
#define WRITTEN(object, key, shape, meaning)
#define END(object)
#include "snapshot/format/keys.def"

/* Reads the current value, which must be an object, into `object`, whose members are preset to
 * "unknown". */
void tide_read_object(tide_reader *reader, const tide_readable *of, void *object);
/* The members of an object that is already entered. */
void tide_read_members(tide_reader *reader, const tide_readable *of, void *object);
/* Like tide_read_object, but anything but an object is skipped, counted as odd, and leaves `object`
 * unchanged. */
void tide_read_shown_object(tide_reader *reader, const tide_readable *of, void *object);

/* How to read the rows of a list: either all members but `read`, or `read`. */
typedef struct tide_row_rule {
    size_t limit;      /* rows of the list */
    size_t row_bytes;  /* of each */
    const void *empty; /* a row with everything unknown */
    const tide_readable *of;
    bool is_shown;                                /* a row that is not an object stays unknown */
    void (*read)(tide_reader *reader, void *row); /* the current value, into an empty row */
} tide_row_rule;

/* Whether one more row fits in `limit`; fails otherwise. */
bool tide_read_room_for(tide_reader *reader, size_t n_rows, size_t limit);

/* The rows of the current list, in the snapshot's arena. */
void *tide_read_rows(tide_reader *reader, const tide_row_rule *rule, size_t *ret_n_rows);

#endif
