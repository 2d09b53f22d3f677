/* arguments.c - a kernel's arguments. CUDA gets only their addresses.
 *
 * The compiler's launch function keeps them on its stack, so an argument ends at the latest where
 * the next one or the stack does. Elsewhere the system copies them, which fails if no memory is
 * mapped there. */
#define _GNU_SOURCE /* process_vm_readv */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "programs/virtual_cuda/process/stack_bounds.h"
#include "programs/virtual_cuda/launches/kernels/family_internal.h"

/* The most bytes of all arguments of a kernel together, from compute capability 7.0 on. */
enum { LARGEST_BYTES = 32764 };

static bool copy_from_anywhere(uintptr_t from, void *to, size_t n_bytes) {
    struct iovec local = {to, n_bytes};
    struct iovec remote = {(void *)from, n_bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n_bytes;
}

/* The bytes are another function's variables. */
__attribute__((no_sanitize("address"))) static void copy_from_stack(uintptr_t from, void *to,
                                                                    size_t n_bytes) {
    const volatile unsigned char *bytes = (const volatile unsigned char *)from;
    for (size_t i = 0; i < n_bytes; i++) {
        ((unsigned char *)to)[i] = bytes[i];
    }
}

static bool copy_bytes(uintptr_t from, bool is_on_stack, void *to, size_t n_bytes) {
    if (!is_on_stack) {
        return copy_from_anywhere(from, to, n_bytes);
    }
    copy_from_stack(from, to, n_bytes);
    return true;
}

void tide_vc_arguments_find(void **list, unsigned n_arguments, tide_vc_arguments *ret) {
    uintptr_t low = (uintptr_t)__builtin_frame_address(0);
    uintptr_t end = tide_vc_stack_end();
    uintptr_t from = (uintptr_t)list;
    size_t n = n_arguments < TIDE_VC_MOST_ARGUMENTS ? n_arguments : TIDE_VC_MOST_ARGUMENTS;
    bool is_list_on_stack = from >= low && from < end && end - from >= n * sizeof(void *);
    ret->n = 0;
    if (list == NULL || !copy_bytes(from, is_list_on_stack, ret->at, n * sizeof(void *))) {
        return;
    }
    ret->n = n;
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = ret->at[i];
        ret->is_on_stack[i] = at >= low && at < end;
        size_t most = ret->is_on_stack[i] && end - at < LARGEST_BYTES ? end - at : LARGEST_BYTES;
        for (size_t j = 0; j < n; j++) {
            most = ret->at[j] > at && ret->at[j] - at < most ? ret->at[j] - at : most;
        }
        ret->n_bytes[i] = most;
    }
}

bool tide_vc_argument(const tide_vc_launched_kernel *launched, size_t i, size_t at, void *to,
                      size_t n_bytes) {
    const tide_vc_arguments *of = &launched->arguments;
    if (i >= of->n || at > of->n_bytes[i] || n_bytes > of->n_bytes[i] - at) {
        return false;
    }
    return copy_bytes(of->at[i] + at, of->is_on_stack[i], to, n_bytes);
}

uint32_t tide_vc_distinct(const void *const *addresses, uint32_t n) {
    uint32_t n_distinct = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0;
        while (addresses[j] != addresses[i]) {
            j++;
        }
        n_distinct += j == i;
    }
    return n_distinct;
}
