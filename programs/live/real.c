#define _GNU_SOURCE /* RTLD_NEXT, dlvsym, dladdr1 */
#include "programs/live/real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

enum { NOT_FOUND = 500 };

static int not_found(void) {
    return NOT_FOUND;
}

tide_live_dlsym *tide_live_real_dlsym(void) {
    static _Atomic(tide_live_dlsym *) real;
    /* Any version works: the C library keeps the old one for programs linked with it. */
    static const char *const VERSIONS[] = {"GLIBC_2.2.5", "GLIBC_2.34"};
    tide_live_dlsym *found = atomic_load_explicit(&real, memory_order_acquire);
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]) && found == NULL; i++) {
        void *address = dlvsym(RTLD_NEXT, "dlsym", VERSIONS[i]);
        memcpy(&found, &address, sizeof(found));
        atomic_store_explicit(&real, found, memory_order_release);
    }
    return found;
}

/* Searches the caller's library and the libraries it needs: a library opened only for one user sees
 * functions that the rest of the program does not. */
static void *find_for_caller(tide_live_dlsym *look_up, const char *name, const void *caller) {
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        map->l_name == NULL || map->l_name[0] == '\0') {
        return NULL;
    }
    void *library = dlopen(map->l_name, RTLD_NOLOAD | RTLD_LAZY);
    void *found = library != NULL ? look_up(library, name) : NULL;
    if (library != NULL) {
        (void)dlclose(library);
    }
    return found;
}

static void *find_in(tide_live_dlsym *look_up, const char *name, const char *file) {
    void *library = dlopen(file, RTLD_NOLOAD | RTLD_LAZY);
    void *found = library != NULL ? look_up(library, name) : NULL;
    if (library != NULL) {
        (void)dlclose(library);
    }
    return found;
}

tide_live_any *tide_live_real_named(const char *name, const void *caller) {
    static const char *const FILES[] = {"libcuda.so.1", "libcudart.so.13", "libcudart.so.12",
                                        "libcudart.so.11.0"};
    tide_live_dlsym *look_up = tide_live_real_dlsym();
    tide_live_any *function = NULL;
    if (look_up == NULL) {
        return NULL;
    }
    void *found = look_up(RTLD_NEXT, name);
    found = found != NULL ? found : find_for_caller(look_up, name, caller);
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]) && found == NULL; i++) {
        found = find_in(look_up, name, FILES[i]);
    }
    memcpy(&function, &found, sizeof(function));
    return function;
}

tide_live_any *tide_live_real(tide_live_hook *hook, const void *caller) {
    tide_live_any *real = __atomic_load_n(&hook->real, __ATOMIC_ACQUIRE);
    if (real != NULL) {
        return real;
    }
    real = tide_live_real_named(hook->name, caller);
    if (real == NULL || real == hook->ours) {
        return (tide_live_any *)not_found;
    }
    __atomic_store_n(&hook->real, real, __ATOMIC_RELEASE);
    return real;
}
