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
    TIDE_TRITON_SELECT,  /* the second or the third operand */
    TIDE_TRITON_COMPARE, /* of integers; `low` is a tide_triton_comparison */
    TIDE_TRITON_LOAD,    /* of n_values values through the first operand */
    TIDE_TRITON_STORE,
    TIDE_TRITON_ATOMIC, /* a load and a store */
    TIDE_TRITON_DOT,    /* a product of matrices with n_values multiplications */
    /* Arithmetic of blocks of n_values values: `value_bytes` of operands and results for each. Only
     * of blocks that may have more values than registers. */
    TIDE_TRITON_COMPUTE,
    /* From the first operand to below the second in steps of the third. Its links are from `low` to
     * `high` - 1. Without a result: a reduction. */
    TIDE_TRITON_FOR,
    TIDE_TRITON_IF, /* the first operand: its condition */
    TIDE_TRITON_ELSE,
    TIDE_TRITON_END /* of the loop, the if or the reduction */
} tide_triton_code;

typedef enum tide_triton_comparison {
    TIDE_TRITON_EQUAL = 0,
    TIDE_TRITON_UNEQUAL,
    TIDE_TRITON_LESS,
    TIDE_TRITON_AT_MOST,
    TIDE_TRITON_GREATER,
    TIDE_TRITON_AT_LEAST
} tide_triton_comparison;

typedef struct tide_triton_step {
    tide_triton_code code;
    uint32_t result;                         /* the number of a value; 0: none */
    uint32_t operands[TIDE_TRITON_OPERANDS]; /* numbers of values; 0: none, or unnamed */
    int64_t low, high; /* of a code without other use for them: bounds of an unknown result */
    uint64_t n_values;
    uint32_t value_bytes; /* of a load and a store */
    uint8_t type;         /* of a product: tide_run_type of its factors */
    bool is_integer;      /* of a load */
    bool decides;         /* of a load of integers: a loop or an if depends on the result */
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
        bool matters;           /* a place, a loop or an if depends on the number */
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
/* Whether the values of "tensor<64x!tt.ptr<i32>>" are integers. */
bool tide_triton_is_integer(const char *type, const char *end);
/* The comparison of "slt, %3, %4 : i32". */
tide_triton_comparison tide_triton_comparison_of(const char *at);
/* Fills in a product, whose types begin at `type`. */
void tide_triton_read_dot(const char *operation, const char *type, const char *end,
                          tide_triton_step *step);

/* triton_kept.c: sets arguments[].matters and steps[].decides. */
void tide_triton_find_what_matters(tide_triton_program *program);

/* A value of the card that decides a loop or an if. */
typedef struct tide_triton_read {
    uint64_t address;  /* that of the argument and `at` bytes */
    uint64_t at;       /* modulo 2^64 */
    int64_t value;     /* 0: unknown */
    uint32_t argument; /* a pointer, from 0 on */
    uint32_t n_bytes;
    bool is_known;
} tide_triton_read;

/* All that were read; n is larger than the array if some are missing. */
enum { TIDE_TRITON_READS = 64 };
typedef struct tide_triton_reads {
    size_t n;
    tide_triton_read of[TIDE_TRITON_READS];
} tide_triton_reads;

/* What a row depends on beside the grid, the block and the arguments that matter. */
typedef struct tide_triton_needs {
    tide_triton_reads reads;
    /* Bytes at unknown places through a pointer, which the end of its allocation bounds; 0: none.
     */
    double unknown_bytes[TIDE_TRITON_ARGUMENTS];
} tide_triton_needs;

/* Adds the bytes and elements of a launch to the row, which has none yet. False if the launch does
 * not have the arguments of the text or there is no host memory; nothing is added then. */
bool tide_triton_follow(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_run_launch *row, tide_triton_needs *ret_needs);

/* Sets the value of a read from the card's; false: it is unknown. */
bool tide_triton_read_value(const tide_vc_launched_kernel *launched, tide_triton_read *of);

/* triton_kept.c: rows of former launches. */

/* What decides a row: the grid, the block and the integers that matter; 0 for other arguments. */
typedef struct tide_triton_key {
    unsigned grid[3], block[3];
    uint64_t numbers[TIDE_TRITON_ARGUMENTS];
} tide_triton_key;

typedef struct tide_triton_kept {
    tide_triton_key key;
    tide_triton_needs needs;
    uint64_t allocated[TIDE_TRITON_ARGUMENTS]; /* from the address of a pointer on, if needs has
                                                * unknown bytes of it; 0: unknown */
    tide_run_launch row;
} tide_triton_kept;

/* False: the launch does not have the arguments of the text. */
bool tide_triton_key_of(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_triton_key *ret_key);
/* Fills in what the row needs of the launch, beside the row. False: it cannot be kept. */
bool tide_triton_keep(const tide_vc_launched_kernel *launched, const tide_triton_key *key,
                      const tide_triton_needs *needs, const tide_run_launch *row,
                      tide_triton_kept *ret_kept);
/* Whether a launch of the same key has the same row: the card's values are the same, and
 * allocations bound the same bytes. */
bool tide_triton_holds(const tide_triton_kept *kept, const tide_vc_launched_kernel *launched);

#endif
