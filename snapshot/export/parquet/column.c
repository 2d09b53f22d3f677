/* column.c - collects and encodes the values of a column: integers plain, texts as numbers of a
 * dictionary, nulls as levels. Numbers and levels are runs of equal values, or groups of eight
 * packed values (Encodings.md of parquet-format, "RLE / bit-packing hybrid"). */
#include <string.h>

#include "common/text/utf8.h"
#include "snapshot/export/parquet/column_internal.h"

enum {
    GROUP = 8,              /* values that are packed together */
    STATISTICS_BYTES = 128, /* longer texts are left out of the statistics */
    LENGTH_BYTES = 4
};

void tide_pq_column_init(tide_pq_column *column, const tide_parquet_column *kind,
                         const tide_hostmem *mem) {
    *column = (tide_pq_column){.mem = mem, .kind = kind};
    tide_pq_bytes_init(&column->texts, mem);
    tide_pq_bytes_init(&column->clean, mem);
    tide_map_init(&column->by_hash, mem);
}

void tide_pq_column_fini(tide_pq_column *column) {
    const tide_hostmem *mem = column->mem;
    mem->release(mem->ctx, column->integers);
    mem->release(mem->ctx, column->indices);
    mem->release(mem->ctx, column->levels);
    mem->release(mem->ctx, column->text_at);
    tide_pq_bytes_fini(&column->texts);
    tide_pq_bytes_fini(&column->clean);
    tide_map_fini(&column->by_hash);
}

void tide_pq_column_clear(tide_pq_column *column) {
    column->n_values = 0;
    column->n_rows = 0;
    column->n_texts = 0;
    column->texts.n_bytes = 0;
    tide_map_fini(&column->by_hash);
    tide_map_init(&column->by_hash, column->mem);
}

/* ---- collecting ---- */

static bool put_level(tide_pq_column *column, uint8_t level) {
    column->n_rows++;
    if (!column->kind->is_optional) {
        return true;
    }
    uint8_t *levels = tide_hostmem_grow(column->mem, column->levels, &column->levels_capacity,
                                        column->n_rows, sizeof(*levels));
    if (levels == NULL) {
        column->has_failed = true;
        return false;
    }
    column->levels = levels;
    levels[column->n_rows - 1] = level;
    return true;
}

void tide_pq_column_put_null(tide_pq_column *column) {
    (void)put_level(column, 0);
}

void tide_pq_column_put_integer(tide_pq_column *column, int64_t value) {
    int64_t *integers = tide_hostmem_grow(column->mem, column->integers, &column->integers_capacity,
                                          column->n_values + 1, sizeof(*integers));
    column->integers = integers != NULL ? integers : column->integers;
    if (integers == NULL || !put_level(column, 1)) {
        column->has_failed = true;
        return;
    }
    column->min = column->n_values == 0 || value < column->min ? value : column->min;
    column->max = column->n_values == 0 || value > column->max ? value : column->max;
    integers[column->n_values++] = value;
}

const unsigned char *tide_pq_column_text(const tide_pq_column *column, size_t i,
                                         size_t *ret_bytes) {
    size_t end =
        i + 1 < column->n_texts ? column->text_at[i + 1] - LENGTH_BYTES : column->texts.n_bytes;
    *ret_bytes = end - column->text_at[i];
    return column->texts.bytes + column->text_at[i];
}

typedef struct wanted {
    const tide_pq_column *column;
    const char *text;
    size_t n_bytes;
} wanted;

static bool is_wanted(const void *ctx, uint64_t number) {
    const wanted *of = ctx;
    size_t n_bytes = 0;
    const unsigned char *text = tide_pq_column_text(of->column, (size_t)number, &n_bytes);
    return n_bytes == of->n_bytes && memcmp(text, of->text, n_bytes) == 0;
}

static bool add_text(tide_pq_column *column, const char *text, size_t n_bytes, uint64_t key) {
    size_t *text_at = tide_hostmem_grow(column->mem, column->text_at, &column->text_at_capacity,
                                        column->n_texts + 1, sizeof(*text_at));
    if (text_at == NULL) {
        return false;
    }
    column->text_at = text_at;
    tide_pq_put_u32(&column->texts, (uint32_t)n_bytes);
    text_at[column->n_texts] = column->texts.n_bytes;
    tide_pq_put(&column->texts, text, n_bytes);
    return !column->texts.has_failed &&
           tide_map_put(&column->by_hash, key, column->n_texts++) == TIDE_OK;
}

