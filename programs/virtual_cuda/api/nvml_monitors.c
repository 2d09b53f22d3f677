/* NVML's older names, and the queries of card monitors (gpustat, nvitop, nvidia-ml-py) and platform
 * checks besides memory and processes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "programs/step_time/work.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/machine.h"

/* nvmlReturn_t. */
enum { OK = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *ret_n);
int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **ret_handle);
int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **ret_handle);
int nvmlSystemGetCudaDriverVersion_v2(int *ret_version);

/* ---- names without a version, which older programs use ---- */

TIDE_VC_EXPORT int nvmlInit(void) {
    return nvmlInit_v2();
}

TIDE_VC_EXPORT int nvmlDeviceGetCount(unsigned *ret_n) {
    return nvmlDeviceGetCount_v2(ret_n);
}

TIDE_VC_EXPORT int nvmlDeviceGetHandleByIndex(unsigned number, void **ret_handle) {
    return nvmlDeviceGetHandleByIndex_v2(number, ret_handle);
}

TIDE_VC_EXPORT int nvmlDeviceGetHandleByPciBusId(const char *text, void **ret_handle) {
    return nvmlDeviceGetHandleByPciBusId_v2(text, ret_handle);
}

TIDE_VC_EXPORT int nvmlSystemGetCudaDriverVersion(int *ret_version) {
    return nvmlSystemGetCudaDriverVersion_v2(ret_version);
}

/* ---- processes: no graphics, no MPS ---- */

static int none(unsigned *n) {
    if (n == NULL) {
        return INVALID_ARGUMENT;
    }
    *n = 0;
    return OK;
}

#define NO_PROCESS(name)                                                                           \
    TIDE_VC_EXPORT int name(const void *handle, unsigned *n, void *ret_processes) {                \
        (void)handle;                                                                              \
        (void)ret_processes;                                                                       \
        return none(n);                                                                            \
    }
