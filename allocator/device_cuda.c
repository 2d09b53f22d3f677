/* device_cuda.c - a GPU, through the CUDA runtime: the one C file that calls it for memory, streams
 * and events. Without CUDA in the build it says how to get it.
 */
#include "allocator/device_cuda_internal.h"

#ifndef TIDEMARK_HAVE_CUDA
#define TIDEMARK_HAVE_CUDA 0
#endif

#define REMEDY "use cpu, or virtual:CARD for the memory of a card"

#if TIDEMARK_HAVE_CUDA

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "allocator/cards.h"
#include "common/bytes.h"

struct tide_device_event {
    cudaEvent_t event;       /* owned; timing on */
    tide_device_event *next; /* among the spare ones */
    bool is_recorded;        /* since it was handed out */
};

typedef struct device_cuda {
    tide_device base;         /* first, so that a tide_device * is a device_cuda * */
    int ordinal;              /* the runtime's number of it */
    pthread_mutex_t lock;     /* guards the members below, but for is_lost */
    atomic_bool is_lost;      /* for good */
    cudaError_t cause;        /* what the device was lost to */
    const char *cause_call;   /* static; where that was seen */
    tide_device_event *spare; /* events that were destroyed, for the next to be created; owned */
} device_cuda;

/* Errors after which nothing works in this process' context any more. */
static bool ends_context(cudaError_t result) {
    switch ((int)result) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

static void keep_cause(device_cuda *cuda, const char *call, cudaError_t result) {
    pthread_mutex_lock(&cuda->lock);
    if (!atomic_load(&cuda->is_lost)) {
        cuda->cause = result;
        cuda->cause_call = call;
        atomic_store(&cuda->is_lost, true);
    }
    pthread_mutex_unlock(&cuda->lock);
}

static tide_status fail_lost(const char *spec, const char *call, cudaError_t cause,
                             tide_error *error) {
    return tide_fail(
        error, TIDE_DEVICE_LOST,
        "%s is lost since %s answered: %s (CUDA error %d); nothing on it works in this "
        "process any more: run the program again, under compute-sanitizer to find the "
        "kernel",
        spec, call, cudaGetErrorString(cause), (int)cause);
}

/* `result` is a failure; the device is not lost. */
static tide_status fail_call(const char *spec, const char *call, cudaError_t result,
                             tide_error *error) {
    switch ((int)result) {
    case cudaErrorNotReady:
        return TIDE_NOT_READY;
    case cudaErrorMemoryAllocation:
        return tide_fail(error, TIDE_DEVICE_OOM, "%s has no memory left for %s", spec, call);
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
        return tide_fail(error, TIDE_INVALID,
                         "%s on %s: %s (CUDA error %d): an address, a range, a stream or an event "
                         "is not this device's",
                         call, spec, cudaGetErrorString(result), (int)result);
    default:
        return tide_fail(error, TIDE_DEVICE_FAILED, "%s on %s: %s (CUDA error %d)", call, spec,
                         cudaGetErrorString(result), (int)result);
    }
}

static const tide_device_table CUDA_TABLE;

tide_status tide_device_cuda_answer(tide_device *device, const char *call, int result,
                                    tide_error *error) {
    const char *spec = device->info.spec;
    const cudaError_t code = (cudaError_t)result;
    if (code == cudaSuccess) {
        return TIDE_OK;
    }
    (void)cudaGetLastError(); /* the code is in hand: the next check must not find it again */
    if (device->table != &CUDA_TABLE) {
        return ends_context(code) ? fail_lost(spec, call, code, error)
                                  : fail_call(spec, call, code, error);
    }
    device_cuda *cuda = (device_cuda *)device;
    if (ends_context(code)) {
        keep_cause(cuda, call, code);
    }
    return atomic_load(&cuda->is_lost) ? fail_lost(spec, cuda->cause_call, cuda->cause, error)
                                       : fail_call(spec, call, code, error);
}

/* Before every call: a lost device says so, and another thread may have another device current. */
static tide_status begin(tide_device *device, tide_error *error) {
    device_cuda *cuda = (device_cuda *)device;
    if (atomic_load(&cuda->is_lost)) {
        return fail_lost(device->info.spec, cuda->cause_call, cuda->cause, error);
    }
    return tide_device_cuda_answer(device, "cudaSetDevice", (int)cudaSetDevice(cuda->ordinal),
                                   error);
}

/* After every call. */
static tide_status answer(tide_device *device, const char *call, cudaError_t result,
                          tide_error *error) {
    return tide_device_cuda_answer(device, call, (int)result, error);
}

static cudaStream_t native(tide_stream stream) {
    /* A handle that the runtime gave. NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return (cudaStream_t)(uintptr_t)stream;
}

static void cuda_close(tide_device *device) {
    device_cuda *cuda = (device_cuda *)device;
    (void)begin(device, NULL);
    while (cuda->spare != NULL) {
        tide_device_event *event = cuda->spare;
        cuda->spare = event->next;
        if (!atomic_load(&cuda->is_lost)) {
            (void)cudaEventDestroy(event->event); /* nobody is left to be told */
        }
        device->mem->release(device->mem->ctx, event);
    }
    (void)cudaGetLastError();
    pthread_mutex_destroy(&cuda->lock);
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
    /* The interface counts addresses, the runtime wants pointers.
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

static tide_device_event *take_spare(device_cuda *cuda) {
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
    tide_device_event *event = take_spare((device_cuda *)device);
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
    device_cuda *cuda = (device_cuda *)device;
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

static tide_status cuda_event_query(tide_device *device, tide_device_event *event,
                                    tide_error *error) {
    TIDE_TRY(begin(device, error));
    if (!event->is_recorded) { /* what a former owner of it recorded is nobody's business */
        return TIDE_OK;
    }
    return answer(device, "cudaEventQuery", cudaEventQuery(event->event), error);
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

