/* signature.c - the inputs and the output of an elementwise function of PyTorch, from its type: a
 * lambda shows its parameters, a named functor has its types as template arguments. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* ---- lambdas ---- */

/* Lambdas whose result type differs from their inputs, by the function around them. */
static const struct {
    const char *function;
    uint32_t output_bytes; /* 0: twice the first operand's */
} RESULTS[] = {{"logical_not_kernel_cuda", 1},
               {"isposinf_kernel_impl", 1},
               {"isneginf_kernel_impl", 1},
               {"signbit_kernel_cuda", 1},
               {"compare_scalar_kernel", 1},
               {"float8_copy_kernel_cuda", 1},
               {"bfloat16_copy_kernel_cuda", 2},
               {"float16_copy_kernel_cuda", 2},
               {"bfloat16tofloat32_copy_kernel", 4},
               {"float16tofloat32_copy_kernel", 4},
               {"dequantize_tensor", 4},
               {"complex_kernel_cuda", 0},
               {"polar_kernel_cuda", 0}};

static uint32_t result_of(tide_vc_text lambda, const tide_vc_signature *of) {
    for (size_t i = 0; i < sizeof(RESULTS) / sizeof(RESULTS[0]); i++) {
        if (tide_vc_text_has(lambda, RESULTS[i].function)) {
            return RESULTS[i].output_bytes > 0 ? RESULTS[i].output_bytes : 2 * of->input_bytes[0];
        }
    }
    return 0;
}

/* The parameters of the lambda at the end of the text: of "f()::{lambda(int, bool)#2}", "int,
 * bool". */
static tide_vc_text parameters_of(tide_vc_text text) {
    static const char BEGIN[] = "{lambda(";
    tide_vc_text found = {NULL, 0};
    if (text.n == 0 || text.at[text.n - 1] != '}') {
        return found;
    }
    const char *end = memrchr(text.at, ')', text.n);
    for (const char *at = memmem(text.at, text.n, BEGIN, strlen(BEGIN)); at != NULL && at < end;) {
        found = (tide_vc_text){at + strlen(BEGIN), (size_t)(end - at) - strlen(BEGIN)};
        at = memmem(found.at, found.n, BEGIN, strlen(BEGIN));
    }
    return found;
}

/* The result has the type of the first operand that is not a truth value (masks are), unless
 * RESULTS overrides it. */
static tide_vc_signature of_lambda(tide_vc_text lambda, tide_vc_text parameters) {
    tide_vc_signature of = {0};
    for (uint32_t i = 0; i < TIDE_VC_MOST_OPERANDS; i++) {
        tide_vc_text type = tide_vc_symbol_part(parameters, i);
        if (type.at == NULL) {
            break;
        }
        bool is_mask = tide_vc_text_begins(type, "bool");
        of.input_bytes[i] = tide_vc_type_bytes(type);
        of.n_inputs = i + 1;
        if (of.output_bytes == 0 && !is_mask) {
            of.output_bytes = of.input_bytes[i];
        }
    }
    uint32_t result = result_of(lambda, &of);
    of.output_bytes = result > 0            ? result
                      : of.output_bytes > 0 ? of.output_bytes
                                            : of.input_bytes[0];
    return of;
}

/* ---- functors with a name ---- */

/* The template arguments of a functor that are its operands and its result. */
static const struct {
    const char *name;
    uint32_t n_inputs, inputs[2], output;
} FUNCTORS[] = {{"AUnaryFunctor", 1, {1, 0}, 2},
                {"BUnaryFunctor", 1, {0, 0}, 2},
                {"BinaryFunctor", 2, {0, 1}, 2},
                {"FillFunctor", 0, {0, 0}, 0}};

/* Functors whose result is a truth value or a byte. */
static const char *const BYTES[] = {"CompareFunctor", "CompareEqFunctor", "ConvertFloatToFloat8",
                                    "ConvertToFloat8"};

static tide_vc_text name_of(tide_vc_text functor) {
    static const char HIDDEN[] = "(anonymous namespace)::";
    const char *found = memmem(functor.at, functor.n, HIDDEN, strlen(HIDDEN));
    const char *from = found != NULL ? found + strlen(HIDDEN) : functor.at;
    size_t n = functor.n - (size_t)(from - functor.at);
    const char *end = memchr(from, '<', n);
    n = end != NULL ? (size_t)(end - from) : n;
    const char *colon = memrchr(from, ':', n);
    return colon != NULL ? (tide_vc_text){colon + 1, n - (size_t)(colon + 1 - from)}
                         : (tide_vc_text){from, n};
}

static bool is_named(tide_vc_text name, const char *other) {
    return name.n == strlen(other) && tide_vc_text_begins(name, other);
}

static tide_vc_text template_arguments(tide_vc_text functor, tide_vc_text name) {
    size_t before = (size_t)(name.at - functor.at) + name.n + 1;
    return before < functor.n ? (tide_vc_text){functor.at + before, functor.n - before}
                              : (tide_vc_text){NULL, 0};
}

/* All operands and the result have the type of the first template argument. */
static tide_vc_signature of_one_type(tide_vc_text name, tide_vc_text arguments, uint32_t n_inputs) {
    tide_vc_signature of = {.n_inputs = n_inputs};
    uint32_t n_bytes = tide_vc_type_bytes(tide_vc_symbol_part(arguments, 0));
    for (uint32_t i = 0; i < n_inputs && i < TIDE_VC_MOST_OPERANDS; i++) {
        of.input_bytes[i] = n_bytes;
    }
    of.output_bytes = n_bytes;
    for (size_t i = 0; i < sizeof(BYTES) / sizeof(BYTES[0]); i++) {
        of.output_bytes = tide_vc_text_begins(name, BYTES[i]) ? 1 : of.output_bytes;
    }
    return of;
}

static tide_vc_signature of_functor(tide_vc_text functor, uint32_t n_inputs) {
    tide_vc_text name = name_of(functor);
    tide_vc_text arguments = template_arguments(functor, name);
    for (size_t i = 0; i < sizeof(FUNCTORS) / sizeof(FUNCTORS[0]); i++) {
        if (is_named(name, FUNCTORS[i].name)) {
            tide_vc_signature of = {.n_inputs = FUNCTORS[i].n_inputs};
            for (uint32_t j = 0; j < of.n_inputs; j++) {
                of.input_bytes[j] =
                    tide_vc_type_bytes(tide_vc_symbol_part(arguments, FUNCTORS[i].inputs[j]));
            }
            of.output_bytes =
                tide_vc_type_bytes(tide_vc_symbol_part(arguments, FUNCTORS[i].output));
            return of;
        }
    }
    return of_one_type(name, arguments, n_inputs);
}

tide_vc_signature tide_vc_signature_of(tide_vc_text functor, uint32_t n_inputs) {
    tide_vc_text parameters = parameters_of(functor);
    return parameters.at != NULL ? of_lambda(functor, parameters) : of_functor(functor, n_inputs);
}
