#define _GNU_SOURCE /* flock */
#include "programs/launch/compilers.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/launch/folders.h"

static const struct {
    const char *name, *folder;
    const char *own; /* below the home: if it exists, the variable is unchanged; NULL: none */
} VARIABLES[] = {
    {"TORCHINDUCTOR_CACHE_DIR", "inductor", NULL},
    {"TRITON_CACHE_DIR", "triton", NULL},
    /* Existing builds there may be impossible to repeat here: they need nvcc. */
    {"TORCH_EXTENSIONS_DIR", "extensions", ".cache/torch_extensions"},
};

static uint64_t add(uint64_t hash, const char *text) {
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211); /* FNV-1a */
    }
    return (hash ^ '\n') * UINT64_C(1099511628211);
}

/* A hash of everything that compilers' results depend on: the library that answers for the card,
 * the cards, and the clock of autotuners. */
static uint64_t key_of(const tide_launch_config *config, const char *interpreter,
                       const tide_launch *launch) {
    char text[2 * TIDE_LAUNCH_PATH_BYTES];
    struct stat info = {.st_size = 0};
    uint64_t hash = UINT64_C(14695981039346656037);
    snprintf(text, sizeof(text), "%s/libtidemark_virtual_cuda.so", launch->objects);
    if (stat(text, &info) == 0) {
        snprintf(text, sizeof(text), "%lld %lld", (long long)info.st_size,
                 (long long)info.st_mtime);
    }
    hash = add(hash, text);
    hash = add(hash, interpreter); /* not its target: a virtual environment has links */
    hash = add(hash, config->cards);
    hash = add(hash, config->values);
    return add(hash, config->clock != NULL ? "virtual" : "real");
}

static bool name_folder(const tide_launch_config *config, const char *interpreter,
                        tide_launch *launch) {
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n = -1;
    uint64_t key = key_of(config, interpreter, launch);
    if (cache != NULL && cache[0] == '/') {
        n = snprintf(launch->compilers, sizeof(launch->compilers),
                     "%s/tidemark/compilers/%016" PRIx64, cache, key);
    } else if (tide_folder_exists(home)) {
        n = snprintf(launch->compilers, sizeof(launch->compilers),
                     "%s/.cache/tidemark/compilers/%016" PRIx64, home, key);
    }
    return n > 0 && n < TIDE_LAUNCH_PATH_BYTES && strpbrk(launch->compilers, "\n") == NULL &&
           tide_folder_make_all(launch->compilers) && access(launch->compilers, W_OK | X_OK) == 0;
}

/* PyTorch builds extensions under a lock file, and waits for ever if its maker was killed. */
static void remove_stale(const char *folder) {
    char pattern[TIDE_LAUNCH_PATH_BYTES + 32];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/extensions/*/lock", folder);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            (void)unlink(found.gl_pathv[i]);
        }
        globfree(&found);
    }
}

void tide_compilers_open(const tide_launch_config *config, const char *interpreter,
                         tide_launch *launch) {
    char path[TIDE_LAUNCH_PATH_BYTES + 16];
    launch->compilers_fd = -1;
    if (config->writes_are_real || config->cards == NULL ||
        !name_folder(config, interpreter, launch)) {
        launch->compilers[0] = '\0';
        return;
    }
    snprintf(path, sizeof(path), "%s/in-use", launch->compilers);
    launch->compilers_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (launch->compilers_fd >= 0 && flock(launch->compilers_fd, LOCK_EX | LOCK_NB) == 0) {
        remove_stale(launch->compilers); /* no other run uses it */
    }
    if (launch->compilers_fd < 0 || flock(launch->compilers_fd, LOCK_SH) != 0) {
        launch->compilers[0] = '\0';
    }
}

const char *tide_compilers_variable(size_t i, const char **ret_folder) {
    if (i >= sizeof(VARIABLES) / sizeof(VARIABLES[0])) {
        return NULL;
    }
    char own[TIDE_LAUNCH_PATH_BYTES];
    const char *chosen = getenv(VARIABLES[i].name);
    const char *home = getenv("HOME");
    bool has_own = VARIABLES[i].own != NULL && home != NULL &&
                   snprintf(own, sizeof(own), "%s/%s", home, VARIABLES[i].own) < (int)sizeof(own) &&
                   tide_folder_exists(own);
    *ret_folder = (chosen != NULL && chosen[0] != '\0') || has_own ? NULL : VARIABLES[i].folder;
    return VARIABLES[i].name;
}
