/* activations.h - the one table of everything a step allocates besides parameters, gradients and
 * optimizer state: name, shape, type, category; and where the tensors are kept.
 *
 * Each slot is one tensor, of a layer or of the whole model, with one purpose.
 * docs/model/memory-model.md has the times of allocation and release. */
#ifndef TIDE_MODEL_LAYERS_ACTIVATIONS_H
#define TIDE_MODEL_LAYERS_ACTIVATIONS_H

#include <stddef.h>

#include "allocator/cache.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "model/config.h"
#include "model/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_slot {
    /* Of a layer; forward. */
    TIDE_SLOT_NORM1 = 0, /* (R, C) */
    TIDE_SLOT_RSTD1,     /* (R) */
    TIDE_SLOT_Q,         /* (B, T, H, D), rotated in place by RoPE */
    TIDE_SLOT_K,
    TIDE_SLOT_V,
    TIDE_SLOT_ATTENTION, /* (R, C) */
    TIDE_SLOT_LSE,       /* (B, H, T); flash */
    TIDE_SLOT_PROBS,     /* (B, H, T, T); naive */
    TIDE_SLOT_MID,       /* (R, C) residual stream after attention */
    TIDE_SLOT_NORM2,     /* (R, C) */
    TIDE_SLOT_RSTD2,     /* (R) */
    TIDE_SLOT_GATE,      /* (R, F) */
    TIDE_SLOT_UP,        /* (R, F) */
    TIDE_SLOT_PRODUCT,   /* (R, F) */
    TIDE_SLOT_OUT,       /* (R, C) residual stream after the FFN: the next block's input */
    /* Of a layer; backward. */
    TIDE_SLOT_D_PRODUCT,
    TIDE_SLOT_D_GATE,
    TIDE_SLOT_D_UP,
    TIDE_SLOT_D_NORM2,
    TIDE_SLOT_LN2_SCRATCH,
    TIDE_SLOT_D_ATTENTION,
    TIDE_SLOT_ATTENTION_SCRATCH, /* flash */
    TIDE_SLOT_D_PROBS,           /* (B, H, T, T); naive */
    TIDE_SLOT_D_Q,
    TIDE_SLOT_D_K,
    TIDE_SLOT_D_V,
    TIDE_SLOT_D_NORM1,
    TIDE_SLOT_LN1_SCRATCH,
    TIDE_SLOT_LAYER_SLOTS, /* number of the slots above */
    /* Of the model. */
    TIDE_SLOT_EMBEDDED = TIDE_SLOT_LAYER_SLOTS, /* (R, C) residual stream: block 0's input */
    TIDE_SLOT_NORM_FINAL,                       /* (R, C) */
    TIDE_SLOT_RSTD_FINAL,                       /* (R) */
    TIDE_SLOT_LOGITS,                           /* (R, V): logits, then their gradient */
    TIDE_SLOT_ROW_LOSSES,                       /* (R) */
    TIDE_SLOT_LOSS,                             /* (1) */
    TIDE_SLOT_D_NORM_FINAL,
    TIDE_SLOT_LN_FINAL_SCRATCH,
    TIDE_SLOT_D_RESIDUAL,      /* (R, C) gradient of the residual stream, through all of backward */
    TIDE_SLOT_D_RESIDUAL_COPY, /* (R, C) its copy for GEMMs; bf16-mixed, fp16-mixed */
    TIDE_N_SLOTS
} tide_slot;

enum { TIDE_ACTIVATION_NAME = 64 }; /* room for the name of any tensor */

typedef struct tide_activations {
    const tide_hostmem *mem;    /* borrowed; outlives the activations */
    tide_cache *cache;          /* borrowed; outlives the activations */
    tide_model_config model;    /* determines the shapes */
    tide_dtype activation_type; /* of the tensors that operators read and write */
    tide_dtype residual_type;   /* of the residual stream and its gradient */
    /* The tensors' names, made at their first use: each keeps its address, by which the recorder
     * finds its number (recorder/names.c). Owned; as many as tensors, in their order. */
    char (*names)[TIDE_ACTIVATION_NAME];
    tide_tensor *tensors; /* owned: L rows of TIDE_SLOT_LAYER_SLOTS, then the model's; each owns its
                             block of the cache */
} tide_activations;

/* Nothing is allocated on the device. TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_activations_init(tide_activations *activations,
                                                 const tide_model_config *model,
                                                 tide_precision precision, tide_cache *cache,
                                                 tide_error *error);
/* Releases the tensors that are still allocated. */
void tide_activations_fini(tide_activations *activations);

/* The tensor of a slot. `layer` is ignored for a slot of the model. */
tide_tensor *tide_activation(const tide_activations *activations, tide_slot slot, size_t layer);

/* Allocates it with the name, type, category and size of the table. */
TIDE_NODISCARD tide_status tide_activation_alloc(tide_activations *activations, tide_slot slot,
                                                 size_t layer, tide_error *error);
/* Does nothing if it is not allocated. */
TIDE_NODISCARD tide_status tide_activation_release(tide_activations *activations, tide_slot slot,
                                                   size_t layer, tide_error *error);
/* Releases every allocated tensor: the model's first, then the layers' from last to first. */
TIDE_NODISCARD tide_status tide_activations_release_all(tide_activations *activations,
                                                        tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
