#include "model/layers/parameters.h"

#include <math.h>
#include <stdio.h>

/* The part of a name between "layers.N." and ".weight", in the order of tide_layer_parameter. */
static const char *const LAYER_NAMES[TIDE_LAYER_PARAMETERS] = {
    "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj", "ffn.w1", "ffn.w2",
    "ffn.w3",      "ln1",         "ln2"};

size_t tide_parameter_token_embeddings(void) {
    return 0;
}

size_t tide_parameter_of_layer(size_t layer, tide_layer_parameter which) {
    return 1 + layer * TIDE_LAYER_PARAMETERS + (size_t)which;
}

size_t tide_parameter_ln_final(const tide_model_config *config) {
    return 1 + config->n_layers * TIDE_LAYER_PARAMETERS;
}

size_t tide_parameter_lm_head(const tide_model_config *config) {
    return tide_parameter_ln_final(config) + 1;
}

static void set_norm(tide_parameter *parameter, size_t C) {
    parameter->shape[0] = C;
    parameter->shape[1] = 1;
    parameter->n_dims = 1;
    parameter->n_elements = C;
    parameter->sigma = 0;
    parameter->is_gemm_weight = false;
}

void tide_parameter_set_linear(tide_parameter *parameter, size_t n_out, size_t n_in) {
    parameter->shape[0] = n_out;
    parameter->shape[1] = n_in;
    parameter->n_dims = 2;
    parameter->n_elements = n_out * n_in;
    parameter->sigma = sqrt(2.0 / ((double)n_in + (double)n_out));
    parameter->is_gemm_weight = true;
}

void tide_parameter_set_bias(tide_parameter *parameter, size_t n_out, size_t n_in) {
    parameter->shape[0] = n_out;
    parameter->shape[1] = 1;
    parameter->n_dims = 1;
    parameter->n_elements = n_out;
    parameter->sigma = sqrt(1.0 / (3.0 * (double)n_in));
}

static void set_layer_parameter(tide_parameter *parameter, const tide_model_config *config,
                                size_t layer, tide_layer_parameter which) {
    size_t C = config->d_model;
    size_t F = config->d_ff;
    (void)snprintf(parameter->name, sizeof(parameter->name), "layers.%zu.%s.weight", layer,
                   LAYER_NAMES[which]);
    switch (which) {
    case TIDE_W1:
    case TIDE_W3:
        tide_parameter_set_linear(parameter, F, C);
        break;
    case TIDE_W2:
        tide_parameter_set_linear(parameter, C, F);
        break;
    case TIDE_LN1:
    case TIDE_LN2:
        set_norm(parameter, C);
        break;
    case TIDE_Q_PROJ:
    case TIDE_K_PROJ:
    case TIDE_V_PROJ:
    case TIDE_OUTPUT_PROJ:
    case TIDE_LAYER_PARAMETERS:
        tide_parameter_set_linear(parameter, C, C);
        break;
    }
}

tide_status tide_parameters_create(const tide_hostmem *mem, const tide_model_config *config,
                                   tide_parameter **ret_parameters, tide_error *error) {
    size_t n_parameters = tide_model_n_tensors(config);
    tide_parameter *parameters = tide_hostmem_zeroed(mem, n_parameters, sizeof(*parameters));
    if (parameters == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY,
                         "the host has no memory left for a table of %zu parameters", n_parameters);
    }
    tide_parameter *embeddings = &parameters[tide_parameter_token_embeddings()];
    tide_parameter_set_linear(embeddings, config->vocab_size, config->d_model);
    (void)snprintf(embeddings->name, sizeof(embeddings->name), "token_embeddings.weight");
    embeddings->sigma = 1;
    embeddings->is_gemm_weight = false;
    for (size_t l = 0; l < config->n_layers; l++) {
        for (int which = 0; which < TIDE_LAYER_PARAMETERS; which++) {
            size_t i = tide_parameter_of_layer(l, (tide_layer_parameter)which);
            set_layer_parameter(&parameters[i], config, l, (tide_layer_parameter)which);
        }
    }
    tide_parameter *ln_final = &parameters[tide_parameter_ln_final(config)];
    set_norm(ln_final, config->d_model);
    (void)snprintf(ln_final->name, sizeof(ln_final->name), "ln_final.weight");
    if (!config->no_head) {
        tide_parameter *lm_head = &parameters[tide_parameter_lm_head(config)];
        tide_parameter_set_linear(lm_head, config->vocab_size, config->d_model);
        (void)snprintf(lm_head->name, sizeof(lm_head->name), "lm_head.weight");
    }
    *ret_parameters = parameters;
    return TIDE_OK;
}
