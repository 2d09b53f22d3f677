/* entry_names.c - unlink, rename, mkdir, link and related functions. */
#define _GNU_SOURCE /* renameat2 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/change.h"
#include "programs/scratch/entries/export.h"

int __xmknod(int version, const char *path, mode_t mode, dev_t *device);
int __xmknodat(int version, int at, const char *path, mode_t mode, dev_t *device);

TIDE_SCRATCH_EXPORT int unlinkat(int at, const char *path, int flags) {
    return (int)tide_scratch_answer((flags & AT_REMOVEDIR) != 0 ? tide_scratch_rmdir(at, path)
                                                                : tide_scratch_unlink(at, path));
}

TIDE_SCRATCH_EXPORT int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}

TIDE_SCRATCH_EXPORT int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

TIDE_SCRATCH_EXPORT int remove(const char *path) {
    int result = tide_scratch_unlink(AT_FDCWD, path);
    return (int)tide_scratch_answer(result == -EISDIR ? tide_scratch_rmdir(AT_FDCWD, path)
                                                      : result);
}

TIDE_SCRATCH_EXPORT int renameat2(int old_at, const char *old, int at, const char *path,
                                  unsigned flags) {
    return (int)tide_scratch_answer(tide_scratch_rename(old_at, old, at, path, flags));
}

TIDE_SCRATCH_EXPORT int renameat(int old_at, const char *old, int at, const char *path) {
    return renameat2(old_at, old, at, path, 0);
}

TIDE_SCRATCH_EXPORT int rename(const char *old, const char *path) {
    return renameat2(AT_FDCWD, old, AT_FDCWD, path, 0);
}

TIDE_SCRATCH_EXPORT int mkdirat(int at, const char *path, mode_t mode) {
    return (int)tide_scratch_answer(tide_scratch_mkdir(at, path, mode));
}

TIDE_SCRATCH_EXPORT int mkdir(const char *path, mode_t mode) {
    return mkdirat(AT_FDCWD, path, mode);
}

TIDE_SCRATCH_EXPORT int symlinkat(const char *target, int at, const char *path) {
    return (int)tide_scratch_answer(tide_scratch_symlink(target, at, path));
}

TIDE_SCRATCH_EXPORT int symlink(const char *target, const char *path) {
    return symlinkat(target, AT_FDCWD, path);
}

TIDE_SCRATCH_EXPORT int linkat(int old_at, const char *old, int at, const char *path, int flags) {
    return (int)tide_scratch_answer(tide_scratch_link(old_at, old, at, path, flags));
}

TIDE_SCRATCH_EXPORT int link(const char *old, const char *path) {
    return linkat(AT_FDCWD, old, AT_FDCWD, path, 0);
}

TIDE_SCRATCH_EXPORT int mknodat(int at, const char *path, mode_t mode, dev_t device) {
    return (int)tide_scratch_answer(tide_scratch_mknod(at, path, mode, device));
}

TIDE_SCRATCH_EXPORT int mknod(const char *path, mode_t mode, dev_t device) {
    return mknodat(AT_FDCWD, path, mode, device);
}

TIDE_SCRATCH_EXPORT int __xmknodat(int version, int at, const char *path, mode_t mode,
                                   dev_t *device) {
    (void)version;
    return mknodat(at, path, mode, *device);
}

TIDE_SCRATCH_EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device) {
    return __xmknodat(version, AT_FDCWD, path, mode, device);
}

TIDE_SCRATCH_EXPORT int mkfifoat(int at, const char *path, mode_t mode) {
    return mknodat(at, path, mode | S_IFIFO, 0);
}

TIDE_SCRATCH_EXPORT int mkfifo(const char *path, mode_t mode) {
    return mkfifoat(AT_FDCWD, path, mode);
}
