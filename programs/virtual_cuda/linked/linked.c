#define _POSIX_C_SOURCE 200809L
#include "programs/virtual_cuda/linked/linked.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/assert.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/linked/called.h"
#include "programs/virtual_cuda/linked/capsules.h"
#include "programs/virtual_cuda/doors/files.h"
#include "programs/virtual_cuda/linked/code.h"
#include "programs/virtual_cuda/linked/exports.h"
#include "programs/virtual_cuda/linked/functions.h"
#include "programs/virtual_cuda/linked/object_file.h"
#include "programs/virtual_cuda/linked/objects.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/inexact.h"

enum {
    MAX_RUNTIMES = 64,
    PATH_BYTES = 512,
    NUMBER_BYTES = 32,
    VERSIONS_A_MAJOR = 1000,
    VERSIONS_A_MINOR = 10
};

/* The stripped runtime of cuda-python, whose functions Python knows by name (capsules.h). */
#define BINDINGS "/cuda/bindings/_"

/* What happened to a runtime. Above these: an errno. */
enum {
    REPLACED = 0,
    OTHER_VERSION = -1,
    NO_VERSION = -2,
    NO_FUNCTIONS = -3,
    NOT_TRIED = -4 /* while it is replaced */
};

typedef struct runtime {
    tide_vc_calls calls; /* the first member */
    uintptr_t base;
    char path[PATH_BYTES];
    int version; /* such as 13000 */
    int outcome;
} runtime;

/* The lock guards it. */
static struct found {
    runtime all[MAX_RUNTIMES];
    size_t n; /* at most MAX_RUNTIMES */
} found;
TIDE_VC_LOCK(lock, NULL);

/* ---- the runtime in an object ---- */

/* For the answer of `tidemark run`. */
static void report(const char *path, int version) {
    char named[PATH_BYTES];
    char text[NUMBER_BYTES];
    ssize_t n = strcmp(path, TIDE_VC_OBJECT_SELF) == 0
                    ? readlink(TIDE_VC_OBJECT_SELF, named, sizeof(named) - 1)
                    : -1;
    named[n > 0 ? n : 0] = '\0';
    (void)snprintf(text, sizeof(text), "%d.%d", version / VERSIONS_A_MAJOR,
                   version % VERSIONS_A_MAJOR / VERSIONS_A_MINOR);
    tide_vc_linked_runtime(text, n > 0 ? named : path);
}

static void report_called(tide_vc_calls *calls) {
    const runtime *of = (const runtime *)calls;
    report(of->path, of->version);
}

/* NULL: too many. */
static runtime *add(uintptr_t base, const char *path, int version) {
    runtime *added = NULL;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < found.n && found.all[i].base != base) {
        i++;
    }
    if (i < MAX_RUNTIMES) { /* the object that was there before was closed */
        added = &found.all[i];
        *added = (runtime){
            .calls.begin = report_called, .base = base, .version = version, .outcome = NOT_TRIED};
        (void)snprintf(added->path, PATH_BYTES, "%s", path);
        found.n += i == found.n;
    }
    pthread_mutex_unlock(&lock);
    return added;
}

/* `calls`: where they are noted; NULL: nowhere. */
static int replace_in(const tide_vc_objects *in, const tide_vc_object_file *file,
                      const tide_vc_named *all, size_t n, int version, tide_vc_calls *calls) {
    tide_vc_replacement wanted[TIDE_VC_MAX_FUNCTIONS];
    int major = version / VERSIONS_A_MAJOR;
    if (version == 0) {
        return NO_VERSION;
    }
    int served = tide_vc_runtime_add(version);
    if (major != served && (major < 12 || served < 12)) {
        return OTHER_VERSION;
    }
    size_t n_wanted =
        tide_vc_functions_find(all, n, in->object.base, &in->offers, major != served, wanted);
    if (n_wanted == 0) {
        return NO_FUNCTIONS;
    }
    bool is_watched = calls != NULL && tide_vc_calls_watch(wanted, n_wanted, calls);
    int failed = tide_vc_code_replace(file, in->object.base, wanted, n_wanted);
    if (failed == ENOTRECOVERABLE) {
        tide_vc_say("the system does not execute pages of the program that were changed, and did "
                    "not map them again; the program cannot continue");
        _exit(125);
    }
    if (failed == 0 && !is_watched) {
        report(in->object.path, version);
    }
    return failed;
}

