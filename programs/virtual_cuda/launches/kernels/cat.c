/* cat.c - PyTorch's kernels of torch.cat, CatArrayBatchedCopy*<T, index, dimensions, n, ...>(out,
 * inputs, ...). The inputs are n addresses, followed by three arrays of n values of the type index:
 * where in the result the inputs begin, their lengths, and their numbers of elements. A row of
 * blocks handles one input. */
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* tide_vc_parsed.number */
enum { ELEMENT_BYTES = 0, INDEX_BYTES = 1, MOST_INPUTS = 2, DIVISIONS = 3 };
enum { INPUTS = 1, ELEMENTS_MEMBER = 2 }; /* members after the addresses, of n each */

static tide_vc_text argument_of(tide_vc_text text, size_t i) {
    static const char *const NAMES[] = {
        "CatArrayBatchedCopy", "CatArrayBatchedCopy_contig", "CatArrayBatchedCopy_alignedK_contig",
        "CatArrayBatchedCopy_vectorized", "CatArrayBatchedCopy_aligned16_contig"};
    tide_vc_text found = {NULL, 0};
    for (size_t k = 0; k < sizeof(NAMES) / sizeof(NAMES[0]) && found.at == NULL; k++) {
        found = tide_vc_symbol_argument(text, NAMES[k], i);
    }
    return found;
}

void tide_vc_parse_cat(const char *symbol, tide_vc_parsed *ret_parsed) {
    tide_vc_text text = {symbol, strlen(symbol)};
    ret_parsed->number[ELEMENT_BYTES] = tide_vc_type_bytes(argument_of(text, 0));
    ret_parsed->number[INDEX_BYTES] = tide_vc_type_bytes(argument_of(text, 1));
    ret_parsed->number[MOST_INPUTS] = tide_vc_text_number(argument_of(text, 3));
    /* For each dimension after the first, of the result, and of inputs that have strides. The other
     * kernels compute places of 16 bytes. */
    uint32_t n_dimensions = tide_vc_text_number(argument_of(text, 2));
    bool has_strides = tide_vc_symbol_argument(text, "CatArrayBatchedCopy", 2).at != NULL;
    bool is_contiguous = tide_vc_symbol_argument(text, "CatArrayBatchedCopy_contig", 2).at != NULL;
    uint32_t n_tensors = has_strides ? 2 : is_contiguous ? 1 : 0;
    ret_parsed->number[DIVISIONS] = n_dimensions > 1 ? n_tensors * (n_dimensions - 1) : 0;
}

bool tide_vc_read_cat(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    size_t n_most = number[MOST_INPUTS];
    size_t n_bytes = number[INDEX_BYTES];
    size_t n_inputs = launched->call->grid[1];
    size_t from = n_most * (sizeof(void *) + ELEMENTS_MEMBER * n_bytes);
    if (number[ELEMENT_BYTES] == 0 || n_inputs > n_most || n_bytes > sizeof(uint64_t)) {
        return false;
    }
    for (size_t i = 0; i < n_inputs; i++) {
        uint64_t n = 0; /* little-endian, as every CUDA host */
        if (!tide_vc_argument(launched, INPUTS, from + i * n_bytes, &n, n_bytes)) {
            return false;
        }
        row->elements += n;
    }
    row->bytes = 2 * row->elements * number[ELEMENT_BYTES]; /* read and written */
    row->k = number[DIVISIONS] > 0 ? TIDE_RUN_DIVISIONS : TIDE_RUN_NO_VARIANT;
    row->m = number[DIVISIONS];
    return row->elements > 0;
}
