/* block_backward.c - one block backward, from the FFN to ln1.
 *
 * The gradient of the residual stream passes through the block in one tensor: both branches add
 * theirs to it (rmsnorm_backward accumulates). A weight's gradient is computed as soon as its two
 * operands exist, and each saved tensor is released before the next tensor is allocated wherever
 * the mathematics allow, because the order determines the peak. */
#include "model/layers/transformer_internal.h"

/* The operands of one step back through y = x W^T. */
typedef struct linear_step {
    tide_layer_parameter which; /* W, (n_out, n_in) */
    tide_array dout;            /* (R, n_out) */
    tide_array x;               /* (R, n_in) */
} linear_step;

static tide_status weight_gradient(tide_transformer *t, size_t l, const linear_step *step,
                                   tide_error *error) {
    return tide_linear_backward_weight(&t->linears, tide_parameter_of_layer(l, step->which),
                                       step->dout, step->x, error);
}

static tide_status input_gradient(tide_transformer *t, size_t l, const linear_step *step,
                                  tide_slot dx, bool accumulate, tide_error *error) {
    return tide_linear_backward_input(&t->linears, tide_parameter_of_layer(l, step->which),
                                      tide_slot_array(t, dx, l), step->dout, accumulate, error);
}

/* Sets `dout` to the residual stream's gradient in the form that GEMMs read. In bf16-mixed and
 * fp16-mixed that is a copy with two bytes per element, which is allocated here. */
static tide_status residual_operand(tide_transformer *t, tide_array *ret_dout, tide_error *error) {
    tide_array dout = tide_slot_array(t, TIDE_SLOT_D_RESIDUAL, 0);
    if (t->copies_weights) {
        TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_RESIDUAL_COPY, 0, error));
        tide_array copy = tide_slot_array(t, TIDE_SLOT_D_RESIDUAL_COPY, 0);
        TIDE_TRY(t->ops->table->cast(
            t->ops, &(tide_cast){.out = copy, .x = dout, .n = t->R * t->config.model.d_model},
            error));
        dout = copy;
    }
    *ret_dout = dout;
    return TIDE_OK;
}

/* Computes the gradient of W2, then that of the product. The product is released first, so the
 * cache can reuse its memory for the gradient. */
static tide_status ffn_down_backward(tide_transformer *t, size_t l, tide_error *error) {
    linear_step down = {TIDE_W2, {0}, tide_slot_array(t, TIDE_SLOT_PRODUCT, l)};
    TIDE_TRY(residual_operand(t, &down.dout, error));
    TIDE_TRY(weight_gradient(t, l, &down, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_PRODUCT, l, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_PRODUCT, l, error));
    TIDE_TRY(input_gradient(t, l, &down, TIDE_SLOT_D_PRODUCT, false, error));
    return tide_activation_release(&t->activations, TIDE_SLOT_D_RESIDUAL_COPY, 0, error);
}

static tide_status swiglu_backward(tide_transformer *t, size_t l, tide_error *error) {
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_GATE, l, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_UP, l, error));
    const tide_swiglu_backward call = {
        .dgate = tide_slot_array(t, TIDE_SLOT_D_GATE, l),
        .dup = tide_slot_array(t, TIDE_SLOT_D_UP, l),
        .dout = tide_slot_array(t, TIDE_SLOT_D_PRODUCT, l),
        .gate = tide_slot_array(t, TIDE_SLOT_GATE, l),
        .up = tide_slot_array(t, TIDE_SLOT_UP, l),
        .n = t->R * t->config.model.d_ff,
    };
    TIDE_TRY(t->ops->table->swiglu_backward(t->ops, &call, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_D_PRODUCT, l, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_GATE, l, error));
    return tide_activation_release(&t->activations, TIDE_SLOT_UP, l, error);
}

