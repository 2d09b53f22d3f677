/* column_internal.h - the values of one column in one row group, and their encoding.
 */
#ifndef TIDE_SNAPSHOT_PARQUET_COLUMN_INTERNAL_H
#define TIDE_SNAPSHOT_PARQUET_COLUMN_INTERNAL_H

#include "common/map.h"
#include "snapshot/export/parquet/file.h"
#include "snapshot/export/parquet/thrift_internal.h"

/* Values of a row group: integers as they are, texts as numbers of the dictionary. */
typedef struct tide_pq_column {
    const tide_hostmem *mem;         /* borrowed */
    const tide_parquet_column *kind; /* borrowed */
    int64_t *integers;               /* owned; values that are neither null nor texts */
    size_t integers_capacity;
    uint32_t *indices; /* owned; of texts that are not null */
    size_t indices_capacity;
    size_t n_values; /* not null */
    uint8_t *levels; /* owned; optional columns: 1 a value, 0 null */
    size_t levels_capacity;
    size_t n_rows; /* values and nulls */
    /* Statistics of integers. */
    int64_t min, max;
    /* The dictionary: texts one after another, each after its length, as in a page. */
    tide_pq_bytes texts;
    size_t *text_at; /* owned; where text i begins in `texts`, after its length */
    size_t text_at_capacity;
    size_t n_texts;
    tide_pq_bytes clean; /* a text with U+FFFD for the bytes that are not UTF-8 */
    tide_map by_hash;    /* hash of a text -> its number; a collision adds 1 to the hash */
    bool has_failed;     /* no memory */
} tide_pq_column;

void tide_pq_column_init(tide_pq_column *column, const tide_parquet_column *kind,
                         const tide_hostmem *mem);
void tide_pq_column_fini(tide_pq_column *column);
/* Empties it for the next row group. */
void tide_pq_column_clear(tide_pq_column *column);

void tide_pq_column_put_integer(tide_pq_column *column, int64_t value);
void tide_pq_column_put_text(tide_pq_column *column, const char *text);
void tide_pq_column_put_null(tide_pq_column *column);

/* The content of the data page: levels, then values or numbers of the dictionary. */
void tide_pq_column_encode(const tide_pq_column *column, tide_pq_bytes *to);

/* Returns text i of the dictionary. */
const unsigned char *tide_pq_column_text(const tide_pq_column *column, size_t i, size_t *ret_bytes);

/* Writes the field with the smallest and the largest value and the number of nulls. */
void tide_pq_column_statistics(const tide_pq_column *column, tide_pq_struct *of, int field);

#endif
