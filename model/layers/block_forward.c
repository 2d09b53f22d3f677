/* block_forward.c - one block forward: x + attention(ln1(x)), then that + ffn(ln2(that)).
 *
 * Every tensor is released at its last use; tide_block_keep decides what the block keeps. */
#include "model/layers/transformer_internal.h"

/* Where a branch joins the residual stream. */
typedef struct branch_end {
    tide_slot out;         /* the stream after the branch */
    tide_slot x;           /* the input of the branch's last layer */
    tide_slot residual;    /* the stream before the branch */
    size_t residual_layer; /* of that slot */
} branch_end;

/* out (R, n_out) = x W^T; allocates the slot of `out`. */
static tide_status project(tide_transformer *t, size_t l, tide_layer_parameter which, tide_slot out,
                           tide_slot x, tide_error *error) {
    TIDE_TRY(tide_activation_alloc(&t->activations, out, l, error));
    return tide_linear_forward(&t->linears, tide_parameter_of_layer(l, which),
                               tide_slot_array(t, out, l), tide_slot_array(t, x, l),
                               (tide_array){.data = NULL}, error);
}

/* out (R, C) = residual (R, C) + x W^T, the end of a branch; allocates the slot of `out`. Both ends
 * of the residual stream have the same type, also fp32 in bf16-mixed and fp16-mixed, so the fp32
 * sum of the product is never rounded to a narrow type separately; in bf16-true the new stream is
 * rounded once. */
static tide_status project_onto(tide_transformer *t, size_t l, tide_layer_parameter which,
                                const branch_end *end, tide_error *error) {
    TIDE_TRY(tide_activation_alloc(&t->activations, end->out, l, error));
    return tide_linear_forward(&t->linears, tide_parameter_of_layer(l, which),
                               tide_slot_array(t, end->out, l), tide_slot_array(t, end->x, l),
                               tide_slot_array(t, end->residual, end->residual_layer), error);
}

tide_status tide_block_rotate(tide_transformer *t, size_t l, tide_slot slot, bool inverse,
                              tide_error *error) {
    const tide_model_config *model = &t->config.model;
    const tide_rope call = {
        .x = tide_slot_array(t, slot, l),
        .table = t->rope.array.data,
        .B = model->batch_size,
        .T = model->context_length,
        .H = model->n_heads,
        .D = model->d_model / model->n_heads,
        .inverse = inverse,
    };
    return t->ops->table->rope(t->ops, &call, error);
}

/* Flash attention is one scope; naive attention opens one for each part (tide_attention_part). */
static tide_status run_kind(tide_transformer *t, const tide_attention_forward *call,
                            tide_error *error) {
    if (call->kind != TIDE_ATTENTION_FLASH) {
        return t->ops->table->attention_forward(t->ops, call, error);
    }
    tide_scope scope = tide_operator_begin(t, "flash");
    TIDE_TRY(t->ops->table->attention_forward(t->ops, call, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

/* A range of its own separates the attention from the projections around it, for tools. */
static tide_status run_attention(tide_transformer *t, const tide_attention_forward *call,
                                 tide_error *error) {
    tide_range_begin(TIDE_ATTENTION_RANGE);
    tide_status status = run_kind(t, call, error);
    tide_range_end();
    return status;
}

/* softmax(q k^T / sqrt(D)) v, causal, from rotated q and k. */
static tide_status attend(tide_transformer *t, size_t l, bool keeps, tide_error *error) {
    const tide_model_config *model = &t->config.model;
    bool flash = t->config.attention == TIDE_ATTENTION_FLASH;
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_ATTENTION, l, error));
    if (flash && keeps) {
        TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_LSE, l, error));
    }
    if (!flash) {
        TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_PROBS, l, error));
    }
    const tide_attention_forward call = {
        .kind = t->config.attention,
        .out = tide_slot_array(t, TIDE_SLOT_ATTENTION, l),
        .q = tide_slot_array(t, TIDE_SLOT_Q, l),
        .k = tide_slot_array(t, TIDE_SLOT_K, l),
        .v = tide_slot_array(t, TIDE_SLOT_V, l),
        .lse = tide_slot_array(t, TIDE_SLOT_LSE, l).data,
        .probs = tide_slot_array(t, TIDE_SLOT_PROBS, l),
        .B = model->batch_size,
        .T = model->context_length,
        .H = model->n_heads,
        .D = model->d_model / model->n_heads,
    };
    return run_attention(t, &call, error);
}