/* Gradients of W2, W1, W3 and of ln2's output. */
static tide_status ffn_backward(tide_transformer *t, size_t l, tide_error *error) {
    tide_scope scope = tide_operator_begin(t, "ffn");
    TIDE_TRY(ffn_down_backward(t, l, error));
    TIDE_TRY(swiglu_backward(t, l, error));
    tide_array norm = tide_slot_array(t, TIDE_SLOT_NORM2, l);
    const linear_step gate = {TIDE_W1, tide_slot_array(t, TIDE_SLOT_D_GATE, l), norm};
    const linear_step up = {TIDE_W3, tide_slot_array(t, TIDE_SLOT_D_UP, l), norm};
    TIDE_TRY(weight_gradient(t, l, &gate, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_NORM2, l, error));
    TIDE_TRY(input_gradient(t, l, &gate, TIDE_SLOT_D_NORM2, false, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_D_GATE, l, error));
    TIDE_TRY(weight_gradient(t, l, &up, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_NORM2, l, error));
    TIDE_TRY(input_gradient(t, l, &up, TIDE_SLOT_D_NORM2, true, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_D_UP, l, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

/* Output projection: gradients of its weight and of attention's output. Only flash attention reads
 * its output again in backward, so naive attention releases it here. */
static tide_status output_backward(tide_transformer *t, size_t l, tide_error *error) {
    linear_step output = {TIDE_OUTPUT_PROJ, {0}, tide_slot_array(t, TIDE_SLOT_ATTENTION, l)};
    TIDE_TRY(residual_operand(t, &output.dout, error));
    TIDE_TRY(weight_gradient(t, l, &output, error));
    if (t->config.attention == TIDE_ATTENTION_NAIVE) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_ATTENTION, l, error));
    }
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_ATTENTION, l, error));
    TIDE_TRY(input_gradient(t, l, &output, TIDE_SLOT_D_ATTENTION, false, error));
    return tide_activation_release(&t->activations, TIDE_SLOT_D_RESIDUAL_COPY, 0, error);
}

static tide_status alloc_attention_gradients(tide_transformer *t, size_t l, tide_error *error) {
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_Q, l, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_K, l, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_V, l, error));
    return tide_activation_alloc(&t->activations,
                                 t->config.attention == TIDE_ATTENTION_FLASH
                                     ? TIDE_SLOT_ATTENTION_SCRATCH
                                     : TIDE_SLOT_D_PROBS,
                                 l, error);
}

static tide_status release_attention(tide_transformer *t, size_t l, tide_error *error) {
    static const tide_slot LAST_USED[] = {TIDE_SLOT_ATTENTION_SCRATCH,
                                          TIDE_SLOT_D_PROBS,
                                          TIDE_SLOT_D_ATTENTION,
                                          TIDE_SLOT_ATTENTION,
                                          TIDE_SLOT_LSE,
                                          TIDE_SLOT_PROBS,
                                          TIDE_SLOT_Q,
                                          TIDE_SLOT_K,
                                          TIDE_SLOT_V};
    for (size_t i = 0; i < sizeof(LAST_USED) / sizeof(LAST_USED[0]); i++) {
        TIDE_TRY(tide_activation_release(&t->activations, LAST_USED[i], l, error));
    }
    return TIDE_OK;
}

