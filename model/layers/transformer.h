/* transformer.h - the transformer on a device, step by step: forward, loss, backward, optimizer.
 *
 * A step is forward, loss, backward, optimize, end_step, in that order; a step that ends at the
 * logits is forward, end_step. Everything on the device is allocated through the cache, with a name
 * and a category, and released at its last use: docs/model/memory-model.md has the lifetimes.
 *
 * A failed call leaves its allocations alive, so a snapshot shows them. After a failure only the
 * accessors and tide_transformer_destroy may be called; open scopes stay open until the caller ends
 * an enclosing one. Not thread-safe.
 *
 * Device arrays are read and written from the host with tide_device_copy; the numbers have arrived
 * after tide_device_synchronize:
 *
 *   const tide_parameter *p = tide_transformer_parameter(t, i);
 *   tide_device_copy(device, host, p->gradient.array.data, p->n_elements * 4, TIDE_COPY_TO_HOST, 0,
 *                    error);
 *   tide_device_synchronize(device, error); */
#ifndef TIDE_MODEL_LAYERS_TRANSFORMER_H
#define TIDE_MODEL_LAYERS_TRANSFORMER_H

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

typedef struct tide_transformer tide_transformer;

typedef struct tide_transformer_config {
    tide_model_config model;  /* with batch and context */
    tide_precision precision; /* one that the device computes */
    tide_attention attention; /* of every block */
    tide_recompute recompute; /* of every block */
    bool keep_for_backward; /* true: forward keeps what backward needs; false: it keeps nothing, and
                               only forward and end_step may be called */
    double clip_grad_norm;  /* largest L2 norm of all gradients together; 0: no clipping */
    uint64_t seed;          /* of tide_transformer_fill */
    tide_adamw_settings adamw; /* constants of the optimizer */
    tide_stream stream;        /* of the device; all work is submitted to it; 0: the default
                                  stream */
    bool is_captured;          /* a step will be captured (tide_optimizer's is_capturable) */
} tide_transformer_config;

/* size small, fp32, flash, no recompute, kept for backward, no clipping, seed 0, AdamW's defaults.
 */
void tide_transformer_config_init(tide_transformer_config *config);

/* Checks the configuration, opens the operators of the cache's device, allocates nothing on it.
 * `recorder` NULL: no scopes. Cache and recorder are borrowed and outlive the transformer. */
TIDE_NODISCARD tide_status tide_transformer_create(const tide_transformer_config *config,
                                                   tide_cache *cache, tide_recorder *recorder,
                                                   tide_transformer **ret_transformer,
                                                   tide_error *error);
/* Releases all it holds on the device. NULL is allowed. */
void tide_transformer_destroy(tide_transformer *transformer);

/* Allocates workspace, tokens, targets, RoPE table and parameters, in this order, and fills the
 * RoPE table. Call it once, before anything else. */
TIDE_NODISCARD tide_status tide_transformer_setup(tide_transformer *transformer, tide_error *error);
/* Fills parameters, tokens and targets from the seed. Without this call the caller copies them in.
 */
TIDE_NODISCARD tide_status tide_transformer_fill(tide_transformer *transformer, tide_error *error);

/* tokens -> logits; of a model without a head -> the output of ln_final. */
TIDE_NODISCARD tide_status tide_transformer_forward(tide_transformer *transformer,
                                                    tide_error *error);
/* logits, targets -> loss; overwrites the logits with their gradient, times the scale of the
 * loss. */
TIDE_NODISCARD tide_status tide_transformer_loss(tide_transformer *transformer, tide_error *error);
/* Gradients of all parameters, times the scale of the loss; the logits and all kept activations are
 * released meanwhile. */
TIDE_NODISCARD tide_status tide_transformer_backward(tide_transformer *transformer,
                                                     tide_error *error);
/* Divides the gradients by the scale of the loss, clips if configured, takes one AdamW step and
 * releases the gradients. */
TIDE_NODISCARD tide_status tide_transformer_optimize(tide_transformer *transformer,
                                                     tide_error *error);
/* Call it before each launch of a graph that contains a captured step. */
TIDE_NODISCARD tide_status tide_transformer_begin_replay(tide_transformer *transformer,
                                                         tide_error *error);
/* Releases the remaining tensors of the step: logits, kept activations, weight copies, gradients,
 * loss. */
TIDE_NODISCARD tide_status tide_transformer_end_step(tide_transformer *transformer,
                                                     tide_error *error);

/* Everything below is valid until the transformer is destroyed. */
tide_ops *tide_transformer_ops(const tide_transformer *transformer);
size_t tide_transformer_n_parameters(const tide_transformer *transformer);
/* Row i of the table (parameters.h): name, shape, value, gradient, optimizer state. NULL past the
 * last.
 */
const tide_parameter *tide_transformer_parameter(const tide_transformer *transformer, size_t i);
const tide_tensor *tide_transformer_tokens(const tide_transformer *transformer);  /* (B, T) int32 */
const tide_tensor *tide_transformer_targets(const tide_transformer *transformer); /* (B, T) int32 */
/* (R, V) of the activation type: logits after forward, their gradient after loss, not allocated
 * after backward. */
const tide_tensor *tide_transformer_logits(const tide_transformer *transformer);
/* (1) fp32, from loss to end_step. */
const tide_tensor *tide_transformer_loss_value(const tide_transformer *transformer);
/* Off if the precision needs no scale. end_step sets it for the next step. */
const tide_loss_scaler *tide_transformer_loss_scaler(const tide_transformer *transformer);

#ifdef __cplusplus
}
#endif

#endif
