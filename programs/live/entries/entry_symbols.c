/* entry_symbols.c - stand-ins for the functions that find others by name: dlsym, cuGetProcAddress
 * and cudaGetDriverEntryPoint. A runtime that is linked into a program finds the driver through
 * them.
 *
 * The results are identified by address: a function of the driver has versions, and only known
 * versions may be replaced.
 *
 * One object owns dlsym in a process. If this object is preloaded, it is the owner, and it asks the
 * scratch view.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT, RTLD_NEXT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/text/setting.h"
#include "programs/live/entries/entry_internal.h"
#include "programs/live/record.h"

/* The first hook and the end of all hooks, as the linker names them. */
extern tide_live_hook *__start_tide_live_hooks[] __attribute__((visibility("hidden")));
extern tide_live_hook *__stop_tide_live_hooks[] __attribute__((visibility("hidden")));

enum { PER_THREAD_STREAM = 2, FIRST_64_BIT_VERSION = 3020, FIVE_ARGUMENTS_VERSION = 12000 };

/* Whether anything may be recorded: otherwise lookups never return a stand-in. */
static bool may_record(void) {
    const char *path = tide_setting("TIDEMARK_LIVE");
    return path != NULL && path[0] != '\0';
}

static void set_real(tide_live_hook *hook, tide_live_any *real) {
    tide_live_any *none = NULL;
    (void)__atomic_compare_exchange_n(&hook->real, &none, real, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED);
}

/* The driver's functions begin with cu and a capital letter, the runtime's with cuda. */
static bool is_of_driver(const char *name) {
    return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

static tide_live_hook *find_hook(const char *name) {
    for (tide_live_hook **at = __start_tide_live_hooks; at != __stop_tide_live_hooks; at++) {
        if (strcmp((*at)->name, name) == 0) {
            return *at;
        }
    }
    return NULL;
}

static void *object_of(tide_live_any *function) {
    void *object = NULL;
    memcpy(&object, &function, sizeof(object));
    return object;
}
static tide_live_any *function_of(void *object) {
    tide_live_any *function = NULL;
    memcpy(&function, &object, sizeof(function));
    return function;
}

/* ---- by cuGetProcAddress ---- */

/* Whether `hook` is a version of the function `name`, which has no _v2. */
static bool is_version(const tide_live_hook *hook, const char *name, bool per_thread) {
    size_t n = strlen(name);
    const char *version = hook->name + n;
    if (strncmp(hook->name, name, n) != 0) {
        return false;
    }
    return per_thread ? strcmp(version, "_ptsz") == 0
                      : version[0] == '\0' || strcmp(version, "_v2") == 0;
}

/* Whether the driver has a newer version than the known ones, and returned that. */
static bool is_newer(const char *name, tide_live_any *given) {
    static const char *const VERSIONS[] = {"_v3", "_v4", "_v5"};
    char whole[128];
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        int n = snprintf(whole, sizeof(whole), "%s%s", name, VERSIONS[i]);
        if (n > 0 && (size_t)n < sizeof(whole) && tide_live_real_named(whole, NULL) == given) {
            return true;
        }
    }
    return false;
}

/* The stand-in for the driver's result for a name; `given` itself if there is none. */
static void *stand_in_for(const char *name, void *given, int version, uint64_t flags) {
    tide_live_any *function = function_of(given);
    tide_live_hook *first = NULL;  /* by name */
    tide_live_hook *wanted = NULL; /* by name, for streams of the thread */
    if (!is_of_driver(name) || !may_record()) {
        return given;
    }
    for (tide_live_hook **at = __start_tide_live_hooks; at != __stop_tide_live_hooks; at++) {
        tide_live_hook *hook = *at;
        bool is_named = is_version(hook, name, false);
        bool is_per_thread = is_version(hook, name, true);
        if (!is_named && !is_per_thread) {
            continue;
        }
        if (function == hook->ours || tide_live_real(hook, given) == function) {
            return object_of(hook->ours);
        }
        first = is_named ? hook : first;
        wanted = is_per_thread && (flags & PER_THREAD_STREAM) != 0 ? hook : wanted;
    }
    wanted = wanted != NULL ? wanted : first;
    /* An address that is not exported is identified by its name, if its arguments can only be the
     * known ones. */
    bool is_known = strncmp(name, "cuGetProcAddress", strlen("cuGetProcAddress")) != 0;
    if (wanted == NULL || !is_known || version < FIRST_64_BIT_VERSION || is_newer(name, function)) {
        return given;
    }
    set_real(wanted, function);
    return object_of(wanted->ours);
}