/* Makes valid UTF-8, as a STRING of Parquet must be; names in a recording may be any bytes. */
static wanted clean(tide_pq_column *column, const char *text) {
    static const unsigned char REPLACEMENT[] = {0xef, 0xbf, 0xbd}; /* U+FFFD */
    const unsigned char *bytes = (const unsigned char *)text;
    const wanted whole = {column, text, strlen(text)};
    size_t at = 0;
    while (at < whole.n_bytes && bytes[at] < 0x80) {
        at++;
    }
    if (at == whole.n_bytes) {
        return whole;
    }
    column->clean.n_bytes = 0;
    for (at = 0; at < whole.n_bytes;) {
        size_t n = tide_utf8_length(bytes + at, whole.n_bytes - at);
        tide_pq_put(&column->clean, n > 0 ? bytes + at : REPLACEMENT,
                    n > 0 ? n : sizeof(REPLACEMENT));
        at += n > 0 ? n : 1;
    }
    column->has_failed = column->has_failed || column->clean.has_failed;
    return column->has_failed
               ? (wanted){column, "", 0}
               : (wanted){column, (const char *)column->clean.bytes, column->clean.n_bytes};
}

void tide_pq_column_put_text(tide_pq_column *column, const char *text) {
    uint64_t key = 0;
    uint64_t number = 0;
    const wanted of = clean(column, text);
    uint64_t hash = tide_hash_bytes(of.text, of.n_bytes);
    if (!tide_map_find_equal(&column->by_hash, hash, is_wanted, &of, &key, &number)) {
        number = column->n_texts;
        if (!add_text(column, of.text, of.n_bytes, key)) {
            column->has_failed = true;
            return;
        }
    }
    uint32_t *indices = tide_hostmem_grow(column->mem, column->indices, &column->indices_capacity,
                                          column->n_values + 1, sizeof(*indices));
    column->indices = indices != NULL ? indices : column->indices;
    if (indices == NULL || !put_level(column, 1)) {
        column->has_failed = true;
        return;
    }
    indices[column->n_values++] = (uint32_t)number;
}

/* ---- runs and packed groups ---- */

/* Small numbers, one byte or four each. */
typedef struct numbers {
    const uint8_t *bytes;  /* NULL: none, or the numbers are words */
    const uint32_t *words; /* NULL: none, or the numbers are bytes */
    size_t n;
    unsigned width; /* bits of the largest, at least 1 */
} numbers;

static uint32_t number_at(const numbers *of, size_t i) {
    if (i >= of->n) {
        return 0; /* padding of a group */
    }
    return of->bytes != NULL ? of->bytes[i] : of->words != NULL ? of->words[i] : 0;
}

/* How many times the number at `from` is repeated, up to GROUP if `is_short`. */
static size_t run_at(const numbers *of, size_t from, bool is_short) {
    uint32_t first = number_at(of, from);
    size_t n = 1;
    while (from + n < of->n && (!is_short || n < GROUP) && number_at(of, from + n) == first) {
        n++;
    }
    return n;
}

static void put_run(tide_pq_bytes *to, const numbers *of, size_t from, size_t n) {
    uint32_t value = number_at(of, from);
    tide_pq_put_varint(to, (uint64_t)n << 1);
    for (unsigned bits = 0; bits < of->width; bits += 8) {
        tide_pq_put_byte(to, value >> bits & 0xff);
    }
}

static void put_packed(tide_pq_bytes *to, const numbers *of, size_t from, size_t n_groups) {
    tide_pq_put_varint(to, (uint64_t)n_groups << 1 | 1);
    uint64_t bits = 0;
    unsigned n_bits = 0;
    for (size_t i = from; i < from + n_groups * GROUP; i++) {
        bits |= (uint64_t)number_at(of, i) << n_bits;
        for (n_bits += of->width; n_bits >= 8; n_bits -= 8) {
            tide_pq_put_byte(to, (unsigned)(bits & 0xff));
            bits >>= 8;
        }
    }
}

static void put_numbers(tide_pq_bytes *to, const numbers *of) {
    size_t at = 0;
    while (at < of->n) {
        if (run_at(of, at, true) == GROUP) {
            size_t n = run_at(of, at, false);
            put_run(to, of, at, n);
            at += n;
            continue;
        }
        size_t n_groups = 0; /* up to the next run or the end */
        do {
            n_groups++;
        } while (at + n_groups * GROUP < of->n && run_at(of, at + n_groups * GROUP, true) < GROUP);
        put_packed(to, of, at, n_groups);
        at += n_groups * GROUP;
    }
}

