/* triton_types.c - the types in a kernel's text: "tensor<128x64x!tt.ptr<bf16>>". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

static const char TENSOR[] = "tensor<";
static const char POINTER[] = "!tt.ptr<";

const char *tide_triton_find(const char *from, const char *end, const char *part) {
    size_t n = strlen(part);
    while (from < end && (size_t)(end - from) >= n) {
        from = memchr(from, part[0], (size_t)(end - from) - n + 1);
        if (from == NULL || memcmp(from, part, n) == 0) {
            return from;
        }
        from++;
    }
    return NULL;
}

static bool begins(const char *at, const char *end, const char *part) {
    size_t n = strlen(part);
    return at < end && (size_t)(end - at) >= n && memcmp(at, part, n) == 0;
}

/* By hand: sscanf looks at the whole rest of a text. */
uint32_t tide_triton_bits_of(const char *type) {
    enum { BYTE = 8, MOST = 1024 };
    uint32_t bits = 0;
    const char *at = type + (type[0] == 'b' ? 1 : 0);
    bool is_number = at[0] == 'f' || (at[0] == 'i' && at == type);
    if (strncmp(type, "f8", 2) == 0) {
        return BYTE;
    }
    for (at++; is_number && *at >= '0' && *at <= '9' && bits < MOST; at++) {
        bits = 10 * bits + (uint32_t)(*at - '0');
    }
    return bits > 0 && bits < BYTE ? BYTE : bits; /* a truth value takes a byte */
}

/* The product of the lengths after "tensor<", the last of them, and the type after them. */
static uint64_t lengths(const char *at, uint64_t *ret_last, const char **ret_type) {
    uint64_t n = 1;
    uint64_t last = 1;
    while (*at >= '0' && *at <= '9') {
        char *after = NULL;
        last = strtoull(at, &after, 10);
        n *= last;
        at = *after == 'x' ? after + 1 : after;
    }
    *ret_last = last;
    *ret_type = at;
    return n;
}

uint64_t tide_triton_values_in(const char *type, const char *end) {
    const char *at = tide_triton_find(type, end, TENSOR);
    const char *pointer = tide_triton_find(type, end, POINTER);
    uint64_t last = 0;
    bool is_one = at == NULL || (pointer != NULL && pointer < at &&
                                 pointer + strlen(POINTER) != at); /* not of a whole block */
    return is_one ? 1 : lengths(at + strlen(TENSOR), &last, &type);
}

/* The element of a type: "bf16" of "tensor<64x!tt.ptr<bf16>>" and of "!tt.ptr<tensor<64xbf16>>". */
static const char *element(const char *at, const char *end) {
    uint64_t last = 0;
    at += strspn(at, " (");
    for (size_t i = 0; i < 3; i++) { /* a tensor of pointers to tensors has no more levels */
        if (begins(at, end, TENSOR)) {
            (void)lengths(at + strlen(TENSOR), &last, &at);
        } else if (begins(at, end, POINTER)) {
            at += strlen(POINTER);
        }
    }
    return at;
}

uint32_t tide_triton_value_bytes(const char *type, const char *end) {
    return tide_triton_bits_of(element(type, end)) / 8;
}

bool tide_triton_is_integer(const char *type, const char *end) {
    return begins(element(type, end), end, "i");
}

/* The last type of a line: "A -> B", "A to B" and "A, B" end with that of the result. */
static const char *result_type(const char *types, const char *end) {
    static const char *const BEFORE[] = {"-> ", " to ", ", ", " : "};
    for (size_t i = 0; i < sizeof(BEFORE) / sizeof(BEFORE[0]); i++) {
        const char *found = NULL;
        for (const char *at = types; (at = tide_triton_find(at, end, BEFORE[i])) != NULL;) {
            at += strlen(BEFORE[i]);
            found = at;
        }
        if (found != NULL) {
            return element(found, end);
        }
    }
    return end;
}

void tide_triton_bound_result(const char *operation, const char *end, tide_triton_step *step) {
    enum { LEAST_BYTE = -128, MOST_BYTE = 255 }; /* with and without a sign */
    const char *types = tide_triton_find(operation, end, " : ");
    const char *type = types != NULL ? result_type(types, end) : end;
    if (begins(operation, end, "arith.cmp") || begins(type, end, "i1>") ||
        (begins(type, end, "i1") && type + 2 == end)) {
        step->high = 1;
    } else if (begins(type, end, "i8")) {
        step->low = LEAST_BYTE;
        step->high = MOST_BYTE;
    }
}

tide_triton_comparison tide_triton_comparison_of(const char *at) {
    static const struct {
        const char *name;
        tide_triton_comparison comparison;
    } NAMES[] = {{"eq", TIDE_TRITON_EQUAL},     {"ne", TIDE_TRITON_UNEQUAL},
                 {"slt", TIDE_TRITON_LESS},     {"ult", TIDE_TRITON_LESS},
                 {"sle", TIDE_TRITON_AT_MOST},  {"ule", TIDE_TRITON_AT_MOST},
                 {"sgt", TIDE_TRITON_GREATER},  {"ugt", TIDE_TRITON_GREATER},
                 {"sge", TIDE_TRITON_AT_LEAST}, {"uge", TIDE_TRITON_AT_LEAST}};
    at += strspn(at, " ");
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strncmp(at, NAMES[i].name, strlen(NAMES[i].name)) == 0) {
            return NAMES[i].comparison;
        }
    }
    return TIDE_TRITON_EQUAL;
}

static tide_run_type factor_type(const char *operation, const char *types, const char *element) {
    static const struct {
        const char *name;
        tide_run_type type;
    } TYPES[] = {{"bf16", TIDE_RUN_BF16}, {"f16", TIDE_RUN_FP16}, {"f64", TIDE_RUN_FP64},
                 {"f8", TIDE_RUN_FP8},    {"i8", TIDE_RUN_INT8},  {"i32", TIDE_RUN_INT32}};
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (strncmp(element, TYPES[i].name, strlen(TYPES[i].name)) == 0) {
            return TYPES[i].type;
        }
    }
    bool is_rounded = tide_triton_find(operation, types, "inputPrecision = tf32") != NULL;
    return is_rounded ? TIDE_RUN_TF32 : TIDE_RUN_FP32;
}

void tide_triton_read_dot(const char *operation, const char *type, const char *end,
                          tide_triton_step *step) {
    const char *first = tide_triton_find(type, end, TENSOR);
    const char *second = first != NULL ? tide_triton_find(first + 1, end, TENSOR) : NULL;
    const char *of_first = NULL;
    const char *of_second = NULL;
    uint64_t n_columns = 0;
    uint64_t last = 0;
    if (second == NULL) {
        return;
    }
    step->n_values = lengths(first + strlen(TENSOR), &last, &of_first);
    (void)lengths(second + strlen(TENSOR), &n_columns, &of_second);
    bool is_in_parts = tide_triton_find(operation, type, "inputPrecision = tf32x3") != NULL;
    step->n_values *= n_columns * (is_in_parts ? 3 : 1); /* each factor is two numbers of TF32 */
    step->type = (uint8_t)factor_type(operation, type, of_first);
}
