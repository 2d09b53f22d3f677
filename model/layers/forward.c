/* forward.c - tokens to logits, or to the output of ln_final, and logits to loss. */
#include "model/layers/transformer_internal.h"

/* Begins the copies of block `layer`, or those of the head if `layer` is the number of blocks.
 *
 * Copies are kept until backward, so the forward pass ends with the same bytes as if each were made
 * at its first use, and this end is its peak. With recompute, a block's temporary tensors can make
 * a higher peak in the last block, where the most is kept. Then the last block and the head make
 * their copies at the first use, which does not raise the peak. */
static tide_status begin_copies(tide_transformer *t, size_t layer, tide_error *error) {
    static const tide_layer_parameter USES[] = {
        TIDE_Q_PROJ, TIDE_K_PROJ, TIDE_V_PROJ, TIDE_OUTPUT_PROJ, TIDE_W1, TIDE_W3, TIDE_W2};
    enum { N_USES = sizeof(USES) / sizeof(USES[0]) };
    const tide_model_config *model = &t->config.model;
    size_t n_layers = model->n_layers;
    size_t weights[N_USES];
    size_t n_weights = layer < n_layers ? N_USES : model->no_head ? 0 : 1;
    bool is_late = t->config.recompute == TIDE_RECOMPUTE_BLOCK && layer + 1 >= n_layers;
    if (t->copies.linears == NULL || is_late || n_weights == 0) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < n_weights; i++) {
        weights[i] = layer < n_layers ? tide_parameter_of_layer(layer, USES[i])
                                      : tide_parameter_lm_head(model);
    }
    tide_scope scope = tide_operator_begin(t, "weight copies");
    TIDE_TRY(tide_copies_ahead_begin(&t->copies, weights, n_weights, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

static tide_status embedding_forward(tide_transformer *t, tide_error *error) {
    tide_scope scope = tide_operator_begin(t, "embedding");
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_EMBEDDED, 0, error));
    const tide_embedding_forward call = {
        .out = tide_slot_array(t, TIDE_SLOT_EMBEDDED, 0),
        .table = t->parameters[tide_parameter_token_embeddings()].value.array,
        .tokens = t->tokens.array.data,
        .R = t->R,
        .C = t->config.model.d_model,
    };
    TIDE_TRY(t->ops->table->embedding_forward(t->ops, &call, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

static tide_status layer_forward(tide_transformer *t, size_t layer, tide_error *error) {
    bool keeps = t->config.keep_for_backward && t->config.recompute == TIDE_RECOMPUTE_NONE;
    tide_scope scope = tide_scope_begin(t->recorder, TIDE_SCOPE_LAYER, "layer", (int32_t)layer);
    TIDE_TRY(
        tide_block_forward(t, layer, keeps ? TIDE_BLOCK_KEEP_ALL : TIDE_BLOCK_KEEP_INPUT, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

/* logits = ln_final lm_head^T. */
static tide_status lm_head_forward(tide_transformer *t, tide_error *error) {
    tide_scope scope = tide_operator_begin(t, "lm_head");
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_LOGITS, 0, error));
    TIDE_TRY(tide_linear_forward(&t->linears, tide_parameter_lm_head(&t->config.model),
                                 tide_slot_array(t, TIDE_SLOT_LOGITS, 0),
                                 tide_slot_array(t, TIDE_SLOT_NORM_FINAL, 0),
                                 (tide_array){.data = NULL}, error));
    if (!t->config.keep_for_backward) {
        TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_NORM_FINAL, 0, error));
    }
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}

tide_status tide_transformer_forward(tide_transformer *t, tide_error *error) {
    TIDE_TRY(begin_copies(t, 0, error));
    TIDE_TRY(embedding_forward(t, error));
    for (size_t l = 0; l < t->config.model.n_layers; l++) {
        TIDE_TRY(tide_copies_ahead_wait(&t->copies, error));
        TIDE_TRY(begin_copies(t, l + 1, error));
        TIDE_TRY(layer_forward(t, l, error));
    }
    TIDE_TRY(tide_copies_ahead_wait(&t->copies, error));
    const tide_norm_slots ln_final = tide_ln_final_slots(t);
    TIDE_TRY(tide_norm_forward(t, &ln_final, t->config.keep_for_backward, error));
    if (!t->config.keep_for_backward) {
        TIDE_TRY(tide_activation_release(&t->activations, ln_final.x, ln_final.x_layer, error));
    }
    /* Without a head, the output of ln_final is the model's output, and stays until the end of the
     * step. */
    return t->config.model.no_head ? TIDE_OK : lm_head_forward(t, error);
}

tide_status tide_transformer_loss(tide_transformer *t, tide_error *error) {
    tide_scope scope = tide_operator_begin(t, "loss");
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_LOSS, 0, error));
    TIDE_TRY(tide_activation_alloc(&t->activations, TIDE_SLOT_ROW_LOSSES, 0, error));
    const tide_cross_entropy call = {
        .logits = tide_slot_array(t, TIDE_SLOT_LOGITS, 0),
        .row_losses = tide_slot_array(t, TIDE_SLOT_ROW_LOSSES, 0).data,
        .loss = tide_slot_array(t, TIDE_SLOT_LOSS, 0).data,
        .targets = t->targets.array.data,
        .R = t->R,
        .V = t->config.model.vocab_size,
        .scale = (double)t->optimizer.scaler.scale,
    };
    TIDE_TRY(t->ops->table->cross_entropy(t->ops, &call, error));
    TIDE_TRY(tide_activation_release(&t->activations, TIDE_SLOT_ROW_LOSSES, 0, error));
    tide_scope_end(t->recorder, scope);
    return TIDE_OK;
}
