/* toolkit_library.c - looks for a library where CUDA toolkits and Python packages install it. */
#define _POSIX_C_SOURCE 200809L /* glob */
#include "common/files/toolkit_library.h"

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

/* A folder that may have the library: below the value of an environment variable, or at a fixed
 * place. */
typedef struct place {
    const char *variable; /* NULL: the place is fixed */
    bool is_list;         /* the variable lists folders separated by colons, like PATH */
    const char *rest;     /* the path below the variable's, or the whole path; a glob pattern */
} place;

#define PACKAGES "python3*/site-packages/nvidia/*/lib"
#define SYSTEM_PACKAGES "python3*/dist-packages/nvidia/*/lib"

/* In order of preference: settings of the user or of an activated environment, then the defaults of
 * installers. An activated python is found by PATH. */
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

/* Tries every file that matches FOLDER REST / FILE. The folder's name has n bytes. */
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