static unsigned width_of(size_t n_values) {
    unsigned width = 1;
    while ((n_values - 1) >> width > 0) {
        width++;
    }
    return width;
}

/* ---- the page ---- */

static void put_levels(const tide_pq_column *column, tide_pq_bytes *to) {
    const numbers levels = {.bytes = column->levels, .n = column->n_rows, .width = 1};
    size_t length_at = to->n_bytes;
    tide_pq_put_u32(to, 0);
    put_numbers(to, &levels);
    if (!to->has_failed) {
        uint32_t n_bytes = (uint32_t)(to->n_bytes - length_at - LENGTH_BYTES);
        for (size_t i = 0; i < LENGTH_BYTES; i++) {
            to->bytes[length_at + i] = (unsigned char)(n_bytes >> (8 * i));
        }
    }
}

static void put_booleans(const tide_pq_column *column, tide_pq_bytes *to) {
    unsigned byte = 0;
    for (size_t i = 0; i < column->n_values; i++) {
        byte |= (column->integers[i] != 0 ? 1U : 0U) << (i % 8);
        if (i % 8 == 7 || i + 1 == column->n_values) {
            tide_pq_put_byte(to, byte);
            byte = 0;
        }
    }
}

void tide_pq_column_encode(const tide_pq_column *column, tide_pq_bytes *to) {
    if (column->kind->is_optional) {
        put_levels(column, to);
    }
    switch (column->kind->type) {
    case TIDE_PARQUET_INT64:
        tide_pq_put_little(to, column->integers, column->n_values, 8);
        break;
    case TIDE_PARQUET_INT32:
        tide_pq_put_little(to, column->integers, column->n_values, 4);
        break;
    case TIDE_PARQUET_BOOLEAN:
        put_booleans(column, to);
        break;
    case TIDE_PARQUET_STRING: {
        if (column->n_texts == 0) {
            break; /* only nulls: the page has no dictionary and no values */
        }
        const numbers indices = {
            .words = column->indices, .n = column->n_values, .width = width_of(column->n_texts)};
        tide_pq_put_byte(to, indices.width);
        put_numbers(to, &indices);
        break;
    }
    }
}

/* ---- statistics ---- */

static void put_value(tide_pq_struct *of, int field, const tide_pq_column *column, int64_t value) {
    static const size_t N_BYTES[] = {
        [TIDE_PARQUET_INT64] = 8, [TIDE_PARQUET_INT32] = 4, [TIDE_PARQUET_BOOLEAN] = 1};
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    }
    tide_pq_field_binary(of, field, bytes, N_BYTES[column->kind->type]);
}

/* In the order of unsigned bytes; a prefix comes first. */
static int compare_texts(const tide_pq_column *column, size_t a, size_t b) {
    size_t n_a = 0;
    size_t n_b = 0;
    const unsigned char *left = tide_pq_column_text(column, a, &n_a);
    const unsigned char *right = tide_pq_column_text(column, b, &n_b);
    int order = memcmp(left, right, n_a < n_b ? n_a : n_b);
    return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

static void put_text_bounds(const tide_pq_column *column, tide_pq_struct *to) {
    size_t least = 0;
    size_t most = 0;
    for (size_t i = 1; i < column->n_texts; i++) {
        least = compare_texts(column, i, least) < 0 ? i : least;
        most = compare_texts(column, i, most) > 0 ? i : most;
    }
    size_t n_least = 0;
    size_t n_most = 0;
    const unsigned char *low = tide_pq_column_text(column, least, &n_least);
    const unsigned char *high = tide_pq_column_text(column, most, &n_most);
    if (n_least <= STATISTICS_BYTES && n_most <= STATISTICS_BYTES) {
        tide_pq_field_binary(to, 5, high, n_most);
        tide_pq_field_binary(to, 6, low, n_least);
    }
}

void tide_pq_column_statistics(const tide_pq_column *column, tide_pq_struct *of, int field) {
    tide_pq_struct to = tide_pq_field_struct(of, field);
    tide_pq_field_i64(&to, 3, (int64_t)(column->n_rows - column->n_values)); /* null_count */
    if (column->n_values > 0 && column->kind->type == TIDE_PARQUET_STRING) {
        put_text_bounds(column, &to);
    } else if (column->n_values > 0) {
        put_value(&to, 5, column, column->max); /* max_value */
        put_value(&to, 6, column, column->min); /* min_value */
    }
    tide_pq_struct_end(&to);
}
