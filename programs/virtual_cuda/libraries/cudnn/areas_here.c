/* areas_here.c - the work area of a convolution in this process: its cuDNN, its current card, its
 * environment. */
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_DEFAULT */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/libraries/cudnn/areas_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/types_internal.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/wire/run_areas.h"

/* cudaDeviceAttr */
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };
/* The cuDNN of current wheels, for a process that links cuDNN statically. */
enum { USUAL_CUDNN = 9 };

/* The runtime's own functions, which this object also defines. */
int cudaGetDevice(int *ret_device);
int cudaDeviceGetAttribute(int *ret_value, int attribute, int device);

static int see_library(struct dl_phdr_info *info, size_t n_bytes, void *ret_major) {
    static const char NAME[] = "libcudnn.so.";
    const char *name = info->dlpi_name != NULL ? strstr(info->dlpi_name, NAME) : NULL;
    (void)n_bytes;
    if (name != NULL) {
        *(int *)ret_major = atoi(name + strlen(NAME));
    }
    return name != NULL;
}

/* Of the loaded libcudnn, from its file name: cudnnGetVersion may be in a library that was loaded
 * without its names. */
static int cudnn_major(void) {
    static int known;
    int major = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (major == 0) {
        (void)dl_iterate_phdr(see_library, &major);
        __atomic_store_n(&known, major, __ATOMIC_RELAXED);
    }
    return major > 0 ? major : USUAL_CUDNN;
}

/* 90 for 9.0. */
static int capability(void) {
    int device = 0, major = 0, minor = 0;
    return cudaGetDevice(&device) == 0 &&
                   cudaDeviceGetAttribute(&major, CAPABILITY_MAJOR, device) == 0 &&
                   cudaDeviceGetAttribute(&minor, CAPABILITY_MINOR, device) == 0
               ? 10 * major + minor
               : 0;
}

bool tide_vc_cudnn_has_tensor_cores(tide_run_type type, int compute_capability) {
    switch (type) {
    case TIDE_RUN_FP16:
        return compute_capability >= 70;
    case TIDE_RUN_INT8:
        return compute_capability >= 72;
    case TIDE_RUN_TF32:
    case TIDE_RUN_BF16:
        return compute_capability >= 80;
    case TIDE_RUN_FP8:
        return compute_capability >= 89;
    default: /* those of fp64 compute no convolutions */
        return false;
    }
}

/* cuDNN's own variable for its work areas, in MiB. Returns the area within it. */
static uint64_t within_cap(uint64_t n_bytes) {
    enum { MIB_SHIFT = 20, MOST_MIB = 1 << 30 };
    const char *text = getenv("CUDNN_CONV_WSCAP_DBG");
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return n_bytes;
    }
    unsigned long long cap = strtoull(text, NULL, 10);
    cap = cap < MOST_MIB ? cap << MIB_SHIFT : UINT64_MAX;
    return n_bytes < cap ? n_bytes : cap;
}

tide_vc_cudnn_area tide_vc_cudnn_area_here(const tide_vc_cudnn_problem *of, tide_run_type type) {
    tide_vc_cudnn_problem problem = *of;
    problem.cudnn_major = cudnn_major();
    problem.has_tensor_cores = tide_vc_cudnn_has_tensor_cores(type, capability());
    tide_vc_cudnn_area area = tide_vc_cudnn_area_of(&problem);
    area.likely_bytes = within_cap(area.likely_bytes);
    area.most_bytes = within_cap(area.most_bytes);
    return area;
}

void tide_vc_cudnn_say_area(const char *call, const tide_vc_cudnn_area *area) {
    uint64_t more = area->most_bytes - area->likely_bytes;
    if (!area->is_convolution) {
        tide_vc_inexact_kind(call, CUDNN_NEVER_MEASURED, more);
    } else {
        tide_vc_inexact_kind(call, area->is_measured ? CUDNN_LIKELY : CUDNN_ESTIMATED, more);
    }
}

/* The recorder's function (programs/live/exports.h), of this process since its start; NULL: nothing
 * is recorded. */
typedef void (*labeller)(uint64_t address, const char *category, const char *name, int certainty);

static labeller find_labeller(void) {
    static void *kept;
    labeller label = NULL;
    void *found = __atomic_load_n(&kept, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(RTLD_DEFAULT, "tidemark_live_label");
        __atomic_store_n(&kept, found, __ATOMIC_RELAXED);
    }
    memcpy(&label, &found, sizeof(label));
    return label;
}

/* Whether torch.backends.cudnn.benchmark is on. Found at the first call: PyTorch has loaded its
 * library before it calls cuDNN. */
static bool is_benchmark(void) {
    typedef const void *(*context_getter)(void);
    typedef bool (*flag_getter)(const void *context);
    static void *kept[2];
    context_getter context = NULL;
    flag_getter flag = NULL;
    void *found[2] = {__atomic_load_n(&kept[0], __ATOMIC_RELAXED),
                      __atomic_load_n(&kept[1], __ATOMIC_RELAXED)};
    if (found[0] == NULL || found[1] == NULL) {
        void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
        if (library == NULL) {
            return false;
        }
        found[0] = dlsym(library, "_ZN2at13globalContextEv");
        found[1] = dlsym(library, "_ZNK2at7Context14benchmarkCuDNNEv");
        (void)dlclose(library);
        __atomic_store_n(&kept[0], found[0], __ATOMIC_RELAXED);
        __atomic_store_n(&kept[1], found[1], __ATOMIC_RELAXED);
    }
    memcpy(&context, &found[0], sizeof(context));
    memcpy(&flag, &found[1], sizeof(flag));
    return context != NULL && flag != NULL && flag(context());
}

void tide_vc_cudnn_record_area(const void *address, const tide_vc_cudnn_area *area, void *stream) {
    char text[TIDE_RUN_AREA_BYTES];
    labeller label = area->most_bytes > 0 ? find_labeller() : NULL;
    tide_run_area row = {.likely_bytes = area->likely_bytes,
                         .most_bytes = area->most_bytes,
                         .stream = (uint64_t)(uintptr_t)stream};
    int device = 0;
    if (label != NULL && cudaGetDevice(&device) == 0) {
        row.device = (unsigned)device;
        row.is_benchmark = area->is_convolution && is_benchmark();
        label((uint64_t)(uintptr_t)address, TIDE_RUN_AREA_CATEGORY,
              tide_run_area_format(&row, text), 1);
    }
}
