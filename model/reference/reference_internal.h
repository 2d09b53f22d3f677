/* reference_internal.h - the parts of a reference check. */
#ifndef TIDE_MODEL_REFERENCE_REFERENCE_INTERNAL_H
#define TIDE_MODEL_REFERENCE_REFERENCE_INTERNAL_H

#include "model/reference/reference.h"
#include "model/reference/safetensors.h"

/* The four tensors of one parameter, all n_elements fp32 in the file. */
typedef struct tide_reference_parameter {
    char name[TIDE_PARAMETER_NAME]; /* as in state_dict */
    size_t n_elements;              /* of each below */
    size_t n_columns;               /* elements of a row */
    const float *before;            /* "param/NAME" */
    const float *gradient;          /* "expect/grad/NAME" */
    const float *after;             /* "expect/param/NAME" */
} tide_reference_parameter;

struct tide_reference {
    const tide_hostmem *mem;              /* borrowed; the heap of everything here */
    tide_safetensors *file;               /* owned; the pointers below point into it */
    tide_reference_info info;             /* the file's metadata */
    tide_reference_parameter *parameters; /* owned; in the transformer's order */
    size_t n_parameters;                  /* 9 L + 3 */
    const int32_t *tokens;                /* (B, T) */
    const int32_t *targets;               /* (B, T) */
    const float *logits;                  /* (B, T, V) */
    double loss;                          /* of the first step */
    double loss_after;                    /* after the steps */
};

/* reference_tolerance.c, reference_tolerance_bf16.c, reference_tolerance_tf32.c */

/* The roundings that separate two compared results. */
typedef enum tide_reference_arithmetic {
    TIDE_REFERENCE_FP32 = 0,   /* fp32 sums: nothing is stored as bf16, or only where the file also
                                  stores bf16 */
    TIDE_REFERENCE_MIXED,      /* the roundings of bf16-mixed, against an exact result */
    TIDE_REFERENCE_MIXED_PAIR, /* those of bf16-mixed and of PyTorch's autocast */
    TIDE_REFERENCE_TRUE,       /* the roundings of bf16-true, against an exact result */
    TIDE_REFERENCE_HALF,       /* the roundings of fp16-mixed, against an exact result */
    TIDE_REFERENCE_TF32        /* products of TF32 operands, against an exact result */
} tide_reference_arithmetic;

/* The relative L2 errors that the results of a run may have. */
typedef struct tide_reference_tolerances {
    tide_reference_arithmetic arithmetic; /* the figure that the others follow from */
    double forward;                       /* of logits */
    double loss;                          /* of the loss */
    double gradient;                      /* of a gradient */
    double forward_shrink;                /* all logits may be too small by this share */
    double gradient_shrink;               /* a gradient likewise */
} tide_reference_tolerances;

tide_reference_tolerances tide_reference_get_tolerances(const tide_reference *reference,
                                                        tide_precision precision,
                                                        tide_attention attention);
/* The same for one of the arithmetics in two bytes, and for TF32. */
tide_reference_tolerances tide_reference_bf16_tolerances(const tide_reference *reference,
                                                         tide_reference_arithmetic arithmetic);
tide_reference_tolerances tide_reference_tf32_tolerances(const tide_reference *reference,
                                                         tide_attention attention);
/* The tolerance of the loss when logits may have the relative error `forward`, with random signs.
 */
double tide_reference_loss_tolerance(const tide_reference *reference, double forward);
/* Relative change of the loss per relative change of all logits together. */
double tide_reference_loss_growth(const tide_reference *reference);

/* The allowed distance of a parameter after the steps from the expected one. */
typedef struct tide_reference_step {
    double error;           /* of the step row */
    double tolerance;       /* of the step row */
    double param_error;     /* of the param row */
    double param_tolerance; /* of the param row */
    double difference_norm; /* L2 norm of got - expected */
    double slope;           /* sum of gradient (got - expected) */
    double slope_square;    /* sum of (gradient (got - expected))^2 */
} tide_reference_step;

/* The L2 norm with which the errors of parameter i's gradient are compared: the gradient's own,
 * except for gradients that are 0 in exact arithmetic. */
double tide_reference_gradient_scale(const tide_reference *reference, size_t i);

/* Parameter i, n_elements of it in `got`. */
tide_reference_step tide_reference_compare_step(const tide_reference *reference, size_t i,
                                                const tide_reference_tolerances *tolerances,
                                                const float *got);

/* The known figures of one element when its step is judged. */
typedef struct tide_reference_element {
    double value;    /* as loaded */
    double gradient; /* of the first step */
    double clear;    /* error that the gradient may have: a standard deviation */
    bool is_open;    /* a gradient of 0 may come from rounding */
    double length;   /* steps times the learning rate */
    double steps;    /* AdamW steps */
} tide_reference_element;

/* The error of an element, as a random number. */
typedef struct tide_reference_spread {
    double square;   /* mean of its square */
    double variance; /* of its square */
} tide_reference_spread;

/* For bf16 and TF32: the largest error of an element whose gradient has a clear sign, and the
 * expected error. */
double tide_reference_bf16_most(tide_reference_arithmetic arithmetic,
                                const tide_reference_element *element);
tide_reference_spread tide_reference_bf16_spread(tide_reference_arithmetic arithmetic,
                                                 const tide_reference_element *element);

/* |got - want| / scale, or |got - want| if scale is 0. */
double tide_reference_error(const float *got, const float *want, size_t n, double scale);
/* The smallest such error when want may be scaled by any factor from 1 - shrink to 1. */
double tide_reference_shrunk_error(const float *got, const float *want, size_t n, double scale,
                                   double shrink);
double tide_reference_norm(const float *x, size_t n);

#endif
