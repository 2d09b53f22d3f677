/* transformer_internal.h - the transformer's state, and the pieces of its forward and backward. */
#ifndef TIDE_MODEL_LAYERS_TRANSFORMER_INTERNAL_H
#define TIDE_MODEL_LAYERS_TRANSFORMER_INTERNAL_H

#include "model/layers/activations.h"
#include "model/layers/copies_ahead.h"
#include "model/layers/linear.h"
#include "model/optimizer/optimizer.h"
#include "model/layers/transformer.h"

struct tide_transformer {
    tide_transformer_config config; /* as given */
    tide_cache *cache;              /* borrowed; outlives the transformer */
    tide_recorder *recorder;        /* borrowed; NULL: no scopes */
    tide_ops *ops;                  /* owned */
    size_t R;                       /* rows: B * T */
    tide_dtype parameter_type;      /* of parameters, gradients and optimizer state */
    bool copies_weights;            /* bf16-mixed, fp16-mixed: GEMMs read copies of them */
    tide_parameter *parameters;     /* owned; n_parameters rows, each with its tensors */
    size_t n_parameters;            /* 9 L + 3, or 9 L + 2 without a head */
    tide_linears linears;           /* borrows the parameters */
    tide_copies_ahead copies;       /* of the next layer's weights, if backward keeps them */
    tide_optimizer optimizer;       /* the same */
    tide_activations activations;   /* the tensors of a step */
    tide_tensor workspace;          /* owned; the GEMM library's; not allocated if it needs none */
    tide_tensor tokens;             /* owned; (B, T) int32 */
    tide_tensor targets;            /* owned; (B, T) int32 */
    tide_tensor rope;               /* owned; (2, T, D / 2) fp32 */
};

/* The tensors that a block's forward keeps. */
typedef enum tide_block_keep {
    TIDE_BLOCK_KEEP_INPUT = 0, /* its input and its output, or with keep_for_backward off only its
                                  output */
    TIDE_BLOCK_KEEP_ALL,       /* all that its backward reads, and its output */
    TIDE_BLOCK_RECOMPUTE /* all that its backward reads; the output is not made a second time */
} tide_block_keep;

/* The array of a slot; data is NULL while it is not allocated. */
static inline tide_array tide_slot_array(const tide_transformer *t, tide_slot slot, size_t layer) {
    return tide_activation(&t->activations, slot, layer)->array;
}

/* Where the residual stream enters block `layer`: the embedding or the block before. */
static inline tide_slot tide_input_slot(size_t layer) {
    return layer == 0 ? TIDE_SLOT_EMBEDDED : TIDE_SLOT_OUT;
}

/* The layer of that slot. Block 0's input is a slot of the model, for which any layer is valid. */
static inline size_t tide_input_layer(size_t layer) {
    return layer == 0 ? 0 : layer - 1;
}

/* The NVTX range around the attention, inside the scope "attention". */
#define TIDE_ATTENTION_RANGE "scaled dot product attention"

static inline tide_scope tide_operator_begin(tide_transformer *t, const char *name) {
    return tide_scope_begin(t->recorder, TIDE_SCOPE_OPERATOR, name, -1);
}

/* norm.c: RMSNorm of the residual stream, forward and backward. */
typedef struct tide_norm_slots {
    const char *scope;       /* operator's name */
    size_t parameter;        /* index of its weight */
    size_t layer;            /* of the slots below, x excepted */
    tide_slot x;             /* input, of the residual stream */
    size_t x_layer;          /* of x */
    tide_slot out, rstd;     /* made by forward */
    tide_slot dout, scratch; /* of backward */
} tide_norm_slots;

/* Allocates out, and rstd if wanted. */
TIDE_NODISCARD tide_status tide_norm_forward(tide_transformer *t, const tide_norm_slots *slots,
                                             bool wants_rstd, tide_error *error);
/* Adds to the gradient of the residual stream (`accumulate` false: allocates and sets it) and
 * computes the weight's gradient. Then releases dout, x and rstd, because this is their last use.
 */
TIDE_NODISCARD tide_status tide_norm_backward(tide_transformer *t, const tide_norm_slots *slots,
                                              bool accumulate, tide_error *error);
tide_norm_slots tide_ln1_slots(size_t layer);
tide_norm_slots tide_ln2_slots(size_t layer);
tide_norm_slots tide_ln_final_slots(const tide_transformer *t);

/* block_forward.c, block_backward.c */
TIDE_NODISCARD tide_status tide_block_forward(tide_transformer *t, size_t layer,
                                              tide_block_keep keep, tide_error *error);
/* RoPE of q or k in place; `inverse` for their gradients. */
TIDE_NODISCARD tide_status tide_block_rotate(tide_transformer *t, size_t layer, tide_slot slot,
                                             bool inverse, tide_error *error);
/* Needs everything that the block's forward kept. The gradient of the residual stream is that of
 * the block's output before the call and that of its input after it. */
TIDE_NODISCARD tide_status tide_block_backward(tide_transformer *t, size_t layer,
                                               tide_error *error);

#endif
