/* precision.h - the storage types of a precision. */
#ifndef TIDE_MODEL_PRECISION_H
#define TIDE_MODEL_PRECISION_H

#include <stdbool.h>

#include "model/config.h"
#include "model/tensor.h"

/* The type of activations and of the operands of GEMMs. */
static inline tide_dtype tide_precision_activation_type(tide_precision precision) {
    switch (precision) {
    case TIDE_PRECISION_BF16_MIXED:
    case TIDE_PRECISION_BF16_TRUE:
        return TIDE_BF16;
    case TIDE_PRECISION_FP16_MIXED:
        return TIDE_FP16;
    case TIDE_PRECISION_FP32:
    case TIDE_PRECISION_TF32:
    case TIDE_N_PRECISIONS:
        break;
    }
    return TIDE_FP32;
}

/* The type of parameters, their gradients, the optimizer state and the residual stream. */
static inline tide_dtype tide_precision_parameter_type(tide_precision precision) {
    return precision == TIDE_PRECISION_BF16_TRUE ? TIDE_BF16 : TIDE_FP32;
}

/* Whether GEMMs read copies of the weights, in the type of the activations. */
static inline bool tide_precision_is_mixed(tide_precision precision) {
    return tide_precision_activation_type(precision) != tide_precision_parameter_type(precision);
}

/* Whether the loss is scaled, to keep small gradients from rounding to 0. */
static inline bool tide_precision_scales_loss(tide_precision precision) {
    return precision == TIDE_PRECISION_FP16_MIXED;
}

#endif
