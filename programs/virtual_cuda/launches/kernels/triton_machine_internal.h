/* triton_machine_internal.h - the state of an evaluation of a kernel's text. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_TRITON_MACHINE_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_TRITON_MACHINE_INTERNAL_H

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

typedef struct tide_triton_value {
    bool is_known;
    int64_t low, high;
    uint32_t pointer;  /* number of the argument that it points into, from 1 on; 0: a number */
    uint32_t compared; /* the step that compared, from 1 on; 0: it is no comparison's result */
    bool is_estimate;  /* it is at most a number that the card computes */
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
    /* Of an if: the share of programs of its other branch; the compared value, whose range is
     * narrower in each branch, and what it is around the if. 0: none. */
    double other_turns;
    uint32_t narrowed;
    tide_triton_value before;
} tide_triton_frame;

typedef struct tide_triton_machine {
    const tide_vc_launched_kernel *launched;
    const tide_triton_program *program;
    tide_triton_value *values;                           /* owned; by number */
    tide_triton_reach reaches[TIDE_TRITON_ARGUMENTS][2]; /* of loads, of stores */
    double other_bytes;                                  /* through pointers of unknown origin */
    double atomics;                                      /* atomic operations */
    double spilled_bytes; /* of values that have no room in registers */
    double products;      /* multiplications of matrices */
    uint8_t product_type; /* of the last ones */
    bool is_guess;        /* a loop has an unknown count */
    bool is_uneven;       /* programs differ in the iterations of a loop */
    bool has_loops, reduces_in_loop;
    const int64_t *only;      /* the program to follow; NULL: the ranges of all */
    tide_triton_reads *reads; /* of that program; NULL: the card's values are not read */
    tide_triton_frame frames[16];
    size_t n_frames, n_probes, next; /* next: the step after this one */
} tide_triton_machine;

/* Evaluates all steps. False: the launch does not have the arguments of the text, or loops nest too
 * deep. */
bool tide_triton_run(tide_triton_machine *of);

/* triton_branches.c: the branches of an if. */

/* Of the pairs of values in the two ranges, the share for which the comparison holds; below 0:
 * unknown. One of the ranges must have a single value, or the answer is unknown unless it is 0 or
 * 1. */
double tide_triton_share(tide_triton_comparison comparison, tide_triton_value a,
                         tide_triton_value b);
/* Sets the turns of the frame of an if, and enters its first branch. */
void tide_triton_enter_if(tide_triton_machine *of, const tide_triton_step *step,
                          tide_triton_frame *frame);
/* Enters the other branch. */
void tide_triton_enter_else(tide_triton_machine *of, tide_triton_frame *frame);
void tide_triton_leave_if(tide_triton_machine *of, const tide_triton_frame *frame);

#endif
