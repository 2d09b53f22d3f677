/* depthwise.c - PyTorch's convolutions with one input channel a filter:
 *
 *   conv_depthwise2d_forward_kernel<size, T, I>(input, output, weight, ...)
 *   conv_depthwise2d_backward_kernel<...>(gradient of the output, of the input, weight, ...)
 *   conv_depthwise2d_grad_weight_kernel<T, I>(gradient of the output, input, of the weight, ...)
 *
 * and the same with 3d. The three tensors are accessors: an address, lengths and strides, of 4 or 5
 * dimensions. Memory traffic dominates the arithmetic. */
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* tide_vc_parsed.number; of the type and of a length, 0: unknown. */
enum { VALUE_BYTES = 0, LENGTH_BYTES = 1, N_DIMENSIONS = 2 };
enum { N_TENSORS = 3, LENGTHS_AT = 8 };

/* For "float const", the bytes of a float. */
static uint32_t value_bytes(tide_vc_text type) {
    uint32_t n_bytes = 0;
    for (; type.n > 0 && n_bytes == 0; type.n--) {
        n_bytes = tide_vc_type_bytes(type);
    }
    return n_bytes;
}

/* The accessor's type, dimensions and type of lengths are arguments 0, 1 and 3 of its template. In
 * PyTorch 2.14 two classes come before them. */
void tide_vc_parse_depthwise(const char *symbol, tide_vc_parsed *ret_parsed) {
    static const char ACCESSOR[] = "GenericPackedTensorAccessor";
    tide_vc_text text = {symbol, strlen(symbol)};
    size_t first = value_bytes(tide_vc_symbol_argument(text, ACCESSOR, 0)) > 0 ? 0 : 2;
    ret_parsed->number[VALUE_BYTES] = value_bytes(tide_vc_symbol_argument(text, ACCESSOR, first));
    ret_parsed->number[N_DIMENSIONS] =
        tide_vc_text_number(tide_vc_symbol_argument(text, ACCESSOR, first + 1));
    ret_parsed->number[LENGTH_BYTES] =
        tide_vc_type_bytes(tide_vc_symbol_argument(text, ACCESSOR, first + 3));
}

static bool read_tensor(const tide_vc_launched_kernel *launched, size_t i, uint64_t *ret_values) {
    const uint32_t *number = launched->parsed->number;
    const void *address = NULL;
    uint64_t n = 1;
    if (!tide_vc_argument(launched, i, 0, &address, sizeof(address)) ||
        !tide_vc_is_device(address)) {
        return false;
    }
    for (size_t d = 0; d < number[N_DIMENSIONS]; d++) {
        uint64_t length = 0;
        if (!tide_vc_argument(launched, i, LENGTHS_AT + d * number[LENGTH_BYTES], &length,
                              number[LENGTH_BYTES]) ||
            length == 0 || length > INT64_MAX / n) {
            return false;
        }
        n *= length;
    }
    *ret_values = n;
    return true;
}

bool tide_vc_read_depthwise(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const uint32_t *number = launched->parsed->number;
    if (number[VALUE_BYTES] == 0 || number[N_DIMENSIONS] < 4 || number[N_DIMENSIONS] > 5 ||
        (number[LENGTH_BYTES] != 4 && number[LENGTH_BYTES] != 8)) {
        return false;
    }
    for (size_t i = 0; i < N_TENSORS; i++) {
        uint64_t n = 0;
        if (!read_tensor(launched, i, &n)) {
            return false;
        }
        row->bytes += n * number[VALUE_BYTES];
        row->elements = n > row->elements ? n : row->elements;
    }
    return true;
}
