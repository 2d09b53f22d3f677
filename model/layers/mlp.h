/* mlp.h - a stack of linear layers, each followed by GELU, on a device, step by step: forward,
 * loss, backward, optimizer. A small model for benchmarks, built as the transformer is
 * (transformer.h), whose contract also holds here: the order of calls, the state after a failure,
 * and that everything on the device goes through the cache, with a name and a category.
 *
 *   h_l = x_l W_l^T + b_l   layers.N.linear   (R, C)
 *   x_l+1 = gelu(h_l)       layers.N.gelu     (R, C)
 *   loss = mean(x_L)
 *
 * Every layer has a bias, as nn.Linear does by default. Backward keeps both tensors of a layer; the
 * last output is overwritten by its gradient, 1 / (R C) everywhere. */
#ifndef TIDE_MODEL_LAYERS_MLP_H
#define TIDE_MODEL_LAYERS_MLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/status.h"
#include "model/config.h"
#include "model/optimizer/loss_scaler.h"
#include "model/ops.h"
#include "model/layers/parameters.h"
#include "model/tensor.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_mlp tide_mlp;

typedef struct tide_mlp_config {
    size_t C;                  /* width of every layer */
    size_t n_layers;           /* linear and GELU */
    size_t R;                  /* rows of the input: the batch */
    tide_precision precision;  /* one that the device computes */
    bool keep_for_backward;    /* false: only forward and end_step may be called */
    double clip_grad_norm;     /* as the transformer's */
    uint64_t seed;             /* of tide_mlp_fill */
    tide_adamw_settings adamw; /* constants of the optimizer */
    tide_stream stream;        /* of the device; all work is submitted to it; 0: the default
                                  stream */
    bool is_captured;          /* a step will be captured (tide_optimizer's is_capturable) */
} tide_mlp_config;

/* width 256, 4 layers, 256 rows, fp32, kept for backward, AdamW's defaults. */
void tide_mlp_config_init(tide_mlp_config *config);
/* TIDE_INVALID for a 0. TIDE_LIMIT beyond the limits of the matrix products. */
TIDE_NODISCARD tide_status tide_mlp_config_check(const tide_mlp_config *config, tide_error *error);

/* L (C^2 + C); of a configuration that passes its check. */
uint64_t tide_mlp_n_parameters(const tide_mlp_config *config);
/* Matrix products of one forward pass, 2 R C^2 L FLOP; backward has L - 1 of them for its inputs
 * and L for its weights. */
double tide_mlp_forward_flops(const tide_mlp_config *config);
double tide_mlp_backward_flops(const tide_mlp_config *config);
/* The most bytes requested at any time in n_steps steps of the mode, without the workspace: the sum
 * of the live bytes at the worst instant (docs/model/memory-model.md). */
uint64_t tide_mlp_requested_peak_bytes(const tide_mlp_config *config, tide_mode mode,
                                       size_t n_steps);

/* As for tide_transformer_create and the functions that follow it. */
TIDE_NODISCARD tide_status tide_mlp_create(const tide_mlp_config *config, tide_cache *cache,
                                           tide_recorder *recorder, tide_mlp **ret_mlp,
                                           tide_error *error);
void tide_mlp_destroy(tide_mlp *mlp);
/* Workspace, input and parameters. */
TIDE_NODISCARD tide_status tide_mlp_setup(tide_mlp *mlp, tide_error *error);
/* Weights and input from the seed. Without it the caller copies them in. */
TIDE_NODISCARD tide_status tide_mlp_fill(tide_mlp *mlp, tide_error *error);
TIDE_NODISCARD tide_status tide_mlp_forward(tide_mlp *mlp, tide_error *error);
TIDE_NODISCARD tide_status tide_mlp_loss(tide_mlp *mlp, tide_error *error);
TIDE_NODISCARD tide_status tide_mlp_backward(tide_mlp *mlp, tide_error *error);
TIDE_NODISCARD tide_status tide_mlp_optimize(tide_mlp *mlp, tide_error *error);
/* Before each launch of a graph that holds a captured step. */
TIDE_NODISCARD tide_status tide_mlp_begin_replay(tide_mlp *mlp, tide_error *error);
TIDE_NODISCARD tide_status tide_mlp_end_step(tide_mlp *mlp, tide_error *error);

/* Valid until the model is destroyed. */
tide_ops *tide_mlp_ops(const tide_mlp *mlp);
/* Weight of layer 0, its bias, weight of layer 1, ...: value, gradient, optimizer state. NULL past
 * the last. */
const tide_parameter *tide_mlp_parameter(const tide_mlp *mlp, size_t i);
const tide_tensor *tide_mlp_input(const tide_mlp *mlp); /* (R, C) of the activation type */
/* (1) fp32, from loss to end_step. */
const tide_tensor *tide_mlp_loss_value(const tide_mlp *mlp);
/* Off if the precision needs no scale. end_step sets it for the next step. */
const tide_loss_scaler *tide_mlp_loss_scaler(const tide_mlp *mlp);

#ifdef __cplusplus
}
#endif

#endif
