/* entry_status.c - queries about a path: stat, access, readlink and related functions. */
#define _GNU_SOURCE /* statx, AT_EMPTY_PATH */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/place.h"

static tide_scratch_follow follow_of(int flags) {
    return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? TIDE_SCRATCH_NOFOLLOW : TIDE_SCRATCH_FOLLOW;
}

/* Whether no lookup is needed: the path means a descriptor, or nothing is written and it is no
 * file of a card. */
static bool is_plain(const char *path, int flags) {
    return path == NULL || (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) ||
           (!tide_scratch_has_written() && !tide_scratch_may_be_device(path));
}

/* A folder that has a copy and whose real content is also visible. */
static bool is_merged(const tide_scratch_place *place) {
    return !place->is_real && place->is_folder && place->shows_below;
}

static int status_slowly(int at, const char *path, struct stat *status, int flags) {
    tide_scratch_place place;
    place.is_folder = false;
    int result = tide_scratch_see(&at, &path, follow_of(flags), &place);
    result = result == 0 ? tide_sys_stat(at, path, status, flags) : result;
    if (result == 0 && is_merged(&place)) {
        tide_scratch_merge_status(&place, status);
    }
    return result;
}

static int status_of(int at, const char *path, struct stat *status, int flags) {
    return (int)tide_scratch_answer(is_plain(path, flags) ? tide_sys_stat(at, path, status, flags)
                                                          : status_slowly(at, path, status, flags));
}

int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __fxstatat(int version, int at, const char *path, struct stat *status, int flags);

TIDE_SCRATCH_EXPORT int fstatat(int at, const char *path, struct stat *status, int flags) {
    return status_of(at, path, status, flags);
}
/* On x86-64 the structs with and without 64 in their names are the same. */
int fstatat64(int at, const char *path, struct stat64 *status, int flags)
    __attribute__((alias("fstatat"), visibility("default")));

TIDE_SCRATCH_EXPORT int stat(const char *path, struct stat *status) {
    return status_of(AT_FDCWD, path, status, 0);
}
int stat64(const char *path, struct stat64 *status)
    __attribute__((alias("stat"), visibility("default")));

