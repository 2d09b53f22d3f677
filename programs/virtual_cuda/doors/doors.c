#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr1 */
#include "programs/virtual_cuda/doors/doors.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/doors/files.h"

TIDE_VC_EXPORT bool tidemark_virtual_has_name(const char *name) {
    static const char *const BEGINNINGS[] = {"cu", "nccl", "pnccl", "nv", "__cuda"};
    bool has = false;
    for (size_t i = 0; name != NULL && i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
        has = has || strncmp(name, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0;
    }
    return has;
}

/* The loaded object whose code or data has the address; NULL if there is none. */
static const struct link_map *object_at(const void *address) {
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

static bool is_in(const struct link_map *map, bool (*is_file)(const char *path)) {
    return map != NULL && map->l_name != NULL && is_file(map->l_name);
}

/* The function of that name that a program finds if it is linked with NVIDIA's libraries, if it is
 * ours. */
static void *find_ours(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL && is_in(object_at(found), tide_vc_is_own_file) ? found : NULL;
}

TIDE_VC_EXPORT void *tidemark_virtual_symbol(const char *name, void *found) {
    if (found == NULL || !tidemark_virtual_has_name(name) ||
        !is_in(object_at(found), tide_vc_is_nvidia_file)) {
        return found;
    }
    void *ours = find_ours(name);
    return ours != NULL ? ours : found;
}

/* Whether an object after the caller's, which is neither NVIDIA's nor ours, has a function of that
 * name: the program chains its own functions. */
static bool has_other(const struct link_map *caller, const char *name) {
    bool has = false;
    for (const struct link_map *map = caller->l_next; map != NULL && !has; map = map->l_next) {
        if (map->l_name == NULL || map->l_name[0] != '/' || is_in(map, tide_vc_is_own_file) ||
            is_in(map, tide_vc_is_nvidia_file)) {
            continue;
        }
        void *library = dlopen(map->l_name, RTLD_NOLOAD | RTLD_LAZY);
        void *found = library != NULL ? dlsym(library, name) : NULL;
        has = found != NULL && object_at(found) == map;
        if (library != NULL) {
            (void)dlclose(library);
        }
    }
    return has;
}

TIDE_VC_EXPORT void *tidemark_virtual_next(const char *name, const void *caller) {
    if (!tidemark_virtual_has_name(name)) {
        return NULL;
    }
    const struct link_map *map = object_at(caller);
    if (map == NULL || is_in(map, tide_vc_is_own_file) || is_in(map, tide_vc_is_nvidia_file) ||
        find_ours(name) == NULL || has_other(map, name)) {
        return NULL;
    }
    return find_ours(name); /* last, because dlerror reports the latest lookup */
}

TIDE_VC_EXPORT const char *tidemark_virtual_library(const char *name) {
    if (name == NULL || !tide_vc_is_driver_file(name)) {
        return NULL;
    }
    static const char here = 0;
    const struct link_map *map = object_at(&here);
    return map != NULL ? map->l_name : NULL;
}
