/* triton_machine_internal.h - the state of an evaluation of a kernel's text. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_TRITON_MACHINE_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_TRITON_MACHINE_INTERNAL_H

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

typedef struct tide_triton_value {
    bool is_known;
    int64_t low, high;
    uint32_t pointer; /* number of the argument that it points into, from 1 on; 0: a number */
} tide_triton_value;

/* The range accessed through one pointer in one direction. */
typedef struct tide_triton_reach {
    bool is_used; /* at a known place: low to high */
    int64_t low, high;
    double n_known, n_unknown; /* accesses to known places, and to places that the card computes */
    uint32_t value_bytes;
} tide_triton_reach;

/* An open loop, if or reduction. */
typedef struct tide_triton_frame {
    size_t step;       /* of its beginning */
    double turns;      /* iterations, the mean of all programs */
    double most_turns; /* the most of a program */
    bool is_probe;
} tide_triton_frame;

typedef struct tide_triton_machine {
    const tide_vc_launched_kernel *launched;
    const tide_triton_program *program;
    tide_triton_value *values;                           /* owned; by number */
    tide_triton_reach reaches[TIDE_TRITON_ARGUMENTS][2]; /* of loads, of stores */
    double other_bytes;                                  /* through pointers of unknown origin */
    double atomics;                                      /* atomic operations */
    double products;                                     /* multiplications of matrices */
    uint8_t product_type;                                /* of the last ones */
    bool is_guess;                                       /* a loop has an unknown count */
    bool is_uneven; /* programs differ in the iterations of a loop */
    bool has_loops, reduces_in_loop;
    const int64_t *only; /* the program to follow; NULL: the ranges of all */
    tide_triton_frame frames[16];
    size_t n_frames, n_probes, next; /* next: the step after this one */
} tide_triton_machine;

/* Evaluates all steps. False: the launch does not have the arguments of the text, or loops nest too
 * deep. */
bool tide_triton_run(tide_triton_machine *of);

#endif
