/* operands.c - the bytes that a kernel moves, from a text about its parameters.
 *
 * "a:df b:df g:f" says: parameter a, the first, is an operand with d x f elements, as is b; g has f
 * elements. d and f are parameters also; a parameter that is a tensor with lengths means its number
 * of elements. In a count
 *
 *   a .. z    is a parameter, a being the first     X Y Z  are the blocks of the grid
 *   12        is a number                           B      are the rows of a block, blockDim.y
 *   /         divides by what follows               T      are all threads
 *   !         before it: it is bytes, not elements
 *   ,         separates two counts; the smaller one counts
 *
 * An operand that is NULL moves nothing. "=:T" gives the number of elements that the threads
 * process; by default it is the largest count. "@:def" is the number of multiplications of a
 * product of matrices. "*" is every tensor with lengths, whole. "~" at the front: the bytes depend
 * on values, such as equal indices, and this is the most. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/card/pinned.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/parameters_internal.h"

/* ---- parsing the name ---- */

/* "softmax" of "7softmaxI*Lb1EEEv". */
static void function_of(const char *part, char *ret, size_t n_bytes) {
    char *name = NULL;
    size_t n = strtoul(part, &name, 10);
    part = name;
    n = n < n_bytes ? n : n_bytes - 1;
    memcpy(ret, part, n);
    ret[n] = 0;
}

static bool is_tensor(const tide_vc_parameter *of) {
    return of->kind == TIDE_VC_PARAMETER_ACCESSOR || of->kind == TIDE_VC_PARAMETER_TENSOR;
}

/* Whether every letter names a fitting parameter: before a colon an address of elements of a known
 * size, otherwise a number. */
static bool fits(const char *operands, const tide_vc_parsed *parsed) {
    for (const char *at = operands; *at != 0; at++) {
        if (!islower((unsigned char)*at)) {
            continue;
        }
        size_t i = (size_t)(*at - 'a');
        const tide_vc_parameter *of = &parsed->parameters[i];
        bool is_operand = at[1] == ':';
        bool is_good = is_operand ? (of->kind == TIDE_VC_PARAMETER_POINTER || is_tensor(of)) &&
                                        (of->bytes > 0 || at[2] == '!')
                                  : of->kind == TIDE_VC_PARAMETER_INTEGER || is_tensor(of);
        if (i >= parsed->n_parameters || !is_good) {
            return false;
        }
    }
    return true;
}

bool tide_vc_name_has(const char *name, const char *part) {
    while (true) {
        size_t n = strcspn(part, "*");
        name = memmem(name, strlen(name), part, n);
        if (name == NULL || part[n] == 0) {
            return name != NULL;
        }
        name += n;
        part += n + 1;
    }
}

bool tide_vc_operands_parse(const char *symbol, const tide_vc_operand_family *family,
                            tide_vc_parsed *ret_parsed) {
    char function[128];
    tide_vc_parsed parsed = {0};
    function_of(family->part, function, sizeof(function));
    if (!tide_vc_parameters_parse(symbol, function, &parsed) ||
        parsed.n_parameters != family->n_parameters || !fits(family->operands, &parsed)) {
        return false;
    }
    parsed.flags = family->operands[0] == '~' ? TIDE_RUN_ESTIMATED : 0;
    *ret_parsed = parsed;
    return true;
}

/* ---- at a launch ---- */

static bool factor(const tide_vc_launched_kernel *launched, const char **at, uint64_t *ret) {
    char c = **at;
    if (isdigit((unsigned char)c)) {
        uint64_t number = 0;
        for (; isdigit((unsigned char)**at); (*at)++) {
            number = 10 * number + (uint64_t)(**at - '0');
        }
        *ret = number;
        return true;
    }
    (*at)++;
    switch (c) {
    case 'X':
    case 'Y':
    case 'Z':
        *ret = launched->call->grid[c - 'X'];
        return true;
    case 'B':
        *ret = launched->call->block[1];
        return true;
    case 'T':
        *ret = launched->n_threads;
        return true;
    default:
        return tide_vc_parameter_count(launched, (size_t)(c - 'a'), ret);
    }
}

