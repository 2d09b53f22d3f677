#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "programs/virtual_cuda/smi/cards.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

enum { NOT_SUPPORTED = 3 }; /* by NVML */

/* nvmlProcessInfo_t of its second version. */
typedef struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
} nvml_process;

/* Functions of NVML, which return 0 on success. */
typedef struct nvml {
    int (*init)(void);
    int (*count)(unsigned *ret_n);
    int (*driver)(char *ret_text, unsigned n_bytes);
    int (*version)(char *ret_text, unsigned n_bytes);
    int (*cuda)(int *ret_version);
    int (*card)(unsigned number, void **ret_card);
    int (*name)(void *card, char *ret_text, unsigned n_bytes);
    int (*uuid)(void *card, char *ret_text, unsigned n_bytes);
    int (*memory)(void *card, unsigned long long *ret_bytes); /* total, free, used */
    int (*capability)(void *card, int *ret_major, int *ret_minor);
    int (*processes)(void *card, unsigned *n, nvml_process *ret);
} nvml;

/* NVML is preloaded; otherwise the linker finds it by its name. */
static bool find(const char *name, void *ret_function) {
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL) {
        void *library = dlopen(LIBRARY, RTLD_NOW);
        function = library != NULL ? dlsym(library, name) : NULL;
    }
    memcpy(ret_function, &function, sizeof(function));
    return function != NULL;
}

static bool find_all(nvml *ret) {
    return find("nvmlInit_v2", &ret->init) && find("nvmlDeviceGetCount_v2", &ret->count) &&
           find("nvmlSystemGetDriverVersion", &ret->driver) &&
           find("nvmlSystemGetNVMLVersion", &ret->version) &&
           find("nvmlSystemGetCudaDriverVersion_v2", &ret->cuda) &&
           find("nvmlDeviceGetHandleByIndex_v2", &ret->card) &&
           find("nvmlDeviceGetName", &ret->name) && find("nvmlDeviceGetUUID", &ret->uuid) &&
           find("nvmlDeviceGetMemoryInfo", &ret->memory) &&
           find("nvmlDeviceGetCudaComputeCapability", &ret->capability) &&
           find("nvmlDeviceGetComputeRunningProcesses_v3", &ret->processes);
}

/* The first of the process' arguments. */
static void read_name(unsigned pid, char ret[TIDE_SMI_PATH_BYTES]) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "rbe");
    size_t n = file != NULL ? fread(ret, 1, TIDE_SMI_PATH_BYTES - 1, file) : 0;
    ret[n] = '\0';
    if (file != NULL) {
        (void)fclose(file); /* it was only read */
    }
    if (ret[0] == '\0') {
        (void)snprintf(ret, TIDE_SMI_PATH_BYTES, "[Not Found]");
    }
}

static bool read_processes(const nvml *of, void *card, tide_smi_card *ret) {
    nvml_process found[TIDE_SMI_PROCESSES];
    unsigned n = TIDE_SMI_PROCESSES;
    if (of->processes(card, &n, found) != 0) {
        return false;
    }
    ret->n_processes = n < TIDE_SMI_PROCESSES ? n : TIDE_SMI_PROCESSES;
    for (size_t i = 0; i < ret->n_processes; i++) {
        ret->processes[i].pid = found[i].pid;
        ret->processes[i].used_bytes = found[i].used_bytes;
        read_name(found[i].pid, ret->processes[i].name);
    }
    return true;
}

static bool read_card(const nvml *of, unsigned number, tide_smi_card *ret) {
    void *card = NULL;
    unsigned long long bytes[3] = {0, 0, 0};
    ret->number = number;
    /* The virtual card's PCI bus numbers begin at 1 (nvml.c). */
    (void)snprintf(ret->bus, sizeof(ret->bus), "00000000:%02X:00.0", number + 1);
    if (of->card(number, &card) != 0 || of->name(card, ret->name, sizeof(ret->name)) != 0 ||
        of->uuid(card, ret->uuid, sizeof(ret->uuid)) != 0 ||
        of->capability(card, &ret->major, &ret->minor) != 0) {
        return false;
    }
    int status = of->memory(card, bytes);
    if (status != 0 && status != NOT_SUPPORTED) {
        return false;
    }
    ret->total_bytes = bytes[0];
    ret->free_bytes = bytes[1];
    ret->used_bytes = bytes[2];
    return read_processes(of, card, ret);
}

bool tide_smi_read(tide_smi_machine *ret) {
    nvml of;
    unsigned n = 0;
    int cuda = 0;
    if (!find_all(&of) || of.init() != 0 || of.count(&n) != 0 || n == 0 ||
        of.driver(ret->driver, sizeof(ret->driver)) != 0 ||
        of.version(ret->nvml, sizeof(ret->nvml)) != 0 || of.cuda(&cuda) != 0) {
        return false;
    }
    (void)snprintf(ret->cuda, sizeof(ret->cuda), "%d.%d", cuda / 1000, cuda % 1000 / 10);
    ret->n_cards = n < TIDE_SMI_CARDS ? n : TIDE_SMI_CARDS;
    for (unsigned i = 0; i < ret->n_cards; i++) {
        if (!read_card(&of, i, &ret->cards[i])) {
            return false;
        }
    }
    return true;
}
