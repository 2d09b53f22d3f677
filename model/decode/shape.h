/* shape.h - the language models for decoding, and the bytes that they use and move.
 *
 * Letters besides those of config.h: K heads of keys and values (K divides H), E experts of a layer
 * (0: the feed-forward layer is dense), A experts that a token uses, P tokens of the prompt, N new
 * tokens, S positions of the cache of keys and values: P + N rounded up to a multiple of 8.
 */
#ifndef TIDE_MODEL_DECODE_SHAPE_H
#define TIDE_MODEL_DECODE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "model/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_DECODE_MAX_HEAD = 256 }; /* channels of a head */

typedef struct tide_decode_config {
    char name[32];           /* the preset's */
    size_t V, C, F, L, H, K; /* vocabulary, channels, hidden channels, layers, heads */
    size_t E, A;             /* experts, and experts per token; E 0: none, and A is 1 */
    size_t max_positions;    /* positions for which the model was made: P + N may not exceed it */
    double rope_theta;       /* base of the angles of RoPE */
    tide_dtype weight_type;  /* of linear layers; int8: with a bf16 scale for each output channel */
    tide_dtype type;         /* of every other weight, of activations and of keys and values */
    size_t B, P, N;          /* sequences, tokens of a prompt, new tokens of a sequence */
    uint64_t seed;           /* of weights and prompts */
} tide_decode_config;

/* The preset with one sequence, a prompt of 6 tokens and 200 new ones, as in the benchmark that has
 * the targets. TIDE_INVALID for an unknown name, with the list of valid ones. */
TIDE_NODISCARD tide_status tide_decode_preset(const char *name, tide_decode_config *ret_config,
                                              tide_error *error);
/* NULL past the last. */
const char *tide_decode_preset_name(size_t i);

/* TIDE_INVALID for a 0, heads that do not divide, or more positions than the model supports.
 * TIDE_LIMIT if a count would overflow. */
TIDE_NODISCARD tide_status tide_decode_check(const tide_decode_config *config, tide_error *error);

/* The closed forms below are for a configuration that passes its check; docs/model/decode.md
 * derives them. */

/* Positions of the cache. */
size_t tide_decode_n_positions(const tide_decode_config *config);
/* 2 V C + L (2 C^2 + 2 C K D + 3 max(E, 1) C F + E C + 2 C) + C. */
uint64_t tide_decode_n_parameters(const tide_decode_config *config);
/* Of all weights, scales included. */
uint64_t tide_decode_weight_bytes(const tide_decode_config *config);
/* 2 L B S K D of the activations' type. */
uint64_t tide_decode_cache_bytes(const tide_decode_config *config);
/* Weights that a pass over one token of one sequence reads: all but the embedding, and of the
 * experts A of E. */
uint64_t tide_decode_read_bytes(const tide_decode_config *config);
/* The minimum that a pass over one token of each sequence must move after `position` tokens: the
 * weights, with the fewest experts that B sequences can use, a row of the embedding for each
 * sequence, the keys and values before it, which are read, and its own, which are written. */
uint64_t tide_decode_token_bytes(const tide_decode_config *config, size_t position);
/* The mean of these over the N - 1 passes of decode; of the last prompt token if N is 1. */
double tide_decode_mean_token_bytes(const tide_decode_config *config);
/* The most bytes requested at any time: weights, cache, tokens, the table of RoPE and the largest
 * set of activations. */
uint64_t tide_decode_peak_bytes(const tide_decode_config *config);
/* Matrix products of prefill and decode, in FLOP; attention over the positions that it reads. */
double tide_decode_flops(const tide_decode_config *config);

/* A target that PyTorch's benchmark has for a model, for an A100 with 40 GB. */
typedef struct tide_decode_target {
    const char *model;       /* a preset's name */
    size_t L;                /* layers of the model that was measured */
    double tokens_per_s;     /* new tokens */
    double memory_bandwidth; /* in 1e9 bytes per second: read bytes times tokens per second */
} tide_decode_target;
/* NULL if the model has none with this number of layers. Static. */
const tide_decode_target *tide_decode_target_of(const char *model, size_t L);

#ifdef __cplusplus
}
#endif

#endif
