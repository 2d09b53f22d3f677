/* parameters.c - the parameters of a kernel, from its name.
 *
 * GenericPackedTensorAccessor<T, n, traits, index> is an address and then n lengths and n strides
 * of the type index; since PyTorch 2.9 it has two more template arguments before T. TensorInfo<T,
 * index> is an address, 25 lengths, 25 strides and the number of dimensions. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "programs/virtual_cuda/launches/kernels/parameters_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* Removes a word that the text begins or ends with. */
static tide_vc_text without(tide_vc_text text, const char *word) {
    size_t n = strlen(word);
    if (text.n >= n && memcmp(text.at + text.n - n, word, n) == 0) {
        text.n -= n;
    } else if (tide_vc_text_begins(text, word)) {
        text = (tide_vc_text){text.at + n, text.n - n};
    }
    while (text.n > 0 && text.at[text.n - 1] == ' ') {
        text.n--;
    }
    return text;
}

static tide_vc_text unqualified(tide_vc_text type) {
    static const char *const QUALIFIERS[] = {"const ",    " const",        "volatile ",
                                             " volatile", " __restrict__", " restrict"};
    for (size_t pass = 0; pass < 2; pass++) { /* "float const volatile" */
        for (size_t i = 0; i < sizeof(QUALIFIERS) / sizeof(QUALIFIERS[0]); i++) {
            type = without(type, QUALIFIERS[i]);
        }
    }
    return type;
}

/* Resolves types that the name gives as a rule: the type of sums of T, and a choice between two. */
static tide_vc_text resolved(tide_vc_text type) {
    type = unqualified(type);
    if (tide_vc_text_begins(type, "std::conditional<")) {
        tide_vc_text choice = tide_vc_symbol_argument(type, "std::conditional", 0);
        return tide_vc_symbol_argument(type, "std::conditional",
                                       tide_vc_text_begins(choice, "true") ? 1 : 2);
    }
    return type;
}

static uint32_t element_bytes(tide_vc_text type) {
    static const char *const SUMS[] = {"AccumulateType", "OpMathType"};
    type = resolved(type);
    for (size_t i = 0; i < sizeof(SUMS) / sizeof(SUMS[0]); i++) {
        tide_vc_text of = tide_vc_symbol_argument(type, SUMS[i], 0);
        if (of.at != NULL) { /* fp16, bf16 and fp32 are summed in fp32 */
            uint32_t n_bytes = tide_vc_type_bytes(of);
            return n_bytes == 0 || n_bytes > 4 ? n_bytes : 4;
        }
    }
    return tide_vc_type_bytes(type);
}

static tide_vc_parameter accessor(tide_vc_text type) {
    static const char NAME[] = "GenericPackedTensorAccessor";
    size_t first = tide_vc_text_number(tide_vc_symbol_argument(type, NAME, 1)) > 0 ? 0 : 2;
    return (tide_vc_parameter){
        .kind = TIDE_VC_PARAMETER_ACCESSOR,
        .bytes = (uint8_t)element_bytes(tide_vc_symbol_argument(type, NAME, first)),
        .n_dimensions =
            (uint8_t)tide_vc_text_number(tide_vc_symbol_argument(type, NAME, first + 1)),
        .index_bytes = (uint8_t)tide_vc_type_bytes(tide_vc_symbol_argument(type, NAME, first + 3))};
}

static bool is_integer(tide_vc_text type) {
    static const char *const INTEGERS[] = {"int",           "unsigned int", "long",
                                           "unsigned long", "long long",    "unsigned long long"};
    for (size_t i = 0; i < sizeof(INTEGERS) / sizeof(INTEGERS[0]); i++) {
        if (type.n == strlen(INTEGERS[i]) && tide_vc_text_begins(type, INTEGERS[i])) {
            return true;
        }
    }
    return false;
}

static bool is_template(tide_vc_text type, const char *name) {
    const char *arguments = memchr(type.at, '<', type.n);
    size_t n = strlen(name);
    return arguments != NULL && (size_t)(arguments - type.at) >= n &&
           memcmp(arguments - n, name, n) == 0;
}

