/* linear.h - linear layers, y = x W^T + bias, with their memory: gradients, and in bf16-mixed and
 * fp16-mixed copies of the weights.
 */
#ifndef TIDE_MODEL_LAYERS_LINEAR_H
#define TIDE_MODEL_LAYERS_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "allocator/cache.h"
#include "common/status.h"
#include "model/ops.h"
#include "model/layers/parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The linear layers of a model. All borrowed. */
typedef struct tide_linears {
    tide_cache *cache;          /* all allocations go through it */
    tide_ops *ops;              /* the operators */
    tide_parameter *parameters; /* the model's; their gradients and copies are made here */
    bool has_biases;            /* parameter i + 1 is the bias of the layer with weight i */
    size_t R;                   /* rows of x and y */
    tide_dtype parameter_type;  /* of parameters and gradients */
    bool copies_weights;        /* bf16-mixed, fp16-mixed: GEMMs read copies of the weights */
    tide_dtype copy_type;       /* of these copies */
    bool keeps_copies;          /* from forward on to backward */
} tide_linears;

/* Parameter `i` is W (n_out, n_in). */

/* Allocates W's copy and casts W into it, on ops->stream. The copy must not be allocated yet. */
TIDE_NODISCARD tide_status tide_weight_copy_make(const tide_linears *on, size_t i,
                                                 tide_error *error);

/* If weights are copied, the two functions that read W make its copy if it does not exist yet.
 *
 * out (R, n_out) = x (R, n_in) W^T + bias (n_out), if there are biases, or + addend (R, n_out), if
 * its data is not NULL; a layer with a bias has no addend. The copy is released immediately if
 * nothing is kept. */
TIDE_NODISCARD tide_status tide_linear_forward(const tide_linears *on, size_t i, tide_array out,
                                               tide_array x, tide_array addend, tide_error *error);
/* Allocates W's gradient (n_out, n_in) = dout (R, n_out)^T x (R, n_in), and then the bias' one
 * (n_out), the sum of dout over its rows, if there are biases. */
TIDE_NODISCARD tide_status tide_linear_backward_weight(const tide_linears *on, size_t i,
                                                       tide_array dout, tide_array x,
                                                       tide_error *error);
/* dx (R, n_in) = dout (R, n_out) W, or += ; then releases the copy, because this is its last
 * use. */
TIDE_NODISCARD tide_status tide_linear_backward_input(const tide_linears *on, size_t i,
                                                      tide_array dx, tide_array dout,
                                                      bool accumulate, tide_error *error);
/* Allocates the gradient of parameter `i`. Its elements are uninitialised. */
TIDE_NODISCARD tide_status tide_gradient_alloc(const tide_linears *on, size_t i, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
