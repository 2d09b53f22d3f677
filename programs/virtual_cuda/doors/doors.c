#include "programs/virtual_cuda/doors/doors.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/doors/files.h"
#include "programs/virtual_cuda/linked/objects.h"

TIDE_VC_EXPORT bool tidemark_virtual_has_name(const char *name) {
    static const char *const BEGINNINGS[] = {"cu", "nccl", "pnccl", "nv", "__cuda"};
    bool has = false;
    for (size_t i = 0; name != NULL && i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
        has = has || strncmp(name, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0;
    }
    return has;
}

/* Of the recorder or the card. Not by dlsym: a name that only NVIDIA's library has would leave an
 * error for dlerror. */
static void *find_ours(const tide_vc_objects *objects, const char *name) {
    const void *found = tide_vc_offers_find(&objects->offers, name);
    void *ours = NULL;
    memcpy(&ours, &found, sizeof(ours));
    return ours;
}

TIDE_VC_EXPORT void *tidemark_virtual_symbol(const char *name, void *found) {
    if (found == NULL || !tidemark_virtual_has_name(name)) {
        return found;
    }
    tide_vc_objects objects = tide_vc_objects_find(found);
    bool is_nvidia = objects.object.path != NULL && tide_vc_is_nvidia_file(objects.object.path);
    void *ours = is_nvidia ? find_ours(&objects, name) : NULL;
    return ours != NULL ? ours : found;
}

/* Whether a function in that file is the program's: the program chains its own functions. */
static bool is_foreign(const char *path) {
    return !tide_vc_is_own_file(path) && !tide_vc_is_nvidia_file(path);
}

TIDE_VC_EXPORT void *tidemark_virtual_next(const char *name, const void *caller) {
    if (!tidemark_virtual_has_name(name)) {
        return NULL;
    }
    tide_vc_objects objects = tide_vc_objects_find(caller);
    void *ours = find_ours(&objects, name);
    if (ours == NULL || objects.object.path == NULL || !is_foreign(objects.object.path) ||
        tide_vc_objects_have_next(caller, name, is_foreign)) {
        return NULL;
    }
    (void)dlerror(); /* a lookup that succeeds erases the error of an earlier one */
    return ours;
}

TIDE_VC_EXPORT const char *tidemark_virtual_library(const char *name) {
    static const char here = 0;
    return name != NULL && tide_vc_is_driver_file(name) ? tide_vc_objects_find(&here).object.path
                                                        : NULL;
}