NO_PROCESS(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESS(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESS(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESS(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESS(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESS(nvmlDeviceGetMPSComputeRunningProcesses_v3)

/* The command of a process, as the system knows it. */
TIDE_VC_EXPORT int nvmlSystemGetProcessName(unsigned pid, char *ret_name, unsigned n_bytes) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    FILE *file = ret_name != NULL && n_bytes > 0 ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return ret_name != NULL && n_bytes > 0 ? NOT_FOUND : INVALID_ARGUMENT;
    }
    size_t n = fread(ret_name, 1, n_bytes - 1, file); /* the program ends at the first zero */
    ret_name[n] = '\0';
    (void)fclose(file);
    return OK;
}

/* ---- the card's properties ---- */

static const tide_vc_card *card_of(const void *handle) {
    int number = (int)(uintptr_t)handle - 1;
    return number >= 0 && number < tide_vc_n_cards() ? tide_vc_card_at(number) : NULL;
}

/* nvmlPciInfo_t of the third version; the first two end after the identifiers. */
typedef struct pci {
    char old_text[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
} pci;

static int give_pci(const void *handle, void *ret, size_t n_bytes) {
    const tide_vc_card *card = card_of(handle);
    if (card == NULL || ret == NULL) {
        return INVALID_ARGUMENT;
    }
    unsigned bus = (unsigned)card->number + 1;
    pci found = {.bus = bus};
    (void)snprintf(found.old_text, sizeof(found.old_text), "0000:%02X:00.0", bus);
    (void)snprintf(found.text, sizeof(found.text), "00000000:%02X:00.0", bus);
    memcpy(ret, &found, n_bytes);
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetPciInfo_v3(const void *handle, void *ret) {
    return give_pci(handle, ret, sizeof(pci));
}

TIDE_VC_EXPORT int nvmlDeviceGetPciInfo_v2(const void *handle, void *ret) {
    return give_pci(handle, ret, offsetof(pci, text));
}

TIDE_VC_EXPORT int nvmlDeviceGetPciInfo(const void *handle, void *ret) {
    return give_pci(handle, ret, offsetof(pci, subsystem));
}

static int give(const void *handle, int *ret, int value) {
    if (card_of(handle) == NULL || ret == NULL) {
        return INVALID_ARGUMENT;
    }
    *ret = value;
    return OK;
}

TIDE_VC_EXPORT int nvmlDeviceGetMinorNumber(const void *handle, int *ret_number) {
    const tide_vc_card *card = card_of(handle);
    return card != NULL ? give(handle, ret_number, card->number) : INVALID_ARGUMENT;
}

TIDE_VC_EXPORT int nvmlDeviceGetComputeMode(const void *handle, int *ret_mode) {
    return give(handle, ret_mode, 0); /* shared by all processes */
}

TIDE_VC_EXPORT int nvmlDeviceGetPersistenceMode(const void *handle, int *ret_is_on) {
    return give(handle, ret_is_on, 1);
}

TIDE_VC_EXPORT int nvmlDeviceGetDisplayMode(const void *handle, int *ret_is_on) {
    return give(handle, ret_is_on, 0);
}

TIDE_VC_EXPORT int nvmlDeviceGetDisplayActive(const void *handle, int *ret_is_on) {
    return give(handle, ret_is_on, 0);
}

TIDE_VC_EXPORT int nvmlDeviceGetMaxMigDeviceCount(const void *handle, int *ret_n) {
    return give(handle, ret_n, 0);
}

TIDE_VC_EXPORT int nvmlDeviceIsMigDeviceHandle(const void *handle, int *ret_is_mig) {
    return give(handle, ret_is_mig, 0);
}

/* The card is not partitioned now, nor pending. */
TIDE_VC_EXPORT int nvmlDeviceGetMigMode(const void *handle, int *ret_now, int *ret_pending) {
    int status = give(handle, ret_now, 0);
    return status == OK ? give(handle, ret_pending, 0) : status;
}

/* nvmlDeviceArchitecture_t: by compute capability. */
TIDE_VC_EXPORT int nvmlDeviceGetArchitecture(const void *handle, int *ret_architecture) {
    enum { PASCAL = 4, VOLTA, TURING, AMPERE, ADA, HOPPER, BLACKWELL };
    const tide_vc_card *card = card_of(handle);
    if (card == NULL) {
        return INVALID_ARGUMENT;
    }
    int capability = 10 * card->major + card->minor;
    return give(handle, ret_architecture,
                capability >= 100  ? BLACKWELL
                : capability >= 90 ? HOPPER
                : capability == 89 ? ADA
                : capability >= 80 ? AMPERE
                : capability == 75 ? TURING
                : capability >= 70 ? VOLTA
                                   : PASCAL);
}

/* Video encoding and decoding: no load during the last second. */
static int no_video(const void *handle, int *ret_percent, int *ret_period_us) {
    enum { SECOND_US = 1000000 };
    int status = give(handle, ret_percent, 0);
    return status == OK ? give(handle, ret_period_us, SECOND_US) : status;
}

TIDE_VC_EXPORT int nvmlDeviceGetEncoderUtilization(const void *handle, int *ret_percent,
                                                   int *ret_period_us) {
    return no_video(handle, ret_percent, ret_period_us);
}

TIDE_VC_EXPORT int nvmlDeviceGetDecoderUtilization(const void *handle, int *ret_percent,
                                                   int *ret_period_us) {
    return no_video(handle, ret_percent, ret_period_us);
}

/* nvmlBAR1Memory_t: total, free, used. The host maps nothing of the card. */
TIDE_VC_EXPORT int nvmlDeviceGetBAR1MemoryInfo(const void *handle, unsigned long long *ret) {
    const tide_vc_card *card = card_of(handle);
    if (card == NULL || ret == NULL) {
        return INVALID_ARGUMENT;
    }
    ret[0] = ret[1] = card->total_bytes;
    ret[2] = 0;
    return OK;
}

/* ---- links ---- */

/* Whether two cards reach each other: by NVLink (index 2) if both cards have it, and for reads,
 * writes and atomics (0, 1, 3) as cudaDeviceCanAccessPeer answers. The status is 0 or 5, "not
 * supported". */
TIDE_VC_EXPORT int nvmlDeviceGetP2PStatus(const void *handle, const void *other, int index,
                                          int *ret_status) {
    enum { BY_NVLINK = 2, N_INDICES = 5, STATUS_OK = 0, STATUS_NOT_SUPPORTED = 5 };
    const tide_vc_card *one = card_of(handle);
    const tide_vc_card *two = card_of(other);
    if (one == NULL || two == NULL || index < 0 || index >= N_INDICES || ret_status == NULL) {
        return INVALID_ARGUMENT;
    }
    bool is_linked = one != two && (index != BY_NVLINK || (tide_time_n_links(one->card->name) > 0 &&
                                                           tide_time_n_links(two->card->name) > 0));
    *ret_status = is_linked ? STATUS_OK : STATUS_NOT_SUPPORTED;
    return OK;
}

/* ---- counts that are 0 ---- */

TIDE_VC_EXPORT int nvmlDeviceGetNumFans(const void *handle, int *ret_n) {
    return give(handle, ret_n, 0);
}

TIDE_VC_EXPORT int nvmlDeviceGetMultiGpuBoard(const void *handle, int *ret_is_one) {
    return give(handle, ret_is_one, 0);
}

TIDE_VC_EXPORT int nvmlDeviceOnSameBoard(const void *handle, const void *other, int *ret_are) {
    return card_of(other) != NULL ? give(handle, ret_are, 0) : INVALID_ARGUMENT;
}

TIDE_VC_EXPORT int nvmlUnitGetCount(unsigned *ret_n) {
    return none(ret_n);
}

TIDE_VC_EXPORT int nvmlGetExcludedDeviceCount(unsigned *ret_n) {
    return none(ret_n);
}
