/* Finds the libraries and the package: relative to this program in the build tree, or where they
 * were installed. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/launch/launch_internal.h"

#define OBJECT "libtidemark_virtual_cuda.so"
#define SCRATCH "libtidemark_scratch.so"
#define LIVE "libtidemark_live.so"
#define PACKAGE "tidemark/__init__.py"

/* Relative to the folder of this program. */
static const char *const OBJECT_PLACES[] = {"../lib/tidemark", "../programs"};
static const char *const PYTHON_PLACES[] = {"../share/tidemark/python", "../python/package"};

static bool find(const char *folder, const char *place, const char *file,
                 char ret_path[TIDE_LAUNCH_PATH_BYTES]) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    char whole[TIDE_LAUNCH_PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/%s/%s", folder, place, file) >= (int)sizeof(path) ||
        realpath(path, whole) == NULL) {
        return false;
    }
    size_t n = strlen(whole) - strlen(file) - 1;
    snprintf(ret_path, TIDE_LAUNCH_PATH_BYTES, "%.*s", (int)n, whole);
    return true;
}

tide_status tide_launch_find_objects(tide_launch *launch, tide_error *error) {
    char folder[TIDE_LAUNCH_PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    folder[n > 0 ? n : 0] = '\0';
    snprintf(launch->program, sizeof(launch->program), "%s", folder);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    bool has_object = false;
    bool has_python = false;
    for (size_t i = 0; i < 2; i++) {
        has_object = has_object || find(folder, OBJECT_PLACES[i], OBJECT, launch->objects);
        has_python = has_python || find(folder, PYTHON_PLACES[i], PACKAGE, launch->python);
    }
    if (!has_object || !has_python) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s is missing: it belongs in ../lib/tidemark beside this program, with "
                         "the package in ../share/tidemark/python; it is built on Linux on x86-64 "
                         "only, with all targets of the build (cmake --build build)",
                         has_object ? PACKAGE : OBJECT);
    }
    return TIDE_OK;
}

tide_status tide_launch_find_python(char ret_folder[TIDE_LAUNCH_PATH_BYTES], tide_error *error) {
    tide_launch found = {.cleaner = -1};
    TIDE_TRY(tide_launch_find_objects(&found, error));
    memcpy(ret_folder, found.python, TIDE_LAUNCH_PATH_BYTES);
    return TIDE_OK;
}

const char *tide_launch_command(const tide_launch_config *config,
                                char ret_path[2 * TIDE_LAUNCH_PATH_BYTES]) {
    tide_launch found = {.cleaner = -1};
    const char *command = config->arguments[0];
    if (config->cards == NULL || strcmp(command, TIDE_LAUNCH_SMI) != 0 ||
        tide_launch_find_objects(&found, NULL) != TIDE_OK) {
        return command;
    }
    snprintf(ret_path, (size_t)2 * TIDE_LAUNCH_PATH_BYTES, "%s/" TIDE_LAUNCH_SMI, found.objects);
    return access(ret_path, X_OK) == 0 ? ret_path : command;
}

bool tide_launch_has_scratch(const tide_launch *launch) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/" SCRATCH, launch->objects);
    return access(path, R_OK) == 0;
}

bool tide_launch_has_live(const tide_launch *launch) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/" LIVE, launch->objects);
    return access(path, R_OK) == 0;
}

tide_status tide_launch_check_scratch(const tide_launch *launch, const tide_launch_config *config,
                                      tide_error *error) {
    return config->writes_are_real || tide_launch_has_scratch(launch)
               ? TIDE_OK
               : tide_fail(error, TIDE_UNSUPPORTED,
                           SCRATCH " is missing beside " OBJECT ": without it the program would "
                                   "write over real files; --writes allow lets it");
}
