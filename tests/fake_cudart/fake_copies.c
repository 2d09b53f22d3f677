#include "fake_cudart/fake_copies.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_emulator/device_memory.h"
#include "fake_cudart/fake_graph.h"
#include "fake_cudart/fake_internal.h"

typedef struct late_copy {
    struct late_copy *next; /* younger; owned list */
    void *dst;              /* borrowed */
    const void *src;        /* borrowed; NULL: `bytes` have been read already */
    size_t n_bytes;
    unsigned char bytes[]; /* n_bytes of a copy to the host */
} late_copy;

/* Guarded by the runtime's lock. */
static late_copy *oldest;

static void carry_out(bool to_host_too) {
    late_copy **link = &oldest;
    while (*link != NULL) {
        late_copy *copy = *link;
        if (copy->src == NULL && !to_host_too) {
            link = &copy->next;
            continue;
        }
        memcpy(copy->dst, copy->src == NULL ? copy->bytes : copy->src, copy->n_bytes);
        *link = copy->next;
        free(copy);
    }
}

bool tide_fake_copies_add(void *dst, const void *src, size_t n_bytes, bool to_host) {
    carry_out(false); /* a stream's copies are done in their order */
    late_copy *copy = malloc(sizeof(*copy) + (to_host ? n_bytes : 0));
    late_copy **link = &oldest;
    if (copy == NULL) {
        return false;
    }
    *copy = (late_copy){.dst = dst, .src = to_host ? NULL : src, .n_bytes = n_bytes};
    if (to_host) {
        memcpy(copy->bytes, src, n_bytes);
        memset(dst, 0xFF, n_bytes);
    }
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = copy;
    return true;
}

void tide_fake_copies_submit(void) {
    carry_out(false);
}

void tide_fake_copies_finish(void) {
    carry_out(true);
}

void tide_fake_copies_clear(void) {
    while (oldest != NULL) {
        late_copy *copy = oldest;
        oldest = copy->next;
        free(copy);
    }
}

/* The runtime's calls. */

static cudaError_t check_range(const void *address, size_t n_bytes, bool is_device) {
    /* A host range must not begin in device memory; its end cannot be checked. */
    bool fits = is_device ? tide_device_memory_holds(address, n_bytes)
                          : !tide_device_memory_holds(address, 1);
    return fits ? cudaSuccess
                : tide_fake_mistake(cudaErrorInvalidValue, "[%p, + %zu) is not %s memory", address,
                                    n_bytes, is_device ? "device" : "host");
}

typedef struct kept_copy {
    void *dst;
    const void *src;
    size_t n_bytes;
} kept_copy;

static int run_kept(void *work) {
    const kept_copy *kept = work;
    memmove(kept->dst, kept->src, kept->n_bytes);
    return 0;
}

static cudaError_t keep_copy(void *dst, const void *src, size_t n_bytes, enum cudaMemcpyKind kind,
                             cudaStream_t stream) {
    if (kind != cudaMemcpyDeviceToDevice) {
        return tide_fake_mistake(cudaErrorNotSupported, "a copy from or to the host is captured");
    }
    kept_copy *kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *kept = (kept_copy){dst, src, n_bytes};
    if (!tide_fake_graph_keep(stream, (tide_fake_work){run_kept, free, kept})) {
        free(kept);
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

static cudaError_t copy(void *dst, const void *src, size_t n_bytes, enum cudaMemcpyKind kind,
                        cudaStream_t stream) {
    if (kind > cudaMemcpyDeviceToDevice) {
        return cudaErrorInvalidMemcpyDirection;
    }
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    cudaError_t result = tide_fake_check_stream(stream);
    if (result == cudaSuccess) {
        result = check_range(dst, n_bytes, to_device);
    }
    if (result == cudaSuccess) {
        result = check_range(src, n_bytes, from_device);
    }
    if (result != cudaSuccess) {
        return result;
    }
    if (tide_fake_graph_has(stream)) {
        return keep_copy(dst, src, n_bytes, kind, stream);
    }
    if (tide_fake_cudart_locked()->late_copies && kind != cudaMemcpyDeviceToDevice) {
        return tide_fake_copies_add(dst, src, n_bytes, from_device) ? cudaSuccess
                                                                    : cudaErrorMemoryAllocation;
    }
    tide_fake_copies_submit();
    memmove(dst, src, n_bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    tide_fake_queue_finish(stream, false); /* so that the copy can run at once */
    cudaError_t result = tide_fake_enter("cudaMemcpyAsync");
    return tide_fake_leave(result == cudaSuccess ? copy(dst, src, count, kind, stream) : result);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream) {
    tide_fake_queue_finish(stream, false);
    cudaError_t result = tide_fake_enter("cudaMemsetAsync");
    if (result == cudaSuccess) {
        result = tide_fake_check_stream(stream);
    }
    if (result == cudaSuccess && tide_fake_graph_has(stream)) {
        result = tide_fake_mistake(cudaErrorNotSupported, "a fill on a captured stream");
    }
    if (result == cudaSuccess) {
        result = check_range(devPtr, count, true);
    }
    if (result == cudaSuccess) {
        tide_fake_copies_submit();
        memset(devPtr, value, count);
    }
    return tide_fake_leave(result);
}
