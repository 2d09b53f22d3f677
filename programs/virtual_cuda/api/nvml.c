/* NVML, as used by PyTorch's out-of-memory message, torch.cuda and pynvml. It shows all cards of
 * the machine and all processes of the run. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/machine.h"

/* nvmlReturn_t. */
enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };

/* A device's handle is its number plus one. */
static int number_of(const void *handle) {
    return (int)(uintptr_t)handle - 1;
}

static bool is_handle(const void *handle) {
    return number_of(handle) >= 0 && number_of(handle) < tide_vc_n_cards();
}

TIDE_VC_EXPORT int nvmlInit_v2(void) {
    return OK;
}

TIDE_VC_EXPORT int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    return OK;
}

TIDE_VC_EXPORT int nvmlShutdown(void) {
    return OK;
}

TIDE_VC_EXPORT const char *nvmlErrorString(int status) {
    static const char *const TEXTS[] = {
        [OK] = "Success",
        [1] = "Uninitialized",
        [INVALID_ARGUMENT] = "Invalid Argument",
        [NOT_SUPPORTED] = "Not Supported",
        [4] = "Insufficient Permissions",
        [5] = "Already Initialized",
        [6] = "Not Found",
        [INSUFFICIENT_SIZE] = "Insufficient Size",
    };
    return status >= 0 && (size_t)status < sizeof(TEXTS) / sizeof(TEXTS[0]) ? TEXTS[status]
                                                                            : "Unknown Error";
}

static int give_text(char *ret_text, unsigned n_bytes, const char *text) {
    int n = snprintf(ret_text, n_bytes, "%s", text);
    return n >= 0 && (unsigned)n < n_bytes ? OK : INSUFFICIENT_SIZE;
}

TIDE_VC_EXPORT int nvmlSystemGetDriverVersion(char *ret_text, unsigned n_bytes) {
    return give_text(ret_text, n_bytes, TIDE_CARD_DRIVER);
}

TIDE_VC_EXPORT int nvmlSystemGetNVMLVersion(char *ret_text, unsigned n_bytes) {
    return give_text(ret_text, n_bytes, "13." TIDE_CARD_DRIVER);
}

TIDE_VC_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *ret_version) {
    *ret_version = TIDE_VC_DRIVER_VERSION;
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetCount_v2(unsigned *ret_n) {
    *ret_n = (unsigned)tide_vc_n_cards();
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **ret_handle) {
    if (number >= (unsigned)tide_vc_n_cards()) {
        return INVALID_ARGUMENT;
    }
    *ret_handle = (void *)(uintptr_t)(number + 1);
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **ret_handle) {
    const char *colon = strchr(text, ':');
    long bus = colon != NULL ? strtol(colon + 1, NULL, 16) : 0;
    return bus >= 1 ? nvmlDeviceGetHandleByIndex_v2((unsigned)bus - 1, ret_handle)
                    : INVALID_ARGUMENT;
}

TIDE_VC_EXPORT int nvmlDeviceGetUUID(const void *handle, char *ret_text, unsigned n_bytes) {
    char text[TIDE_VC_UUID_TEXT_BYTES];
    if (!is_handle(handle)) {
        return INVALID_ARGUMENT;
    }
    tide_vc_uuid_text(tide_vc_card_at(number_of(handle)), text);
    return give_text(ret_text, n_bytes, text);
}

TIDE_VC_EXPORT int nvmlDeviceGetHandleByUUID(const char *text, void **ret_handle) {
    unsigned number = 0;
    return sscanf(text, "GPU-%2x", &number) == 1 && number > 0
               ? nvmlDeviceGetHandleByIndex_v2(number - 1, ret_handle)
               : INVALID_ARGUMENT;
}

TIDE_VC_EXPORT int nvmlDeviceGetIndex(const void *handle, unsigned *ret_number) {
    *ret_number = (unsigned)number_of(handle);
    return is_handle(handle) ? OK : INVALID_ARGUMENT;
}

TIDE_VC_EXPORT int nvmlDeviceGetName(const void *handle, char *ret_text, unsigned n_bytes) {
    return is_handle(handle)
               ? give_text(ret_text, n_bytes, tide_vc_card_at(number_of(handle))->card->title)
               : INVALID_ARGUMENT;
}

TIDE_VC_EXPORT int nvmlDeviceGetCudaComputeCapability(const void *handle, int *ret_major,
                                                      int *ret_minor) {
    if (!is_handle(handle)) {
        return INVALID_ARGUMENT;
    }
    *ret_major = tide_vc_card_at(number_of(handle))->major;
    *ret_minor = tide_vc_card_at(number_of(handle))->minor;
    return OK;
}

/* nvmlMemory_t: total, free, used. */
/* A card that has no memory of its own has no such figures: nvidia-smi prints [N/A] on a GB10. */
TIDE_VC_EXPORT int nvmlDeviceGetMemoryInfo(const void *handle, unsigned long long *ret) {
    if (!is_handle(handle)) {
        return INVALID_ARGUMENT;
    }
    if (tide_vc_card_at(number_of(handle))->card->shares_host) {
        return NOT_SUPPORTED;
    }
    ret[0] = tide_vc_card_at(number_of(handle))->total_bytes;
    ret[1] = tide_vc_free_bytes(tide_vc_card_at(number_of(handle)));
    ret[2] = tide_vc_used_bytes(tide_vc_card_at(number_of(handle)));
    return OK;
}

/* nvmlMemory_v2_t: version, total, reserved, free, used. */
TIDE_VC_EXPORT int nvmlDeviceGetMemoryInfo_v2(const void *handle, unsigned long long *ret) {
    unsigned long long first[3];
    int status = nvmlDeviceGetMemoryInfo(handle, first);
    if (status == OK) {
        ret[1] = first[0];
        ret[2] = 0;
        ret[3] = first[1];
        ret[4] = first[2];
    }
    return status;
}

TIDE_VC_EXPORT int nvmlDeviceGetUtilizationRates(const void *handle, unsigned *ret) {
    (void)handle;
    ret[0] = 0;
    ret[1] = 0;
    return OK;
}

/* nvmlProcessInfo_t of its second version. */
typedef struct process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
} process;

