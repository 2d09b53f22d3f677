/* eager.h - the memory of the same model run by PyTorch, eager: every allocation and release that
 * PyTorch makes for a step, in its order and with its sizes, through tidemark's cache.
 *
 * Nothing is computed: the device must be one that does not compute (virtual). What is emitted
 * follows from three sources: the model's code (model.c), what an operator allocates and what
 * autograd keeps of it (rules.c), and how autograd's engine walks back (engine.c).
 * docs/pytorch-forecast.md names the evidence and the differences.
 *
 * A step is forward, loss, backward, optimize, end_step, in that order; a step that ends at the
 * logits is forward, end_step. After a call that failed only tide_eager_destroy may be called; its
 * allocations stay alive until then. Not thread-safe. */
#ifndef TIDE_MODEL_EAGER_EAGER_H
#define TIDE_MODEL_EAGER_EAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/launch_list.h"
#include "common/status.h"
#include "model/config.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_eager tide_eager;

typedef struct tide_eager_config {
    tide_model_config model;  /* with batch and context */
    tide_edition edition;     /* of the assignment's code */
    tide_precision precision; /* fp32, tf32 (the same bytes), bf16-mixed: autocast around forward
                                 and loss, or fp16-mixed: with a GradScaler as well */
    tide_attention attention; /* naive: as the assignment's code has it; flash:
                                 scaled_dot_product_attention in its place */
    tide_recompute recompute; /* block: torch.utils.checkpoint around each block */
    bool keeps_graph; /* false: under no_grad, and only forward and end_step may be called */
} tide_eager_config;

/* Whether it is known what PyTorch allocates in the precision. */
bool tide_eager_knows(tide_precision precision);

/* Checks the configuration; allocates nothing on the device. TIDE_UNSUPPORTED: a precision that is
 * not known, and a device that computes. `recorder` NULL: no scopes. Both are borrowed and outlive
 * it. */
TIDE_NODISCARD tide_status tide_eager_create(const tide_eager_config *config, tide_cache *cache,
                                             tide_recorder *recorder, tide_eager **ret_eager,
                                             tide_error *error);
/* Releases all it holds on the device. NULL is allowed. */
void tide_eager_destroy(tide_eager *eager);

/* Where what PyTorch launches is written (launches.c); borrowed; NULL: nowhere. Only for naive
 * attention without recomputation, in fp32, TF32 and bf16-mixed. */
void tide_eager_log_to(tide_eager *eager, tide_launch_list *launches);

/* Parameters and the RoPE table in the order of the modules, then tokens and targets. Call it once,
 * before anything else. */
TIDE_NODISCARD tide_status tide_eager_setup(tide_eager *eager, tide_error *error);
/* Drops the gradients of the step before (zero_grad), then tokens -> logits, or to the output of
 * ln_final of a model without a head, which counts as logits below. */
TIDE_NODISCARD tide_status tide_eager_forward(tide_eager *eager, tide_error *error);
TIDE_NODISCARD tide_status tide_eager_loss(tide_eager *eager, tide_error *error);
TIDE_NODISCARD tide_status tide_eager_backward(tide_eager *eager, tide_error *error);
/* One AdamW step as the assignment's loop takes it; in fp16-mixed through the GradScaler, and no
 * step is skipped. */
TIDE_NODISCARD tide_status tide_eager_optimize(tide_eager *eager, tide_error *error);
/* Logits and loss stay, as the variables of a training loop do, until the next ones take their
 * place; of a step that ends at the logits, logits and graph go. */
TIDE_NODISCARD tide_status tide_eager_end_step(tide_eager *eager, tide_error *error);

/* A lower bound of what n_steps steps of a mode request at their peak, without workspaces:
 * parameters with all gradients and the optimizer state, or with what forward keeps. The config
 * must have passed the model's check. */
uint64_t tide_eager_least_bytes(const tide_eager_config *config, tide_mode mode, size_t n_steps);

/* The two figures that tests compare with docs/pytorch-forecast.md and with peaks measured under
 * PyTorch: requested bytes alive now that forward and loss made and backward needs, the logits
 * included; and the most requested bytes that were ever alive. */
uint64_t tide_eager_kept_bytes(const tide_eager *eager);
uint64_t tide_eager_peak_bytes(const tide_eager *eager);

#ifdef __cplusplus
}
#endif

#endif
