/* entry_attributes.c - permissions, owners, times, lengths and extended attributes. A file gets a
 * copy before a change, even if the change comes through a descriptor that is only open for
 * reading.
 */
#define _GNU_SOURCE /* lutimes, futimesat */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/change.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/moved.h"

/* The real path that a change is made on. */
typedef struct target {
    tide_scratch_place place;
    int at;
    const char *path;
} target;

static tide_scratch_follow follow_of(int flags) {
    return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? TIDE_SCRATCH_NOFOLLOW : TIDE_SCRATCH_FOLLOW;
}

static int take(target *t, int at, const char *path, tide_scratch_follow follow,
                tide_scratch_right right) {
    int result = tide_scratch_own(at, path, follow, right, &t->place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        t->at = tide_scratch_at(&t->place, at);
        t->path = path == NULL ? NULL : tide_scratch_text(&t->place, path);
        return 0;
    }
    t->at = AT_FDCWD;
    t->path = t->place.copy;
    return result;
}

typedef enum kept {
    NOT_KEPT = 0,
    KEPT,     /* the change belongs to the path */
    KEPT_GONE /* the program has deleted the file: a change would be invisible */
} kept;

/* Whether a descriptor refers to a real file that the view protects from changes. If so, returns
 * its path in the view. */
static kept is_kept(int fd, char path[TIDE_SCRATCH_PATH_BYTES]) {
    const tide_scratch_state *state = tide_scratch_state_get();
    if (state->mode == TIDE_SCRATCH_OFF || tide_scratch_path_of(fd, path) != 0) {
        return NOT_KEPT;
    }
    struct stat here;
    struct stat there;
    /* The path without FOLDER/files: if that is another file, the descriptor is a copy's. */
    if (tide_scratch_is_real(path, strlen(path)) ||
        tide_sys_stat(fd, "", &here, AT_EMPTY_PATH) != 0 ||
        (!S_ISREG(here.st_mode) && !S_ISDIR(here.st_mode)) ||
        tide_sys_stat(AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) != 0 ||
        here.st_ino != there.st_ino || here.st_dev != there.st_dev) {
        return NOT_KEPT;
    }
    char moved[TIDE_SCRATCH_PATH_BYTES];
    if (tide_scratch_moved_to(path, moved) == 0) {
        memcpy(path, moved, strlen(moved) + 1);
    }
    tide_scratch_place place;
    struct stat status;
    int result = tide_scratch_look(AT_FDCWD, path, TIDE_SCRATCH_NOFOLLOW, &place);
    result = result == 0 ? tide_scratch_status(&place, &status) : result;
    return result == -ENOENT ? KEPT_GONE : KEPT;
}

TIDE_SCRATCH_EXPORT int fchmodat(int at, const char *path, mode_t mode, int flags) {
    target t;
    int result = take(&t, at, path, follow_of(flags), TIDE_SCRATCH_BY_OWNER);
    if (result == 0 && (flags & AT_SYMLINK_NOFOLLOW) != 0) {
        struct stat status;
        result = tide_sys_stat(t.at, t.path, &status, flags);
        result = result == 0 && S_ISLNK(status.st_mode) ? -EOPNOTSUPP : result;
    }
    return (int)tide_scratch_answer(
        result != 0
            ? result
            : tide_scratch_call(SYS_fchmodat, t.at, tide_scratch_word(t.path), (long)mode, 0, 0));
}

TIDE_SCRATCH_EXPORT int chmod(const char *path, mode_t mode) {
    return fchmodat(AT_FDCWD, path, mode, 0);
}

TIDE_SCRATCH_EXPORT int lchmod(const char *path, mode_t mode) {
    return fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW);
}

TIDE_SCRATCH_EXPORT int fchmod(int fd, mode_t mode) {
    char path[TIDE_SCRATCH_PATH_BYTES];
    kept is = is_kept(fd, path);
    if (is != NOT_KEPT) {
        return is == KEPT ? chmod(path, mode) : 0;
    }
    return (int)tide_scratch_answer(tide_scratch_call(SYS_fchmod, fd, (long)mode, 0, 0, 0));
}

