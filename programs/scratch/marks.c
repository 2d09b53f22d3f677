#define _GNU_SOURCE /* O_CLOEXEC */
#include "programs/scratch/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/state.h"

bool tide_scratch_is_gone(const char *target, size_t n_bytes) {
    return n_bytes == sizeof(TIDE_SCRATCH_GONE) - 1 &&
           memcmp(target, TIDE_SCRATCH_GONE, n_bytes) == 0;
}

bool tide_scratch_is_mark(const char *path, const char *name) {
    char target[sizeof(TIDE_SCRATCH_GONE)];
    long n = tide_sys_readlink(AT_FDCWD, path, target, sizeof(target));
    return strcmp(name, TIDE_SCRATCH_COVERS) == 0 ||
           (n > 0 && tide_scratch_is_gone(target, (size_t)n));
}

int tide_scratch_mark_gone(const char *copy) {
    int result = tide_sys_symlink(TIDE_SCRATCH_GONE, copy);
    if (result == -EEXIST) {
        char made[TIDE_SCRATCH_PATH_BYTES];
        tide_scratch_temporary_name(made);
        result = tide_sys_symlink(TIDE_SCRATCH_GONE, made);
        if (result == 0) {
            result = tide_sys_rename(made, copy, 0);
            if (result != 0) {
                (void)tide_sys_unlink(made);
            }
        }
    }
    tide_scratch_bump_generation();
    return result;
}

int tide_scratch_mark_covers(const char *copy) {
    char path[TIDE_SCRATCH_PATH_BYTES];
    size_t n = strlen(copy);
    if (n + 1 + sizeof(TIDE_SCRATCH_COVERS) > sizeof(path)) {
        return -ENAMETOOLONG;
    }
    memcpy(path, copy, n);
    path[n] = '/';
    memcpy(path + n + 1, TIDE_SCRATCH_COVERS, sizeof(TIDE_SCRATCH_COVERS));
    int fd = tide_sys_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    tide_scratch_bump_generation();
    return fd < 0 ? fd : tide_sys_close(fd);
}
