/* Functions of the driver by name: how a CUDA 12 or 13 runtime and PyTorch find them. */
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr1, program_invocation_short_name */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "programs/virtual_cuda/api/entry.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/doors/files.h"
#include "programs/virtual_cuda/linked/linked.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"

enum { NAME_BYTES = 128, WHY_BYTES = 960 };

/* CUdriverProcAddressQueryResult, and the same of the runtime. */
enum { FOUND = 0, NOT_FOUND = 1, VERSION_NOT_SUFFICIENT = 2 };

static const char *const SUFFIXES[] = {"_v4", "_v3", "_v2", ""}; /* the newest first */
enum { N_SUFFIXES = sizeof(SUFFIXES) / sizeof(SUFFIXES[0]) };

/* The driver's functions and the version of CUDA from which the plain name means each. */
static const struct {
    const char *name;
    int since;
} FUNCTIONS[] = {
#define PROTOTYPE(name, result, since, ...) {#name, since},
#include "data/cuda_api/driver.def"
#undef PROTOTYPE
};

/* Whether a program of that version of CUDA means this function by the name without its suffix.
 * True for a name that the headers do not declare. */
static bool is_meant(const char *name, int version) {
    for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); i++) {
        if (strcmp(name, FUNCTIONS[i].name) == 0) {
            return version >= FUNCTIONS[i].since;
        }
    }
    return true;
}

/* The functions that are not served, in libraries/stub_friend.h. */
extern const char __start_tide_vc_not_served[] __attribute__((weak, visibility("hidden")));
extern const char __stop_tide_vc_not_served[] __attribute__((weak, visibility("hidden")));

bool tide_vc_is_served(const void *function) {
    uintptr_t at = (uintptr_t)function;
    return at < (uintptr_t)__start_tide_vc_not_served || at >= (uintptr_t)__stop_tide_vc_not_served;
}

/* The function of that name in the form for the stream of a thread, if it has one and the program
 * asked for it. */
static void *find_form(const char *name, bool is_per_thread) {
    static const char *const FORMS[] = {"_ptsz", "_ptds"};
    for (size_t i = 0; is_per_thread && i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        char whole[NAME_BYTES];
        void *function =
            (size_t)snprintf(whole, sizeof(whole), "%s%s", name, FORMS[i]) < sizeof(whole)
                ? dlsym(RTLD_DEFAULT, whole)
                : NULL;
        if (function != NULL) {
            return function;
        }
    }
    return dlsym(RTLD_DEFAULT, name);
}

/* What a program asks for. */
typedef struct question {
    const char *name; /* without the version */
    int version;      /* of CUDA */
    bool is_per_thread;
} question;

/* The newest of a function's versions that the program knows: one that is served, or otherwise one
 * that refuses. *ret_is_newer: a later version of CUDA has the function. */
static void *find(const question *asked, bool *ret_is_newer) {
    void *refusing = NULL;
    *ret_is_newer = false;
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        char whole[NAME_BYTES];
        if ((size_t)snprintf(whole, sizeof(whole), "%s%s", asked->name, SUFFIXES[i]) >=
            sizeof(whole)) {
            continue;
        }
        if (!is_meant(whole, asked->version)) {
            *ret_is_newer = true;
            continue;
        }
        void *function = find_form(whole, asked->is_per_thread);
        if (function != NULL && tide_vc_is_served(function)) {
            return function;
        }
        refusing = refusing == NULL ? function : refusing;
    }
    return refusing;
}

static int look_up(const question *asked, void **ret_function, int *ret_found) {
    bool is_newer = false;
    *ret_function = find(asked, &is_newer);
    if (ret_found != NULL) {
        *ret_found = *ret_function != NULL ? FOUND : is_newer ? VERSION_NOT_SUFFICIENT : NOT_FOUND;
    }
    return *ret_function != NULL || ret_found != NULL ? TIDE_VC_OK : TIDE_VC_NOT_FOUND;
}

/* Of cudaGetDriverEntryPoint and cuGetProcAddress. Without a flag, the form that the program was
 * compiled for. */
enum { LEGACY_STREAM = 1, STREAM_OF_THREAD = 2 };

TIDE_VC_EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **ret_function,
                                                    unsigned version, unsigned long long flags,
                                                    int *ret_found) {
    return look_up(&(question){name, (int)version, flags == STREAM_OF_THREAD}, ret_function,
                   ret_found);
}