/* The scopes and the range are those of forward. */
static tide_status run_kind(tide_transformer *t, const tide_attention_backward *call,
                            tide_error *error) {
    if (call->kind != TIDE_ATTENTION_FLASH) {
        return t->ops->table->attention_backward(t->ops, call, error);
    }
    tide_scope scope = tide_operator_begin(t, "flash");
    TIDE_TRY(t->ops->table->attention_backward(t->ops, call, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

static tide_status run_attention(tide_transformer *t, const tide_attention_backward *call,
                                 tide_error *error) {
    tide_range_begin(TIDE_ATTENTION_RANGE);
    tide_status status = run_kind(t, call, error);
    tide_range_end();
    return status;
}

/* Gradients of rotated q and k, and of v. */
static tide_status attend_backward(tide_transformer *t, size_t l, tide_error *error) {
    const tide_model_config *model = &t->config.model;
    TIDE_TRY(alloc_attention_gradients(t, l, error));
    const tide_attention_backward call = {
        .kind = t->config.attention,
        .dq = tide_slot_array(t, TIDE_SLOT_D_Q, l),
        .dk = tide_slot_array(t, TIDE_SLOT_D_K, l),
        .dv = tide_slot_array(t, TIDE_SLOT_D_V, l),
        .dout = tide_slot_array(t, TIDE_SLOT_D_ATTENTION, l),
        .out = tide_slot_array(t, TIDE_SLOT_ATTENTION, l),
        .q = tide_slot_array(t, TIDE_SLOT_Q, l),
        .k = tide_slot_array(t, TIDE_SLOT_K, l),
        .v = tide_slot_array(t, TIDE_SLOT_V, l),
        .lse = tide_slot_array(t, TIDE_SLOT_LSE, l).data,
        .probs = tide_slot_array(t, TIDE_SLOT_PROBS, l),
        .dprobs = tide_slot_array(t, TIDE_SLOT_D_PROBS, l),
        .scratch = tide_slot_array(t, TIDE_SLOT_ATTENTION_SCRATCH, l).data,
        .B = model->batch_size,
        .T = model->context_length,
        .H = model->n_heads,
        .D = model->d_model / model->n_heads,
    };
    TIDE_TRY(run_attention(t, &call, error));
    return release_attention(t, l, error);
}

/* q, k and v projections: gradients of their weights and of ln1's output. */
static tide_status projections_backward(tide_transformer *t, size_t l, tide_error *error) {
    tide_array norm = tide_slot_array(t, TIDE_SLOT_NORM1, l);
    const linear_step q = {TIDE_Q_PROJ, tide_slot_array(t, TIDE_SLOT_D_Q, l), norm};
    const linear_step k = {TIDE_K_PROJ, tide_slot_array(t, TIDE_SLOT_D_K, l), norm};
    const linear_step v = {TIDE_V_PROJ, tide_slot_array(t, TIDE_SLOT_D_V, l), norm};
    TIDE_TRY(weight_gradient(t, l, &q, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_NORM1, l, error));
    TIDE_TRY(input_gradient(t, l, &q, TIDE_SLOT_D_NORM1, false, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_D_Q, l, error));
    TIDE_TRY(weight_gradient(t, l, &k, error));
    TIDE_TRY(input_gradient(t, l, &k, TIDE_SLOT_D_NORM1, true, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_D_K, l, error));
    TIDE_TRY(weight_gradient(t, l, &v, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_NORM1, l, error));
    TIDE_TRY(input_gradient(t, l, &v, TIDE_SLOT_D_NORM1, true, error));
    return tide_activation_release(&t->activations, TIDE_SLOT_D_V, l, error);
}

static tide_status attention_backward(tide_transformer *t, size_t l, tide_error *error) {
    tide_scope scope = tide_operator_begin(t, "attention");
    TIDE_TRY(output_backward(t, l, error));
    TIDE_TRY(attend_backward(t, l, error));
    TIDE_TRY(tide_block_rotate(t, l, TIDE_SLOT_D_Q, true, error));
    TIDE_TRY(tide_block_rotate(t, l, TIDE_SLOT_D_K, true, error));
    TIDE_TRY(projections_backward(t, l, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

tide_status tide_block_backward(tide_transformer *t, size_t layer, tide_error *error) {
    const tide_norm_slots ln1 = tide_ln1_slots(layer);
    const tide_norm_slots ln2 = tide_ln2_slots(layer);
    TIDE_TRY(ffn_backward(t, layer, error));
    TIDE_TRY(tide_norm_backward(t, &ln2, true, error));
    TIDE_TRY(attention_backward(t, layer, error));
    return tide_norm_backward(t, &ln1, true, error);
}
