/* operators.h - the operators that a language model needs to generate tokens, besides those of
 * model/ops.h: a table with one implementation for the cpu device (operators_cpu.c) and one for
 * cuda (model/ops_cuda/decode*.cu). As there, operator x takes one `const tide_decode_x *call`,
 * which it reads before it returns, and no operator allocates memory of the device.
 *
 * Letters as in shape.h; n is the number of tokens of each of the B sequences in a pass, the first
 * at `position`, and R = B n its rows. Arrays are row-major; activations, keys and values are fp32
 * or bf16, one type for all arrays of a call. Stored results are rounded once.
 */
#ifndef TIDE_MODEL_DECODE_OPERATORS_H
#define TIDE_MODEL_DECODE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "model/decode/shape.h"
#include "model/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_DECODE_OPERATORS(OPERATOR)                                                            \
    OPERATOR(fill)                                                                                 \
    OPERATOR(embed)                                                                                \
    OPERATOR(product)                                                                              \
    OPERATOR(rotate)                                                                               \
    OPERATOR(attention)                                                                            \
    OPERATOR(choose)                                                                               \
    OPERATOR(combine)                                                                              \
    OPERATOR(next)

/* out_i from word first + i of a stream of random 32-bit words (tide_philox_elements), the same on
 * every device: (word / 2^32 + offset) * scale in fp32 and bf16, low + word mod n_values in int8
 * and int32. */
typedef struct tide_decode_fill {
    tide_array out;       /* (n) written */
    size_t n;             /* elements */
    tide_random random;   /* which words */
    uint64_t first;       /* the number of the first word */
    double offset, scale; /* of fp32 and bf16 */
    uint32_t n_values;    /* of int8 and int32: 1 and more */
    int32_t low;          /* the least of these */
} tide_decode_fill;

/* out (R, C) = table at the tokens. */
typedef struct tide_decode_embed {
    tide_array out;        /* (R, C) written */
    tide_array table;      /* (V, C) */
    const int32_t *tokens; /* token i of sequence b at b stride + i; each below V */
    size_t B, n, C;        /* sequences, tokens of each, channels */
    size_t stride;         /* between the sequences' tokens */
} tide_decode_embed;

/* out_p (= or +=) scale * (weight of matrix chosen_p times x of row p / n_shares), for every row p
 * of out. The weight is cast to fp32 as it is read, and the scale is applied to the sum. */
typedef struct tide_decode_product {
    tide_array out;        /* (n_rows, m) written or accumulated */
    tide_array x;          /* (n_rows / n_shares, k) */
    tide_array weight;     /* (n_matrices, m, k): int8, or x's type */
    const uint16_t *scale; /* (n_matrices, m) bf16; NULL: 1 */
    const int32_t *chosen; /* (n_rows), each below n_matrices; NULL: 0 for every row */
    size_t n_rows;         /* of out */
    size_t n_shares;       /* rows of out for a row of x */
    size_t n_matrices;     /* 1 without `chosen` */
    size_t m, k;           /* rows and columns of a matrix */
    bool accumulate;       /* out += instead of out = */
} tide_decode_product;

/* The operands of rotate and attention. */
typedef struct tide_decode_heads {
    tide_array qkv;        /* (R, H + 2 K, D): heads of queries, of keys, of values */
    tide_array keys;       /* (B, S, K, D), the cache */
    tide_array values;     /* (B, S, K, D), the cache */
    size_t B, n, position; /* sequences, tokens of each, tokens of each before these */
    size_t S, H, K, D;     /* positions of the cache, heads, channels of a head */
} tide_decode_heads;

/* Rotates the pairs (x[2i], x[2i + 1]) of queries and keys by the angles of their position, and
 * writes keys and values into the cache. */
typedef struct tide_decode_rotate {
    tide_decode_heads heads; /* qkv updated, keys and values written at the tokens' positions */
    const float *table;      /* (2, S, D / 2): cosines, then sines (tide_fill_rope) */
} tide_decode_rotate;

/* out = softmax(q k^T / sqrt(D)) v over the cache up to and with each row's own position; H / K
 * heads of queries share one of keys and values. */
typedef struct tide_decode_attention {
    tide_decode_heads heads; /* read; D at most TIDE_DECODE_MAX_HEAD */
    tide_array out;          /* (R, H, D) written */
} tide_decode_attention;

/* chosen = the numbers of the A largest scores of a row, the first of equal ones; shares = the
 * softmax of these A scores. */
typedef struct tide_decode_choose {
    int32_t *chosen;   /* (R, A) written */
    float *shares;     /* (R, A) written */
    tide_array scores; /* (R, E) */
    size_t R, E, A;    /* rows, experts, chosen experts */
} tide_decode_choose;

/* x += the sum over a of shares_a outs_a. */
typedef struct tide_decode_combine {
    tide_array x;        /* (R, C) accumulated */
    tide_array outs;     /* (R, A, C) */
    const float *shares; /* (R, A) */
    size_t R, A, C;      /* rows, outputs of each, channels */
} tide_decode_combine;

/* The token of sequence b = the number of its largest logit, the first of equal ones. */
typedef struct tide_decode_next {
    int32_t *tokens;   /* written at b stride */
    tide_array logits; /* (B, V) */
    size_t B, V;       /* sequences, vocabulary */
    size_t stride;     /* between the sequences' tokens */
} tide_decode_next;

#define TIDE_DECODE_OPERATOR(x)                                                                    \
    typedef tide_status tide_decode_##x##_operator(tide_ops *ops, const tide_decode_##x *call,     \
                                                   tide_error *error);                             \
    tide_decode_##x##_operator tide_cpu_decode_##x, tide_cuda_decode_##x;
TIDE_DECODE_OPERATORS(TIDE_DECODE_OPERATOR)
#undef TIDE_DECODE_OPERATOR

typedef struct tide_decode_table {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name takes none */
#define TIDE_DECODE_ENTRY(x) tide_decode_##x##_operator *x;
    TIDE_DECODE_OPERATORS(TIDE_DECODE_ENTRY)
#undef TIDE_DECODE_ENTRY
} tide_decode_table;

/* The operators of a device that computes; `ops` of a call are those of the same device. */
TIDE_NODISCARD tide_status tide_decode_find_table(const tide_device_info *device,
                                                  const tide_decode_table **ret_table,
                                                  tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
