/* eager.h - the memory of the same model run by PyTorch in eager mode: every allocation and release
 * that PyTorch makes for a step, in its order and with its sizes, through tidemark's cache.
 *
 * Nothing is computed: the device must be one that does not compute (virtual). The allocations
 * follow from three sources: the model's code (model.c), the allocations of an operator and the
 * tensors that autograd keeps (rules.c), and the backward walk of autograd's engine (engine.c).
 * docs/model/pytorch-forecast.md names the evidence and the differences.
 *
 * A step is forward, loss, backward, optimize, end_step, in that order; a step that ends at the
 * logits is forward, end_step. After a failed call, only tide_eager_destroy may be called; its
 * allocations stay alive until then. Not thread-safe. */
#ifndef TIDE_MODEL_EAGER_EAGER_H
#define TIDE_MODEL_EAGER_EAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "programs/wire/launch_list.h"
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
    tide_attention attention; /* naive: as in the assignment's code; flash:
                                 scaled_dot_product_attention instead */
    tide_recompute recompute; /* block: torch.utils.checkpoint around each block */
    bool keeps_graph; /* false: under no_grad, and only forward and end_step may be called */
} tide_eager_config;

/* Whether PyTorch's allocations in the precision are known. */
bool tide_eager_knows(tide_precision precision);

/* Checks the configuration; allocates nothing on the device. TIDE_UNSUPPORTED for an unknown
 * precision, and for a device that computes. `recorder` NULL: no scopes. Both are borrowed and must
 * outlive it. */
TIDE_NODISCARD tide_status tide_eager_create(const tide_eager_config *config, tide_cache *cache,
                                             tide_recorder *recorder, tide_eager **ret_eager,
                                             tide_error *error);
/* Releases all it holds on the device. NULL is allowed. */
void tide_eager_destroy(tide_eager *eager);

/* Logs PyTorch's launches to this list (launches.c); borrowed; NULL: no log. Only for naive
 * attention without recomputation, in fp32, TF32 and bf16-mixed. */
void tide_eager_log_to(tide_eager *eager, tide_launch_list *launches);

/* Parameters and the RoPE table in the order of the modules, then tokens and targets. Call it once,
 * before anything else. */
TIDE_NODISCARD tide_status tide_eager_setup(tide_eager *eager, tide_error *error);
/* Drops the gradients of the previous step (zero_grad), then tokens -> logits, or to the output of
 * ln_final of a model without a head, which counts as logits below. */
TIDE_NODISCARD tide_status tide_eager_forward(tide_eager *eager, tide_error *error);
TIDE_NODISCARD tide_status tide_eager_loss(tide_eager *eager, tide_error *error);
TIDE_NODISCARD tide_status tide_eager_backward(tide_eager *eager, tide_error *error);
/* One AdamW step, as in the assignment's loop; in fp16-mixed through the GradScaler, without
 * skipped steps. */
TIDE_NODISCARD tide_status tide_eager_optimize(tide_eager *eager, tide_error *error);
/* Logits and loss stay, as the variables of a training loop do, until the next ones replace them;
 * in a step that ends at the logits, logits and graph are released. */
TIDE_NODISCARD tide_status tide_eager_end_step(tide_eager *eager, tide_error *error);

/* A lower bound of the requested bytes at the peak of n_steps steps of a mode, without workspaces:
 * parameters with all gradients and the optimizer state, or with the tensors that forward keeps.
 * The config must have passed the model's check. */
uint64_t tide_eager_least_bytes(const tide_eager_config *config, tide_mode mode, size_t n_steps);

/* The two figures that tests compare with docs/model/pytorch-forecast.md and with peaks measured
 * under PyTorch: the live requested bytes that forward and loss made and backward needs, including
 * the logits; and the most requested bytes ever alive. */
uint64_t tide_eager_kept_bytes(const tide_eager *eager);
uint64_t tide_eager_peak_bytes(const tide_eager *eager);

#ifdef __cplusplus
}
#endif

#endif
