/* thrift_internal.h - the part of Thrift's compact protocol that the headers and the footer of a
 * Parquet file need, into a buffer that grows.
 *
 * A struct's fields must be written in ascending order of their numbers. Errors stick: check
 * has_failed of the buffer at the end.
 */
#ifndef TIDE_SNAPSHOT_PARQUET_THRIFT_INTERNAL_H
#define TIDE_SNAPSHOT_PARQUET_THRIFT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"

/* A growing buffer. */
typedef struct tide_pq_bytes {
    const tide_hostmem *mem; /* borrowed */
    unsigned char *bytes;    /* owned */
    size_t n_bytes;
    size_t capacity;
    bool has_failed; /* no memory: later bytes are not written */
} tide_pq_bytes;

void tide_pq_bytes_init(tide_pq_bytes *to, const tide_hostmem *mem);
void tide_pq_bytes_fini(tide_pq_bytes *to);
void tide_pq_put(tide_pq_bytes *to, const void *bytes, size_t n_bytes);
void tide_pq_put_byte(tide_pq_bytes *to, unsigned byte);
/* Seven bits per byte, the lowest first. */
void tide_pq_put_varint(tide_pq_bytes *to, uint64_t value);
/* Little endian. */
void tide_pq_put_u32(tide_pq_bytes *to, uint32_t value);
/* The lowest n_bytes of each value, at most 8, little endian. */
void tide_pq_put_little(tide_pq_bytes *to, const int64_t *values, size_t n, size_t n_bytes);

/* One struct that is being written. */
typedef struct tide_pq_struct {
    tide_pq_bytes *to; /* borrowed */
    int last_field;    /* number of the last field; 0: none */
} tide_pq_struct;

enum { TIDE_PQ_I32 = 5, TIDE_PQ_BINARY = 8, TIDE_PQ_STRUCT = 12 }; /* types of a list's items */

tide_pq_struct tide_pq_struct_begin(tide_pq_bytes *to);
void tide_pq_struct_end(tide_pq_struct *of);
void tide_pq_field_i32(tide_pq_struct *of, int field, int32_t value);
void tide_pq_field_i64(tide_pq_struct *of, int field, int64_t value);
void tide_pq_field_text(tide_pq_struct *of, int field, const char *text);
void tide_pq_field_binary(tide_pq_struct *of, int field, const void *bytes, size_t n_bytes);
/* Begins a struct inside: write its fields and its end next. */
tide_pq_struct tide_pq_field_struct(tide_pq_struct *of, int field);
/* Begins a list: write its items next, structs each with begin and end. */
void tide_pq_field_list(tide_pq_struct *of, int field, int item_type, size_t n_items);
void tide_pq_item_i32(tide_pq_bytes *to, int32_t value);
void tide_pq_item_text(tide_pq_bytes *to, const char *text);

#endif
