#define _GNU_SOURCE /* dl_iterate_phdr */
#include "programs/virtual_cuda/linked/objects.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "programs/virtual_cuda/doors/files.h"

/* False: the object has no dynamic section. The path is never NULL. */
static bool read_object(const struct dl_phdr_info *info, tide_vc_object *ret) {
    *ret = (tide_vc_object){.base = info->dlpi_addr, .path = info->dlpi_name};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            ret->dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    if (ret->path != NULL && ret->path[0] == '\0') {
        ret->path = TIDE_VC_OBJECT_SELF;
    }
    return ret->dynamic != NULL && ret->path != NULL;
}

static bool has_code(const struct dl_phdr_info *info, uintptr_t code) {
    bool has = false;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *at = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + at->p_vaddr;
        has = has || (at->p_type == PT_LOAD && code >= begin && code - begin < at->p_memsz);
    }
    return has;
}

typedef struct search {
    uintptr_t code;
    tide_vc_objects found;
} search;

static int see_object(struct dl_phdr_info *info, size_t n_bytes, void *to) {
    (void)n_bytes;
    search *in = to;
    tide_vc_object object;
    if (!read_object(info, &object)) {
        return 0;
    }
    if (tide_vc_is_own_file(object.path)) {
        const char *name = tide_vc_file_name(object.path);
        tide_vc_exports exports = tide_vc_exports_of(object.base, object.dynamic);
        if (strcmp(name, "libtidemark_virtual_cuda.so") == 0) {
            in->found.offers.card = exports;
        } else if (strcmp(name, "libtidemark_live.so") == 0) {
            in->found.offers.recorder = exports;
        }
    }
    if (has_code(info, in->code)) {
        in->found.object = object;
    }
    return 0;
}

tide_vc_objects tide_vc_objects_find(const void *code) {
    search in = {.code = (uintptr_t)code};
    (void)dl_iterate_phdr(see_object, &in);
    return in.found;
}

const void *tide_vc_offers_find(const tide_vc_offers *offers, const char *name) {
    const void *recorder = tide_vc_exports_find(&offers->recorder, name);
    return recorder != NULL ? recorder : tide_vc_exports_find(&offers->card, name);
}

typedef struct chain {
    uintptr_t code;
    const char *name;
    bool (*is_foreign)(const char *path);
    bool is_after; /* the object with the code came before */
} chain;

/* Returns 1 at a library that has the function. The loader's lock keeps it loaded meanwhile. */
static int see_next(struct dl_phdr_info *info, size_t n_bytes, void *to) {
    (void)n_bytes;
    chain *in = to;
    tide_vc_object object;
    if (!in->is_after) {
        in->is_after = has_code(info, in->code);
        return 0;
    }
    if (!read_object(info, &object) || object.path[0] != '/' || !in->is_foreign(object.path)) {
        return 0;
    }
    tide_vc_exports exports = tide_vc_exports_of(object.base, object.dynamic);
    return tide_vc_exports_find(&exports, in->name) != NULL;
}

bool tide_vc_objects_have_next(const void *code, const char *name,
                               bool (*is_foreign)(const char *path)) {
    chain in = {.code = (uintptr_t)code, .name = name, .is_foreign = is_foreign};
    return dl_iterate_phdr(see_next, &in) != 0;
}
