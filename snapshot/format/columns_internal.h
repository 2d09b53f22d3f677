/* columns_internal.h - the columns of a snapshot file: one table of rules per table of rows, for
 * both the writer and the reader. columns.def describes each column.
 */
#ifndef TIDE_SNAPSHOT_COLUMNS_INTERNAL_H
#define TIDE_SNAPSHOT_COLUMNS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"
#include "snapshot/format/json_reader.h"

/* The kind of a value. The rule has its width, except for indices and byte counts of events, whose
 * columns are as narrow as their values allow (tide_narrow_column). */
typedef enum tide_column_kind {
    TIDE_COLUMN_NUMBER, /* 1 or 2 bytes unsigned, 4 bytes signed, 8 bytes up to INT64_MAX */
    TIDE_COLUMN_INDEX,  /* unsigned; the largest number of the width is TIDE_NONE, -1 in a file */
    TIDE_COLUMN_BYTES   /* a byte count of events: unsigned, up to INT64_MAX */
} tide_column_kind;

/* How the values are encoded in a file. */
typedef enum tide_column_encoding {
    TIDE_COLUMN_PLAIN,
    TIDE_COLUMN_DELTA,  /* the difference to the previous row; the first row's to 0 */
    TIDE_COLUMN_ADDRESS /* DELTA in units of address_unit_bytes; a row whose action has no address
                           repeats the last one */
} tide_column_encoding;

typedef struct tide_column_rule {
    const char *key;
    size_t offset; /* of the member in its row; for events, of the column in tide_snapshot */
    size_t width;  /* bytes of one value */
    tide_column_kind kind;
    tide_column_encoding encoding;
    int64_t min, max;                   /* what the reader allows, after decoding */
    const tide_json_odd *odd;           /* for a column that is only shown; NULL: an odd value is an
                                           error */
    int64_t (*derive)(const void *row); /* not NULL: the value follows from other columns; it is
                                           written for small tools, and the reader skips it */
    bool is_optional; /* a file may lack it; a block's is in an array beside the rows */
} tide_column_rule;

typedef struct tide_column_table {
    const char *key;               /* in the document */
    const tide_column_rule *rules; /* in the order of the file */
    size_t n_rules;                /* at most TIDE_JSON_MAX_FIELDS - 1 */
    size_t row_bytes;              /* 0: events, which are stored in columns */
} tide_column_table;

extern const tide_column_table tide_frame_columns;  /* tide_frame_row */
extern const tide_column_table tide_stack_columns;  /* tide_stack_row */
extern const tide_column_table tide_scope_columns;  /* tide_scope_row */
extern const tide_column_table tide_kernel_columns; /* tide_kernel_row */
extern const tide_column_table tide_event_columns;  /* tide_event_table */
/* Blocks are few, so each is an object: these are the keys of one. */
extern const tide_column_table tide_block_columns; /* tide_block_row */

/* The columns of a table that a reader reads. */
typedef struct tide_column_keys {
    const char *keys[TIDE_JSON_MAX_FIELDS];
    const tide_column_rule *rules[TIDE_JSON_MAX_FIELDS]; /* of each key */
    size_t n;
    uint32_t required; /* bit i: key i is required */
} tide_column_keys;

void tide_column_keys_of(const tide_column_table *table, tide_column_keys *ret);

/* The column of events of a rule, and the width of its values; NULL if the document lacks it. */
const void *tide_column_of_events(const tide_column_rule *rule, const tide_snapshot *snapshot,
                                  size_t *ret_width);
/* Stores `values` as that column. */
void tide_column_set_of_events(const tide_column_rule *rule, tide_snapshot *snapshot,
                               const void *values, size_t width);

/* Layout of values in memory: `width` bytes each, `stride` bytes apart. */
typedef struct tide_column_step {
    size_t width, stride;
} tide_column_step;

/* Load n values from memory and store them; the first is at `from` or `to`. One loop per width,
 * because a column has millions of values. */
void tide_column_load(tide_column_kind kind, tide_column_step step, const void *from, size_t n,
                      int64_t *ret_values);
void tide_column_store(tide_column_step step, void *to, size_t n, const int64_t *values);

#endif
