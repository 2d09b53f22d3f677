#define _POSIX_C_SOURCE 200809L
#include "programs/launch/box/box_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/launch/folders.h"
#include "programs/launch/launch.h"

#define LIVE "libtidemark_live.so"

enum { VALUE_BYTES = sizeof(((tide_box_variable *)NULL)->value) };

static tide_status set(tide_box_setup *to, const char *name, const char *value, tide_error *error) {
    tide_box_variable *at = &to->variables[to->n++];
    at->name = name;
    at->is_joined = false;
    return snprintf(at->value, VALUE_BYTES, "%s", value) < VALUE_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "the value of %s is too long", name);
}

static tide_status set_number(tide_box_setup *to, const char *name, uint64_t value,
                              tide_error *error) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return set(to, name, text, error);
}

static tide_status set_folder(tide_box_setup *to, const char *name, const char *folder, bool makes,
                              tide_error *error) {
    char here[TIDE_LAUNCH_PATH_BYTES] = "";
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    if (strchr(folder, '\n') != NULL) {
        return tide_fail(error, TIDE_INVALID, "a folder with a line feed cannot be used here");
    }
    if (folder[0] != '/' && getcwd(here, sizeof(here)) == NULL) {
        return tide_fail(error, TIDE_IO, "'%s': %s", folder, strerror(errno));
    }
    (void)snprintf(path, sizeof(path), "%s%s%s", here, folder[0] != '/' ? "/" : "", folder);
    TIDE_TRY(set(to, name, path, error));
    if (makes && (!tide_folder_make_all(path) || access(path, W_OK | X_OK) != 0)) {
        return tide_fail(error, TIDE_IO,
                         "nothing is recorded: the folder '%s' cannot be written: %s", folder,
                         strerror(errno));
    }
    return TIDE_OK;
}

static tide_status set_library(tide_box_setup *to, const tide_launch *launch, tide_error *error) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/" LIVE, launch->objects);
    if (strpbrk(path, " :\t") != NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "LD_PRELOAD cannot have the path '%s': install tidemark in a folder "
                         "without spaces and colons",
                         path);
    }
    TIDE_TRY(set(to, "LD_PRELOAD", path, error));
    to->variables[to->n - 1].is_joined = true;
    return TIDE_OK;
}

/* Within a `tidemark run` that keeps the program's writes away, the folders stay real. */
static tide_status set_real(tide_box_setup *to, tide_error *error) {
    char text[2 * VALUE_BYTES + TIDE_LAUNCH_PATH_BYTES];
    const char *own = getenv("TIDEMARK_SCRATCH_OWN");
    if (getenv("TIDEMARK_SCRATCH") == NULL) {
        return TIDE_OK;
    }
    (void)snprintf(text, sizeof(text), "%s%s%s\n%s", own != NULL ? own : "",
                   own != NULL ? "\n" : "", to->variables[0].value, to->variables[1].value);
    return set(to, "TIDEMARK_SCRATCH_OWN", text, error);
}

tide_status tide_box_setup_make(const tide_box_config *config, tide_box_setup *ret,
                                tide_error *error) {
    tide_launch launch = {.cleaner = -1};
    TIDE_TRY(tide_launch_find_objects(&launch, error));
    if (!tide_launch_has_live(&launch)) {
        return tide_fail(error, TIDE_UNSUPPORTED, LIVE " is missing in %s", launch.objects);
    }
    ret->n = 0;
    TIDE_TRY(set_folder(ret, "TIDEMARK_BLACK_BOX", config->folder, config->makes_folders, error));
    TIDE_TRY(set_folder(ret, "TIDEMARK_BLACK_BOX_RING",
                        config->ring != NULL ? config->ring : config->folder, config->makes_folders,
                        error));
    TIDE_TRY(set_real(ret, error));
    TIDE_TRY(set_number(ret, "TIDEMARK_BLACK_BOX_KEEP", config->keep_s, error));
    TIDE_TRY(set(ret, "TIDEMARK_LIVE", "", error)); /* of a `tidemark run` around the job */
    TIDE_TRY(set_number(ret, "TIDEMARK_LIVE_BYTES", config->log_bytes, error));
    TIDE_TRY(set(ret, "TIDEMARK_LIVE_STACKS", config->stacks, error));
    TIDE_TRY(config->max_frames > 0
                 ? set_number(ret, "TIDEMARK_LIVE_FRAMES", config->max_frames, error)
                 : set(ret, "TIDEMARK_LIVE_FRAMES", "", error)); /* of an earlier `tidemark env` */
    TIDE_TRY(set(ret, "TIDEMARK_PROGRAM", launch.program, error));
    TIDE_TRY(set(ret, "TIDEMARK_PYTHON", launch.python, error));
    return set_library(ret, &launch, error);
}
