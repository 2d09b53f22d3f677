/* optimizer.h - the scale of the loss, gradient clipping and AdamW over a table of parameters, and
 * the memory for them. */
#ifndef TIDE_MODEL_OPTIMIZER_OPTIMIZER_H
#define TIDE_MODEL_OPTIMIZER_OPTIMIZER_H

#include <stddef.h>

#include "allocator/cache.h"
#include "common/status.h"
#include "model/optimizer/loss_scaler.h"
#include "model/ops.h"
#include "model/layers/parameters.h"
#include "model/tensor.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_optimizer {
    tide_cache *cache;          /* borrowed; outlives the optimizer */
    tide_recorder *recorder;    /* borrowed; NULL: no scopes */
    tide_ops *ops;              /* borrowed; outlives the optimizer */
    tide_adamw_settings adamw;  /* the constants of its formula */
    tide_loss_scaler scaler;    /* of the loss; if it is on, steps can be skipped */
    int64_t n_steps;            /* steps taken so far, without skipped ones */
    bool is_capturable;         /* its step may be captured: the size of the step is read from the
                                   device, as with PyTorch's AdamW(capturable=True) */
    double clip_grad_norm;      /* largest L2 norm of all gradients together; 0: no clipping */
    tide_parameter *parameters; /* borrowed; gradient and state of each are released here and in
                                   their owner's destructor */
    size_t n_parameters;        /* 9 L + 3 */
    tide_parameter_arrays *arrays; /* owned; one per parameter, filled again in each step */
    tide_tensor norm_scratch;      /* owned; allocated only during clipping */
    tide_tensor norm;              /* owned; (1) fp32, likewise */
    tide_tensor step_size; /* owned; (1) fp32; of a capturable one, from the first step on */
    float next_step_size;  /* the value being copied there */
    tide_tensor found_inf; /* owned; (1) fp32: this step is skipped; allocated from the
                              optimizer to the end of a step whose loss is scaled */
} tide_optimizer;

/* cache, recorder, ops, adamw, is_capturable, clip_grad_norm, scaler, parameters and n_parameters
 * are set by the caller; n_steps starts at 0; allocates nothing on the device. TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_optimizer_init(tide_optimizer *optimizer, tide_error *error);
void tide_optimizer_fini(tide_optimizer *optimizer);

/* Scopes "unscale" (if the loss is scaled), "clip" (if requested) and "adamw". Every gradient must
 * be allocated. The first call allocates the optimizer state and fills it with zeros, so the first
 * step peaks lower than the later ones. Gradients stay allocated. */
TIDE_NODISCARD tide_status tide_optimizer_step(tide_optimizer *optimizer, tide_error *error);
/* Call it before the launch of a graph that contains a captured step: counts the step and writes
 * its size to the graph's input, in the order of the operators' stream. */
TIDE_NODISCARD tide_status tide_optimizer_begin_replay(tide_optimizer *optimizer,
                                                       tide_error *error);
/* Call it after the last operator of a step: waits for the device to learn whether the step was
 * skipped, and sets the scale of the next one. A device that does not compute skips no steps. Does
 * nothing if the loss is not scaled or there was no optimizer step. */
TIDE_NODISCARD tide_status tide_optimizer_end_step(tide_optimizer *optimizer, tide_error *error);
/* Releases every gradient that is allocated, in the table's order. */
TIDE_NODISCARD tide_status tide_optimizer_release_gradients(tide_optimizer *optimizer,
                                                            tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
