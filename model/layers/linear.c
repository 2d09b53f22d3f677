#include "model/layers/linear.h"

#include <stdio.h>

tide_status tide_weight_copy_make(const tide_linears *on, size_t i, tide_error *error) {
    tide_parameter *parameter = &on->parameters[i];
    if (parameter->copy_name[0] == '\0') {
        (void)snprintf(parameter->copy_name, sizeof(parameter->copy_name), "%s.%s", parameter->name,
                       tide_dtype_name(on->copy_type));
    }
    TIDE_TRY(tide_tensor_alloc(on->cache, &parameter->copy, parameter->n_elements, on->copy_type,
                               TIDE_WEIGHT_COPY, parameter->copy_name, error));
    const tide_cast call = {
        .out = parameter->copy.array,
        .x = parameter->value.array,
        .n = parameter->n_elements,
    };
    return on->ops->table->cast(on->ops, &call, error);
}

/* Sets the array that GEMMs read for W: the parameter itself, or in bf16-mixed and fp16-mixed its
 * copy, which is made here unless it was made ahead. */
static tide_status weight_operand(const tide_linears *on, size_t i, tide_array *ret_weight,
                                  tide_error *error) {
    const tide_parameter *parameter = &on->parameters[i];
    if (!on->copies_weights) {
        *ret_weight = parameter->value.array;
        return TIDE_OK;
    }
    if (parameter->copy.address == 0) {
        TIDE_TRY(tide_weight_copy_make(on, i, error));
    }
    *ret_weight = parameter->copy.array;
    return TIDE_OK;
}

tide_status tide_gradient_alloc(const tide_linears *on, size_t i, tide_error *error) {
    tide_parameter *parameter = &on->parameters[i];
    if (parameter->gradient_name[0] == '\0') {
        (void)snprintf(parameter->gradient_name, sizeof(parameter->gradient_name), "%s.grad",
                       parameter->name);
    }
    return tide_tensor_alloc(on->cache, &parameter->gradient, parameter->n_elements,
                             on->parameter_type, TIDE_GRADIENT, parameter->gradient_name, error);
}

/* out = bias in every row; the product is then added. */
static tide_status begin_with_bias(const tide_linears *on, size_t i, tide_array out,
                                   tide_error *error) {
    const tide_bias_forward call = {.out = out,
                                    .bias = on->parameters[i + 1].value.array,
                                    .R = on->R,
                                    .C = on->parameters[i].shape[0]};
    return on->ops->table->bias_forward(on->ops, &call, error);
}

tide_status tide_linear_forward(const tide_linears *on, size_t i, tide_array out, tide_array x,
                                tide_array addend, tide_error *error) {
    tide_parameter *parameter = &on->parameters[i];
    tide_matmul call = {.kind = TIDE_MATMUL_NT,
                        .out = out,
                        .a = x,
                        .m = on->R,
                        .n = parameter->shape[0],
                        .k = parameter->shape[1],
                        .accumulate = on->has_biases,
                        .addend = addend};
    TIDE_TRY(weight_operand(on, i, &call.b, error));
    if (on->has_biases) {
        TIDE_TRY(begin_with_bias(on, i, out, error));
    }
    TIDE_TRY(on->ops->table->matmul(on->ops, &call, error));
    return on->keeps_copies ? TIDE_OK : tide_tensor_release(on->cache, &parameter->copy, error);
}

static tide_status backward_bias(const tide_linears *on, size_t i, tide_array dout,
                                 tide_error *error) {
    TIDE_TRY(tide_gradient_alloc(on, i + 1, error));
    const tide_bias_backward call = {.dbias = on->parameters[i + 1].gradient.array,
                                     .dout = dout,
                                     .R = on->R,
                                     .C = on->parameters[i].shape[0]};
    return on->ops->table->bias_backward(on->ops, &call, error);
}

tide_status tide_linear_backward_weight(const tide_linears *on, size_t i, tide_array dout,
                                        tide_array x, tide_error *error) {
    TIDE_TRY(tide_gradient_alloc(on, i, error));
    const tide_parameter *parameter = &on->parameters[i];
    const tide_matmul call = {.kind = TIDE_MATMUL_TN,
                              .out = parameter->gradient.array,
                              .a = dout,
                              .b = x,
                              .m = parameter->shape[0],
                              .n = parameter->shape[1],
                              .k = on->R,
                              .accumulate = false};
    TIDE_TRY(on->ops->table->matmul(on->ops, &call, error));
    return on->has_biases ? backward_bias(on, i, dout, error) : TIDE_OK;
}

tide_status tide_linear_backward_input(const tide_linears *on, size_t i, tide_array dx,
                                       tide_array dout, bool accumulate, tide_error *error) {
    tide_parameter *parameter = &on->parameters[i];
    tide_matmul call = {.kind = TIDE_MATMUL_NN,
                        .out = dx,
                        .a = dout,
                        .m = on->R,
                        .n = parameter->shape[1],
                        .k = parameter->shape[0],
                        .accumulate = accumulate};
    TIDE_TRY(weight_operand(on, i, &call.b, error));
    TIDE_TRY(on->ops->table->matmul(on->ops, &call, error));
    return tide_tensor_release(on->cache, &parameter->copy, error);
}
