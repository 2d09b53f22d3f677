/* symbol_internal.h - the types in a kernel's name as common/text/demangle.h prints it.
 *
 * A program without a C++ library has no C++ kernels.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_SYMBOL_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_SYMBOL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a symbol, without a 0 at its end. NULL: none. */
typedef struct tide_vc_text {
    const char *at;
    size_t n;
} tide_vc_text;

/* Argument i of the first template of that name: in "f<4, g<int>, h>", i = 1 is "g<int>". */
tide_vc_text tide_vc_symbol_argument(tide_vc_text symbol, const char *template_name, size_t i);

/* Part i of a list "int, g<int, long>, float". */
tide_vc_text tide_vc_symbol_part(tide_vc_text list, size_t i);

bool tide_vc_text_has(tide_vc_text text, const char *part);
bool tide_vc_text_begins(tide_vc_text text, const char *part);

/* The parameters of the function of that name, "f<...>(int, float*)" or "f(int, float*)": "int,
 * float*". */
tide_vc_text tide_vc_symbol_parameters(tide_vc_text symbol, const char *function);

/* The bytes of a value of that type in PyTorch's tensors; 0: another type. */
uint32_t tide_vc_type_bytes(tide_vc_text type);

/* The number at the beginning of the text; 0: none. */
uint32_t tide_vc_text_number(tide_vc_text text);

/* The inputs and the output of a function that is applied to elements. */
enum { TIDE_VC_MOST_OPERANDS = 8 };
typedef struct tide_vc_signature {
    uint32_t n_inputs, input_bytes[TIDE_VC_MOST_OPERANDS]; /* 0 bytes: unknown */
    uint32_t output_bytes;                                 /* 0: unknown */
} tide_vc_signature;

/* Of a functor or a lambda of PyTorch. n_inputs: of the kernel, if known; otherwise 0, and the text
 * gives the number. */
tide_vc_signature tide_vc_signature_of(tide_vc_text functor, uint32_t n_inputs);

#endif
