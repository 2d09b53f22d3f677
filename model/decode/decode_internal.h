/* decode_internal.h - the state of a language model: decode.c owns it, pass.c runs it over tokens,
 * compute.c calls the operators of the device. */
#ifndef TIDE_MODEL_DECODE_DECODE_INTERNAL_H
#define TIDE_MODEL_DECODE_DECODE_INTERNAL_H

#include <stdbool.h>

#include "model/decode/decode.h"
#include "model/decode/operators.h"

/* A linear layer, or one of each expert: weight (matrices, m, k). */
typedef struct tide_decode_linear {
    tide_tensor weight; /* owned */
    tide_tensor scale;  /* owned; (matrices, m) bf16; not allocated unless the weight is int8 */
    size_t n_matrices;  /* 1, or E */
    size_t m, k;        /* output and input channels */
} tide_decode_linear;

typedef struct tide_decode_layer {
    tide_tensor attention_norm, ffn_norm; /* owned; (C) */
    tide_decode_linear qkv, wo;           /* (C + 2 K D, C) and (C, C) */
    tide_decode_linear gate;              /* (E, C), never int8; not allocated without experts */
    tide_decode_linear w1, w3, w2;        /* (F, C), (F, C), (C, F), of each expert */
    tide_tensor k_cache, v_cache;         /* owned; (B, S, K, D) */
} tide_decode_layer;

/* The tokens of a pass: S of each of the B sequences, from `position` on. */
typedef struct tide_decode_range {
    size_t position; /* tokens of each sequence before these */
    size_t n_tokens; /* P, or 1 */
} tide_decode_range;

struct tide_decode {
    tide_decode_config config;      /* as given */
    const tide_hostmem *mem;        /* borrowed; the cache's */
    tide_cache *cache;              /* borrowed; outlives the model */
    tide_recorder *recorder;        /* borrowed; NULL: no scopes */
    tide_ops *ops;                  /* owned; NULL: nothing is computed */
    const tide_decode_table *table; /* static; of the same device; NULL without ops */
    tide_tensor embedding;          /* owned; (V, C) */
    tide_tensor final_norm;         /* owned; (C) */
    tide_decode_linear head;        /* (V, C) */
    tide_decode_layer *layers;      /* owned; L */
    tide_tensor tokens;             /* owned; (B, P + N) int32 */
    tide_tensor rope;               /* owned; (2, S, D / 2) fp32: cosines, then sines */
    /* Called with the logits (B, V) of each pass. NULL: not called; a test sets it. */
    void (*see_logits)(void *ctx, const tide_tensor *logits);
    void *see_logits_ctx; /* borrowed; see_logits' first */
};

/* pass.c: one pass over the tokens of the range, which writes the tokens after it. */
TIDE_NODISCARD tide_status tide_decode_pass(tide_decode *decode, const tide_decode_range *range,
                                            tide_error *error);

/* fill.c: prompts, weights, and caches of zeros. */
TIDE_NODISCARD tide_status tide_decode_fill_model(tide_decode *decode, tide_error *error);

/* compute.c: each calls one operator, or nothing on a device that does not compute. */
/* out (R, C) = the embedding at the tokens of the range */
TIDE_NODISCARD tide_status tide_decode_run_embed(const tide_decode *decode,
                                                 const tide_decode_range *range, tide_tensor *out,
                                                 tide_error *error);
/* out (n, C) = x * weight / sqrt(mean(x^2) + 1e-5), of every `stride`-th row of x from row
 * stride - 1 on */
TIDE_NODISCARD tide_status tide_decode_run_norm(const tide_decode *decode, const tide_tensor *x,
                                                const tide_tensor *weight, size_t stride,
                                                tide_tensor *out, tide_error *error);
/* out (rows, m) (= or +=) x (rows, k) W^T */
TIDE_NODISCARD tide_status tide_decode_run_linear(const tide_decode *decode,
                                                  const tide_decode_linear *linear,
                                                  const tide_tensor *x, bool accumulate,
                                                  tide_tensor *out, tide_error *error);
/* out (R, A, m) = x W^T of the chosen expert; x (R, k), or (R, A, k) */
TIDE_NODISCARD tide_status tide_decode_run_expert(const tide_decode *decode,
                                                  const tide_decode_linear *linear,
                                                  const tide_tensor *x, const tide_tensor *chosen,
                                                  tide_tensor *out, tide_error *error);
TIDE_NODISCARD tide_status tide_decode_run_rotate(const tide_decode *decode,
                                                  const tide_decode_range *range,
                                                  tide_decode_layer *layer, tide_tensor *qkv,
                                                  tide_error *error);
TIDE_NODISCARD tide_status tide_decode_run_attention(const tide_decode *decode,
                                                     const tide_decode_range *range,
                                                     const tide_decode_layer *layer,
                                                     const tide_tensor *qkv, tide_tensor *out,
                                                     tide_error *error);
/* gate = silu(gate) * up */
TIDE_NODISCARD tide_status tide_decode_run_swiglu(const tide_decode *decode, tide_tensor *gate,
                                                  const tide_tensor *up, tide_error *error);
TIDE_NODISCARD tide_status tide_decode_run_choose(const tide_decode *decode,
                                                  const tide_tensor *scores, tide_tensor *chosen,
                                                  tide_tensor *shares, tide_error *error);
TIDE_NODISCARD tide_status tide_decode_run_combine(const tide_decode *decode,
                                                   const tide_tensor *outs,
                                                   const tide_tensor *shares, tide_tensor *x,
                                                   tide_error *error);
/* Writes the tokens after the range, and shows the logits to see_logits. */
TIDE_NODISCARD tide_status tide_decode_run_next(tide_decode *decode, const tide_decode_range *range,
                                                const tide_tensor *logits, tide_error *error);

#endif
