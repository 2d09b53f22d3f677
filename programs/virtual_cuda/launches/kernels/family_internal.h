/* family_internal.h - a family of kernels: the names it has, and how its work is computed.
 *
 * The name is parsed once for each kernel; the arguments are read at each launch.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_FAMILY_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_FAMILY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/launches/kernels/work.h"

enum { TIDE_VC_MOST_ARGUMENTS = 32, TIDE_VC_PARSED = 12 };

/* A parameter of a kernel, according to the kernel's name. */
typedef enum tide_vc_parameter_kind {
    TIDE_VC_PARAMETER_OTHER = 0,
    TIDE_VC_PARAMETER_INTEGER,  /* of `bytes` */
    TIDE_VC_PARAMETER_POINTER,  /* to elements of `bytes` */
    TIDE_VC_PARAMETER_ACCESSOR, /* PyTorch's GenericPackedTensorAccessor */
    TIDE_VC_PARAMETER_TENSOR    /* PyTorch's TensorInfo */
} tide_vc_parameter_kind;

typedef struct tide_vc_parameter {
    uint8_t kind;         /* tide_vc_parameter_kind */
    uint8_t bytes;        /* of an integer, or of an element; 0: unknown */
    uint8_t index_bytes;  /* of a length of an accessor or of a TensorInfo */
    uint8_t n_dimensions; /* of an accessor */
} tide_vc_parameter;

/* The numbers that a family extracts from a kernel's name, in a meaning of its own. All zero at
 * first. */
typedef struct tide_vc_parsed {
    uint32_t number[TIDE_VC_PARSED];
    uint8_t flags;        /* for the row: TIDE_RUN_ESTIMATED if the name leaves a size open */
    uint8_t n_parameters; /* 0: the family knows the number */
    tide_vc_parameter parameters[TIDE_VC_MOST_ARGUMENTS];
} tide_vc_parsed;

/* The arguments of a launch; only tide_vc_argument reads them. */
typedef struct tide_vc_arguments {
    size_t n;
    uintptr_t at[TIDE_VC_MOST_ARGUMENTS];
    size_t n_bytes[TIDE_VC_MOST_ARGUMENTS]; /* at most; an argument may be shorter */
    bool is_on_stack[TIDE_VC_MOST_ARGUMENTS];
} tide_vc_arguments;

/* A launch, as a family sees it. */
typedef struct tide_vc_launched_kernel {
    const tide_vc_kernel_call *call;
    const tide_vc_parsed *parsed;
    const char *operands; /* of an operand family; otherwise NULL */
    tide_vc_arguments arguments;
    uint64_t n_threads;
    uint64_t (*bytes_from)(uint64_t address); /* to the end of its allocation; 0: none. Or NULL */
    /* The card's value; false: it is unknown. Or NULL. */
    bool (*read_value)(uint64_t address, size_t n_bytes, void *to);
} tide_vc_launched_kernel;

typedef struct tide_vc_work_family {
    const char *part; /* of the kernel's name as the compiler wrote it: "13reduce_kernelI" */
    tide_run_family family;
    unsigned n_arguments; /* of its kernels */
    /* `symbol`: the demangled name, "void at::native::reduce_kernel<512, ...>(...)"; "" if it
     * cannot be demangled. NULL: the name says nothing more. */
    void (*parse)(const char *symbol, tide_vc_parsed *ret_parsed);
    /* Fills in the row from the arguments. False: they make no sense, and the row is not used. */
    bool (*read)(const tide_vc_launched_kernel *launched, tide_run_launch *row);
} tide_vc_work_family;

/* The families in search order; the first whose part is in the name wins. */
const tide_vc_work_family *tide_vc_work_families(size_t *ret_n);

/* Kernels whose parameters give all their operands: operand_families.c has the list, and operands.c
 * defines the syntax of `operands`. */
typedef struct tide_vc_operand_family {
    const char *part; /* of the mangled name: "13softmax_kernelI"; * is a wildcard */
    tide_run_family family;
    unsigned n_parameters; /* of the versions of the kernel that this line covers */
    const char *operands;
} tide_vc_operand_family;

const tide_vc_operand_family *tide_vc_operand_families(size_t *ret_n);

/* The variants of kernels that the names give, and their rows. */
typedef struct tide_vc_variant {
    const char *part; /* of the mangled name, as in families.c */
    tide_run_variant variant;
    char row_length; /* the parameter with the length of a row, as in operands.c; 0: no rows */
} tide_vc_variant;

/* NULL: the kernel has none. Static. */
const tide_vc_variant *tide_vc_variant_of(const char *name);
/* Fills in the variant and the rows of a row with elements. */
void tide_vc_variant_fill(const tide_vc_variant *variant, const tide_vc_launched_kernel *launched,
                          tide_run_launch *row);

/* Whether a kernel's mangled name has the part, in which * matches anything. */
bool tide_vc_name_has(const char *name, const char *part);

/* False: the kernel has other parameters than the family. */
bool tide_vc_operands_parse(const char *symbol, const tide_vc_operand_family *family,
                            tide_vc_parsed *ret_parsed);
bool tide_vc_operands_read(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* Copies n_bytes of argument i, starting at its byte `at`. False: it is shorter. */
bool tide_vc_argument(const tide_vc_launched_kernel *launched, size_t i, size_t at, void *to,
                      size_t n_bytes);

/* How many of the n addresses differ. */
uint32_t tide_vc_distinct(const void *const *addresses, uint32_t n);

/* Finds the n_arguments arguments of a call. */
void tide_vc_arguments_find(void **list, unsigned n_arguments, tide_vc_arguments *ret_arguments);

#endif
