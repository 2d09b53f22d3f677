/* The kernel of gemm.h and the copies into its panels. The file is compiled once per instruction
 * set. TIDE_GEMM_KERNELS is the name of its table; TIDE_VECTOR_BYTES and TIDE_GEMM_ROWS give the
 * shape of a tile: two vector registers wide, and as many rows as the register file holds. */
#include <string.h>

#include "model/ops_cpu/gemm.h"
#include "model/ops_cpu/ops_cpu_internal.h"

#define TIDE_TEXT(x) #x
#ifdef __clang__
#define TIDE_UNROLL(n) _Pragma(TIDE_TEXT(unroll n))
#else
#define TIDE_UNROLL(n) _Pragma(TIDE_TEXT(GCC unroll n))
#endif

/* How many steps of k ahead b is prefetched: its panel comes from the second-level cache. */
enum { AHEAD = 16 };

enum { LANES = TIDE_VECTOR_BYTES / 4, ROWS = TIDE_GEMM_ROWS, COLUMNS = 2 * LANES };

_Static_assert((int)ROWS <= (int)TIDE_GEMM_MAX_ROWS, "a tile has too many rows");
_Static_assert((int)COLUMNS <= (int)TIDE_GEMM_MAX_COLUMNS, "a tile has too many columns");

/* A register of fp32 numbers, at any address. */
typedef float vector __attribute__((vector_size(TIDE_VECTOR_BYTES), aligned(4), may_alias));

static void multiply(size_t n_l, const float *a, const float *b, float alpha, bool add, float *c,
                     size_t ldc) {
    vector sums[ROWS][2];
    TIDE_UNROLL(8)
    for (size_t i = 0; i < ROWS; i++) {
        __builtin_prefetch(c + i * ldc,
                           1); /* every row of c is in another page, so prefetch each */
        __builtin_prefetch(c + i * ldc + COLUMNS - 1, 1);
        sums[i][0] = (vector){0};
        sums[i][1] = (vector){0};
    }
    for (size_t l = 0; l < n_l; l++) {
        __builtin_prefetch(b + (size_t)AHEAD * COLUMNS);
        __builtin_prefetch(b + (size_t)AHEAD * COLUMNS + LANES);
        vector left = *(const vector *)(const void *)b;
        vector right = *(const vector *)(const void *)(b + LANES);
        TIDE_UNROLL(8)
        for (size_t i = 0; i < ROWS; i++) {
            sums[i][0] += a[i] * left;
            sums[i][1] += a[i] * right;
        }
        a += ROWS;
        b += COLUMNS;
    }
    TIDE_UNROLL(8)
    for (size_t i = 0; i < ROWS; i++) { /* c[i][:] */
        vector *row = (vector *)(void *)(c + i * ldc);
        row[0] = add ? row[0] + alpha * sums[i][0] : alpha * sums[i][0];
        row[1] = add ? row[1] + alpha * sums[i][1] : alpha * sums[i][1];
    }
}

static const float *fp32_at(const tide_gemm_operand *x, size_t element) {
    return (const float *)x->array.data + element;
}

/* n numbers of two bytes from an element on, as fp32. */
static inline void widen_run(float *wide, const tide_gemm_operand *x, size_t element, size_t n) {
    const uint16_t *run = (const uint16_t *)x->array.data + element;
    if (x->array.dtype == TIDE_FP16) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            wide[i] = tide_fp16_to_fp32(run[i]);
        }
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        wide[i] = tide_bf16_to_fp32(run[i]);
    }
}

/* Four numbers: half of the smallest vector register. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* packed[l][0 .. 4) = rows[0 .. 4)[l], `width` elements from l to l. */
static void transpose_four(float *packed, size_t width, const float *const rows[4], size_t n_l) {
    size_t l = 0;
    for (; l + 4 <= n_l; l += 4) {
        four r0 = *(const four *)(const void *)(rows[0] + l);
        four r1 = *(const four *)(const void *)(rows[1] + l);
        four r2 = *(const four *)(const void *)(rows[2] + l);
        four r3 = *(const four *)(const void *)(rows[3] + l);
        four low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
        four high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
        four low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
        four high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
        float *to = packed + l * width;
        *(four *)(void *)to = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
        *(four *)(void *)(to + width) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
        *(four *)(void *)(to + 2 * width) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
        *(four *)(void *)(to + 3 * width) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    }
    for (; l < n_l; l++) {
        for (size_t i = 0; i < 4; i++) {
            packed[l * width + i] = rows[i][l];
        }
    }
}

