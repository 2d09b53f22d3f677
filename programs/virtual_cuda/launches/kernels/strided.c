/* strided.c - PyTorch's kernel for tensors with strides, elementwise_kernel<128, 4, L>(int N, L).
 *
 * The lambda L holds an OffsetCalculator<k, unsigned> followed by k addresses, of the result and
 * the operands. The name does not give k: it is the number for which addresses of the card are in
 * the right places. */
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/kernels/families_internal.h"
#include "programs/virtual_cuda/launches/kernels/offsets_internal.h"

enum { MOST_POINTERS = 8 };
enum { ELEMENTS = 0, LAMBDA = 1 };

static bool find_pointers(const tide_vc_launched_kernel *launched, size_t k, const void **ret) {
    size_t at = tide_vc_offsets_end(k);
    for (size_t i = 0; i < k; i++) {
        if (!tide_vc_argument(launched, LAMBDA, at + i * sizeof(ret[i]), &ret[i], sizeof(ret[i])) ||
            !tide_vc_is_device(ret[i])) {
            return false;
        }
    }
    return true;
}

/* Whether operand i is the same part of memory as one before it, so that it is read once. The first
 * is the result. */
static bool is_repeated(const tide_vc_offsets *of, const void *const *pointers, size_t i) {
    for (size_t j = 1; j < i; j++) {
        if (pointers[j] == pointers[i] &&
            tide_vc_offsets_bytes(of, j) == tide_vc_offsets_bytes(of, i)) {
            return true;
        }
    }
    return false;
}

bool tide_vc_read_strided(const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    const void *pointers[MOST_POINTERS];
    tide_vc_offsets of;
    int n = 0;
    size_t k = MOST_POINTERS;
    if (!tide_vc_argument(launched, ELEMENTS, 0, &n, sizeof(n)) || n <= 0) {
        return false;
    }
    while (k > 0 && !find_pointers(launched, k, pointers)) {
        k--;
    }
    if (!tide_vc_offsets_find(launched, LAMBDA, k, &of)) {
        return false;
    }
    for (size_t i = 0; i < k; i++) {
        row->bytes += is_repeated(&of, pointers, i) ? 0 : tide_vc_offsets_bytes(&of, i);
    }
    row->count = (uint32_t)k;
    row->elements = (uint64_t)n;
    return k > 0;
}
