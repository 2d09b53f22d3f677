/* parameters.h - the table of a transformer's parameters: names as in PyTorch's state_dict, shapes,
 * and how each is initialised.
 *
 * Order: token_embeddings; per layer q, k, v, output, w1, w2, w3, ln1, ln2; ln_final; lm_head:
 * 9 L + 3 tensors, or without a head 9 L + 2. The order is part of the contract: initial values,
 * events and addresses follow it.
 */
#ifndef TIDE_MODEL_LAYERS_PARAMETERS_H
#define TIDE_MODEL_LAYERS_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "model/config.h"
#include "model/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which parameter of a layer; TIDE_LAYER_PARAMETERS of them. */
typedef enum tide_layer_parameter {
    TIDE_Q_PROJ = 0,  /* (C, C) */
    TIDE_K_PROJ,      /* (C, C) */
    TIDE_V_PROJ,      /* (C, C) */
    TIDE_OUTPUT_PROJ, /* (C, C) */
    TIDE_W1,          /* (F, C): the gate */
    TIDE_W2,          /* (C, F): the projection back to C */
    TIDE_W3,          /* (F, C): the projection that the gate multiplies */
    TIDE_LN1,         /* (C) */
    TIDE_LN2,         /* (C) */
    TIDE_LAYER_PARAMETERS
} tide_layer_parameter;

enum { TIDE_PARAMETER_NAME = 64 }; /* room for any parameter's name with its suffix */

typedef struct tide_parameter {
    char name[TIDE_PARAMETER_NAME]; /* "layers.0.attn.q_proj.weight" */
    /* Names of the copy and the gradient, made at their first use; they keep their addresses, by
     * which the recorder finds their numbers (recorder/names.c). */
    char copy_name[TIDE_PARAMETER_NAME + 16];
    char gradient_name[TIDE_PARAMETER_NAME + 16];
    size_t shape[2];        /* out, in; a vector has shape[1] = 1 */
    size_t n_dims;          /* 2: matrix, 1: vector */
    size_t n_elements;      /* shape[0] * shape[1] */
    double sigma;           /* normal, truncated at +-3 sigma; 0: filled with ones (norms) */
    bool is_gemm_weight;    /* read by GEMMs, so bf16-mixed and fp16-mixed make a copy of it */
    tide_tensor value;      /* owned by the transformer, as all below */
    tide_tensor copy;       /* the copy; allocated while it lives */
    tide_tensor gradient;   /* allocated from its first use to the end of the optimizer phase */
    tide_tensor exp_avg;    /* AdamW's first moment; allocated from the first optimizer phase on */
    tide_tensor exp_avg_sq; /* AdamW's second moment; likewise */
} tide_parameter;

/* Shape and initial values of W (n_out, n_in), y = W x: sigma = sqrt(2 / (in + out)). */
void tide_parameter_set_linear(tide_parameter *parameter, size_t n_out, size_t n_in);
/* The same for its bias (n_out): sigma is the standard deviation of PyTorch's uniform numbers
 * within 1 / sqrt(in). */
void tide_parameter_set_bias(tide_parameter *parameter, size_t n_out, size_t n_in);

/* Index of a parameter in the table. `layer` is below L. */
size_t tide_parameter_of_layer(size_t layer, tide_layer_parameter which);
size_t tide_parameter_token_embeddings(void);
size_t tide_parameter_ln_final(const tide_model_config *config);
/* The config must have a head. */
size_t tide_parameter_lm_head(const tide_model_config *config);

/* The table of tide_model_n_tensors(config) rows, nothing allocated on a device. The config must
 * have passed its check. The caller releases the array through `mem`. TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_parameters_create(const tide_hostmem *mem,
                                                  const tide_model_config *config,
                                                  tide_parameter **ret_parameters,
                                                  tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