TIDE_SCRATCH_EXPORT int lstat(const char *path, struct stat *status) {
    return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int lstat64(const char *path, struct stat64 *status)
    __attribute__((alias("lstat"), visibility("default")));

TIDE_SCRATCH_EXPORT int __xstat(int version, const char *path, struct stat *status) {
    (void)version;
    return status_of(AT_FDCWD, path, status, 0);
}
TIDE_SCRATCH_ALSO(__xstat, __xstat64);

TIDE_SCRATCH_EXPORT int __lxstat(int version, const char *path, struct stat *status) {
    (void)version;
    return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
TIDE_SCRATCH_ALSO(__lxstat, __lxstat64);

TIDE_SCRATCH_EXPORT int __fxstatat(int version, int at, const char *path, struct stat *status,
                                   int flags) {
    (void)version;
    return status_of(at, path, status, flags);
}
TIDE_SCRATCH_ALSO(__fxstatat, __fxstatat64);

static long statx_real(int at, const char *path, int flags, unsigned mask, struct statx *status) {
    return tide_scratch_call(SYS_statx, at, tide_scratch_word(path), flags, (long)mask,
                             tide_scratch_word(status));
}

static long statx_slowly(int at, const char *path, int flags, unsigned mask, struct statx *status) {
    tide_scratch_place place;
    place.is_folder = false;
    long result = tide_scratch_see(&at, &path, follow_of(flags), &place);
    result = result == 0 ? statx_real(at, path, flags, mask, status) : result;
    struct stat merged;
    if (result == 0 && is_merged(&place) && tide_scratch_status(&place, &merged) == 0) {
        status->stx_mode = (unsigned short)merged.st_mode;
        status->stx_mtime.tv_sec = merged.st_mtim.tv_sec;
        status->stx_mtime.tv_nsec = (unsigned)merged.st_mtim.tv_nsec;
        status->stx_ctime.tv_sec = merged.st_ctim.tv_sec;
        status->stx_ctime.tv_nsec = (unsigned)merged.st_ctim.tv_nsec;
    }
    return result;
}

TIDE_SCRATCH_EXPORT int statx(int at, const char *path, int flags, unsigned mask,
                              struct statx *status) {
    return (int)tide_scratch_answer(is_plain(path, flags)
                                        ? statx_real(at, path, flags, mask, status)
                                        : statx_slowly(at, path, flags, mask, status));
}

static int access_slowly(int at, const char *path, int mode, int flags) {
    tide_scratch_place place;
    int result = tide_scratch_see(&at, &path, follow_of(flags), &place);
    return result == 0 ? tide_sys_access(at, path, mode, flags) : result;
}

TIDE_SCRATCH_EXPORT int faccessat(int at, const char *path, int mode, int flags) {
    return (int)tide_scratch_answer(is_plain(path, flags) ? tide_sys_access(at, path, mode, flags)
                                                          : access_slowly(at, path, mode, flags));
}

TIDE_SCRATCH_EXPORT int access(const char *path, int mode) {
    return faccessat(AT_FDCWD, path, mode, 0);
}

TIDE_SCRATCH_EXPORT int euidaccess(const char *path, int mode) {
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}
TIDE_SCRATCH_ALSO(euidaccess, eaccess);

ssize_t __readlink_chk(const char *path, char *text, size_t n_bytes, size_t room);
ssize_t __readlinkat_chk(int at, const char *path, char *text, size_t n_bytes, size_t room);

/* The text of a link. Links of /proc refer to copies by their real paths, which are converted to
 * paths of the view. */
static long link_text(int at, const char *path, char *text, size_t n_bytes) {
    char whole[TIDE_SCRATCH_PATH_BYTES];
    tide_scratch_place place;
    long n = tide_scratch_see(&at, &path, TIDE_SCRATCH_NOFOLLOW, &place);
    n = n == 0 ? tide_sys_readlink(at, path, whole, sizeof(whole) - 1) : n;
    if (n <= 0) {
        return n;
    }
    whole[n] = '\0';
    if (tide_scratch_strip(whole)) {
        n = (long)strlen(whole);
    }
    n = (size_t)n < n_bytes ? n : (long)n_bytes;
    memcpy(text, whole, (size_t)n);
    return n;
}

TIDE_SCRATCH_EXPORT ssize_t readlinkat(int at, const char *path, char *text, size_t n_bytes) {
    bool plain = is_plain(path, AT_EMPTY_PATH) || (ssize_t)n_bytes <= 0;
    return tide_scratch_answer(plain ? tide_sys_readlink(at, path, text, n_bytes)
                                     : link_text(at, path, text, n_bytes));
}

TIDE_SCRATCH_EXPORT ssize_t readlink(const char *path, char *text, size_t n_bytes) {
    return readlinkat(AT_FDCWD, path, text, n_bytes);
}

TIDE_SCRATCH_EXPORT ssize_t __readlinkat_chk(int at, const char *path, char *text, size_t n_bytes,
                                             size_t room) {
    return readlinkat(at, path, text, n_bytes < room ? n_bytes : room);
}

TIDE_SCRATCH_EXPORT ssize_t __readlink_chk(const char *path, char *text, size_t n_bytes,
                                           size_t room) {
    return readlinkat(AT_FDCWD, path, text, n_bytes < room ? n_bytes : room);
}

TIDE_SCRATCH_EXPORT int statfs(const char *path, struct statfs *status) {
    tide_scratch_place place;
    int at = AT_FDCWD;
    int result = tide_scratch_see(&at, &path, TIDE_SCRATCH_FOLLOW, &place);
    return (int)tide_scratch_answer(result != 0
                                        ? result
                                        : tide_scratch_call(SYS_statfs, tide_scratch_word(path),
                                                            tide_scratch_word(status), 0, 0, 0));
}
int statfs64(const char *path, struct statfs64 *status)
    __attribute__((alias("statfs"), visibility("default")));

TIDE_SCRATCH_EXPORT int statvfs(const char *path, struct statvfs *status) {
    static int (*next)(const char *, struct statvfs *);
    TIDE_SCRATCH_NEXT(next, "statvfs");
    tide_scratch_place place;
    int at = AT_FDCWD;
    int result = tide_scratch_see(&at, &path, TIDE_SCRATCH_FOLLOW, &place);
    return result == 0 ? next(path, status) : (int)tide_scratch_answer(result);
}
int statvfs64(const char *path, struct statvfs64 *status)
    __attribute__((alias("statvfs"), visibility("default")));