TIDE_SCRATCH_EXPORT int fchownat(int at, const char *path, uid_t user, gid_t group, int flags) {
    char kept_path[TIDE_SCRATCH_PATH_BYTES];
    if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
        kept is = is_kept(at, kept_path);
        if (is != KEPT) {
            return is == KEPT_GONE ? 0
                                   : (int)tide_scratch_answer(tide_scratch_call(
                                         SYS_fchown, at, (long)user, (long)group, 0, 0));
        }
        path = kept_path;
    }
    target t;
    int result = take(&t, at, path, follow_of(flags), TIDE_SCRATCH_BY_OWNER);
    return (int)tide_scratch_answer(
        result != 0 ? result
                    : tide_scratch_call(SYS_fchownat, t.at, tide_scratch_word(t.path), (long)user,
                                        (long)group, flags & ~AT_EMPTY_PATH));
}

TIDE_SCRATCH_EXPORT int chown(const char *path, uid_t user, gid_t group) {
    return fchownat(AT_FDCWD, path, user, group, 0);
}

TIDE_SCRATCH_EXPORT int lchown(const char *path, uid_t user, gid_t group) {
    return fchownat(AT_FDCWD, path, user, group, AT_SYMLINK_NOFOLLOW);
}

TIDE_SCRATCH_EXPORT int fchown(int fd, uid_t user, gid_t group) {
    return fchownat(fd, "", user, group, AT_EMPTY_PATH);
}

static int set_times(int at, const char *path, const struct timespec *times, int flags) {
    char kept_path[TIDE_SCRATCH_PATH_BYTES];
    if (path == NULL || (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0)) {
        kept is = is_kept(at, kept_path);
        if (is != KEPT) {
            return is == KEPT_GONE ? 0
                                   : (int)tide_scratch_answer(tide_scratch_call(
                                         SYS_utimensat, at, tide_scratch_word(path),
                                         tide_scratch_word(times), flags, 0));
        }
        path = kept_path;
    }
    target t;
    bool now = times == NULL || (times[0].tv_nsec == UTIME_NOW && times[1].tv_nsec == UTIME_NOW);
    int result =
        take(&t, at, path, follow_of(flags), now ? TIDE_SCRATCH_BY_WRITER : TIDE_SCRATCH_BY_OWNER);
    return (int)tide_scratch_answer(
        result != 0 ? result
                    : tide_scratch_call(SYS_utimensat, t.at, tide_scratch_word(t.path),
                                        tide_scratch_word(times), flags & ~AT_EMPTY_PATH, 0));
}

TIDE_SCRATCH_EXPORT int utimensat(int at, const char *path, const struct timespec times[2],
                                  int flags) {
    return set_times(at, path, times, flags);
}

TIDE_SCRATCH_EXPORT int futimens(int fd, const struct timespec times[2]) {
    return set_times(fd, NULL, times, 0);
}

static int set_old_times(int at, const char *path, const struct timeval *old, int flags) {
    enum { NS_PER_US = 1000 };
    struct timespec times[2];
    for (int i = 0; old != NULL && i < 2; i++) {
        times[i].tv_sec = old[i].tv_sec;
        times[i].tv_nsec = old[i].tv_usec * NS_PER_US;
    }
    return set_times(at, path, old == NULL ? NULL : times, flags);
}

TIDE_SCRATCH_EXPORT int utimes(const char *path, const struct timeval times[2]) {
    return set_old_times(AT_FDCWD, path, times, 0);
}

