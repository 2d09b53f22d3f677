/* triton_internal.h - the text of a kernel (TTIR) as a list of its operations on addresses. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_TRITON_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_TRITON_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/launches/kernels/family_internal.h"

enum { TIDE_TRITON_OPERANDS = 3, TIDE_TRITON_ARGUMENTS = TIDE_VC_MOST_ARGUMENTS };

/* All codes below LOAD have a result. */

typedef enum tide_triton_code {
    TIDE_TRITON_UNKNOWN = 0, /* the result is unknown */
    TIDE_TRITON_CONSTANT,    /* low */
    TIDE_TRITON_PROGRAM,     /* this program's place in the grid, along axis `low` */
    TIDE_TRITON_PROGRAMS,    /* the number of programs along axis `low` */
    TIDE_TRITON_RANGE,       /* low to high - 1 */
    TIDE_TRITON_SAME,        /* the first operand, in another shape or width */
    TIDE_TRITON_MOVED,       /* the first operand, a pointer, to an unknown place */
    TIDE_TRITON_ADD,         /* also a pointer and an offset */
    TIDE_TRITON_SUBTRACT,
    TIDE_TRITON_MULTIPLY,
    TIDE_TRITON_DIVIDE,
    TIDE_TRITON_REMAINDER,
    TIDE_TRITON_LEAST,
    TIDE_TRITON_MOST,
    TIDE_TRITON_AND, /* of bits */
    TIDE_TRITON_OR,
    TIDE_TRITON_SHIFT_LEFT,
    TIDE_TRITON_SHIFT_RIGHT,
    TIDE_TRITON_SELECT, /* the second or the third operand */
    TIDE_TRITON_LOAD,   /* of n_values values through the first operand */
    TIDE_TRITON_STORE,
    TIDE_TRITON_ATOMIC, /* a load and a store */
    TIDE_TRITON_DOT,    /* a product of matrices with n_values multiplications */
    /* From the first operand to below the second in steps of the third. Its links are from `low` to
     * `high` - 1. Without a result: an if or, with n_values 1, a reduction. */
    TIDE_TRITON_FOR,
    TIDE_TRITON_END /* of the loop */
} tide_triton_code;

typedef struct tide_triton_step {
    tide_triton_code code;
    uint32_t result;                         /* the number of a value; 0: none */
    uint32_t operands[TIDE_TRITON_OPERANDS]; /* numbers of values; 0: none, or unnamed */
    int64_t low, high; /* of a code without other use for them: bounds of an unknown result */
    uint64_t n_values;
    uint32_t value_bytes; /* of a load and a store */
    uint8_t type;         /* of a product: tide_run_type of its factors */
} tide_triton_step;

/* A variable that a loop changes: numbers of values. */
typedef struct tide_triton_link {
    uint32_t variable;
    uint32_t first; /* before the loop */
    uint32_t next;  /* at the end of an iteration; 0: unknown */
} tide_triton_link;

typedef struct tide_triton_program {
    size_t n_arguments, n_values, n_steps, n_links; /* argument i is value i + 1 */
    struct {
        uint32_t pointed_bytes; /* of the type it points to; 0: it is a number */
        uint32_t n_bytes;       /* of a number */
    } arguments[TIDE_TRITON_ARGUMENTS];
    tide_triton_step *steps; /* owned */
    tide_triton_link *links; /* owned */
} tide_triton_program;

/* From malloc; the caller releases it with tide_triton_program_free. NULL: the text cannot be
 * followed, or there is no host memory. */
tide_triton_program *tide_triton_parse(const char *text);
/* NULL is allowed. */
void tide_triton_program_free(tide_triton_program *program);

/* triton_types.c: the types of a line, from `at` to `end`. */

/* Searches only up to the end of the line, because a text may have many lines. NULL: it has no such
 * part. */
const char *tide_triton_find(const char *at, const char *end, const char *part);
/* Of "tensor<1x64x!tt.ptr<bf16>>", 64; of "!tt.ptr<bf16>", 1. */
uint64_t tide_triton_values_in(const char *type, const char *end);
/* The bits of a type such as "bf16"; 0: another type. */
uint32_t tide_triton_bits_of(const char *type);
/* The bytes of a value of "tensor<64x!tt.ptr<f32>>"; 0: unknown. */
uint32_t tide_triton_value_bytes(const char *type, const char *end);
/* Sets low and high to the bounds of a result of 1 or 8 bits. */
void tide_triton_bound_result(const char *operation, const char *end, tide_triton_step *step);
/* Fills in a product, whose types begin at `type`. */
void tide_triton_read_dot(const char *operation, const char *type, const char *end,
                          tide_triton_step *step);

/* Adds the bytes and elements of a launch to the row, which has none yet. False if the launch does
 * not have the arguments of the text or there is no host memory; nothing is added then. */
bool tide_triton_follow(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_run_launch *row);

#endif
