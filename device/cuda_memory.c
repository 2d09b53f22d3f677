/* cuda_memory.c - memory in use on a GPU before this process has a context on it: the runtime
 * cannot report it, because calling it makes the context.
 */
#include <dlfcn.h>
#include <string.h>

#include "device/cuda_friend.h"

/* The functions that we use of the management library. They return 0 for success. */
typedef struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *pci_bus_id, void **ret_gpu);
    int (*memory)(void *gpu, unsigned long long total_free_used[3]); /* bytes */
} nvml;

static bool find_symbol(void *library, const char *name, void *ret_function) {
    void *symbol = dlsym(library, name);
    /* ISO C has no conversion from void * to a function pointer. */
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static int64_t ask(const nvml *functions, const char *pci_bus_id) {
    void *gpu = NULL;
    unsigned long long total_free_used[3] = {0, 0, 0};
    if (functions->init() != 0) {
        return -1;
    }
    bool is_known = functions->find(pci_bus_id, &gpu) == 0 &&
                    functions->memory(gpu, total_free_used) == 0 && total_free_used[2] <= INT64_MAX;
    (void)functions->shutdown(); /* fails only without init, which succeeded above */
    return is_known ? (int64_t)total_free_used[2] : -1;
}

int64_t tide_device_cuda_used_bytes(const char *pci_bus_id) {
    nvml functions;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return -1;
    }
    int64_t used_bytes = -1;
    if (find_symbol(library, "nvmlInit_v2", &functions.init) &&
        find_symbol(library, "nvmlShutdown", &functions.shutdown) &&
        find_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2", &functions.find) &&
        find_symbol(library, "nvmlDeviceGetMemoryInfo", &functions.memory)) {
        used_bytes = ask(&functions, pci_bus_id);
    }
    (void)dlclose(library);
    return used_bytes;
}
