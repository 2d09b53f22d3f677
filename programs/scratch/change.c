#define _GNU_SOURCE /* AT_SYMLINK_FOLLOW, AT_EACCESS */
#include "programs/scratch/change.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/copy_up.h"
#include "programs/scratch/devices.h"
#include "programs/scratch/listing.h"
#include "programs/scratch/marks.h"

/* Takes the lock and looks up the path. The lock is still held if the result is 0. A broken view
 * refuses every change. */
static int begin(int at, const char *path, tide_scratch_follow follow, tide_scratch_place *place) {
    const tide_scratch_state *state = tide_scratch_state_get();
    place->is_changed = false;
    if (tide_scratch_is_device(at, path)) {
        return -EPERM;
    }
    if (state->mode == TIDE_SCRATCH_OFF) {
        return TIDE_SCRATCH_UNTOUCHED;
    }
    if (path == NULL) {
        return -EFAULT;
    }
    if (state->mode == TIDE_SCRATCH_BROKEN) {
        return -EROFS;
    }
    tide_scratch_lock();
    int result = tide_scratch_look(at, path, follow, place);
    result = result == 0 ? tide_scratch_may_write(place) : result;
    result = result == 0 && place->is_real ? TIDE_SCRATCH_UNTOUCHED : result;
    if (result != 0) {
        tide_scratch_unlock();
    }
    return result;
}

static int end(int result) {
    tide_scratch_unlock();
    return result;
}

int tide_scratch_begin_new(int at, const char *path, tide_scratch_place *ret_place) {
    int result = begin(at, path, TIDE_SCRATCH_NOFOLLOW, ret_place);
    if (result != 0) {
        return result;
    }
    struct stat status;
    result = tide_scratch_status(ret_place, &status);
    if (result == 0) {
        return end(-EEXIST);
    }
    result = result == -ENOENT ? tide_scratch_may_change(ret_place) : result;
    result = result == 0 ? tide_scratch_ready(ret_place) : result;
    return result == 0 ? 0 : end(result);
}

int tide_scratch_put(const char *made, tide_scratch_place *place) {
    enum { NOREPLACE = 1, EXCHANGE = 2 };
    if (!place->is_gone) {
        return tide_sys_rename(made, place->copy, 0);
    }
    int result = tide_sys_rename(made, place->copy, EXCHANGE);
    if (result == 0) {
        tide_scratch_bump_generation();
        return tide_sys_unlink(made); /* the mark */
    }
    result = tide_sys_unlink(place->copy);
    tide_scratch_bump_generation();
    return result == 0 ? tide_sys_rename(made, place->copy, 0) : result;
}

