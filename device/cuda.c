/* cuda.c - a GPU, through the CUDA runtime: the one C file that calls it for memory, streams and
 * events. In a build without CUDA, its errors say how to get it.
 */
#include "device/cuda_friend.h"

#if TIDEMARK_HAVE_CUDA

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "common/text/bytes.h"

struct tide_device_event {
    cudaEvent_t event;       /* owned; timing on */
    tide_device_event *next; /* among the spare ones */
    bool is_recorded;        /* since it left the spare list */
};

/* To be called before every runtime call. */
static tide_status begin(tide_device *device, tide_error *error) {
    return tide_device_cuda_begin((tide_device_cuda *)device, error);
}

/* Turns the result of a runtime call into a status. */
static tide_status answer(tide_device *device, const char *call, cudaError_t result,
                          tide_error *error) {
    return tide_device_cuda_answer(device, call, (int)result, error);
}

static cudaStream_t native(tide_stream stream) {
    /* A handle that the runtime gave. NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return (cudaStream_t)(uintptr_t)stream;
}

static void cuda_close(tide_device *device) {
    tide_device_cuda *cuda = (tide_device_cuda *)device;
    (void)begin(device, NULL);
    while (cuda->spare != NULL) {
        tide_device_event *event = cuda->spare;
        cuda->spare = event->next;
        if (!atomic_load(&cuda->is_lost)) {
            (void)cudaEventDestroy(event->event); /* a failure no longer matters */
        }
        device->mem->release(device->mem->ctx, event);
    }
    (void)cudaGetLastError();
    pthread_mutex_destroy(&cuda->lock);
    device->mem->release(device->mem->ctx, cuda->driver);
    device->mem->release(device->mem->ctx, cuda);
}

static tide_status cuda_alloc(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                              tide_error *error) {
    void *memory = NULL;
    TIDE_TRY(begin(device, error));
    tide_status status = answer(device, "cudaMalloc", cudaMalloc(&memory, n_bytes), error);
    if (status == TIDE_DEVICE_OOM) {
        char text[TIDE_BYTES_TEXT];
        return tide_fail(error, status, "%s has no segment of %s left", device->info.spec,
                         tide_bytes_format((int64_t)n_bytes, text));
    }
    TIDE_TRY(status);
    *ret_address = (uint64_t)(uintptr_t)memory;
    return TIDE_OK;
}