TIDE_VC_EXPORT int cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **ret_function,
                                                         unsigned version, unsigned long long flags,
                                                         int *ret_found) {
    return look_up(&(question){name, (int)version, flags != LEGACY_STREAM}, ret_function,
                   ret_found);
}

/* CUDA 11 has no fourth argument. */
static int *found_of(int *ret_found) {
    return tide_vc_runtime_major() >= 12 ? ret_found : NULL;
}

TIDE_VC_EXPORT int cudaGetDriverEntryPoint(const char *name, void **ret_function,
                                           unsigned long long flags, int *ret_found) {
    return look_up(&(question){name, tide_vc_runtime_version(), flags == STREAM_OF_THREAD},
                   ret_function, found_of(ret_found));
}

TIDE_VC_EXPORT int cudaGetDriverEntryPoint_ptsz(const char *name, void **ret_function,
                                                unsigned long long flags, int *ret_found) {
    return look_up(&(question){name, tide_vc_runtime_version(), flags != LEGACY_STREAM},
                   ret_function, found_of(ret_found));
}

TIDE_VC_EXPORT int cuGetProcAddress_v2(const char *name, void **ret_function, int version,
                                       uint64_t flags, int *ret_found) {
    return look_up(&(question){name, version, flags == STREAM_OF_THREAD}, ret_function, ret_found);
}

/* Tables of functions that NVIDIA does not document. A runtime that is linked into the program asks
 * for this one first, and cannot continue without it: linked/ replaces such runtimes before. NVRTC
 * also asks for one, but does not need it. */
static const unsigned char TABLE_OF_RUNTIME[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

#define RUNTIME "a virtual card cannot serve NVIDIA's own CUDA runtime"

/* "numpy" of ".../site-packages/numpy/core/x.so": the folder, which is not always pip's name for
 * the package. "": it is not in a Python package. */
static void find_package(const char *file, char ret[NAME_BYTES]) {
    static const char *const FOLDERS[] = {"/site-packages/", "/dist-packages/"};
    ret[0] = '\0';
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        const char *at = strstr(file, FOLDERS[i]);
        if (at != NULL) {
            const char *name = at + strlen(FOLDERS[i]);
            (void)snprintf(ret, NAME_BYTES, "%.*s", (int)strcspn(name, "/."), name);
        }
    }
}

/* What the user can do about a runtime in that file; "" is the program's own. */
static void say_cure(const char *file, char *ret, size_t n_room) {
    char package[NAME_BYTES];
    find_package(file, package);
    if (package[0] != '\0') {
        (void)snprintf(ret, n_room,
                       "with pip, try another version of the package that has the folder %s, or "
                       "build it from its source (pip install --no-binary), which leaves the "
                       "symbols in; its authors can link the shared runtime (nvcc -cudart shared)",
                       package);
    } else {
        (void)snprintf(ret, n_room, "build it with nvcc -cudart shared%s",
                       file[0] != '\0' ? ", or use a build of it that was" : "");
    }
}

/* Finds the runtime that asked, by the object that contains its code: it is part of the program or
 * of one of its libraries, or it is NVIDIA's library, opened past the preloaded object. */
static void refuse_runtime(const void *caller) {
    Dl_info info;
    struct link_map *map = NULL;
    char text[WHY_BYTES];
    char cure[WHY_BYTES / 2];
    char room[TIDE_VC_LINKED_WHY_BYTES];
    const char *file = dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL
                           ? map->l_name
                           : "";
    const char *name = tide_vc_file_name(file);
    if (tide_vc_is_runtime_file(file)) {
        (void)snprintf(text, sizeof(text),
                       RUNTIME ", %s, whose own code the program calls; link it by its name "
                               "(-lcudart)",
                       file);
    } else {
        say_cure(file, cure, sizeof(cure));
        (void)snprintf(text, sizeof(text), RUNTIME ", which is linked into the %s %s: %s; %s",
                       name[0] != '\0' ? "library" : "program",
                       name[0] != '\0' ? file : program_invocation_short_name,
                       tide_vc_linked_why(caller, room), cure);
    }
    tide_vc_refused("cuGetExportTable", text);
}

TIDE_VC_EXPORT int cuGetExportTable(const void **ret_table, const void *identifier) {
    if (memcmp(identifier, TABLE_OF_RUNTIME, sizeof(TABLE_OF_RUNTIME)) == 0) {
        refuse_runtime(__builtin_return_address(0));
    }
    *ret_table = NULL;
    return TIDE_VC_NOT_FOUND;
}
