#define _POSIX_C_SOURCE 200809L /* glob */
#include "model/ops_cuda/cublas.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES = 1024, TRIED_BYTES = 1200 };

/* What the message says when nothing is found. */
typedef struct attempt {
    void *library;           /* open; NULL: not found yet */
    char tried[TRIED_BYTES]; /* names and folders, separated by commas */
} attempt;

static void note(attempt *try, const char *what) {
    size_t n = strlen(try->tried);
    (void)snprintf(try->tried + n, TRIED_BYTES - n, "%s%s", n == 0 ? "" : ", ", what);
}

static void try_file(attempt *try, const char *path) {
    if (try->library == NULL) {
        try->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
}

/* Where a folder is that may hold it: behind what a variable of the environment says, or at a place
 * of its own. */
typedef struct place {
    const char *variable; /* NULL: there is none */
    bool is_list;         /* of folders between colons, as PATH is */
    const char *rest;     /* of the folder, or all of it; a pattern */
} place;

#define PACKAGES "python3*/site-packages/nvidia/*/lib"
#define SYSTEM_PACKAGES "python3*/dist-packages/nvidia/*/lib"

/* What the toolkit and python's environments set, then what their installers choose. A python that
 * was activated is on PATH. */
static const place PLACES[] = {
    {"CUDA_HOME", false, "/lib64"},
    {"CUDA_PATH", false, "/lib64"},
    {"VIRTUAL_ENV", false, "/lib/" PACKAGES},
    {"CONDA_PREFIX", false, "/lib"},
    {"CONDA_PREFIX", false, "/lib/" PACKAGES},
    {NULL, false, "/usr/local/cuda/lib64"},
    {NULL, false, "/usr/local/cuda-*/lib64"},
    {NULL, false, "/opt/cuda/lib64"},
    {"PATH", true, "/../lib/" PACKAGES},
    {"HOME", false, "/.local/lib/" PACKAGES},
    {NULL, false, "/usr/local/lib/" SYSTEM_PACKAGES},
    {NULL, false, "/usr/lib/" SYSTEM_PACKAGES},
};

/* Every file that FOLDER REST / FILE matches; n: of the folder's name. */
static void try_pattern(attempt *try, const char *folder, size_t n, const char *rest,
                        const char *file) {
    char pattern[PATTERN_BYTES];
    glob_t found;
    int n_pattern = snprintf(pattern, sizeof(pattern), "%.*s%s/%s", (int)n, folder, rest, file);
    if (n_pattern < 0 || (size_t)n_pattern >= sizeof(pattern)) {
        return;
    }
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            try_file(try, found.gl_pathv[i]);
        }
    }
    globfree(&found);
}

static void try_place(attempt *try, const place *at, const char *file) {
    const char *value = at->variable == NULL ? NULL : getenv(at->variable);
    if (at->variable == NULL) {
        try_pattern(try, "", 0, at->rest, file);
        return;
    }
    while (value != NULL && value[0] != '\0' && try->library == NULL) {
        size_t n = at->is_list ? strcspn(value, ":") : strlen(value);
        if (n > 0 && n < PATTERN_BYTES) {
            try_pattern(try, value, n, at->rest, file);
        }
        value += n + (value[n] == ':');
    }
}

static void search(attempt *try) {
    static const char *const FILES[] = {"libcublas.so.13", "libcublas.so.12"};
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        try_file(try, FILES[i]);
        note(try, FILES[i]);
        for (size_t k = 0; k < sizeof(PLACES) / sizeof(PLACES[0]) && try->library == NULL; k++) {
            try_place(try, &PLACES[k], FILES[i]);
        }
    }
    note(try, "lib64 of CUDA_HOME, CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*, /opt/cuda");
    note(try, "nvidia/*/lib among the python packages of VIRTUAL_ENV, CONDA_PREFIX, PATH, ~/.local "
              "and the system");
}

/* NULL, with the reason, when there is none. */
static void *open_library(tide_error *error) {
    attempt try = {NULL, ""};
    const char *path = getenv("TIDEMARK_CUBLAS");
    if (path != NULL && path[0] != '\0') {
        try_file(&try, path);
        if (try.library == NULL) {
            const char *reason = dlerror();
            (void)tide_fail(error, TIDE_UNSUPPORTED,
                            "cannot open the cuBLAS that TIDEMARK_CUBLAS names, %s: %s", path,
                            reason == NULL ? "no reason given" : reason);
        }
        return try.library;
    }
    search(&try);
    if (try.library == NULL) {
        (void)tide_fail(error, TIDE_UNSUPPORTED,
                        "device cuda needs cuBLAS, and none was found: install the CUDA toolkit 12 "
                        "or newer, or let TIDEMARK_CUBLAS name the file; tried %s",
                        try.tried);
    }
    return try.library;
}

tide_status tide_cublas_load(tide_cublas *ret_table, tide_error *error) {
    static const struct {
        const char *name; /* of the symbol */
        size_t offset;    /* of the member */
    } SYMBOLS[] = {
        {"cublasCreate_v2", offsetof(tide_cublas, create)},
        {"cublasDestroy_v2", offsetof(tide_cublas, destroy)},
        {"cublasGetVersion_v2", offsetof(tide_cublas, get_version)},
        {"cublasSetStream_v2", offsetof(tide_cublas, set_stream)},
        {"cublasSetWorkspace_v2", offsetof(tide_cublas, set_workspace)},
        {"cublasSetMathMode", offsetof(tide_cublas, set_math_mode)},
        {"cublasGetStatusString", offsetof(tide_cublas, get_status_string)},
        {"cublasGemmEx", offsetof(tide_cublas, gemm_ex)},
        {"cublasGemmStridedBatchedEx", offsetof(tide_cublas, gemm_strided_batched_ex)},
    };
    tide_cublas table;
    void *library = open_library(error);
    if (library == NULL) {
        return TIDE_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof(SYMBOLS) / sizeof(SYMBOLS[0]); i++) {
        void *symbol = dlsym(library, SYMBOLS[i].name);
        if (symbol == NULL) {
            (void)dlclose(library);
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "the cuBLAS that was found has no %s: install the CUDA toolkit 12 or "
                             "newer, or let TIDEMARK_CUBLAS name its library",
                             SYMBOLS[i].name);
        }
        /* ISO C knows no conversion from void * to a function pointer. */
        memcpy((char *)&table + SYMBOLS[i].offset, &symbol, sizeof(symbol));
    }
    *ret_table = table;
    return TIDE_OK;
}
