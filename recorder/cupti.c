/* cupti.c - finds the CUPTI library and fills the table of its functions. */
#include "recorder/cupti_internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/toolkit_library.h"

static void *search(void) {
    void *library = tide_toolkit_library_open("libcupti.so.13");
    return library != NULL ? library : tide_toolkit_library_open("libcupti.so.12");
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
                         "tried libcupti.so.13 and .12, " TIDE_TOOLKIT_LIBRARY_PLACES);
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
        /* ISO C has no conversion from void * to a function pointer. */
        memcpy((char *)&table + SYMBOLS[i].offset, &symbol, sizeof(symbol));
    }
    *ret_table = table;
    return TIDE_OK;
}