static tide_vc_parameter parameter_of(tide_vc_text type) {
    type = unqualified(type);
    if (type.n > 0 && type.at[type.n - 1] == '*') {
        tide_vc_text element = {type.at, type.n - 1};
        return (tide_vc_parameter){.kind = TIDE_VC_PARAMETER_POINTER,
                                   .bytes = (uint8_t)element_bytes(element)};
    }
    if (is_integer(type)) {
        return (tide_vc_parameter){.kind = TIDE_VC_PARAMETER_INTEGER,
                                   .bytes = (uint8_t)tide_vc_type_bytes(type)};
    }
    if (is_template(type, "GenericPackedTensorAccessor")) {
        return accessor(type);
    }
    if (is_template(type, "TensorInfo")) {
        tide_vc_text element = tide_vc_symbol_argument(type, "TensorInfo", 0);
        tide_vc_text index = tide_vc_symbol_argument(type, "TensorInfo", 1);
        return (tide_vc_parameter){.kind = TIDE_VC_PARAMETER_TENSOR,
                                   .bytes = (uint8_t)element_bytes(element),
                                   .index_bytes = (uint8_t)tide_vc_type_bytes(index)};
    }
    return (tide_vc_parameter){.kind = TIDE_VC_PARAMETER_OTHER};
}

bool tide_vc_parameters_parse(const char *symbol, const char *function,
                              tide_vc_parsed *ret_parsed) {
    tide_vc_text list = tide_vc_symbol_parameters((tide_vc_text){symbol, strlen(symbol)}, function);
    uint8_t n = 0;
    for (; n < TIDE_VC_MOST_ARGUMENTS && list.at != NULL; n++) {
        tide_vc_text type = tide_vc_symbol_part(list, n);
        if (type.at == NULL) {
            break;
        }
        ret_parsed->parameters[n] = parameter_of(type);
    }
    ret_parsed->n_parameters = n;
    return n > 0;
}

/* ---- values ---- */

static bool integer(const tide_vc_launched_kernel *launched, size_t i, size_t at, size_t n_bytes,
                    uint64_t *ret) {
    uint64_t value = 0; /* little-endian, as every CUDA host */
    if (n_bytes > sizeof(value) || !tide_vc_argument(launched, i, at, &value, n_bytes)) {
        return false;
    }
    *ret = value;
    return n_bytes < sizeof(value) ? value >> (8 * n_bytes - 1) == 0 : value >> 63 == 0;
}

enum { LENGTHS_AT = 8, MAX_DIMENSIONS = 25 };

static bool elements_of(const tide_vc_launched_kernel *launched, size_t i,
                        const tide_vc_parameter *of, uint64_t *ret) {
    uint64_t n_dimensions = of->n_dimensions;
    if (of->kind == TIDE_VC_PARAMETER_TENSOR &&
        !integer(launched, i, LENGTHS_AT + (size_t)2 * MAX_DIMENSIONS * of->index_bytes,
                 sizeof(int), &n_dimensions)) {
        return false;
    }
    uint64_t n = 1;
    for (uint64_t d = 0; d < n_dimensions && d < MAX_DIMENSIONS; d++) {
        uint64_t length = 0;
        if (!integer(launched, i, LENGTHS_AT + d * of->index_bytes, of->index_bytes, &length) ||
            __builtin_mul_overflow(n, length, &n)) {
            return false;
        }
    }
    *ret = n;
    return n_dimensions <= MAX_DIMENSIONS;
}

bool tide_vc_parameter_count(const tide_vc_launched_kernel *launched, size_t i, uint64_t *ret) {
    const tide_vc_parameter *of = &launched->parsed->parameters[i];
    switch (of->kind) {
    case TIDE_VC_PARAMETER_INTEGER:
        return integer(launched, i, 0, of->bytes, ret);
    case TIDE_VC_PARAMETER_ACCESSOR:
    case TIDE_VC_PARAMETER_TENSOR:
        return elements_of(launched, i, of, ret);
    default:
        return false;
    }
}

bool tide_vc_parameter_address(const tide_vc_launched_kernel *launched, size_t i,
                               const void **ret_address) {
    return tide_vc_argument(launched, i, 0, ret_address, sizeof(*ret_address));
}
