#include "programs/virtual_cuda/api/handle.h"

#include <stdlib.h>

static unsigned char spare[TIDE_VC_HANDLE_BYTES];

void *tide_vc_handle_new(void) {
    void *handle = calloc(1, TIDE_VC_HANDLE_BYTES);
    return handle != NULL ? handle : spare;
}

void tide_vc_handle_release(void *handle) {
    if (handle != spare) {
        free(handle);
    }
}
