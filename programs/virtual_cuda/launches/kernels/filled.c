/* filled.c - PyTorch's kernels that fill a tensor and read none:
 *
 *   distribution_elementwise_grid_stride_kernel<T, n, draw, write>(elements, seed, draw, write)
 *   elementwise_kernel_with_index<index, F>(elements, F, F's result *)
 *
 * The type of the tensor is in `write`, a lambda of distribution_nullary_kernel<type, ...>. F is a
 * lambda in a switch over types, and the name has only its number. */
#define _GNU_SOURCE /* memmem */
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/parameters_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

enum { ELEMENT_BYTES = 0 }; /* tide_vc_parsed.number */
enum { N_ELEMENTS = 0 };    /* argument */

void tide_vc_parse_random(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    ret_parsed->number[ELEMENT_BYTES] =
        tide_vc_type_bytes(tide_vc_symbol_argument(text, "distribution_nullary_kernel", 0));
    (void)tide_vc_parameters_parse(symbol, "distribution_elementwise_grid_stride_kernel",
                                   ret_parsed);
}

/* The bytes of the types of a switch, by the function around it; arange's is that of PyTorch 2.14.
 */
static const struct {
    const char *begin;
    uint8_t n_bytes[9];
} SWITCHES[] = {
    {"arange_cuda_out*::{lambda()#1}::operator()() const::{lambda()#", {1, 1, 4, 8, 2, 8, 4, 2, 2}},
    {"space_cuda_out*::{lambda()#1}::operator()() const::{lambda()#", {1, 1, 4, 8, 2}},
    {"space_cuda_out*::{lambda()#2}::operator()() const::{lambda()#", {8, 4, 16, 8, 2, 2}}};

/* 0: unknown. */
static uint32_t sequence_bytes(const char *symbol) {
    for (size_t i = 0; i < sizeof(SWITCHES) / sizeof(SWITCHES[0]); i++) {
        const char *begin = SWITCHES[i].begin;
        size_t n = strcspn(begin, "*");
        const char *at = memmem(symbol, strlen(symbol), begin, n);
        at = at != NULL ? strstr(at + n, begin + n + 1) : NULL;
        if (at != NULL) {
            at += strlen(begin + n + 1);
            size_t number = tide_vc_text_number((tide_vc_text){at, strlen(at)});
            return number > 0 && number <= sizeof(SWITCHES[i].n_bytes)
                       ? SWITCHES[i].n_bytes[number - 1]
                       : 0;
        }
    }
    return 0;
}

void tide_vc_parse_sequence(const char *symbol, tide_vc_parsed *ret_parsed) {
    enum { UNKNOWN_BYTES = 8 }; /* arange without a type gives int64 */
    uint32_t n_bytes = sequence_bytes(symbol);
    ret_parsed->number[ELEMENT_BYTES] = n_bytes > 0 ? n_bytes : UNKNOWN_BYTES;
    ret_parsed->flags = TIDE_RUN_ESTIMATED; /* another PyTorch may have other cases */
    (void)tide_vc_parameters_parse(symbol, "elementwise_kernel_with_index", ret_parsed);
}

bool tide_vc_read_filled(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const tide_vc_parsed *parsed = launched->parsed;
    if (parsed->n_parameters == 0 ||
        !tide_vc_parameter_count(launched, N_ELEMENTS, &row->elements)) {
        return false;
    }
    row->bytes = row->elements * parsed->number[ELEMENT_BYTES];
    return row->bytes > 0;
}
