/* fake_nvml.c - a shared library with the four functions of the driver's management library that
 * are used. It is reopened for each query, so its state is in the environment: TIDE_FAKE_NVML_USED,
 * bytes in use, grows by 512 MiB with each answer; TIDE_FAKE_NVML_FAILS names the function that
 * fails. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci_bus_id, void **ret_gpu);
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long total_free_used[3]);

static int gpu_0;

static int answer(const char *function) {
    const char *fails = getenv("TIDE_FAKE_NVML_FAILS");
    return fails != NULL && strcmp(fails, function) == 0 ? 999 : 0;
}

int nvmlInit_v2(void) {
    return answer("init");
}

int nvmlShutdown(void) {
    return answer("shutdown");
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci_bus_id, void **ret_gpu) {
    if (strcmp(pci_bus_id, "0000:00:00.0") != 0) {
        return 6;
    }
    *ret_gpu = &gpu_0;
    return answer("find");
}

int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long total_free_used[3]) {
    const char *before = getenv("TIDE_FAKE_NVML_USED");
    unsigned long long used = before == NULL ? 1ULL << 30 : strtoull(before, NULL, 10);
    char after[32];
    if (gpu != &gpu_0) {
        return 2;
    }
    (void)snprintf(after, sizeof(after), "%llu", used + (512ULL << 20));
    total_free_used[0] = 80ULL << 30;
    total_free_used[1] = total_free_used[0] - used;
    total_free_used[2] = used;
    return setenv("TIDE_FAKE_NVML_USED", after, 1) == 0 ? answer("memory") : 999;
}