/* Whether something would show through without the copy. */
static bool has_below(const tide_scratch_place *place) {
    struct stat status;
    return place->parent_below &&
           tide_sys_stat(AT_FDCWD, tide_scratch_below(place), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Moves the copy to FOLDER/tmp, and leaves a mark if something would show through. */
static int take_away(tide_scratch_place *place, char taken[TIDE_SCRATCH_PATH_BYTES]) {
    enum { EXCHANGE = 2 };
    tide_scratch_temporary_name(taken);
    tide_scratch_bump_generation();
    if (!has_below(place)) {
        return tide_sys_rename(place->copy, taken, 0);
    }
    int result = tide_sys_symlink(TIDE_SCRATCH_GONE, taken);
    if (result == 0) {
        result = tide_sys_rename(place->copy, taken, EXCHANGE);
        if (result == -EINVAL || result == -ENOSYS) { /* a file system that cannot exchange */
            (void)tide_sys_unlink(taken);
            result = tide_sys_rename(place->copy, taken, 0);
            result = result == 0 ? tide_scratch_mark_gone(place->copy) : result;
        }
    }
    return result;
}

/* Removes the file that the program sees at the place. The caller has checked the permission. */
static int take_out(tide_scratch_place *place) {
    int result = tide_scratch_ready(place);
    if (result == 0 && place->has_copy) {
        char taken[TIDE_SCRATCH_PATH_BYTES];
        result = take_away(place, taken);
        if (result == 0) {
            tide_scratch_discard(taken);
        }
        return result;
    }
    return result == 0 ? tide_scratch_mark_gone(place->copy) : result;
}

/* The call itself, on a path that stays real. */
static int real_call(long number, const tide_scratch_place *place, int at, const char *path,
                     const long more[3]) {
    return (int)tide_scratch_call(number, tide_scratch_at(place, at),
                                  tide_scratch_word(tide_scratch_text(place, path)), more[0],
                                  more[1], more[2]);
}

int tide_scratch_unlink(int at, const char *path) {
    tide_scratch_place place;
    struct stat status;
    int result = begin(at, path, TIDE_SCRATCH_NOFOLLOW, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        return real_call(SYS_unlinkat, &place, at, path, (long[3]){0, 0, 0});
    }
    if (result != 0) {
        return result;
    }
    result = tide_scratch_status(&place, &status);
    if (result == 0 && S_ISDIR(status.st_mode)) {
        result = -EISDIR;
    } else if (result == 0 && place.ends_in_slash) {
        result = -ENOTDIR;
    }
    result = result == 0 ? tide_scratch_may_change(&place) : result;
    return end(result == 0 ? take_out(&place) : result);
}

int tide_scratch_rmdir(int at, const char *path) {
    tide_scratch_place place;
    struct stat status;
    int result = begin(at, path, TIDE_SCRATCH_NOFOLLOW, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        return real_call(SYS_unlinkat, &place, at, path, (long[3]){AT_REMOVEDIR, 0, 0});
    }
    if (result != 0) {
        return result;
    }
    result = tide_scratch_status(&place, &status);
    if (result == 0 && !S_ISDIR(status.st_mode)) {
        result = -ENOTDIR;
    }
    result = result == 0 ? tide_scratch_may_change(&place) : result;
    if (result == 0) {
        int is_empty = tide_scratch_is_empty(&place);
        result = is_empty < 0 ? is_empty : is_empty == 0 ? -ENOTEMPTY : 0;
    }
    return end(result == 0 ? take_out(&place) : result);
}

int tide_scratch_mkdir(int at, const char *path, unsigned mode) {
    tide_scratch_place place;
    char made[TIDE_SCRATCH_PATH_BYTES];
    int result = tide_scratch_begin_new(at, path, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        return real_call(SYS_mkdirat, &place, at, path, (long[3]){(long)mode, 0, 0});
    }
    if (result != 0) {
        return result;
    }
    tide_scratch_temporary_name(made);
    result = tide_sys_mkdir(made, mode);
    if (result == 0) {
        struct stat status = {.st_mode = mode}; /* the permissions after the process' umask */
        result = tide_sys_stat(AT_FDCWD, made, &status, 0);
        (void)tide_sys_chmod(made, 0700);
        result = result == 0 ? tide_scratch_mark_covers(made) : result;
        (void)tide_sys_chmod(made, status.st_mode & 07777);
        result = result == 0 ? tide_scratch_put(made, &place) : result;
        if (result != 0) {
            tide_scratch_discard(made);
        }
    }
    tide_scratch_bump_generation();
    return end(result);
}

int tide_scratch_symlink(const char *target, int at, const char *path) {
    tide_scratch_place place;
    char made[TIDE_SCRATCH_PATH_BYTES];
    int result = tide_scratch_begin_new(at, path, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        return (int)tide_scratch_call(SYS_symlinkat, tide_scratch_word(target),
                                      tide_scratch_at(&place, at),
                                      tide_scratch_word(tide_scratch_text(&place, path)), 0, 0);
    }
    if (result != 0) {
        return result;
    }
    tide_scratch_temporary_name(made);
    result = tide_sys_symlink(target, made);
    if (result == 0) {
        result = tide_scratch_put(made, &place);
        if (result != 0) {
            (void)tide_sys_unlink(made);
        }
    }
    tide_scratch_bump_generation();
    return end(result);
}

int tide_scratch_mknod(int at, const char *path, unsigned mode, unsigned long device) {
    tide_scratch_place place;
    char made[TIDE_SCRATCH_PATH_BYTES];
    int result = tide_scratch_begin_new(at, path, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        return real_call(SYS_mknodat, &place, at, path, (long[3]){(long)mode, (long)device, 0});
    }
    if (result != 0) {
        return result;
    }
    tide_scratch_temporary_name(made);
    result =
        (int)tide_scratch_call(SYS_mknod, tide_scratch_word(made), (long)mode, (long)device, 0, 0);
    if (result == 0) {
        result = tide_scratch_put(made, &place);
        if (result != 0) {
            (void)tide_sys_unlink(made);
        }
    }
    return end(result);
}

/* Makes a link in a folder that stays real. The program's old path may be a copy, and a real link
 * would keep that copy alive; so the answer is the same as between file systems. */
static int link_real(int old_at, const char *old_path, int at, const char *path, int flags) {
    tide_scratch_place old = {.is_real = true};
    int result = 0;
    if (tide_scratch_state_get()->mode != TIDE_SCRATCH_OFF) {
        result = tide_scratch_look(
            old_at, old_path,
            (flags & AT_SYMLINK_FOLLOW) != 0 ? TIDE_SCRATCH_FOLLOW : TIDE_SCRATCH_NOFOLLOW, &old);
    }
    if (result != 0 || !old.is_real) {
        return result != 0 ? result : -EXDEV;
    }
    return (int)tide_scratch_call(SYS_linkat, tide_scratch_at(&old, old_at),
                                  tide_scratch_word(tide_scratch_text(&old, old_path)), at,
                                  tide_scratch_word(path), flags);
}

int tide_scratch_link(int old_at, const char *old_path, int at, const char *path, int flags) {
    tide_scratch_place old;
    tide_scratch_place place;
    char made[TIDE_SCRATCH_PATH_BYTES];
    tide_scratch_follow follow =
        (flags & AT_SYMLINK_FOLLOW) != 0 ? TIDE_SCRATCH_FOLLOW : TIDE_SCRATCH_NOFOLLOW;
    int result = tide_scratch_begin_new(at, path, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        return link_real(old_at, old_path, tide_scratch_at(&place, at),
                         tide_scratch_text(&place, path), flags);
    }
    if (result != 0) {
        return result;
    }
    tide_scratch_temporary_name(made);
    result = tide_scratch_look(old_at, old_path, follow, &old);
    if (result == 0 && old.is_real) {
        /* An unnamed file, made with O_TMPFILE, gets its name through its descriptor in /proc. */
        result = (int)tide_scratch_call(SYS_linkat, old_at, tide_scratch_word(old_path), AT_FDCWD,
                                        tide_scratch_word(made), flags);
    } else if (result == 0) {
        struct stat status;
        result = tide_scratch_status(&old, &status);
        result = result == 0 && S_ISDIR(status.st_mode) ? -EPERM : result;
        result = result == 0 ? tide_scratch_copy_up(&old, TIDE_SCRATCH_WHOLE) : result;
        result = result == 0 ? tide_sys_link(old.copy, made) : result;
    }
    if (result == 0) {
        result = tide_scratch_put(made, &place);
        if (result != 0) {
            (void)tide_sys_unlink(made);
        }
    }
    return end(result);
}

int tide_scratch_own(int at, const char *path, tide_scratch_follow follow, tide_scratch_right right,
                     tide_scratch_place *ret_place) {
    struct stat status;
    int result = begin(at, path, follow, ret_place);
    if (result != 0) {
        return result;
    }
    result = tide_scratch_status(ret_place, &status);
    if (result == 0 && right == TIDE_SCRATCH_BY_WRITER) {
        const char *seen = ret_place->has_copy ? ret_place->copy : tide_scratch_below(ret_place);
        result = tide_sys_access(AT_FDCWD, seen, W_OK, AT_EACCESS);
    } else if (result == 0 && geteuid() != 0 && status.st_uid != geteuid()) {
        result = -EPERM;
    }
    result = result == 0 ? tide_scratch_copy_up(ret_place, TIDE_SCRATCH_WHOLE) : result;
    return end(result);
}
