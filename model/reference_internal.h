/* reference_internal.h - the parts of a reference check. */
#ifndef TIDE_MODEL_REFERENCE_INTERNAL_H
#define TIDE_MODEL_REFERENCE_INTERNAL_H

#include "model/reference.h"
#include "model/safetensors.h"

/* The four tensors of one parameter, all n_elements fp32 in the file. */
typedef struct tide_reference_parameter {
    char name[TIDE_PARAMETER_NAME]; /* as in state_dict */
    size_t n_elements;              /* of each below */
    const float *before;            /* "param/NAME" */
    const float *gradient;          /* "expect/grad/NAME" */
    const float *after;             /* "expect/param/NAME" */
} tide_reference_parameter;

struct tide_reference {
    const tide_hostmem *mem;              /* borrowed; what everything here came from */
    tide_safetensors *file;               /* owned; what the pointers below point into */
    tide_reference_info info;             /* the file's metadata */
    tide_reference_parameter *parameters; /* owned; in the transformer's order */
    size_t n_parameters;                  /* 9 L + 3 */
    const int32_t *tokens;                /* (B, T) */
    const int32_t *targets;               /* (B, T) */
    const float *logits;                  /* (B, T, V) */
    double loss;                          /* of the first step */
    double loss_after;                    /* after the steps */
};

/* reference_tolerance.c */

/* Relative L2 error that fp32 arithmetic may have. */
typedef struct tide_reference_tolerances {
    double forward;  /* of logits and loss */
    double gradient; /* of a gradient */
} tide_reference_tolerances;

tide_reference_tolerances tide_reference_get_tolerances(const tide_model_config *model);

/* How far a parameter after the steps may be from the expected one. */
typedef struct tide_reference_step {
    double error;           /* of the step row */
    double tolerance;       /* of the step row */
    double param_error;     /* of the param row */
    double param_tolerance; /* of the param row */
    double difference_norm; /* L2 norm of what it is off by */
} tide_reference_step;

/* The L2 norm that the errors of parameter i's gradient are measured against: the gradient's own,
 * but for those that are 0 in exact arithmetic. */
double tide_reference_gradient_scale(const tide_reference *reference, size_t i);

/* allowed_gradient: the L2 norm of the error that the gradient may have. */
tide_reference_step tide_reference_compare_step(const tide_reference_parameter *parameter,
                                                const tide_reference_info *info,
                                                double allowed_gradient, const float *got);

/* |got - want| / scale, or |got - want| where scale is 0. */
double tide_reference_error(const float *got, const float *want, size_t n, double scale);
double tide_reference_norm(const float *x, size_t n);

#endif