/* A piece along k: the panel lines that are written together stay in the first-level cache. */
enum { PIECE = 64 };

/* n_l numbers along k of row i as fp32: in place, or widened into `wide`. */
static const float *row_of(const tide_gemm_operand *x, size_t i, size_t l, size_t n_l,
                           float *wide) {
    size_t at = i * x->ld + l;
    if (x->array.dtype == TIDE_FP32) {
        return fp32_at(x, at);
    }
    widen_run(wide, x, at, n_l);
    return wide;
}

/* One piece of one panel: packed[0 .. n_l)[0 .. width) from rows i .. i + n_rows. */
static inline void pack_piece(float *packed, const tide_gemm_operand *x, size_t i, size_t n_rows,
                              size_t l, size_t n_l, size_t width) {
    static const float ZEROS[PIECE] = {0};
    float wide[4][PIECE];
    for (size_t j = 0; j < width; j += 4) {
        const float *rows[4] = {ZEROS, ZEROS, ZEROS, ZEROS};
        for (size_t r = 0; r < 4 && j + r < n_rows; r++) {
            rows[r] = row_of(x, i + j + r, l, n_l, wide[r]);
        }
        if (width - j >= 4) {
            transpose_four(packed + j, width, rows, n_l);
            continue;
        }
        for (size_t k = 0; k < n_l; k++) {
            for (size_t r = 0; r < width - j; r++) {
                packed[k * width + j + r] = rows[r][k];
            }
        }
    }
}

/* Copies an operand whose stored rows run along k, so every panel is a transpose. */
static inline void pack_rows(float *packed, const tide_gemm_operand *x, const tide_gemm_part *part,
                             size_t width) {
    for (size_t i = 0; i < part->n_i; i += width) { /* packed[i / width][:][:] */
        size_t n_rows = part->n_i - i < width ? part->n_i - i : width;
        for (size_t l = 0; l < part->n_l; l += PIECE) {
            size_t n_l = part->n_l - l < PIECE ? part->n_l - l : PIECE;
            pack_piece(packed + l * width, x, part->i0 + i, n_rows, part->l0 + l, n_l, width);
        }
        packed += width * part->n_l;
    }
}

/* `width` numbers from element `at` on. */
static inline void copy_run(float *packed, const tide_gemm_operand *x, size_t at, size_t width) {
    if (x->array.dtype == TIDE_FP32) {
        memcpy(packed, fp32_at(x, at), width * sizeof(float));
        return;
    }
    widen_run(packed, x, at, width);
}

/* Copies an operand whose stored rows run across the panels: each row is cut into one run per
 * panel. */
static inline void pack_columns(float *packed, const tide_gemm_operand *x,
                                const tide_gemm_part *part, size_t width) {
    size_t n_whole = part->n_i / width;
    size_t n_left = part->n_i % width;
    for (size_t l = 0; l < part->n_l; l++) { /* packed[:][l][:] */
        size_t at = (part->l0 + l) * x->ld + part->i0;
        float *to = packed + l * width;
        for (size_t panel = 0; panel < n_whole; panel++) {
            copy_run(to + panel * width * part->n_l, x, at + panel * width, width);
        }
        if (n_left > 0) {
            to += n_whole * width * part->n_l;
            memset(to, 0, width * sizeof(float));
            copy_run(to, x, at + n_whole * width, n_left);
        }
    }
}

static void pack_a(float *packed, const tide_gemm_operand *a, const tide_gemm_part *part) {
    if (a->k_is_inner) {
        pack_rows(packed, a, part, ROWS);
    } else {
        pack_columns(packed, a, part, ROWS);
    }
}

static void pack_b(float *packed, const tide_gemm_operand *b, const tide_gemm_part *part) {
    if (b->k_is_inner) {
        pack_rows(packed, b, part, COLUMNS);
    } else {
        pack_columns(packed, b, part, COLUMNS);
    }
}

extern const tide_gemm_kernels TIDE_GEMM_KERNELS;
const tide_gemm_kernels TIDE_GEMM_KERNELS = {
    .rows = ROWS,
    .columns = COLUMNS,
    .multiply = multiply,
    .pack_a = pack_a,
    .pack_b = pack_b,
};
