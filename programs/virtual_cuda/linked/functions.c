#define _GNU_SOURCE /* memmem */
#include "programs/virtual_cuda/linked/functions.h"

#include <elf.h>
#include <string.h>

#include "programs/virtual_cuda/api/entry.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/process/inexact.h"

enum { NAME_BYTES = 160 };

static bool begins(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Functions whose arguments differ between CUDA 12 and 13 under one name. */
static bool has_two_meanings(const char *name) {
    static const char *const NAMES[] = {"cudaGetDeviceProperties", "cudaGraphNodeGetDependencies",
                                        "cudaMemAdvise",           "cudaMemPrefetchAsync",
                                        "cudaMemcpyBatchAsync",    "cudaStreamGetCaptureInfo"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        size_t n = strlen(NAMES[i]);
        if (strncmp(name, NAMES[i], n) == 0 && (name[n] == '\0' || begins(name + n, "_pt"))) {
            return true;
        }
    }
    return false;
}

static int refuse_meaning(void) {
    tide_vc_refused("cudaGetDeviceProperties, cudaGraphNodeGetDependencies, cudaMemAdvise, "
                    "cudaMemPrefetchAsync, cudaMemcpyBatchAsync, cudaStreamGetCaptureInfo",
                    "two versions of CUDA are in this process, 12 and 13, and these functions "
                    "differ between them");
    return tide_vc_fail(TIDE_VC_NOT_SUPPORTED);
}

/* The function to call instead. A name for streams of the thread that is not served means the plain
 * one: work completes immediately. NULL: nothing answers for the name. */
static const void *instead_of(const tide_vc_offers *offers, const char *name) {
    const void *own = tide_vc_exports_find(&offers->card, name);
    size_t n = strlen(name);
    bool is_per_thread =
        n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0);
    char plain[NAME_BYTES];
    if (is_per_thread && n < sizeof(plain) && (own == NULL || !tide_vc_is_served(own))) {
        memcpy(plain, name, n - 5);
        plain[n - 5] = '\0';
        const void *without = tide_vc_offers_find(offers, plain);
        return without != NULL ? without : own;
    }
    return own != NULL ? tide_vc_offers_find(offers, name) : NULL;
}

size_t tide_vc_functions_list(const tide_vc_symbols *symbols, uintptr_t base,
                              tide_vc_named ret[TIDE_VC_MAX_FUNCTIONS]) {
    size_t n = 0;
    for (size_t i = 0; i < symbols->n && n < TIDE_VC_MAX_FUNCTIONS; i++) {
        const ElfW(Sym) *at = &symbols->all[i];
        const char *name = tide_vc_symbol_name(symbols, i);
        bool is_public = begins(name, "cuda") || begins(name, "__cuda");
        bool is_function = ELF64_ST_TYPE(at->st_info) == STT_FUNC && at->st_shndx != SHN_UNDEF;
        if (is_public && is_function && at->st_size >= TIDE_VC_JUMP_BYTES) {
            ret[n++] = (tide_vc_named){name, base + at->st_value};
        }
    }
    return n;
}

size_t tide_vc_functions_find(const tide_vc_named *all, size_t n, uintptr_t base,
                              const tide_vc_offers *offers, bool is_other,
                              tide_vc_replacement ret[TIDE_VC_MAX_FUNCTIONS]) {
    int (*refusing)(void) = refuse_meaning;
    size_t n_found = 0;
    for (size_t i = 0; i < n && n_found < TIDE_VC_MAX_FUNCTIONS; i++) {
        const void *function = instead_of(offers, all[i].name);
        if (is_other && has_two_meanings(all[i].name)) {
            memcpy(&function, &refusing, sizeof(function));
        }
        if (function != NULL) {
            ret[n_found++] =
                (tide_vc_replacement){all[i].at - base, function, begins(all[i].name, "__cuda")};
        }
    }
    return n_found;
}

int tide_vc_functions_version(const tide_vc_named *all, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, "cudaRuntimeGetVersion") == 0) {
            int (*ask)(int *) = NULL;
            int version = 0;
            memcpy(&ask, &all[i].at, sizeof(ask));
            return ask(&version) == 0 ? version : 0;
        }
    }
    return 0;
}

bool tide_vc_functions_are_linked(const tide_vc_symbols *symbols) {
    static const char PRIVATE[] = "libcudart_static_";
    return memmem(symbols->names, symbols->n_name_bytes, PRIVATE, sizeof(PRIVATE) - 1) != NULL;
}
