#include "programs/virtual_cuda/libraries/stub_friend.h"

#include <limits.h>

#include "programs/virtual_cuda/libraries/described_internal.h"

void tide_vc_stub_output(uintptr_t output, size_t n_bytes) {
    tide_vc_zero_output((void *)output, n_bytes);
}

void tide_vc_stub_create(uintptr_t output) {
    if (output != 0) {
        *(void **)output = tide_vc_handle_new();
    }
}

uintptr_t tide_vc_stub_refuse(const char *call, const char *why, int refusal) {
    tide_vc_refused(call, why);
    if (refusal == TIDE_VC_NOT_A_NUMBER) {
        /* All bits of the registers that a float, a double or a complex number returns in: two
         * doubles need the second one. */
        __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1" ::: "xmm0", "xmm1");
    }
    return (uintptr_t)(intptr_t)refusal;
}

int tide_vc_stub_size(uintptr_t argument, bool is_wide) {
    return !is_wide ? (int)argument : (int64_t)argument > INT_MAX ? INT_MAX : (int)argument;
}

void tide_vc_stub_touch_described(uintptr_t descriptor, size_t n_data) {
    const described *matrix = (const described *)descriptor;
    for (size_t i = 0; matrix != NULL && i < n_data; i++) {
        tide_vc_touch(matrix->data[i]);
    }
}

void tide_vc_stub_count_nonzero(uintptr_t descriptor) {
    described *matrix = (described *)descriptor;
    if (matrix != NULL) {
        matrix->is_counted = true;
    }
}

void tide_vc_stub_work_area(const char *call, uintptr_t output, size_t n_bytes, uint64_t bound) {
    tide_vc_stub_output(output, n_bytes);
    tide_vc_inexact_bytes(call, "the workspace is unknown and counted as 0", bound);
}

uint64_t tide_vc_stub_value_bytes(int type) {
    enum { REAL_FLOAT = 0, REAL_DOUBLE = 1, COMPLEX_DOUBLE = 5 }; /* cudaDataType */
    return type == REAL_FLOAT ? 4 : type == COMPLEX_DOUBLE ? 16 : 8;
}

uint64_t tide_vc_stub_sparse_bytes(uintptr_t descriptor) {
    enum { VALUE_AND_TWO_INDICES = 16 + 2 * 8, OFFSET = 8 };
    const described *matrix = (const described *)descriptor;
    return matrix == NULL ? 0
                          : (uint64_t)matrix->n_nonzero * VALUE_AND_TWO_INDICES +
                                (uint64_t)matrix->n_rows * OFFSET;
}
