/* strided.c - PyTorch's kernel for tensors with strides, elementwise_kernel<128, 4, L>(int N, L).
 *
 * The lambda L holds an OffsetCalculator<k, unsigned> and k addresses behind it, of the result and
 * the operands: an int with the number of dimensions, 25 divisors of 12 bytes whose first 4 are the
 * dimension's length, and 25 rows of k strides in bytes, 4 bytes each. k is not in the name: it is
 * the one that puts addresses of the card where they must be. */
#include "virtual_cuda/known.h"
#include "virtual_cuda/work/families_internal.h"

enum {
    MAX_DIMENSIONS = 25,
    DIVISORS_AT = 4,
    DIVISOR_BYTES = 12,
    STRIDES_AT = DIVISORS_AT + MAX_DIMENSIONS * DIVISOR_BYTES,
    MOST_POINTERS = 8,
    SECTOR_BYTES = 32 /* what a card reads at least, however few of them are used */
};
enum { ELEMENTS = 0, LAMBDA = 1 };

static bool has_pointers(const tide_vc_launched_kernel *launched, size_t k) {
    size_t at = (STRIDES_AT + MAX_DIMENSIONS * 4 * k + 7) & ~(size_t)7;
    for (size_t i = 0; i < k; i++) {
        const void *pointer = NULL;
        if (!tide_vc_argument(launched, LAMBDA, at + i * sizeof(pointer), &pointer,
                              sizeof(pointer)) ||
            !tide_vc_is_device(pointer)) {
            return false;
        }
    }
    return true;
}

static uint32_t word(const tide_vc_launched_kernel *launched, size_t at) {
    uint32_t value = 0;
    (void)tide_vc_argument(launched, LAMBDA, at, &value, sizeof(value)); /* else 0: a broadcast */
    return value;
}

/* What operand i of k moves: each element that differs once, with its distance to the next or a
 * sector. A dimension of stride 0 is a broadcast, which the cache serves. */
static uint64_t operand_bytes(const tide_vc_launched_kernel *launched, uint32_t n_dimensions,
                              size_t i, size_t k) {
    uint64_t n = 1;
    uint32_t least = SECTOR_BYTES;
    bool is_single = true;
    for (size_t d = 0; d < n_dimensions; d++) {
        uint32_t length = word(launched, DIVISORS_AT + DIVISOR_BYTES * d);
        uint32_t stride = word(launched, STRIDES_AT + 4 * (d * k + i));
        if (stride != 0 && length > 1) {
            n *= length;
            least = stride < least ? stride : least;
            is_single = false;
        }
    }
    return is_single ? SECTOR_BYTES : n * least;
}

bool tide_vc_read_strided(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    uint32_t n_dimensions = 0;
    int n = 0;
    size_t k = MOST_POINTERS;
    if (!tide_vc_argument(launched, ELEMENTS, 0, &n, sizeof(n)) || n <= 0 ||
        !tide_vc_argument(launched, LAMBDA, 0, &n_dimensions, sizeof(n_dimensions)) ||
        n_dimensions > MAX_DIMENSIONS) {
        return false;
    }
    while (k > 0 && !has_pointers(launched, k)) {
        k--;
    }
    for (size_t i = 0; i < k; i++) {
        row->bytes += operand_bytes(launched, n_dimensions, i, k);
    }
    row->elements = (uint64_t)n;
    return k > 0;
}
