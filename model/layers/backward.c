/* backward.c - from the gradient of the logits to the gradients of all parameters. */
#include "model/layers/transformer_internal.h"

/* Gradients of lm_head and of ln_final's output. */
static tide_status lm_head_backward(tide_transformer *t, tide_error *error) {
    size_t lm_head = tide_parameter_lm_head(&t->config.model);
    tide_array dlogits = tide_slot_array(t, TIDE_SLOT_LOGITS, 0);
    tide_scope scope = tide_operator_begin(t, "lm_head");
    TIDE_TRY(tide_linear_backward_weight(&t->linears, lm_head, dlogits,
                                         tide_slot_array(t, TIDE_SLOT_NORM_FINAL, 0), error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_NORM_FINAL, 0, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_D_NORM_FINAL, 0, error));
    TIDE_TRY(tide_linear_backward_input(&t->linears, lm_head,
                                        tide_slot_array(t, TIDE_SLOT_D_NORM_FINAL, 0), dlogits,
                                        false, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_LOGITS, 0, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

/* With recompute, the block's forward runs again from its input. */
static tide_status recompute_block(tide_transformer *t, size_t layer, tide_error *error) {
    tide_scope scope = tide_operator_begin(t, "recompute");
    TIDE_TRY(tide_block_forward(t, layer, TIDE_BLOCK_RECOMPUTE, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

static tide_status layer_backward(tide_transformer *t, size_t layer, tide_error *error) {
    tide_scope scope = tide_scope_begin(t->recorder, TIDE_SCOPE_LAYER, "layer", (int32_t)layer);
    if (t->config.recompute == TIDE_RECOMPUTE_BLOCK) {
        TIDE_TRY(recompute_block(t, layer, error));
    }
    TIDE_TRY(tide_block_backward(t, layer, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

static tide_status embedding_backward(tide_transformer *t, tide_error *error) {
    size_t embeddings = tide_parameter_token_embeddings();
    tide_scope scope = tide_operator_begin(t, "embedding");
    TIDE_TRY(tide_gradient_alloc(&t->linears, embeddings, error));
    const tide_embedding_backward call = {
        .dtable = t->parameters[embeddings].gradient.array,
        .dout = tide_slot_array(t, TIDE_SLOT_D_RESIDUAL, 0),
        .tokens = t->tokens.array.data,
        .R = t->R,
        .C = t->config.model.d_model,
        .V = t->config.model.vocab_size,
    };
    TIDE_TRY(t->ops->table->embedding_backward(t->ops, &call, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_D_RESIDUAL, 0, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

tide_status tide_transformer_backward(tide_transformer *t, tide_error *error) {
    const tide_norm_slots ln_final = tide_ln_final_slots(t);
    TIDE_TRY(lm_head_backward(t, error));
    TIDE_TRY(tide_norm_backward(t, &ln_final, false, error));
    for (size_t l = t->config.model.n_layers; l > 0; l--) {
        TIDE_TRY(layer_backward(t, l - 1, error));
    }
    return embedding_backward(t, error);
}