static void *cuda_pointer(tide_device *device, uint64_t address) {
    (void)device;
    /* The interface uses addresses, the runtime pointers.
     * NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return (void *)(uintptr_t)address;
}

static tide_status cuda_release(tide_device *device, uint64_t address, tide_error *error) {
    if (address == 0) {
        return tide_fail(error, TIDE_INVALID, "address 0 is no segment of %s", device->info.spec);
    }
    TIDE_TRY(begin(device, error));
    return answer(device, "cudaFree", cudaFree(cuda_pointer(device, address)), error);
}

static tide_status cuda_memory_info(tide_device *device, uint64_t *ret_free_bytes,
                                    uint64_t *ret_total_bytes, tide_error *error) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    TIDE_TRY(begin(device, error));
    TIDE_TRY(answer(device, "cudaMemGetInfo", cudaMemGetInfo(&free_bytes, &total_bytes), error));
    *ret_free_bytes = free_bytes;
    *ret_total_bytes = total_bytes;
    return TIDE_OK;
}

static tide_status cuda_copy(tide_device *device, void *dst, const void *src, size_t n_bytes,
                             tide_copy_direction direction, tide_stream stream, tide_error *error) {
    static const enum cudaMemcpyKind KINDS[] = {
        [TIDE_COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
        [TIDE_COPY_TO_HOST] = cudaMemcpyDeviceToHost,
        [TIDE_COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice,
    };
    TIDE_TRY(begin(device, error));
    if (n_bytes == 0) {
        return TIDE_OK;
    }
    return answer(device, "cudaMemcpyAsync",
                  cudaMemcpyAsync(dst, src, n_bytes, KINDS[direction], native(stream)), error);
}

static tide_status cuda_set(tide_device *device, void *dst, int byte, size_t n_bytes,
                            tide_stream stream, tide_error *error) {
    TIDE_TRY(begin(device, error));
    if (n_bytes == 0) {
        return TIDE_OK;
    }
    return answer(device, "cudaMemsetAsync", cudaMemsetAsync(dst, byte, n_bytes, native(stream)),
                  error);
}

static tide_status cuda_stream_create(tide_device *device, tide_stream *ret_stream,
                                      tide_error *error) {
    cudaStream_t stream = NULL;
    TIDE_TRY(begin(device, error));
    TIDE_TRY(answer(device, "cudaStreamCreateWithFlags",
                    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), error));
    *ret_stream = (tide_stream)(uintptr_t)stream;
    return TIDE_OK;
}

static tide_status cuda_stream_destroy(tide_device *device, tide_stream stream, tide_error *error) {
    if (stream == 0) {
        return tide_fail(error, TIDE_INVALID, "the default stream of %s cannot be destroyed",
                         device->info.spec);
    }
    TIDE_TRY(begin(device, error));
    return answer(device, "cudaStreamDestroy", cudaStreamDestroy(native(stream)), error);
}

static tide_device_event *take_spare(tide_device_cuda *cuda) {
    pthread_mutex_lock(&cuda->lock);
    tide_device_event *event = cuda->spare;
    if (event != NULL) {
        cuda->spare = event->next;
    }
    pthread_mutex_unlock(&cuda->lock);
    return event;
}

static tide_status cuda_event_create(tide_device *device, tide_device_event **ret_event,
                                     tide_error *error) {
    TIDE_TRY(begin(device, error));
    tide_device_event *event = take_spare((tide_device_cuda *)device);
    if (event == NULL) {
        event = device->mem->alloc(device->mem->ctx, sizeof(*event));
        if (event == NULL) {
            return tide_fail(error, TIDE_NO_MEMORY, "no host memory for an event");
        }
        tide_status status =
            answer(device, "cudaEventCreateWithFlags",
                   cudaEventCreateWithFlags(&event->event, cudaEventDefault), error);
        if (status != TIDE_OK) {
            device->mem->release(device->mem->ctx, event);
            return status;
        }
    }
    event->next = NULL;
    event->is_recorded = false;
    *ret_event = event;
    return TIDE_OK;
}

static void cuda_event_destroy(tide_device *device, tide_device_event *event) {
    tide_device_cuda *cuda = (tide_device_cuda *)device;
    pthread_mutex_lock(&cuda->lock);
    event->next = cuda->spare;
    cuda->spare = event;
    pthread_mutex_unlock(&cuda->lock);
}

static tide_status cuda_event_record(tide_device *device, tide_device_event *event,
                                     tide_stream stream, tide_error *error) {
    TIDE_TRY(begin(device, error));
    TIDE_TRY(
        answer(device, "cudaEventRecord", cudaEventRecord(event->event, native(stream)), error));
    event->is_recorded = true;
    return TIDE_OK;
}

static tide_status cuda_stream_wait(tide_device *device, tide_stream stream,
                                    tide_device_event *event, tide_error *error) {
    TIDE_TRY(begin(device, error));
    if (!event->is_recorded) { /* as in cuda_event_query */
        return TIDE_OK;
    }
    return answer(device, "cudaStreamWaitEvent",
                  cudaStreamWaitEvent(native(stream), event->event, 0), error);
}

static tide_status cuda_event_query(tide_device *device, tide_device_event *event,
                                    tide_error *error) {
    TIDE_TRY(begin(device, error));
    if (!event->is_recorded) { /* a reused event still has the state of its former owner */
        return TIDE_OK;
    }
    return answer(device, "cudaEventQuery", cudaEventQuery(event->event), error);
}

static tide_status cuda_event_synchronize(tide_device *device, tide_device_event *event,
                                          tide_error *error) {
    TIDE_TRY(begin(device, error));
    if (!event->is_recorded) {
        return TIDE_OK;
    }
    return answer(device, "cudaEventSynchronize", cudaEventSynchronize(event->event), error);
}

static tide_status cuda_event_elapsed(tide_device *device, const tide_device_event *begin_event,
                                      const tide_device_event *end_event, double *ret_ms,
                                      tide_error *error) {
    float ms = 0;
    TIDE_TRY(begin(device, error));
    if (!begin_event->is_recorded || !end_event->is_recorded) {
        return tide_fail(error, TIDE_INVALID, "the time between events that were never recorded");
    }
    TIDE_TRY(answer(device, "cudaEventElapsedTime",
                    cudaEventElapsedTime(&ms, begin_event->event, end_event->event), error));
    *ret_ms = (double)ms;
    return TIDE_OK;
}

static tide_status cuda_synchronize(tide_device *device, tide_error *error) {
    TIDE_TRY(begin(device, error));
    return answer(device, "cudaDeviceSynchronize", cudaDeviceSynchronize(), error);
}

