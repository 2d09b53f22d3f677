#define _GNU_SOURCE /* AT_FDCWD */
#include "programs/scratch/devices.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/place.h"

#define NAME "nvidia"

/* The folders that contain these files, whose names begin with NAME. */
static const char *const PARENTS[] = {"/dev", "/proc/driver", "/sys/module"};
enum { N_PARENTS = sizeof(PARENTS) / sizeof(PARENTS[0]) };

/* Whether an absolute path is in the folder, after which it continues with a slash. */
static bool is_below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

bool tide_scratch_may_be_device(const char *path) {
    if (path == NULL || tide_scratch_state_get()->card == NULL) {
        return false;
    }
    bool is_system = path[0] != '/' || path[1] == '/' || path[1] == '.';
    for (size_t i = 0; i < N_PARENTS && !is_system; i++) {
        is_system = strncmp(path, PARENTS[i], 4) == 0;
    }
    return is_system && strstr(path, NAME) != NULL;
}

/* Appends the components of a path. False: it is too long. */
static bool append(char name[TIDE_SCRATCH_PATH_BYTES], size_t *n, const char *path) {
    while (*path != '\0') {
        path += strspn(path, "/");
        size_t n_part = strcspn(path, "/");
        if (n_part == 2 && path[0] == '.' && path[1] == '.') {
            while (*n > 0 && name[--*n] != '/') {
            }
        } else if (n_part > 0 && !(n_part == 1 && path[0] == '.')) {
            if (*n + 1 + n_part >= TIDE_SCRATCH_PATH_BYTES) {
                return false;
            }
            name[(*n)++] = '/';
            memcpy(name + *n, path, n_part);
            *n += n_part;
        }
        name[*n] = '\0';
        path += n_part;
    }
    return true;
}

bool tide_scratch_device_hides(const char *name) {
    return strncmp(name, NAME, strlen(NAME)) == 0;
}

/* Whether an absolute path without "." and ".." is one of the files. */
static bool is_device(const char *name) {
    for (size_t i = 0; i < N_PARENTS; i++) {
        if (is_below(name, PARENTS[i]) &&
            tide_scratch_device_hides(name + strlen(PARENTS[i]) + 1)) {
            return true;
        }
    }
    return false;
}

bool tide_scratch_device_name(int at, const char *path, char ret_name[TIDE_SCRATCH_PATH_BYTES]) {
    char base[TIDE_SCRATCH_PATH_BYTES] = "";
    size_t n = 0;
    if (!tide_scratch_may_be_device(path) ||
        (path[0] != '/' && tide_scratch_path_of(at, base) != 0)) {
        return false;
    }
    ret_name[0] = '\0';
    return append(ret_name, &n, base) && append(ret_name, &n, path) && is_device(ret_name);
}

bool tide_scratch_is_device(int at, const char *path) {
    char name[TIDE_SCRATCH_PATH_BYTES];
    return tide_scratch_may_be_device(path) && tide_scratch_device_name(at, path, name);
}

/* RUN/card and the absolute path. */
static bool put(const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]) {
    const char *card = tide_scratch_state_get()->card;
    size_t n = strlen(card);
    size_t n_path = strlen(path);
    bool fits = n + n_path < TIDE_SCRATCH_PATH_BYTES;
    if (fits) {
        memcpy(ret_path, card, n);
        memcpy(ret_path + n, path, n_path + 1);
    }
    return fits;
}

bool tide_scratch_device(int at, const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]) {
    static const char DEVICE[] = "/dev/null";
    char name[TIDE_SCRATCH_PATH_BYTES];
    if (!tide_scratch_device_name(at, path, name) || !put(name, ret_path)) {
        return false;
    }
    if (is_below(name, PARENTS[0]) && tide_sys_access(AT_FDCWD, ret_path, F_OK, 0) == 0) {
        memcpy(ret_path, DEVICE, sizeof(DEVICE));
    }
    return true;
}

bool tide_scratch_device_parent(const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]) {
    bool is = false;
    for (size_t i = 0; i < N_PARENTS; i++) {
        is = is || strcmp(path, PARENTS[i]) == 0;
    }
    return is && tide_scratch_state_get()->card != NULL && put(path, ret_path);
}
