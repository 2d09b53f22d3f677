#include "allocator/cupti_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

/* FILE in the folders of a toolkit at `root`; NULL root: nothing. */
static void *open_in_toolkit(const char *root, const char *file) {
    static const char *const FOLDERS[] = {"lib64", "extras/CUPTI/lib64", "lib"};
    void *library = NULL;
    for (size_t i = 0; root != NULL && library == NULL && i < sizeof(FOLDERS) / sizeof(FOLDERS[0]);
         i++) {
        char path[PATH_BYTES];
        int n = snprintf(path, sizeof(path), "%s/%s/%s", root, FOLDERS[i], file);
        if (n > 0 && n < PATH_BYTES) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return library;
}

static void *search(void) {
    static const char *const FILES[] = {"libcupti.so.13", "libcupti.so.12"};
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        library = dlopen(FILES[i], RTLD_NOW | RTLD_LOCAL);
        library = library != NULL ? library : open_in_toolkit(getenv("CUDA_HOME"), FILES[i]);
        library = library != NULL ? library : open_in_toolkit(getenv("CUDA_PATH"), FILES[i]);
        library = library != NULL ? library : open_in_toolkit("/usr/local/cuda", FILES[i]);
    }
    return library;
}

tide_status tide_cupti_load(tide_cupti *ret_table, tide_error *error) {
    static const struct {
        const char *name; /* of the symbol */
        size_t offset;    /* of the member */
    } SYMBOLS[] = {
        {"cuptiActivityRegisterCallbacks", offsetof(tide_cupti, register_callbacks)},
        {"cuptiActivityEnable", offsetof(tide_cupti, enable)},
        {"cuptiActivityDisable", offsetof(tide_cupti, disable)},
        {"cuptiActivityFlushAll", offsetof(tide_cupti, flush_all)},
        {"cuptiActivityGetNextRecord", offsetof(tide_cupti, get_next_record)},
        {"cuptiActivityPushExternalCorrelationId", offsetof(tide_cupti, push_external)},
        {"cuptiActivityPopExternalCorrelationId", offsetof(tide_cupti, pop_external)},
        {"cuptiGetResultString", offsetof(tide_cupti, get_result_string)},
    };
    const char *path = getenv("TIDEMARK_CUPTI");
    bool is_named = path != NULL && path[0] != '\0';
    void *library = is_named ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : search();
    if (library == NULL && is_named) {
        const char *reason = dlerror();
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "cannot open the CUPTI that TIDEMARK_CUPTI names, %s: %s", path,
                         reason == NULL ? "no reason given" : reason);
    }
    if (library == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "kernels are traced by CUPTI, and none was found: install the CUDA "
                         "toolkit's libcupti 12 or newer, or let TIDEMARK_CUPTI name the file; "
                         "tried libcupti.so.13 and .12, and lib64, extras/CUPTI/lib64 and lib of "
                         "CUDA_HOME, CUDA_PATH and /usr/local/cuda");
    }
    tide_cupti table;
    for (size_t i = 0; i < sizeof(SYMBOLS) / sizeof(SYMBOLS[0]); i++) {
        void *symbol = dlsym(library, SYMBOLS[i].name);
        if (symbol == NULL) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "the CUPTI that was found has no %s: install libcupti 12 or newer, or "
                             "let TIDEMARK_CUPTI name its file",
                             SYMBOLS[i].name);
        }
        /* ISO C knows no conversion from void * to a function pointer. */
        memcpy((char *)&table + SYMBOLS[i].offset, &symbol, sizeof(symbol));
    }
    *ret_table = table;
    return TIDE_OK;
}
