#include "virtual_cuda/libraries/stub_internal.h"

#include "virtual_cuda/libraries/described_internal.h"

void tide_vc_stub_output(uintptr_t output, size_t n_bytes) {
    tide_vc_zero_output((void *)output, n_bytes);
}

void tide_vc_stub_create(uintptr_t output) {
    if (output != 0) {
        *(void **)output = tide_vc_handle_new();
    }
}

void tide_vc_stub_touch_described(uintptr_t descriptor, size_t n_data) {
    const described *matrix = (const described *)descriptor;
    for (size_t i = 0; matrix != NULL && i < n_data; i++) {
        tide_vc_touch(matrix->data[i]);
    }
}
