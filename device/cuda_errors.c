/* cuda_errors.c - the meaning of the CUDA runtime's errors: which are normal answers, which are
 * failures, and which end the context.
 */
#include "device/cuda_friend.h"

#if TIDEMARK_HAVE_CUDA

#include <pthread.h>
#include <stdatomic.h>

#include <cuda_runtime_api.h>

#define RUN_AGAIN "nothing on it works in this process any more: "
#define BY_KERNEL RUN_AGAIN "run the program again, under compute-sanitizer to find the kernel"
#define BY_HARDWARE                                                                                \
    RUN_AGAIN "the hardware failed: look for Xid lines in the system's log and for errors in "     \
              "nvidia-smi -q, and run the program again"

/* Errors that end the context of this process: those that the runtime's header describes so, and
 * two of the hardware. They are listed by number, because older headers lack some of the names. */
static const struct {
    int code;           /* a cudaError_t */
    const char *remedy; /* the remedy */
} ENDS[] = {
    {214, BY_HARDWARE}, /* ECCUncorrectable */
    {220, BY_HARDWARE}, /* NvlinkUncorrectable */
    {226, BY_HARDWARE}, /* Contained */
    {700, BY_KERNEL},   /* IllegalAddress */
    {702, RUN_AGAIN "a kernel ran longer than a GPU with a display may: take one without, or a "
                    "smaller model"}, /* LaunchTimeout */
    {710, BY_KERNEL},                 /* Assert */
    {714, BY_KERNEL},                 /* HardwareStackError */
    {715, BY_KERNEL},                 /* IllegalInstruction */
    {716, BY_KERNEL},                 /* MisalignedAddress */
    {717, BY_KERNEL},                 /* InvalidAddressSpace */
    {718, BY_KERNEL},                 /* InvalidPc */
    {719, BY_KERNEL},                 /* LaunchFailure */
    {721, BY_KERNEL},                 /* TensorMemoryLeak */
    {810, RUN_AGAIN "the MPS server ended it: look into the server's log, and run the program "
                    "again"}, /* MpsClientTerminated */
    {911, RUN_AGAIN "a device that it waited for signalled an error: run the program "
                    "again"}, /* ExternalDevice */
};

/* What to do about an error that ends the context; NULL: the error does not. */
static const char *remedy_of(cudaError_t result) {
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        if (ENDS[i].code == (int)result) {
            return ENDS[i].remedy;
        }
    }
    return NULL;
}

static void keep_cause(tide_device_cuda *cuda, const char *call, cudaError_t result) {
    pthread_mutex_lock(&cuda->lock);
    if (!atomic_load(&cuda->is_lost)) {
        cuda->cause = (int)result;
        cuda->cause_call = call;
        atomic_store(&cuda->is_lost, true);
    }
    pthread_mutex_unlock(&cuda->lock);
}

static tide_status fail_lost(const char *spec, const char *call, cudaError_t cause,
                             tide_error *error) {
    return tide_fail(error, TIDE_DEVICE_LOST,
                     "%s is lost since %s answered: %s (CUDA error %d); %s", spec, call,
                     cudaGetErrorString(cause), (int)cause, remedy_of(cause));
}

/* Repeats the cause for a device that is lost already. */
static tide_status fail_sticky(const tide_device_cuda *cuda, tide_error *error) {
    return fail_lost(cuda->base.info.spec, cuda->cause_call, (cudaError_t)cuda->cause, error);
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

tide_status tide_device_cuda_answer(tide_device *device, const char *call, int result,
                                    tide_error *error) {
    const char *spec = device->info.spec;
    const cudaError_t code = (cudaError_t)result;
    if (code == cudaSuccess) {
        return TIDE_OK;
    }
    (void)cudaGetLastError(); /* clears the error, or the next check would find it again */
    tide_device_cuda *cuda = tide_device_cuda_of(device);
    bool is_end = remedy_of(code) != NULL;
    if (cuda != NULL && is_end) {
        keep_cause(cuda, call, code);
    }
    if (cuda != NULL && atomic_load(&cuda->is_lost)) {
        return fail_sticky(cuda, error);
    }
    return is_end ? fail_lost(spec, call, code, error) : fail_call(spec, call, code, error);
}

/* The device that this thread made current last; -1: none, or unknown. Kept because cudaSetDevice
 * before each launch would cost more than the launch's own checks. */
static _Thread_local int current_ordinal = -1;

static cudaError_t set_current(int ordinal) {
    cudaError_t result = cudaSetDevice(ordinal);
    current_ordinal = result == cudaSuccess ? ordinal : -1;
    return result;
}

tide_status tide_device_cuda_begin(tide_device_cuda *cuda, tide_error *error) {
    if (atomic_load(&cuda->is_lost)) {
        return fail_sticky(cuda, error);
    }
    return tide_device_cuda_answer(&cuda->base, "cudaSetDevice", (int)set_current(cuda->ordinal),
                                   error);
}

void tide_device_cuda_make_current(int ordinal) {
    if (current_ordinal != ordinal) {
        (void)set_current(ordinal);
    }
}

#endif