enum { MAX_PROCESSES = 512 };
#define NO_INSTANCE 0xFFFFFFFFu /* the card is not partitioned */

/* The processes with a context on the card. `n` is the room on entry, and the number of processes
 * on return. Each is written with the first process_bytes of the struct. */
static int give_processes(const void *handle, unsigned *n, char *ret, size_t process_bytes) {
    tide_vc_process found[MAX_PROCESSES];
    if (!is_handle(handle) || n == NULL) {
        return INVALID_ARGUMENT;
    }
    size_t n_room = ret != NULL ? *n : 0;
    size_t n_found = tide_vc_processes(tide_vc_card_at(number_of(handle)), found, MAX_PROCESSES);
    n_found = n_found < MAX_PROCESSES ? n_found : MAX_PROCESSES;
    *n = (unsigned)n_found;
    if (n_found > n_room) {
        return INSUFFICIENT_SIZE;
    }
    for (size_t i = 0; i < n_found; i++) {
        process one = {found[i].pid, found[i].used_bytes, NO_INSTANCE, NO_INSTANCE};
        memcpy(ret + i * process_bytes, &one, process_bytes);
    }
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(const void *handle, unsigned *n,
                                                           void *ret) {
    return give_processes(handle, n, ret, sizeof(process));
}

TIDE_VC_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(const void *handle, unsigned *n,
                                                           void *ret) {
    return give_processes(handle, n, ret, sizeof(process));
}

/* The first version's struct ends after the bytes. */
TIDE_VC_EXPORT int nvmlDeviceGetComputeRunningProcesses(const void *handle, unsigned *n,
                                                        void *ret) {
    return give_processes(handle, n, ret, offsetof(process, gpu_instance));
}

static int measured_by_nobody(unsigned *ret) {
    *ret = 0;
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetTemperature(const void *handle, int sensor, unsigned *ret) {
    (void)handle;
    (void)sensor;
    return measured_by_nobody(ret);
}

TIDE_VC_EXPORT int nvmlDeviceGetPowerUsage(const void *handle, unsigned *ret) {
    (void)handle;
    return measured_by_nobody(ret);
}

/* nvmlGpuFabricInfo_v2_t, which the third version extends. All zeros after the version mean that
 * the card is in no fabric of switches, like a card alone in its machine. */
typedef struct fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state; /* 0: not supported */
    unsigned health;
} fabric;

TIDE_VC_EXPORT int nvmlDeviceGetGpuFabricInfoV(const void *handle, fabric *ret) {
    if (!is_handle(handle) || ret == NULL) {
        return INVALID_ARGUMENT;
    }
    *ret = (fabric){.version = ret->version};
    return OK;
}
