#include "unit/virtual_cuda/libraries/fake_core.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/api/handle.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/card/workspaces.h"

unsigned char card[4096];
const void *touched[8];
size_t n_touched;
long n_handles;
int n_freed, n_written;
const char *last_inexact, *last_refused, *last_reason;
uint64_t last_bound;
const char *last_kind;
const void *last_workspace;
size_t last_workspace_bytes;
tide_vc_lent last_lent;
size_t copied_width, copied_height, copied_pitch;

int tide_vc_launch_log_state;
tide_run_launch launches[8];
void *launch_streams[8];
const char *launch_names[8];
size_t n_launches;

tide_vc_entry tide_vc_launch_begin_logged(void) {
    return (tide_vc_entry){1, 1};
}

void tide_vc_launch_end(tide_vc_entry entry, const tide_run_launch *row, void *stream,
                        const char *name) {
    (void)entry;
    if (n_launches < sizeof(launches) / sizeof(launches[0])) {
        launch_streams[n_launches] = stream;
        launch_names[n_launches] = name;
        launches[n_launches++] = *row;
    }
}

bool tide_vc_is_device(const void *address) {
    return (uintptr_t)address - (uintptr_t)card < sizeof(card);
}

void tide_vc_touch(const void *address) {
    if (tide_vc_is_device(address) && n_touched < sizeof(touched) / sizeof(touched[0])) {
        touched[n_touched++] = address;
    }
}

void tide_vc_known_write(void *to, const void *from, size_t n_bytes) {
    memcpy(to, from, n_bytes);
    n_written++;
}

void tide_vc_zero_output(void *output, size_t n_bytes) {
    if (tide_vc_is_device(output)) {
        tide_vc_touch(output);
    } else if (output != NULL) {
        memset(output, 0, n_bytes);
    }
}

void *tide_vc_handle_new(void) {
    n_handles++;
    return calloc(1, TIDE_VC_HANDLE_BYTES);
}

void tide_vc_handle_release(void *handle) {
    n_handles -= handle != NULL;
    free(handle);
}

void tide_vc_workspace_add(const void *address, size_t n_bytes, tide_vc_lent lent) {
    last_workspace = address;
    last_workspace_bytes = n_bytes;
    last_lent = lent;
}

void tide_vc_inexact(const char *call, const char *what) {
    (void)what;
    last_inexact = call;
}

void tide_vc_inexact_bytes(const char *call, const char *what, uint64_t bound_bytes) {
    (void)what;
    last_inexact = call;
    last_bound = bound_bytes;
}

void tide_vc_inexact_kind(const char *call, const char *what, uint64_t bound_bytes) {
    tide_vc_inexact_bytes(call, what, bound_bytes);
    last_kind = what;
}

void tide_vc_refused(const char *call, const char *why) {
    (void)why;
    last_refused = call;
    last_reason = why;
}

int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                      size_t width, size_t height, int kind, void *stream);
int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                 size_t width, size_t height, int kind);
int cudaMemcpyAsync(void *target, const void *source, size_t n_bytes, int kind, void *stream);
int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaFree(void *address);
int cudaGetDevice(int *ret_device);
int cudaDeviceGetAttribute(int *ret_value, int attribute, int device);

int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                      size_t width, size_t height, int kind, void *stream) {
    (void)target, (void)target_pitch, (void)source, (void)kind, (void)stream;
    copied_width = width, copied_height = height, copied_pitch = source_pitch;
    return 0;
}

int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                 size_t width, size_t height, int kind) {
    return cudaMemcpy2DAsync(target, target_pitch, source, source_pitch, width, height, kind, NULL);
}

int cudaMemcpyAsync(void *target, const void *source, size_t n_bytes, int kind, void *stream) {
    (void)target, (void)source, (void)kind, (void)stream;
    copied_width = n_bytes, copied_height = 1, copied_pitch = 0;
    return 0;
}

int cudaMalloc(void **ret_address, size_t n_bytes) {
    *ret_address = n_bytes <= sizeof(card) ? card : NULL;
    return n_bytes <= sizeof(card) ? 0 : 2;
}

int cudaFree(void *address) {
    n_freed += address == card;
    return address == card ? 0 : 1;
}

int cudaGetDevice(int *ret_device) {
    *ret_device = 0;
    return 0;
}

int cudaDeviceGetAttribute(int *ret_value, int attribute, int device) {
    (void)device;
    *ret_value = attribute == 16 ? 132 : 2048;
    return 0;
}

int forget(void **state) {
    (void)state;
    n_touched = 0;
    n_launches = 0;
    last_inexact = last_refused = NULL;
    last_bound = 0;
    return 0;
}