static bool product(const tide_vc_launched_kernel *launched, const char **at, uint64_t *ret) {
    uint64_t n = 1;
    while (isalnum((unsigned char)**at)) {
        uint64_t by = 0;
        if (!factor(launched, at, &by) || __builtin_mul_overflow(n, by, &n)) {
            return false;
        }
    }
    *ret = n;
    return true;
}

/* The smallest of the counts that begin at *at. */
static bool count(const tide_vc_launched_kernel *launched, const char **at, uint64_t *ret) {
    uint64_t least = UINT64_MAX;
    for (bool is_more = true; is_more; is_more = *(*at)++ == ',') {
        uint64_t n = 0;
        uint64_t by = 1;
        if (!product(launched, at, &n)) {
            return false;
        }
        if (**at == '/') {
            (*at)++;
            if (!product(launched, at, &by) || by == 0) {
                return false;
            }
        }
        least = n / by < least ? n / by : least;
    }
    (*at)--; /* the separator that ended it */
    *ret = least;
    return true;
}

static bool is_memory(const void *address) {
    return tide_vc_is_device(address) || tide_vc_is_managed(address);
}

/* Adds n elements, or bytes, of operand i, unless it is NULL. */
static bool add(const tide_vc_launched_kernel *launched, size_t i, uint64_t n, bool is_bytes,
                tide_run_launch *row) {
    const void *address = NULL;
    uint64_t n_bytes = is_bytes ? 1 : launched->parsed->parameters[i].bytes;
    if (!tide_vc_parameter_address(launched, i, &address) ||
        (address != NULL && !is_memory(address)) || __builtin_mul_overflow(n, n_bytes, &n_bytes)) {
        return false;
    }
    if (address != NULL) {
        row->bytes += n_bytes;
        row->elements = !is_bytes && n > row->elements ? n : row->elements;
    }
    return true;
}

static bool add_tensors(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const tide_vc_parsed *parsed = launched->parsed;
    for (size_t i = 0; i < parsed->n_parameters; i++) {
        uint64_t n = 0;
        if (is_tensor(&parsed->parameters[i]) &&
            (!tide_vc_parameter_count(launched, i, &n) || !add(launched, i, n, false, row))) {
            return false;
        }
    }
    return true;
}

/* The type is that of the first parameter, which is the factor that is not quantized. */
static void set_products(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    uint64_t n_blocks = 1;
    for (size_t i = 0; i < 3; i++) {
        n_blocks *= launched->call->grid[i];
    }
    row->k = TIDE_RUN_MULTIPLIES;
    row->m = n_blocks < UINT32_MAX ? (uint32_t)n_blocks : UINT32_MAX;
    bool is_single = launched->parsed->parameters[0].bytes == 4;
    bool is_half =
        strstr(launched->call->name, "6__half") != NULL; /* PyTorch's names are of bf16 */
    row->type = is_single ? TIDE_RUN_FP32 : is_half ? TIDE_RUN_FP16 : TIDE_RUN_BF16;
}

bool tide_vc_operands_read(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    uint64_t n_elements = 0;
    for (const char *at = launched->operands; *at != 0;) {
        if (*at == ' ' || *at == '~') {
            at++;
            continue;
        }
        char operand = *at++;
        uint64_t n = 0;
        if (operand == '*') {
            if (!add_tensors(launched, row)) {
                return false;
            }
            continue;
        }
        at++; /* the colon */
        bool is_bytes = *at == '!';
        at += is_bytes;
        if (!count(launched, &at, &n)) {
            return false;
        }
        size_t i = (size_t)(operand - 'a');
        if (operand == '@') {
            set_products(launched, row);
        }
        if (operand == '=' || operand == '@') {
            n_elements = n;
        } else if (!add(launched, i, n, is_bytes, row)) {
            return false;
        }
    }
    row->elements = n_elements > 0 ? n_elements : row->elements;
    return row->bytes > 0;
}