TIDE_LIVE_STAND_IN(cuGetProcAddress_v2, const char *name, void **ret_function, int version,
                   uint64_t flags, int *ret_found) {
    int status = TIDE_LIVE_NEXT(cuGetProcAddress_v2)(name, ret_function, version, flags, ret_found);
    if (status == 0 && name != NULL && *ret_function != NULL) {
        *ret_function = stand_in_for(name, *ret_function, version, flags);
    }
    return status;
}

/* For CUDA 11.3 to 11.8. */
TIDE_LIVE_STAND_IN(cuGetProcAddress, const char *name, void **ret_function, int version,
                   uint64_t flags) {
    int status = TIDE_LIVE_NEXT(cuGetProcAddress)(name, ret_function, version, flags);
    if (status == 0 && name != NULL && *ret_function != NULL) {
        *ret_function = stand_in_for(name, *ret_function, version, flags);
    }
    return status;
}

/* ---- by the runtime ---- */

/* CUDA 11 passes no fourth argument, and its function ignores it. */
TIDE_LIVE_STAND_IN(cudaGetDriverEntryPoint, const char *name, void **ret_function,
                   unsigned long long flags, int *ret_found) {
    int status = TIDE_LIVE_NEXT(cudaGetDriverEntryPoint)(name, ret_function, flags, ret_found);
    if (status == 0 && name != NULL && *ret_function != NULL) {
        *ret_function = stand_in_for(name, *ret_function, FIVE_ARGUMENTS_VERSION, flags);
    }
    return status;
}

TIDE_LIVE_STAND_IN(cudaGetDriverEntryPoint_ptsz, const char *name, void **ret_function,
                   unsigned long long flags, int *ret_found) {
    int status = TIDE_LIVE_NEXT(cudaGetDriverEntryPoint_ptsz)(name, ret_function, flags, ret_found);
    if (status == 0 && name != NULL && *ret_function != NULL) {
        *ret_function =
            stand_in_for(name, *ret_function, FIVE_ARGUMENTS_VERSION, flags | PER_THREAD_STREAM);
    }
    return status;
}

TIDE_LIVE_STAND_IN(cudaGetDriverEntryPointByVersion, const char *name, void **ret_function,
                   unsigned version, unsigned long long flags, int *ret_found) {
    int status = TIDE_LIVE_NEXT(cudaGetDriverEntryPointByVersion)(name, ret_function, version,
                                                                  flags, ret_found);
    if (status == 0 && name != NULL && *ret_function != NULL) {
        *ret_function = stand_in_for(name, *ret_function, (int)version, flags);
    }
    return status;
}

TIDE_LIVE_STAND_IN(cudaGetDriverEntryPointByVersion_ptsz, const char *name, void **ret_function,
                   unsigned version, unsigned long long flags, int *ret_found) {
    int status = TIDE_LIVE_NEXT(cudaGetDriverEntryPointByVersion_ptsz)(name, ret_function, version,
                                                                       flags, ret_found);
    if (status == 0 && name != NULL && *ret_function != NULL) {
        *ret_function = stand_in_for(name, *ret_function, (int)version, flags | PER_THREAD_STREAM);
    }
    return status;
}

/* ---- by dlsym ---- */