/* mid = x + attention(ln1). Without `keeps` everything but mid is released; x is released too when
 * the whole run keeps nothing. */
static tide_status attention_forward(tide_transformer *t, size_t l, bool keeps, tide_error *error) {
    tide_slot x = tide_input_slot(l);
    size_t x_layer = tide_input_layer(l);
    tide_scope scope = tide_operator_begin(t, "attention");
    TIDE_TRY(project(t, l, TIDE_Q_PROJ, TIDE_SLOT_Q, TIDE_SLOT_NORM1, error));
    TIDE_TRY(project(t, l, TIDE_K_PROJ, TIDE_SLOT_K, TIDE_SLOT_NORM1, error));
    TIDE_TRY(project(t, l, TIDE_V_PROJ, TIDE_SLOT_V, TIDE_SLOT_NORM1, error));
    if (!keeps) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_NORM1, l, error));
    }
    TIDE_TRY(tide_block_rotate(t, l, TIDE_SLOT_Q, false, error));
    TIDE_TRY(tide_block_rotate(t, l, TIDE_SLOT_K, false, error));
    TIDE_TRY(attend(t, l, keeps, error));
    if (!keeps) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_Q, l, error));
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_K, l, error));
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_V, l, error));
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_PROBS, l, error));
    }
    const branch_end end = {TIDE_SLOT_MID, TIDE_SLOT_ATTENTION, x, x_layer};
    TIDE_TRY(project_onto(t, l, TIDE_OUTPUT_PROJ, &end, error));
    if (!keeps) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_ATTENTION, l, error));
    }
    if (!t->config.keep_for_backward) {
        TIDE_TRY(tide_activation_release(&t->activations, x, x_layer, error));
    }
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

/* out = mid + ffn_product W2^T. */
static tide_status ffn_down(tide_transformer *t, size_t l, bool keeps, tide_error *error) {
    const branch_end end = {TIDE_SLOT_OUT, TIDE_SLOT_PRODUCT, TIDE_SLOT_MID, l};
    TIDE_TRY(project_onto(t, l, TIDE_W2, &end, error));
    if (!keeps) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_PRODUCT, l, error));
    }
    return keeps ? TIDE_OK : tide_activation_release(&t->activations, TIDE_SLOT_MID, l, error);
}

/* out = mid + (silu(ln2 W1^T) * (ln2 W3^T)) W2^T; recompute stops at the product, because backward
 * does not read the output. */
static tide_status ffn_forward(tide_transformer *t, size_t l, tide_block_keep keep,
                               tide_error *error) {
    bool keeps = keep != TIDE_BLOCK_KEEP_INPUT;
    tide_scope scope = tide_operator_begin(t, "ffn");
    TIDE_TRY(project(t, l, TIDE_W1, TIDE_SLOT_GATE, TIDE_SLOT_NORM2, error));
    TIDE_TRY(project(t, l, TIDE_W3, TIDE_SLOT_UP, TIDE_SLOT_NORM2, error));
    if (!keeps) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_NORM2, l, error));
    }
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_PRODUCT, l, error));
    const tide_swiglu_forward call = {
        .out = tide_slot_array(t, TIDE_SLOT_PRODUCT, l),
        .gate = tide_slot_array(t, TIDE_SLOT_GATE, l),
        .up = tide_slot_array(t, TIDE_SLOT_UP, l),
        .n = t->R * t->config.model.d_ff,
    };
    TIDE_TRY(t->ops->table->swiglu_forward(t->ops, &call, error));
    if (!keeps) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_GATE, l, error));
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_UP, l, error));
    }
    if (keep != TIDE_BLOCK_RECOMPUTE) {
        TIDE_TRY(ffn_down(t, l, keeps, error));
    }
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

tide_status tide_block_forward(tide_transformer *t, size_t layer, tide_block_keep keep,
                               tide_error *error) {
    bool keeps = keep != TIDE_BLOCK_KEEP_INPUT;
    const tide_norm_slots ln1 = tide_ln1_slots(layer);
    const tide_norm_slots ln2 = tide_ln2_slots(layer);
    TIDE_TRY(tide_norm_forward(t, &ln1, keeps, error));
    TIDE_TRY(attention_forward(t, layer, keeps, error));
    TIDE_TRY(tide_norm_forward(t, &ln2, keeps, error));
    return ffn_forward(t, layer, keep, error);
}
