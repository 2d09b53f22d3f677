/* triton_internal.h - the text of a kernel (TTIR) as a list of its operations on addresses. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_TRITON_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_TRITON_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/launches/kernels/family_internal.h"

enum { TIDE_TRITON_OPERANDS = 3, TIDE_TRITON_ARGUMENTS = TIDE_VC_MOST_ARGUMENTS };

typedef enum tide_triton_code {
    TIDE_TRITON_UNKNOWN = 0, /* the result is unknown */
    TIDE_TRITON_CONSTANT,    /* low */
    TIDE_TRITON_PROGRAM,     /* this program's place in the grid, along axis `low` */
    TIDE_TRITON_PROGRAMS,    /* the number of programs along axis `low` */
    TIDE_TRITON_RANGE,       /* low to high - 1 */
    TIDE_TRITON_SAME,        /* the first operand, in another shape or width */
    TIDE_TRITON_ADD,         /* also a pointer and an offset */
    TIDE_TRITON_SUBTRACT,
    TIDE_TRITON_MULTIPLY,
    TIDE_TRITON_DIVIDE,
    TIDE_TRITON_REMAINDER,
    TIDE_TRITON_LEAST,
    TIDE_TRITON_MOST,
    TIDE_TRITON_SELECT, /* the second or the third operand */
    TIDE_TRITON_LOAD,   /* of n_values values through the first operand */
    TIDE_TRITON_STORE,
    TIDE_TRITON_FOR, /* from the first operand to below the second in steps of the third */
    TIDE_TRITON_END  /* of the loop */
} tide_triton_code;

typedef struct tide_triton_step {
    tide_triton_code code;
    uint32_t result;                         /* the number of a value; 0: none */
    uint32_t operands[TIDE_TRITON_OPERANDS]; /* numbers of values; 0: none, or unnamed */
    int64_t low, high;
    uint64_t n_values;
} tide_triton_step;

typedef struct tide_triton_program {
    size_t n_arguments, n_values, n_steps; /* argument i is value i + 1 */
    struct {
        uint32_t pointed_bytes; /* of the type it points to; 0: it is a number */
        uint32_t n_bytes;       /* of a number */
    } arguments[TIDE_TRITON_ARGUMENTS];
    tide_triton_step *steps; /* owned */
} tide_triton_program;

/* From malloc; the caller releases the steps and then the program with free(). NULL: the text
 * cannot be followed, or there is no host memory, or it multiplies matrices, which are counted in
 * another way.
 */
tide_triton_program *tide_triton_parse(const char *text);

/* Adds the bytes and elements of a launch to the row, which has none yet. False if the launch does
 * not have the arguments of the text or there is no host memory; nothing is added then. */
bool tide_triton_follow(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_run_launch *row);

#endif
