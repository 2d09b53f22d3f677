/* norm.c - RMSNorm of the residual stream: ln1 and ln2 of a block, ln_final. */
#include "model/layers/transformer_internal.h"

tide_norm_slots tide_ln1_slots(size_t layer) {
    return (tide_norm_slots){.scope = "ln1",
                             .parameter = tide_parameter_of_layer(layer, TIDE_LN1),
                             .layer = layer,
                             .x = tide_input_slot(layer),
                             .x_layer = tide_input_layer(layer),
                             .out = TIDE_SLOT_NORM1,
                             .rstd = TIDE_SLOT_RSTD1,
                             .dout = TIDE_SLOT_D_NORM1,
                             .scratch = TIDE_SLOT_LN1_SCRATCH};
}

tide_norm_slots tide_ln2_slots(size_t layer) {
    return (tide_norm_slots){.scope = "ln2",
                             .parameter = tide_parameter_of_layer(layer, TIDE_LN2),
                             .layer = layer,
                             .x = TIDE_SLOT_MID,
                             .x_layer = layer,
                             .out = TIDE_SLOT_NORM2,
                             .rstd = TIDE_SLOT_RSTD2,
                             .dout = TIDE_SLOT_D_NORM2,
                             .scratch = TIDE_SLOT_LN2_SCRATCH};
}

tide_norm_slots tide_ln_final_slots(const tide_transformer *t) {
    size_t L = t->config.model.n_layers;
    return (tide_norm_slots){.scope = "ln_final",
                             .parameter = tide_parameter_ln_final(&t->config.model),
                             .layer = 0,
                             .x = tide_input_slot(L),
                             .x_layer = tide_input_layer(L),
                             .out = TIDE_SLOT_NORM_FINAL,
                             .rstd = TIDE_SLOT_RSTD_FINAL,
                             .dout = TIDE_SLOT_D_NORM_FINAL,
                             .scratch = TIDE_SLOT_LN_FINAL_SCRATCH};
}

tide_status tide_norm_forward(tide_transformer *t, const tide_norm_slots *slots, bool wants_rstd,
                              tide_error *error) {
    size_t l = slots->layer;
    tide_scope scope = tide_operator_begin(t, slots->scope);
    TIDE_TRY(tide_activation_alloc(&t->activations, slots->out, l, error));
    if (wants_rstd) {
        TIDE_TRY(tide_activation_alloc(&t->activations, slots->rstd, l, error));
    }
    const tide_rmsnorm_forward call = {
        .out = tide_slot_array(t, slots->out, l),
        .rstd = wants_rstd ? tide_slot_array(t, slots->rstd, l).data : NULL,
        .x = tide_slot_array(t, slots->x, slots->x_layer),
        .weight = t->parameters[slots->parameter].value.array,
        .R = t->R,
        .C = t->config.model.d_model,
    };
    TIDE_TRY(t->ops->table->rmsnorm_forward(t->ops, &call, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

tide_status tide_norm_backward(tide_transformer *t, const tide_norm_slots *slots, bool accumulate,
                               tide_error *error) {
    size_t l = slots->layer;
    tide_scope scope = tide_operator_begin(t, slots->scope);
    if (!accumulate) {
        TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_RESIDUAL, 0, error));
    }
    TIDE_TRY(tide_gradient_alloc(&t->linears, slots->parameter, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, slots->scratch, l, error));
    const tide_rmsnorm_backward call = {
        .dx = tide_slot_array(t, TIDE_SLOT_D_RESIDUAL, 0),
        .dweight = t->parameters[slots->parameter].gradient.array,
        .dout = tide_slot_array(t, slots->dout, l),
        .x = tide_slot_array(t, slots->x, slots->x_layer),
        .weight = t->parameters[slots->parameter].value.array,
        .rstd = tide_slot_array(t, slots->rstd, l).data,
        .scratch = tide_slot_array(t, slots->scratch, l).data,
        .R = t->R,
        .C = t->config.model.d_model,
        .accumulate = accumulate,
    };
    TIDE_TRY(t->ops->table->rmsnorm_backward(t->ops, &call, error));
    TIDE_TRY(tide_activation_release(&t->activations, slots->scratch, l, error));
    TIDE_TRY(tide_activation_release(&t->activations, slots->dout, l, error));
    TIDE_TRY(tide_activation_release(&t->activations, slots->rstd, l, error));
    TIDE_TRY(tide_activation_release(&t->activations, slots->x, slots->x_layer, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}
