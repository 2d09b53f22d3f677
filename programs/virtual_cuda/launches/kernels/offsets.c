#include "programs/virtual_cuda/launches/kernels/offsets_internal.h"

enum {
    MAX_DIMENSIONS = 25,
    DIVISORS_AT = 4,
    DIVISOR_BYTES = 12,
    STRIDES_AT = DIVISORS_AT + MAX_DIMENSIONS * DIVISOR_BYTES
};

bool tide_vc_offsets_find(const tide_vc_launched_kernel *launched, size_t argument, size_t k,
                          tide_vc_offsets *ret) {
    uint32_t n_dimensions = 0;
    if (!tide_vc_argument(launched, argument, 0, &n_dimensions, sizeof(n_dimensions)) ||
        n_dimensions > MAX_DIMENSIONS) {
        return false;
    }
    *ret = (tide_vc_offsets){launched, argument, k, n_dimensions};
    return true;
}

size_t tide_vc_offsets_end(size_t k) {
    return (STRIDES_AT + (size_t)MAX_DIMENSIONS * 4 * k + 7) & ~(size_t)7;
}

static uint32_t word(const tide_vc_offsets *of, size_t at) {
    uint32_t value = 0; /* if missing: a broadcast */
    (void)tide_vc_argument(of->launched, of->argument, at, &value, sizeof(value));
    return value;
}

static uint32_t length(const tide_vc_offsets *of, size_t dimension) {
    return word(of, DIVISORS_AT + DIVISOR_BYTES * dimension);
}

/* Without its sign: it is negative if a dimension is traversed from its end. */
static uint32_t stride(const tide_vc_offsets *of, size_t dimension, size_t i) {
    uint32_t value = word(of, STRIDES_AT + 4 * (dimension * of->k + i));
    return value > INT32_MAX ? (uint32_t)-value : value;
}

uint64_t tide_vc_offsets_bytes(const tide_vc_offsets *of, size_t i) {
    uint64_t n = 1;
    uint32_t least = TIDE_VC_SECTOR_BYTES;
    bool is_single = true;
    for (size_t d = 0; d < of->n_dimensions; d++) {
        uint32_t distance = stride(of, d, i);
        if (distance != 0 && length(of, d) > 1) {
            n *= length(of, d);
            least = distance < least ? distance : least;
            is_single = false;
        }
    }
    return is_single ? TIDE_VC_SECTOR_BYTES : n * least;
}

uint64_t tide_vc_offsets_chosen_bytes(const tide_vc_offsets *of, size_t i, uint64_t n) {
    uint32_t distance = of->n_dimensions > 0 ? stride(of, 0, i) : 0;
    bool is_near = distance != 0 && distance < TIDE_VC_SECTOR_BYTES;
    return n * (is_near ? distance : TIDE_VC_SECTOR_BYTES);
}
