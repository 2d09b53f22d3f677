#include "model/layers/activations.h"

#include <stdio.h>

#include "model/ops.h"
#include "model/precision.h"

typedef enum array_shape {
    SHAPE_RC = 0,
    SHAPE_RF,
    SHAPE_RV,
    SHAPE_R,
    SHAPE_BHT,
    SHAPE_BHTT,
    SHAPE_ONE,
    SHAPE_NORM_SCRATCH,     /* tide_ops_rmsnorm_scratch_elements */
    SHAPE_ATTENTION_SCRATCH /* tide_ops_attention_scratch_elements, flash */
} array_shape;

typedef enum array_type {
    TYPE_ACTIVATION = 0, /* tide_activations.activation_type */
    TYPE_RESIDUAL,       /* tide_activations.residual_type */
    TYPE_FP32
} array_type;

typedef struct description {
    const char *name;       /* of the tensor; a layer's follows "layers.N." */
    array_shape shape;      /* elements */
    array_type type;        /* of an element; depends on the precision */
    tide_category category; /* of the tensor's events */
    bool names_type;        /* the name ends in the type: "residual.grad.bf16" */
} description;

static const description TABLE[TIDE_N_SLOTS] = {
    [TIDE_SLOT_NORM1] = {"ln1", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_RSTD1] = {"ln1.rstd", SHAPE_R, TYPE_FP32, TIDE_ACTIVATION},
    [TIDE_SLOT_Q] = {"attn.q", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_K] = {"attn.k", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_V] = {"attn.v", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_ATTENTION] = {"attn.out", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_LSE] = {"attn.lse", SHAPE_BHT, TYPE_FP32, TIDE_ACTIVATION},
    [TIDE_SLOT_PROBS] = {"attn.probs", SHAPE_BHTT, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_MID] = {"mid", SHAPE_RC, TYPE_RESIDUAL, TIDE_ACTIVATION},
    [TIDE_SLOT_NORM2] = {"ln2", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_RSTD2] = {"ln2.rstd", SHAPE_R, TYPE_FP32, TIDE_ACTIVATION},
    [TIDE_SLOT_GATE] = {"ffn.gate", SHAPE_RF, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_UP] = {"ffn.up", SHAPE_RF, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_PRODUCT] = {"ffn.product", SHAPE_RF, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_OUT] = {"out", SHAPE_RC, TYPE_RESIDUAL, TIDE_ACTIVATION},
    [TIDE_SLOT_D_PRODUCT] = {"ffn.product.grad", SHAPE_RF, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_GATE] = {"ffn.gate.grad", SHAPE_RF, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_UP] = {"ffn.up.grad", SHAPE_RF, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_NORM2] = {"ln2.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_LN2_SCRATCH] = {"ln2.scratch", SHAPE_NORM_SCRATCH, TYPE_FP32, TIDE_TEMPORARY},
    [TIDE_SLOT_D_ATTENTION] = {"attn.out.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_ATTENTION_SCRATCH] = {"attn.scratch", SHAPE_ATTENTION_SCRATCH, TYPE_FP32,
                                     TIDE_TEMPORARY},
    [TIDE_SLOT_D_PROBS] = {"attn.probs.grad", SHAPE_BHTT, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_Q] = {"attn.q.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_K] = {"attn.k.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_V] = {"attn.v.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_D_NORM1] = {"ln1.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_LN1_SCRATCH] = {"ln1.scratch", SHAPE_NORM_SCRATCH, TYPE_FP32, TIDE_TEMPORARY},
    [TIDE_SLOT_EMBEDDED] = {"embedded", SHAPE_RC, TYPE_RESIDUAL, TIDE_ACTIVATION},
    [TIDE_SLOT_NORM_FINAL] = {"ln_final", SHAPE_RC, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_RSTD_FINAL] = {"ln_final.rstd", SHAPE_R, TYPE_FP32, TIDE_ACTIVATION},
    [TIDE_SLOT_LOGITS] = {"logits", SHAPE_RV, TYPE_ACTIVATION, TIDE_ACTIVATION},
    [TIDE_SLOT_ROW_LOSSES] = {"row_losses", SHAPE_R, TYPE_FP32, TIDE_ACTIVATION},
    [TIDE_SLOT_LOSS] = {"loss", SHAPE_ONE, TYPE_FP32, TIDE_ACTIVATION},
    [TIDE_SLOT_D_NORM_FINAL] = {"ln_final.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY},
    [TIDE_SLOT_LN_FINAL_SCRATCH] = {"ln_final.scratch", SHAPE_NORM_SCRATCH, TYPE_FP32,
                                    TIDE_TEMPORARY},
    [TIDE_SLOT_D_RESIDUAL] = {"residual.grad", SHAPE_RC, TYPE_RESIDUAL, TIDE_TEMPORARY},
    [TIDE_SLOT_D_RESIDUAL_COPY] = {"residual.grad", SHAPE_RC, TYPE_ACTIVATION, TIDE_TEMPORARY,
                                   .names_type = true},
};

static size_t n_elements_of(const tide_model_config *model, array_shape shape) {
    size_t B = model->batch_size;
    size_t T = model->context_length;
    size_t H = model->n_heads;
    size_t C = model->d_model;
    size_t R = B * T;
    switch (shape) {
    case SHAPE_RC:
        return R * C;
    case SHAPE_RF:
        return R * model->d_ff;
    case SHAPE_RV:
        return R * model->vocab_size;
    case SHAPE_R:
        return R;
    case SHAPE_BHT:
        return B * H * T;
    case SHAPE_BHTT:
        return B * H * T * T;
    case SHAPE_ONE:
        return 1;
    case SHAPE_NORM_SCRATCH:
        return tide_ops_rmsnorm_scratch_elements(R, C);
    case SHAPE_ATTENTION_SCRATCH:
        return tide_ops_attention_scratch_elements(TIDE_ATTENTION_FLASH, B, T, H);
    }
    return 0;
}

static tide_dtype dtype_of(const tide_activations *activations, array_type type) {
    switch (type) {
    case TYPE_ACTIVATION:
        return activations->activation_type;
    case TYPE_RESIDUAL:
        return activations->residual_type;
    case TYPE_FP32:
        return TIDE_FP32;
    }
    return TIDE_FP32;
}

static size_t n_tensors(const tide_model_config *model) {
    return model->n_layers * TIDE_SLOT_LAYER_SLOTS + (TIDE_N_SLOTS - TIDE_SLOT_LAYER_SLOTS);
}

tide_status tide_activations_init(tide_activations *activations, const tide_model_config *model,
                                  tide_precision precision, tide_cache *cache, tide_error *error) {
    const tide_hostmem *mem = tide_cache_get_config(cache)->mem;
    tide_tensor *tensors = tide_hostmem_zeroed(mem, n_tensors(model), sizeof(*tensors));
    char(*names)[TIDE_ACTIVATION_NAME] = tide_hostmem_zeroed(mem, n_tensors(model), sizeof(*names));
    if (tensors == NULL || names == NULL) {
        mem->release(mem->ctx, names);
        mem->release(mem->ctx, tensors);
        return tide_fail(error, TIDE_NO_MEMORY,
                         "the host has no memory left for a table of activations");
    }
    *activations = (tide_activations){
        .mem = mem,
        .cache = cache,
        .model = *model,
        .activation_type = tide_precision_activation_type(precision),
        .residual_type = tide_precision_parameter_type(precision),
        .names = names,
        .tensors = tensors,
    };
    return TIDE_OK;
}

void tide_activations_fini(tide_activations *activations) {
    if (activations->tensors == NULL) {
        return;
    }
    for (size_t i = 0; i < n_tensors(&activations->model); i++) {
        tide_tensor_drop(activations->cache, &activations->tensors[i]);
    }
    activations->mem->release(activations->mem->ctx, activations->names);
    activations->mem->release(activations->mem->ctx, activations->tensors);
    activations->names = NULL;
    activations->tensors = NULL;
}

/* The index of the slot's tensor and name. */
static size_t index_of(const tide_activations *activations, tide_slot slot, size_t layer) {
    size_t row = slot < TIDE_SLOT_LAYER_SLOTS ? layer : activations->model.n_layers;
    size_t column = slot < TIDE_SLOT_LAYER_SLOTS ? (size_t)slot : slot - TIDE_SLOT_LAYER_SLOTS;
    return row * TIDE_SLOT_LAYER_SLOTS + column;
}

tide_tensor *tide_activation(const tide_activations *activations, tide_slot slot, size_t layer) {
    return &activations->tensors[index_of(activations, slot, layer)];
}

/* Formatting the names again in every step took more host time than its allocations. */
static const char *name_of(const tide_activations *activations, tide_slot slot, size_t layer) {
    const description *row = &TABLE[slot];
    char *name = activations->names[index_of(activations, slot, layer)];
    if (name[0] != '\0') {
        return name;
    }
    if (slot < TIDE_SLOT_LAYER_SLOTS) {
        (void)snprintf(name, TIDE_ACTIVATION_NAME, "layers.%zu.%s", layer, row->name);
    } else {
        (void)snprintf(name, TIDE_ACTIVATION_NAME, "%s%s%s", row->name, row->names_type ? "." : "",
                       row->names_type ? tide_dtype_name(dtype_of(activations, row->type)) : "");
    }
    return name;
}

tide_status tide_activation_alloc(tide_activations *activations, tide_slot slot, size_t layer,
                                  tide_error *error) {
    const description *row = &TABLE[slot];
    return tide_tensor_alloc(activations->cache, tide_activation(activations, slot, layer),
                             n_elements_of(&activations->model, row->shape),
                             dtype_of(activations, row->type), row->category,
                             name_of(activations, slot, layer), error);
}

tide_status tide_activation_release(tide_activations *activations, tide_slot slot, size_t layer,
                                    tide_error *error) {
    return tide_tensor_release(activations->cache, tide_activation(activations, slot, layer),
                               error);
}

tide_status tide_activations_release_all(tide_activations *activations, tide_error *error) {
    for (size_t i = n_tensors(&activations->model); i > 0; i--) {
        TIDE_TRY(tide_tensor_release(activations->cache, &activations->tensors[i - 1], error));
    }
    return TIDE_OK;
}