/* What is submitted is finished first: the range holds its own work and no other. */
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
    .event_query = cuda_event_query,
    .event_elapsed = cuda_event_elapsed,
    .synchronize = cuda_synchronize,
    .profiler_range = cuda_profiler_range,
};

/* Why there is no device, and what would bring it. */
static tide_status fail_absent(cudaError_t result, int driver_version, int runtime_version,
                               tide_error *error) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    (void)cudaGetLastError(); /* an answer, not a fault to be found by the next call */
    switch ((int)result) {
    case cudaErrorStubLibrary:
        return tide_fail(
            error, TIDE_DEVICE_ABSENT,
            "libcuda.so.1 is the CUDA toolkit's stub, not a driver: take the toolkit's "
            "stubs folder off LD_LIBRARY_PATH, or " REMEDY);
    case cudaErrorInsufficientDriver:
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "the NVIDIA driver is too old: it brings CUDA %d.%d, and this program "
                         "needs %d.%d: update the driver, or " REMEDY,
                         driver_version / 1000, driver_version % 1000 / 10, runtime_version / 1000,
                         runtime_version % 1000 / 10);
    case cudaErrorNoDevice:
        if (visible != NULL) {
            return tide_fail(error, TIDE_DEVICE_ABSENT,
                             "CUDA_VISIBLE_DEVICES=\"%.200s\" hides every GPU from this program: "
                             "unset it, or " REMEDY,
                             visible);
        }
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "the NVIDIA driver (CUDA %d.%d) finds no GPU: look whether nvidia-smi "
                         "lists one and whether this program may use it, or " REMEDY,
                         driver_version / 1000, driver_version % 1000 / 10);
    default:
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "the NVIDIA driver (CUDA %d.%d) answers: %s (CUDA error %d); " REMEDY,
                         driver_version / 1000, driver_version % 1000 / 10,
                         cudaGetErrorString(result), (int)result);
    }
}