/* Waits first, so the range contains only its own work and none that was submitted before. */
static tide_status cuda_profiler_range(tide_device *device, bool begins, tide_error *error) {
    TIDE_TRY(cuda_synchronize(device, error));
    return begins ? answer(device, "cudaProfilerStart", cudaProfilerStart(), error)
                  : answer(device, "cudaProfilerStop", cudaProfilerStop(), error);
}

static const tide_device_table CUDA_TABLE = {
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .memory_info = cuda_memory_info,
    .pointer = cuda_pointer,
    .copy = cuda_copy,
    .set = cuda_set,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .stream_wait = cuda_stream_wait,
    .event_query = cuda_event_query,
    .event_synchronize = cuda_event_synchronize,
    .event_elapsed = cuda_event_elapsed,
    .synchronize = cuda_synchronize,
    .profiler_range = cuda_profiler_range,
    .map_granule = tide_device_cuda_map_granule,
    .reserve = tide_device_cuda_reserve,
    .unreserve = tide_device_cuda_unreserve,
    .map = tide_device_cuda_map,
    .unmap = tide_device_cuda_unmap,
    .graph_begin = tide_device_cuda_graph_begin,
    .graph_end = tide_device_cuda_graph_end,
    .graph_launch = tide_device_cuda_graph_launch,
    .graph_destroy = tide_device_cuda_graph_destroy,
};

tide_device_cuda *tide_device_cuda_of(tide_device *device) {
    return device->table == &CUDA_TABLE ? (tide_device_cuda *)device : NULL;
}

/* Makes the context and measures its size as the growth of the memory in use on the GPU, if the
 * management library is available. Memory that other processes allocate meanwhile is included; a
 * context that the process already had is not. */
static tide_status make_context(tide_device_cuda *cuda, tide_error *error) {
    char pci_bus_id[32] = "";
    int64_t used_before = -1;
    if (cudaDeviceGetPCIBusId(pci_bus_id, (int)sizeof(pci_bus_id), cuda->ordinal) == cudaSuccess) {
        used_before = tide_device_cuda_used_bytes(pci_bus_id);
    }
    (void)cudaGetLastError();
    TIDE_TRY(tide_device_cuda_begin(cuda, error));
    /* The runtime makes its context at the first call that needs one; cudaFree(NULL) does no more.
     */
    TIDE_TRY(answer(&cuda->base, "the context", cudaFree(NULL), error));
    int64_t used_after = used_before < 0 ? -1 : tide_device_cuda_used_bytes(pci_bus_id);
    if (used_after > used_before) {
        cuda->base.info.context_bytes = used_after - used_before;
    }
    return TIDE_OK;
}

tide_status tide_device_cuda_open(int ordinal, const tide_device_options *options,
                                  tide_device **ret_device, tide_error *error) {
    tide_device_info info = {.kind = TIDE_DEVICE_CUDA, .context_bytes = -1, .computes = true};
    tide_status status = TIDE_NO_MEMORY;
    const tide_hostmem *mem =
        options != NULL && options->mem != NULL ? options->mem : tide_hostmem_default();
    (void)snprintf(info.spec, sizeof(info.spec), "cuda:%d", ordinal);
    TIDE_TRY(tide_device_cuda_find(ordinal, &info, error));
    tide_device_cuda *cuda = tide_hostmem_zeroed(mem, 1, sizeof(*cuda));
    if (cuda == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the device %s", info.spec);
    }
    cuda->base = (tide_device){.table = &CUDA_TABLE, .mem = mem, .info = info, .counts_work = true};
    cuda->ordinal = ordinal;
    atomic_init(&cuda->is_lost, false);
    if (pthread_mutex_init(&cuda->lock, NULL) != 0) {
        status = tide_fail(error, TIDE_NO_MEMORY, "no lock for the device %s", info.spec);
        goto fail_lock;
    }
    status = tide_device_cuda_read_properties(cuda, error);
    if (status != TIDE_OK) {
        goto fail_context;
    }
    status = make_context(cuda, error);
    if (status != TIDE_OK) {
        goto fail_context;
    }
    *ret_device = &cuda->base;
    return TIDE_OK;

fail_context:
    pthread_mutex_destroy(&cuda->lock);
fail_lock:
    mem->release(mem->ctx, cuda);
    return status;
}

#else

tide_status tide_device_cuda_open(int ordinal, const tide_device_options *options,
                                  tide_device **ret_device, tide_error *error) {
    (void)ordinal;
    (void)options;
    (void)ret_device;
    return tide_fail(
        error, TIDE_DEVICE_ABSENT,
        "this build has no CUDA: configure with -DTIDEMARK_CUDA=ON, or " TIDE_DEVICE_CUDA_REMEDY);
}

#endif
