/* indexed.c - PyTorch's kernels that read or write at places that an index tensor chooses:
 *
 *   index_elementwise_kernel<threads, n, L>(N, L)              x[i], x[i] = y, take, put, flip
 *   _scatter_gather_elementwise_kernel<threads, n, L>(N, L)    gather, scatter
 *
 * The lambda L begins with an OffsetCalculator<k, unsigned> of two or all of the result, the source
 * and the indices, followed by an address. The operand that the index selects from has stride 0 in
 * the dimensions of the index. The bytes it moves depend on the indices. */
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/offsets_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

enum { CHOSEN = 0, SCATTERS = 1, TIMES = 2 }; /* tide_vc_parsed.number */
enum { IN_RESULT = 0, IN_SOURCE = 1, OUTSIDE = 2, NOWHERE = 3 };
enum { ELEMENTS = 0, LAMBDA = 1, MOST_OPERANDS = 3 };

/* The operand that the index selects from, by the function around the lambda. */
static const struct {
    const char *function;
    uint32_t chosen;
} FUNCTIONS[] = {{"flip_kernel_impl", NOWHERE},
                 {"cuda_take_put_kernel", OUTSIDE}, /* among all elements of a tensor */
                 {"index_put_kernel", IN_RESULT},
                 {"index_fill_kernel", IN_RESULT},
                 {"index_copy_kernel", IN_RESULT},
                 {"_cuda_scatter_fill_internal_kernel", IN_RESULT},
                 {"_cuda_scatter_gather_internal_kernel<true", IN_RESULT},
                 {"_cuda_scatter_gather_internal_kernel<false", IN_SOURCE}};

void tide_vc_parse_indexed(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    ret_parsed->number[CHOSEN] = IN_SOURCE; /* x[i] */
    for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); i++) {
        if (tide_vc_text_has(text, FUNCTIONS[i].function)) {
            ret_parsed->number[CHOSEN] = FUNCTIONS[i].chosen;
            break;
        }
    }
    /* A reduction reads before it writes. */
    bool is_reduction = tide_vc_text_has(text, "at::native::Reduce");
    ret_parsed->number[TIMES] = is_reduction ? 2 : 1;
    bool is_put = tide_vc_text_has(text, "put_kernel");
    ret_parsed->number[SCATTERS] = ret_parsed->number[CHOSEN] == IN_RESULT || is_put;
    ret_parsed->flags = ret_parsed->number[CHOSEN] == NOWHERE ? 0 : TIDE_RUN_ESTIMATED;
}

/* Finds the number of operands: the one for which an address of the card follows the calculator. */
static size_t operands_of(const tide_vc_launched_kernel *launched) {
    size_t k = MOST_OPERANDS;
    for (; k > 0; k--) {
        const void *pointer = NULL;
        if (tide_vc_argument(launched, LAMBDA, tide_vc_offsets_end(k), &pointer, sizeof(pointer)) &&
            tide_vc_is_device(pointer)) {
            break;
        }
    }
    return k;
}

bool tide_vc_read_indexed(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    tide_vc_offsets of;
    int n = 0; /* int64 since PyTorch 2.8; this is its low half */
    size_t k = operands_of(launched);
    if (k < 2 || !tide_vc_argument(launched, ELEMENTS, 0, &n, sizeof(n)) || n <= 0 ||
        !tide_vc_offsets_find(launched, LAMBDA, k, &of)) {
        return false;
    }
    row->elements = (uint64_t)n;
    for (size_t i = 0; i < k; i++) {
        row->bytes += i == number[CHOSEN]
                          ? tide_vc_offsets_chosen_bytes(&of, i, row->elements) * number[TIMES]
                          : tide_vc_offsets_bytes(&of, i);
    }
    row->bytes += number[CHOSEN] == OUTSIDE ? row->elements * TIDE_VC_SECTOR_BYTES : 0;
    row->family = number[CHOSEN] == NOWHERE ? TIDE_RUN_STRIDED
                  : number[SCATTERS] != 0   ? TIDE_RUN_SCATTER_ROWS
                                            : TIDE_RUN_GATHER_ROWS;
    return true;
}
