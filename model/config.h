/* config.h - the shape of the transformer and of a run, and the letters for dimensions used
 * everywhere:
 *
 *   B  sequences in a batch          T  tokens in a sequence (context length)
 *   C  channels (d_model)            H  attention heads            D  channels of a head, C / H
 *   F  hidden channels of the FFN    L  layers (blocks)            V  vocabulary
 *   R  rows = B * T
 */
#ifndef TIDE_MODEL_CONFIG_H
#define TIDE_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_architecture {
    TIDE_TRANSFORMER = 0,
    TIDE_MLP,    /* linear layers with GELU (mlp.h) */
    TIDE_DECODE, /* a language model that generates tokens (decode/decode.h) */
    TIDE_N_ARCHITECTURES
} tide_architecture;
typedef enum tide_mode {
    TIDE_FORWARD = 0,
    TIDE_FORWARD_BACKWARD,
    TIDE_TRAIN,
    TIDE_N_MODES
} tide_mode;
typedef enum tide_precision {
    TIDE_PRECISION_FP32 = 0,
    TIDE_PRECISION_TF32,
    TIDE_PRECISION_BF16_MIXED,
    TIDE_PRECISION_BF16_TRUE,
    TIDE_PRECISION_FP16_MIXED, /* with loss scaling */
    TIDE_N_PRECISIONS
} tide_precision;
typedef enum tide_attention {
    TIDE_ATTENTION_FLASH = 0,
    TIDE_ATTENTION_NAIVE,
    TIDE_N_ATTENTIONS
} tide_attention;
typedef enum tide_recompute {
    TIDE_RECOMPUTE_NONE = 0,
    TIDE_RECOMPUTE_BLOCK,
    TIDE_N_RECOMPUTES
} tide_recompute;
/* The year of the course assignment whose PyTorch code is emulated (eager.h). The years differ in
 * RoPE, the embedding, AdamW's weight decay and one array of forward:
 * docs/model/pytorch-forecast.md. */
typedef enum tide_edition {
    TIDE_EDITION_2025 = 0,
    TIDE_EDITION_2026,
    TIDE_N_EDITIONS
} tide_edition;
/* Whose allocations a run makes: those of tidemark's own operators, or those of PyTorch in eager
 * mode for the same model (eager.h). */
typedef enum tide_emulation {
    TIDE_EMULATE_NONE = 0,
    TIDE_EMULATE_PYTORCH,
    TIDE_N_EMULATIONS
} tide_emulation;

/* Names as on the command line: "forward-backward", "bf16-mixed", "flash", "block". "?" out of
 * range. */
const char *tide_architecture_name(int architecture);
const char *tide_mode_name(int mode);
const char *tide_precision_name(int precision);
const char *tide_attention_name(int attention);
const char *tide_recompute_name(int recompute);
const char *tide_edition_name(int edition);     /* "2025" */
const char *tide_emulation_name(int emulation); /* "none" */
/* The number of a name ("bf16" means bf16-mixed and "fp16" fp16-mixed), or -1. */
int tide_architecture_from_name(const char *name);
int tide_mode_from_name(const char *name);
int tide_precision_from_name(const char *name);
int tide_attention_from_name(const char *name);
int tide_recompute_from_name(const char *name);
int tide_edition_from_name(const char *name);
int tide_emulation_from_name(const char *name);

typedef struct tide_model_config {
    char size[32];         /* the preset's name, or "custom"; "-no-head" follows without a head */
    size_t vocab_size;     /* V */
    size_t d_model;        /* C */
    size_t d_ff;           /* F */
    size_t n_layers;       /* L */
    size_t n_heads;        /* H, divides C; C / H is even */
    size_t context_length; /* T */
    size_t batch_size;     /* B */
    double rope_theta;     /* 10000 */
    bool no_head;          /* the model ends at the output of ln_final, as the base models do that
                              inference benchmarks run: no lm_head, no logits, no loss; mode forward
                              only */
} tide_model_config;

/* Names the model, with a suffix if it has no head: "small-no-head". A longer name is cut. */
void tide_model_config_name(tide_model_config *config, const char *name);

/* The preset with batch 4 and context 128. TIDE_INVALID for an unknown name, with the list of valid
 * ones. */
TIDE_NODISCARD tide_status tide_model_config_preset(const char *size, tide_model_config *ret_config,
                                                    tide_error *error);
/* The names of the presets in order of size; NULL past the last. */
const char *tide_model_preset_name(size_t i);

/* Checks every product of dimensions that a run computes. TIDE_INVALID: 0, heads that do not divide
 * d_model, odd head size. TIDE_LIMIT: beyond a stated limit (the message names it). */
TIDE_NODISCARD tide_status tide_model_config_check(const tide_model_config *config,
                                                   tide_error *error);

/* The parts of a model, to which its parameters belong. */
typedef enum tide_model_component {
    TIDE_COMPONENT_EMBEDDING = 0, /* token_embeddings: V C */
    TIDE_COMPONENT_ATTENTION,     /* q, k, v and output projections: 4 C^2 a layer */
    TIDE_COMPONENT_FFN,           /* w1, w2, w3: 3 C F a layer */
    TIDE_COMPONENT_NORMS,         /* ln1 and ln2 of each layer, and ln_final: (2 L + 1) C */
    TIDE_COMPONENT_HEAD,          /* lm_head: V C, and 0 without a head */
    TIDE_N_COMPONENTS
} tide_model_component;
/* "embedding", "attention", "ffn", "norms", "lm_head"; "?" out of range. */
const char *tide_component_name(int component);
/* The parameters of one part. The config must have passed the check. */
uint64_t tide_model_n_component_parameters(const tide_model_config *config,
                                           tide_model_component component);
/* Those of all parts: 2 V C + L (4 C^2 + 3 C F + 2 C) + C, minus V C without a head. */
uint64_t tide_model_n_parameters(const tide_model_config *config);
/* 9 L + 3, and 9 L + 2 without a head. */
size_t tide_model_n_tensors(const tide_model_config *config);
/* Matrix products of one forward pass, in FLOP: 2 R L (4 C^2 + 3 C F) + 4 B T^2 C L + 2 R V C;
 * without a head the last term is 0. Backward is twice that. Attention is counted over the full T x
 * T. */
double tide_model_forward_flops(const tide_model_config *config);

#ifdef __cplusplus
}
#endif

#endif