TIDE_SCRATCH_EXPORT int lutimes(const char *path, const struct timeval times[2]) {
    return set_old_times(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

TIDE_SCRATCH_EXPORT int futimes(int fd, const struct timeval times[2]) {
    return set_old_times(fd, NULL, times, 0);
}

TIDE_SCRATCH_EXPORT int futimesat(int at, const char *path, const struct timeval times[2]) {
    return set_old_times(at, path, times, 0);
}

TIDE_SCRATCH_EXPORT int utime(const char *path, const struct utimbuf *times) {
    struct timespec both[2] = {{0, 0}, {0, 0}};
    if (times != NULL) {
        both[0].tv_sec = times->actime;
        both[1].tv_sec = times->modtime;
    }
    return set_times(AT_FDCWD, path, times == NULL ? NULL : both, 0);
}

TIDE_SCRATCH_EXPORT int truncate(const char *path, off_t n_bytes) {
    target t;
    int result = take(&t, AT_FDCWD, path, TIDE_SCRATCH_FOLLOW, TIDE_SCRATCH_BY_WRITER);
    return (int)tide_scratch_answer(
        result != 0 ? result
                    : tide_scratch_call(SYS_truncate, tide_scratch_word(t.path), n_bytes, 0, 0, 0));
}
TIDE_SCRATCH_ALSO(truncate, truncate64);

static int set_attribute(const char *path, tide_scratch_follow follow, const char *name,
                         const void *value, size_t n_bytes, int flags) {
    target t;
    int result = take(&t, AT_FDCWD, path, follow, TIDE_SCRATCH_BY_WRITER);
    long number = follow == TIDE_SCRATCH_FOLLOW ? SYS_setxattr : SYS_lsetxattr;
    return (int)tide_scratch_answer(
        result != 0 ? result
                    : tide_scratch_call(number, tide_scratch_word(t.path), tide_scratch_word(name),
                                        tide_scratch_word(value), (long)n_bytes, flags));
}

TIDE_SCRATCH_EXPORT int setxattr(const char *path, const char *name, const void *value,
                                 size_t n_bytes, int flags) {
    return set_attribute(path, TIDE_SCRATCH_FOLLOW, name, value, n_bytes, flags);
}

TIDE_SCRATCH_EXPORT int lsetxattr(const char *path, const char *name, const void *value,
                                  size_t n_bytes, int flags) {
    return set_attribute(path, TIDE_SCRATCH_NOFOLLOW, name, value, n_bytes, flags);
}

TIDE_SCRATCH_EXPORT int fsetxattr(int fd, const char *name, const void *value, size_t n_bytes,
                                  int flags) {
    char path[TIDE_SCRATCH_PATH_BYTES];
    kept is = is_kept(fd, path);
    if (is != NOT_KEPT) {
        return is == KEPT ? setxattr(path, name, value, n_bytes, flags) : 0;
    }
    return (int)tide_scratch_answer(tide_scratch_call(SYS_fsetxattr, fd, tide_scratch_word(name),
                                                      tide_scratch_word(value), (long)n_bytes,
                                                      flags));
}

static int remove_attribute(const char *path, tide_scratch_follow follow, const char *name) {
    target t;
    int result = take(&t, AT_FDCWD, path, follow, TIDE_SCRATCH_BY_WRITER);
    long number = follow == TIDE_SCRATCH_FOLLOW ? SYS_removexattr : SYS_lremovexattr;
    return (int)tide_scratch_answer(result != 0
                                        ? result
                                        : tide_scratch_call(number, tide_scratch_word(t.path),
                                                            tide_scratch_word(name), 0, 0, 0));
}

TIDE_SCRATCH_EXPORT int removexattr(const char *path, const char *name) {
    return remove_attribute(path, TIDE_SCRATCH_FOLLOW, name);
}

TIDE_SCRATCH_EXPORT int lremovexattr(const char *path, const char *name) {
    return remove_attribute(path, TIDE_SCRATCH_NOFOLLOW, name);
}

TIDE_SCRATCH_EXPORT int fremovexattr(int fd, const char *name) {
    char path[TIDE_SCRATCH_PATH_BYTES];
    kept is = is_kept(fd, path);
    if (is != NOT_KEPT) {
        return is == KEPT ? removexattr(path, name) : 0;
    }
    return (int)tide_scratch_answer(
        tide_scratch_call(SYS_fremovexattr, fd, tide_scratch_word(name), 0, 0, 0));
}

/* File attributes (chattr) can be set through a descriptor for reading: for a real file they are
 * refused, as by a file system without them. */
TIDE_SCRATCH_EXPORT int ioctl(int fd, unsigned long request, ...) {
    enum { SET_FLAGS = 0x40086602, SET_ATTRIBUTES = 0x401c5820, SET_VERSION = 0x40087602 };
    enum { ENABLE_VERITY = 0x40806685 };
    char path[TIDE_SCRATCH_PATH_BYTES];
    va_list arguments;
    va_start(arguments, request);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    if ((request == SET_FLAGS || request == SET_ATTRIBUTES || request == SET_VERSION ||
         request == ENABLE_VERITY) &&
        is_kept(fd, path) != NOT_KEPT) {
        return (int)tide_scratch_answer(-EOPNOTSUPP);
    }
    return (int)tide_scratch_answer(
        tide_scratch_call(SYS_ioctl, fd, (long)request, argument, 0, 0));
}