/* The result of dlsym. */
typedef struct chosen {
    void *found;      /* NULL: use the C library's result for the name */
    const char *name; /* the requested name, or one that does not exist */
} chosen;

/* The C library's dlsym, for the jump below. */
__attribute__((visibility("hidden"))) tide_live_dlsym *tide_live_next_dlsym;

chosen tide_live_choose(void *handle, const char *name, const void *caller);

/* From the scratch view, if it is also preloaded (programs/scratch/entries/entry_symbols.c): its
 * stand-in for a function of the C library that is requested through the C library's own handle;
 * otherwise NULL. */
extern void *tidemark_scratch_symbol(void *handle, const char *name, const void *caller)
    __attribute__((weak));

/* From the virtual card, if it is also preloaded (programs/virtual_cuda/doors/doors.h). */
extern void *tidemark_virtual_symbol(const char *name, void *found) __attribute__((weak));
extern void *tidemark_virtual_next(const char *name, const void *caller) __attribute__((weak));

/* The C library's result for a function of CUDA, or what the card has in its place. */
static void *look_up(void *handle, const char *name) {
    void *found = tide_live_next_dlsym(handle, name);
    return tidemark_virtual_symbol != NULL ? tidemark_virtual_symbol(name, found) : found;
}

/* The result for a name without a stand-in. A lookup that fails is repeated by the C library, which
 * keeps the text for dlerror. */
static chosen choose_plainly(void *handle, const char *name) {
    chosen result = {.name = name};
    if (handle != RTLD_DEFAULT && tidemark_virtual_symbol != NULL) {
        result.found = look_up(handle, name);
    }
    return result;
}

/* The result for RTLD_NEXT, or for a name that is not CUDA's. */
static chosen choose_elsewhere(void *handle, const char *name, const void *caller) {
    chosen result = {.name = name};
    if (handle == RTLD_NEXT) {
        result.found = tidemark_virtual_next != NULL ? tidemark_virtual_next(name, caller) : NULL;
    } else if (tidemark_scratch_symbol != NULL) {
        result.found = tidemark_scratch_symbol(handle, name, caller);
    }
    return result;
}

/* Allocates nothing for a name that is not CUDA's, because a malloc may use dlsym to find the next
 * malloc while it starts. */
__attribute__((visibility("hidden"), used)) chosen tide_live_choose(void *handle, const char *name,
                                                                    const void *caller) {
    chosen as_asked = {.name = name};
    if (tide_live_next_dlsym == NULL) {
        tide_live_next_dlsym = tide_live_real_dlsym();
    }
    if (name == NULL) {
        return as_asked;
    }
    if (handle == RTLD_NEXT || name[0] != 'c' || name[1] != 'u') {
        return choose_elsewhere(handle, name, caller);
    }
    tide_live_hook *hook = find_hook(name);
    if (hook == NULL) {
        return choose_plainly(handle, name);
    }
    void *found = look_up(handle, name);
    tide_live_any *real = function_of(found);
    if (real == hook->ours) {
        /* Our stand-in always exists; the program asks whether CUDA does. */
        bool is_there = tide_live_real_named(name, NULL) != NULL;
        return is_there ? (chosen){.found = object_of(real)}
                        : (chosen){.name = "a function of CUDA, which is not loaded"};
    }
    /* If the program opened the runtime itself, its calls of the driver are seen. */
    if (real == NULL || !is_of_driver(name) || !may_record()) {
        return (chosen){.found = handle != RTLD_DEFAULT ? found : NULL, .name = name};
    }
    set_real(hook, real);
    return (chosen){.found = object_of(hook->ours)};
}

/* The C library looks at the caller for RTLD_NEXT and RTLD_DEFAULT, so the call continues with a
 * jump. */
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 24(%rsp), %rdx\n" /* the caller */
        "    call tide_live_choose\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    movq %rdx, %rsi\n"
        "    jmp *tide_live_next_dlsym(%rip)\n"
        "1:  ret\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
