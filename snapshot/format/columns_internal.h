/* columns_internal.h - the columns of a snapshot file: one table of rules per table of rows, which
 * the writer and the reader both walk, so that a column is described once.
 *
 * To add a column, add its member to the row and its rule here; docs/snapshot-format.md names it.
 */
#ifndef TIDE_SNAPSHOT_COLUMNS_INTERNAL_H
#define TIDE_SNAPSHOT_COLUMNS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/format/json_reader.h"

/* What a member of a row is; its width is the rule's. */
typedef enum tide_column_kind {
    TIDE_COLUMN_NUMBER, /* 1 or 2 bytes unsigned, 4 bytes signed, 8 bytes up to INT64_MAX */
    TIDE_COLUMN_INDEX   /* uint32_t; TIDE_NONE is -1 in a file */
} tide_column_kind;

/* How its values stand in a file. */
typedef enum tide_column_encoding {
    TIDE_COLUMN_PLAIN,
    TIDE_COLUMN_DELTA,  /* the difference to the row before; the first row's to 0 */
    TIDE_COLUMN_ADDRESS /* the same, in units of address_unit_bytes; a row whose action has no
                           address repeats the last one */
} tide_column_encoding;

/* A column that a file may lack. Its values are no members of the row, which keeps its width: they
 * stand in an array of their own beside the rows. */
typedef enum tide_column_side {
    TIDE_SIDE_NONE = 0, /* a member of the row; every file has it */
    TIDE_SIDE_CERTAINTY,
    TIDE_SIDE_POOL,
    TIDE_N_SIDES
} tide_column_side;

typedef struct tide_column_rule {
    const char *key;
    size_t offset, width; /* of the member, in bytes; beside the rows the offset is 0 */
    tide_column_kind kind;
    tide_column_encoding encoding;
    int64_t min, max;                   /* what the reader allows, after decoding */
    const tide_json_odd *odd;           /* of a column that is only shown; NULL: no value of it may
                                           be odd */
    int64_t (*derive)(const void *row); /* not NULL: the value follows from other columns; it is
                                           written for small tools, and the reader skips it */
    tide_column_side side;
} tide_column_rule;

typedef struct tide_column_table {
    const char *key;               /* in the document */
    const tide_column_rule *rules; /* in the order of the file */
    size_t n_rules;                /* at most TIDE_JSON_MAX_FIELDS - 1 */
    size_t row_bytes;
} tide_column_table;

extern const tide_column_table tide_frame_columns;  /* tide_frame_row */
extern const tide_column_table tide_stack_columns;  /* tide_stack_row */
extern const tide_column_table tide_scope_columns;  /* tide_scope_row */
extern const tide_column_table tide_kernel_columns; /* tide_kernel_row */
extern const tide_column_table tide_event_columns;  /* tide_event */
/* Blocks are few and stand in objects: here the keys are those of one object. */
extern const tide_column_table tide_block_columns; /* tide_block_row */

/* What a reader takes of a table. */
typedef struct tide_column_keys {
    const char *keys[TIDE_JSON_MAX_FIELDS];
    const tide_column_rule *rules[TIDE_JSON_MAX_FIELDS]; /* of each key */
    size_t n;
    uint32_t required; /* bit i: key i must be there */
} tide_column_keys;

void tide_column_keys_of(const tide_column_table *table, tide_column_keys *ret);

/* From rows to values and back: the n_rows members of one column. A loop per width, because a
 * column has millions of rows. `rows` is the first row that counts. */
void tide_column_load(const tide_column_rule *rule, size_t row_bytes, const void *rows,
                      size_t n_rows, int64_t *ret_values);
void tide_column_store(const tide_column_rule *rule, size_t row_bytes, void *rows, size_t n_rows,
                       const int64_t *values);

#endif