static void replace(const tide_vc_objects *in, const tide_vc_object_file *file,
                    const tide_vc_named *all, size_t n) {
    int version = tide_vc_functions_version(all, n);
    runtime *of = add(in->object.base, in->object.path, version);
    int outcome = replace_in(in, file, all, n, version, of != NULL ? &of->calls : NULL);
    if (of != NULL) {
        pthread_mutex_lock(&lock);
        of->outcome = outcome;
        pthread_mutex_unlock(&lock);
    }
}

void tide_vc_linked_look(const void *code) {
    tide_vc_objects in = tide_vc_objects_find(code);
    tide_vc_object_file file;
    tide_vc_symbols symbols;
    tide_vc_named all[TIDE_VC_MAX_FUNCTIONS];
    /* The card answers for NVIDIA's own libraries: NCCL's runtime is never called. */
    if (in.object.path == NULL || tide_vc_is_own_file(in.object.path) ||
        tide_vc_is_nvidia_file(in.object.path) ||
        tide_vc_exports_need(in.object.dynamic, "libcudart.so") ||
        !tide_vc_object_file_open(in.object.path, &file)) {
        return;
    }
    if (!tide_vc_object_file_symbols(&file, &symbols)) {
        if (strstr(in.object.path, BINDINGS) != NULL) {
            tide_vc_capsules_await();
        }
    } else if (tide_vc_functions_are_linked(&symbols)) {
        replace(&in, &file, all, tide_vc_functions_list(&symbols, in.object.base, all));
    }
    tide_vc_object_file_close(&file);
}

void tide_vc_linked_replace(const tide_vc_named *all, size_t n) {
    TIDE_ASSERT(n > 0);
    tide_vc_objects in = tide_vc_objects_find((const void *)all[0].at);
    tide_vc_object_file file;
    if (in.object.path != NULL && tide_vc_object_file_open(in.object.path, &file)) {
        replace(&in, &file, all, n);
        tide_vc_object_file_close(&file);
    }
}

/* ---- why it was not replaced ---- */

static bool find_runtime(uintptr_t base, runtime *ret) {
    bool is_there = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < found.n && !is_there; i++) {
        if (found.all[i].base == base) {
            *ret = found.all[i];
            is_there = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

static bool is_stripped(const char *path) {
    tide_vc_object_file file;
    tide_vc_symbols symbols;
    if (!tide_vc_object_file_open(path, &file)) {
        return false;
    }
    bool has_symbols = tide_vc_object_file_symbols(&file, &symbols);
    tide_vc_object_file_close(&file);
    return !has_symbols;
}

const char *tide_vc_linked_why(const void *code, char room[TIDE_VC_LINKED_WHY_BYTES]) {
    tide_vc_objects in = tide_vc_objects_find(code);
    runtime of = {.outcome = REPLACED};
    if (in.object.path == NULL || !find_runtime(in.object.base, &of) || of.outcome == NOT_TRIED) {
        return in.object.path != NULL && is_stripped(in.object.path)
                   ? "its file was stripped, so the functions to replace cannot be found"
                   : "its functions were not replaced when it was loaded";
    }
    switch (of.outcome) {
    case REPLACED:
        return "it was called by a function that is not public";
    case OTHER_VERSION:
        (void)snprintf(room, TIDE_VC_LINKED_WHY_BYTES,
                       "it is of CUDA %d, and the process also has a runtime of CUDA %d",
                       of.version / VERSIONS_A_MAJOR, tide_vc_runtime_major());
        return room;
    case NO_VERSION:
        return "it does not say its version";
    case NO_FUNCTIONS:
        return "it has none of the functions to replace";
    case ESTALE:
        return "its file was changed after it was loaded";
    default:
        (void)snprintf(room, TIDE_VC_LINKED_WHY_BYTES,
                       "the system does not allow to change its code (%s; SELinux calls this "
                       "execmod)",
                       strerror(of.outcome));
        return room;
    }
}
