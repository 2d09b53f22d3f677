/* reader_keys_internal.h - reads the objects of keys.def. A key that the reader has no function
 * for, or a function whose key keys.def lacks, does not build.
 */
#ifndef TIDE_SNAPSHOT_READER_KEYS_INTERNAL_H
#define TIDE_SNAPSHOT_READER_KEYS_INTERNAL_H

#include "snapshot/format/keys_internal.h"
#include "snapshot/format/reader_internal.h"

typedef struct tide_readable_key {
    tide_key of;
    void (*read)(tide_reader *reader, void *object); /* of a part; else NULL */
} tide_readable_key;

/* The keys of an object, those that readers skip included. */
typedef struct tide_readable {
    const tide_readable_key *keys;
    size_t n_keys;
} tide_readable;

/* tide_readable_run and the like; tide_read_run_model and the like, each of which takes the value
 * of its key and puts it into the object. */
#define OBJECT(object, type, place) extern const tide_readable tide_readable_##object;
#define KEY(object, key, kind, member, presence, meaning)
#define PART(object, key, shape, presence, meaning)                                                \
    void tide_read_##object##_##key(tide_reader *reader, void *into);
#define WRITTEN(object, key, shape, meaning)
#define END(object)
#include "snapshot/format/keys.def"

/* The value at hand, which must be an object, into `object`, whose members say "unknown" before. */
void tide_read_object(tide_reader *reader, const tide_readable *of, void *object);
/* The members of an object that was entered. */
void tide_read_members(tide_reader *reader, const tide_readable *of, void *object);
/* The whole, but anything else than an object is skipped, counted as odd, and leaves it as it is.
 */
void tide_read_shown_object(tide_reader *reader, const tide_readable *of, void *object);

/* How the rows of a list are read: either all members but `read`, or `read`. */
typedef struct tide_row_rule {
    size_t limit;      /* rows of the list */
    size_t row_bytes;  /* of each */
    const void *empty; /* a row of which nothing is known */
    const tide_readable *of;
    bool is_shown; /* a row that is no object is one of which nothing is known */
    void (*read)(tide_reader *reader, void *row); /* the value at hand, into an empty row */
} tide_row_rule;

/* Whether one more of at most `limit` rows may come; fails otherwise. */
bool tide_read_room_for(tide_reader *reader, size_t n_rows, size_t limit);

/* The list at hand: its rows, in the snapshot's arena. */
void *tide_read_rows(tide_reader *reader, const tide_row_rule *rule, size_t *ret_n_rows);

#endif
