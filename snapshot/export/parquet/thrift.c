/* thrift.c - Thrift's compact protocol (its specification: thrift-compact-protocol.md of Apache
 * Thrift). */
#include <string.h>

#include "snapshot/export/parquet/thrift_internal.h"

enum { TYPE_I64 = 6, TYPE_LIST = 9, SHORT_LIST = 15 };

void tide_pq_bytes_init(tide_pq_bytes *to, const tide_hostmem *mem) {
    *to = (tide_pq_bytes){.mem = mem};
}

void tide_pq_bytes_fini(tide_pq_bytes *to) {
    to->mem->release(to->mem->ctx, to->bytes);
    to->bytes = NULL;
}

void tide_pq_put(tide_pq_bytes *to, const void *bytes, size_t n_bytes) {
    if (to->has_failed || n_bytes == 0) {
        return;
    }
    unsigned char *grown =
        tide_hostmem_grow(to->mem, to->bytes, &to->capacity, to->n_bytes + n_bytes, 1);
    if (grown == NULL) {
        to->has_failed = true;
        return;
    }
    to->bytes = grown;
    memcpy(grown + to->n_bytes, bytes, n_bytes);
    to->n_bytes += n_bytes;
}

void tide_pq_put_byte(tide_pq_bytes *to, unsigned byte) {
    unsigned char one = (unsigned char)byte;
    tide_pq_put(to, &one, 1);
}

void tide_pq_put_varint(tide_pq_bytes *to, uint64_t value) {
    unsigned char bytes[10];
    size_t n = 0;
    for (; value > 0x7f; value >>= 7) {
        bytes[n++] = (unsigned char)(value | 0x80);
    }
    bytes[n++] = (unsigned char)value;
    tide_pq_put(to, bytes, n);
}

void tide_pq_put_u32(tide_pq_bytes *to, uint32_t value) {
    const int64_t one = value;
    tide_pq_put_little(to, &one, 1, 4);
}

void tide_pq_put_little(tide_pq_bytes *to, const int64_t *values, size_t n, size_t n_bytes) {
    if (to->has_failed) {
        return;
    }
    unsigned char *grown =
        tide_hostmem_grow(to->mem, to->bytes, &to->capacity, to->n_bytes + n * n_bytes, 1);
    if (grown == NULL) {
        to->has_failed = true;
        return;
    }
    to->bytes = grown;
    unsigned char *at = grown + to->n_bytes;
    for (size_t i = 0; i < n; i++) {
        uint64_t value = (uint64_t)values[i];
        for (size_t j = 0; j < n_bytes; j++) {
            *at++ = (unsigned char)(value >> (8 * j));
        }
    }
    to->n_bytes += n * n_bytes;
}

/* Maps small numbers of either sign to small varints. */
static void put_zigzag(tide_pq_bytes *to, int64_t value) {
    tide_pq_put_varint(to, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_field(tide_pq_struct *of, int field, int type) {
    int step = field - of->last_field;
    if (step > 0 && step <= 15) {
        tide_pq_put_byte(of->to, (unsigned)(step << 4 | type));
    } else {
        tide_pq_put_byte(of->to, (unsigned)type);
        put_zigzag(of->to, field);
    }
    of->last_field = field;
}

tide_pq_struct tide_pq_struct_begin(tide_pq_bytes *to) {
    return (tide_pq_struct){.to = to};
}

void tide_pq_struct_end(tide_pq_struct *of) {
    tide_pq_put_byte(of->to, 0);
}

void tide_pq_field_i32(tide_pq_struct *of, int field, int32_t value) {
    put_field(of, field, TIDE_PQ_I32);
    put_zigzag(of->to, value);
}

void tide_pq_field_i64(tide_pq_struct *of, int field, int64_t value) {
    put_field(of, field, TYPE_I64);
    put_zigzag(of->to, value);
}

void tide_pq_field_binary(tide_pq_struct *of, int field, const void *bytes, size_t n_bytes) {
    put_field(of, field, TIDE_PQ_BINARY);
    tide_pq_put_varint(of->to, n_bytes);
    tide_pq_put(of->to, bytes, n_bytes);
}

void tide_pq_field_text(tide_pq_struct *of, int field, const char *text) {
    tide_pq_field_binary(of, field, text, strlen(text));
}

tide_pq_struct tide_pq_field_struct(tide_pq_struct *of, int field) {
    put_field(of, field, TIDE_PQ_STRUCT);
    return tide_pq_struct_begin(of->to);
}

void tide_pq_field_list(tide_pq_struct *of, int field, int item_type, size_t n_items) {
    put_field(of, field, TYPE_LIST);
    if (n_items < SHORT_LIST) {
        tide_pq_put_byte(of->to, (unsigned)(n_items << 4) | (unsigned)item_type);
    } else {
        tide_pq_put_byte(of->to, 0xf0U | (unsigned)item_type);
        tide_pq_put_varint(of->to, n_items);
    }
}

void tide_pq_item_i32(tide_pq_bytes *to, int32_t value) {
    put_zigzag(to, value);
}

void tide_pq_item_text(tide_pq_bytes *to, const char *text) {
    size_t n_bytes = strlen(text);
    tide_pq_put_varint(to, n_bytes);
    tide_pq_put(to, text, n_bytes);
}
