#define _POSIX_C_SOURCE 200809L /* glob */
#include "common/toolkit_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES = 1024 };

static void try_file(void **library, const char *path) {
    if (*library == NULL) {
        *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
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
    {"CUDA_HOME", false, "/lib"},
    {"CUDA_HOME", false, "/extras/CUPTI/lib64"},
    {"CUDA_PATH", false, "/lib64"},
    {"CUDA_PATH", false, "/lib"},
    {"CUDA_PATH", false, "/extras/CUPTI/lib64"},
    {"VIRTUAL_ENV", false, "/lib/" PACKAGES},
    {"CONDA_PREFIX", false, "/lib"},
    {"CONDA_PREFIX", false, "/lib/" PACKAGES},
    {NULL, false, "/usr/local/cuda/lib64"},
    {NULL, false, "/usr/local/cuda/lib"},
    {NULL, false, "/usr/local/cuda/extras/CUPTI/lib64"},
    {NULL, false, "/usr/local/cuda-*/lib64"},
    {NULL, false, "/usr/local/cuda-*/extras/CUPTI/lib64"},
    {NULL, false, "/opt/cuda/lib64"},
    {"PATH", true, "/../lib/" PACKAGES},
    {"HOME", false, "/.local/lib/" PACKAGES},
    {NULL, false, "/usr/local/lib/" SYSTEM_PACKAGES},
    {NULL, false, "/usr/lib/" SYSTEM_PACKAGES},
};

/* Every file that FOLDER REST / FILE matches; n: of the folder's name. */
static void try_pattern(void **library, const char *folder, size_t n, const char *rest,
                        const char *file) {
    char pattern[PATTERN_BYTES];
    glob_t found;
    int n_pattern = snprintf(pattern, sizeof(pattern), "%.*s%s/%s", (int)n, folder, rest, file);
    if (n_pattern < 0 || (size_t)n_pattern >= sizeof(pattern)) {
        return;
    }
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            try_file(library, found.gl_pathv[i]);
        }
    }
    globfree(&found);
}

static void try_place(void **library, const place *at, const char *file) {
    const char *value = at->variable == NULL ? NULL : getenv(at->variable);
    if (at->variable == NULL) {
        try_pattern(library, "", 0, at->rest, file);
        return;
    }
    while (value != NULL && value[0] != '\0' && *library == NULL) {
        size_t n = at->is_list ? strcspn(value, ":") : strlen(value);
        if (n > 0 && n < PATTERN_BYTES) {
            try_pattern(library, value, n, at->rest, file);
        }
        value += n + (value[n] == ':');
    }
}

void *tide_toolkit_library_open(const char *file) {
    void *library = NULL;
    try_file(&library, file);
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]) && library == NULL; i++) {
        try_place(&library, &PLACES[i], file);
    }
    return library;
}