/* Writes both versions into `info`. */
static tide_status find_device(int ordinal, tide_device_info *info, tide_error *error) {
    int driver_version = 0;
    int runtime_version = 0;
    int n_devices = 0;
    cudaError_t result = cudaDriverGetVersion(&driver_version);
    if (result == cudaSuccess) {
        result = cudaRuntimeGetVersion(&runtime_version);
    }
    if (result == cudaSuccess) {
        result = cudaGetDeviceCount(&n_devices);
    }
    if (result == cudaErrorInsufficientDriver && driver_version == 0) {
        (void)cudaGetLastError();
        return tide_fail(error, TIDE_DEVICE_ABSENT, "no NVIDIA driver is installed: " REMEDY);
    }
    if (result == cudaSuccess && n_devices == 0) {
        result = cudaErrorNoDevice;
    }
    if (result != cudaSuccess) {
        return fail_absent(result, driver_version, runtime_version, error);
    }
    if (ordinal >= n_devices) {
        return tide_fail(
            error, TIDE_DEVICE_ABSENT, "there is no cuda:%d: the driver shows %d GPU%s%s; " REMEDY,
            ordinal, n_devices, n_devices == 1 ? "" : "s",
            getenv("CUDA_VISIBLE_DEVICES") != NULL ? " (CUDA_VISIBLE_DEVICES is set)" : "");
    }
    info->driver_version = driver_version;
    info->runtime_version = runtime_version;
    return TIDE_OK;
}

static tide_status read_properties(device_cuda *cuda, tide_error *error) {
    tide_device_info *info = &cuda->base.info;
    struct cudaDeviceProp properties;
    TIDE_TRY(answer(&cuda->base, "cudaGetDeviceProperties",
                    cudaGetDeviceProperties(&properties, cuda->ordinal), error));
    (void)snprintf(info->name, sizeof(info->name), "%.*s", (int)sizeof(info->name) - 1,
                   properties.name);
    info->total_bytes = (int64_t)properties.totalGlobalMem;
    const struct {
        enum cudaDeviceAttr attribute; /* what is asked for */
        int *ret_value;                /* where it goes */
    } ATTRIBUTES[] = {
        {cudaDevAttrComputeCapabilityMajor, &info->compute_capability},
        {cudaDevAttrComputeCapabilityMinor, NULL},
        {cudaDevAttrClockRate, &info->sm_clock_khz},
        {cudaDevAttrMemoryClockRate, &info->memory_clock_khz},
    };
    for (size_t i = 0; i < sizeof(ATTRIBUTES) / sizeof(ATTRIBUTES[0]); i++) {
        int value = 0;
        TIDE_TRY(answer(&cuda->base, "cudaDeviceGetAttribute",
                        cudaDeviceGetAttribute(&value, ATTRIBUTES[i].attribute, cuda->ordinal),
                        error));
        if (ATTRIBUTES[i].ret_value != NULL) {
            *ATTRIBUTES[i].ret_value = value;
        } else {
            info->compute_capability = 10 * info->compute_capability + value;
        }
    }
    info->workspace_bytes = tide_card_workspace_bytes(info->compute_capability);
    return TIDE_OK;
}

/* Makes the context, and measures what it takes where somebody can tell: other processes that
 * allocate on the GPU meanwhile are counted in, and a context that was there already is not. */
static tide_status make_context(device_cuda *cuda, tide_error *error) {
    char pci_bus_id[32] = "";
    int64_t used_before = -1;
    if (cudaDeviceGetPCIBusId(pci_bus_id, (int)sizeof(pci_bus_id), cuda->ordinal) == cudaSuccess) {
        used_before = tide_device_cuda_used_bytes(pci_bus_id);
    }
    (void)cudaGetLastError();
    TIDE_TRY(begin(&cuda->base, error));
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
    TIDE_TRY(find_device(ordinal, &info, error));
    device_cuda *cuda = tide_hostmem_zeroed(mem, 1, sizeof(*cuda));
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
    status = read_properties(cuda, error);
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
    return tide_fail(error, TIDE_DEVICE_ABSENT,
                     "this build has no CUDA: configure with -DTIDEMARK_CUDA=ON, or " REMEDY);
}

#endif
