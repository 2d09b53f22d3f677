/* rename.c - renames a file or folder. A folder with real parts is copied whole, because only a
 * copy can be elsewhere.
 */
#define _GNU_SOURCE /* AT_FDCWD */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/change.h"
#include "programs/scratch/copy_up.h"
#include "programs/scratch/listing.h"
#include "programs/scratch/marks.h"
#include "programs/scratch/moved.h"

enum { NOREPLACE = 1, EXCHANGE = 2, WHITEOUT = 4 };

typedef struct two_ends {
    tide_scratch_place old;
    tide_scratch_place new;
    struct stat old_status;
    struct stat new_status;
    bool has_new; /* the new name exists and is replaced */
} two_ends;

/* Whether `path` is inside the folder. */
static bool is_inside(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* Checks the kernel's conditions. 1: old and new are the same file, and nothing needs to be
 * done. */
static int check(two_ends *ends, unsigned flags) {
    int result = tide_scratch_status(&ends->old, &ends->old_status);
    if (result != 0) {
        return result;
    }
    result = tide_scratch_status(&ends->new, &ends->new_status);
    if (result != 0 && result != -ENOENT) {
        return result;
    }
    ends->has_new = result == 0;
    bool is_folder = S_ISDIR(ends->old_status.st_mode);
    if (ends->has_new && (flags & NOREPLACE) != 0) {
        return -EEXIST;
    }
    if (strcmp(ends->old.path, ends->new.path) == 0 ||
        (ends->has_new && ends->old_status.st_ino == ends->new_status.st_ino &&
         ends->old_status.st_dev == ends->new_status.st_dev)) {
        return 1;
    }
    if (is_folder && is_inside(ends->new.path, ends->old.path)) {
        return -EINVAL;
    }
    if (!is_folder && (ends->old.ends_in_slash || ends->new.ends_in_slash)) {
        return -ENOTDIR;
    }
    if (ends->has_new && is_folder != S_ISDIR(ends->new_status.st_mode)) {
        return is_folder ? -ENOTDIR : -EISDIR;
    }
    if (ends->has_new && is_folder) {
        int is_empty = tide_scratch_is_empty(&ends->new);
        if (is_empty <= 0) {
            return is_empty < 0 ? is_empty : -ENOTEMPTY;
        }
    }
    result = tide_scratch_may_change(&ends->old);
    return result == 0 ? tide_scratch_may_change(&ends->new) : result;
}

/* Moves the whole old file or folder to FOLDER/tmp. */
static int take_old(two_ends *ends, char taken[TIDE_SCRATCH_PATH_BYTES]) {
    tide_scratch_place *old = &ends->old;
    tide_scratch_temporary_name(taken);
    int result = tide_scratch_ready(old);
    if (result != 0) {
        return result;
    }
    if (S_ISDIR(ends->old_status.st_mode) && old->shows_below) {
        result = tide_scratch_copy_tree(old, taken);
        if (result == 0 && old->has_copy) {
            char replaced[TIDE_SCRATCH_PATH_BYTES];
            tide_scratch_temporary_name(replaced);
            result = tide_sys_rename(old->copy, replaced, 0);
            tide_scratch_discard(replaced);
        }
        result = result == 0 ? tide_scratch_mark_gone(old->copy) : result;
        if (result != 0) {
            tide_scratch_discard(taken);
        }
        return result;
    }
    result = tide_scratch_copy_up(old, TIDE_SCRATCH_WHOLE);
    if (result != 0) {
        return result;
    }
    struct stat status;
    bool has_below = old->parent_below && tide_sys_stat(AT_FDCWD, tide_scratch_below(old), &status,
                                                        AT_SYMLINK_NOFOLLOW) == 0;
    tide_scratch_bump_generation();
    if (!has_below) {
        return tide_sys_rename(old->copy, taken, 0);
    }
    result = tide_sys_symlink(TIDE_SCRATCH_GONE, taken);
    result = result == 0 ? tide_sys_rename(old->copy, taken, EXCHANGE) : result;
    if (result == -EINVAL || result == -ENOSYS) { /* a file system that cannot exchange */
        (void)tide_sys_unlink(taken);
        result = tide_sys_rename(old->copy, taken, 0);
        result = result == 0 ? tide_scratch_mark_gone(old->copy) : result;
    }
    return result;
}

/* Gives it the new name. A folder replaces a mark, or an empty folder whose copy may hold marks, by
 * exchange. */
static int put_new(two_ends *ends, const char *taken) {
    tide_scratch_place *new = &ends->new;
    int result = tide_scratch_ready(new);
    if (result != 0) {
        return result;
    }
    tide_scratch_bump_generation();
    bool has_entry = new->has_copy || new->is_gone;
    if (!S_ISDIR(ends->old_status.st_mode) || !has_entry) {
        return tide_sys_rename(taken, new->copy, 0);
    }
    result = tide_sys_rename(taken, new->copy, EXCHANGE);
    if (result == 0) {
        tide_scratch_discard(taken);
    } else {
        char replaced[TIDE_SCRATCH_PATH_BYTES];
        tide_scratch_temporary_name(replaced);
        result = tide_sys_rename(new->copy, replaced, 0);
        tide_scratch_discard(replaced);
        result = result == 0 ? tide_sys_rename(taken, new->copy, 0) : result;
    }
    return result;
}

/* Whether the file that the program sees there is real, or a copy of a real one; and the real one's
 * state. A folder that replaced a real one covers it. */
static bool is_of_real(const tide_scratch_place *place, struct stat *ret_real) {
    bool covers = place->has_copy && place->is_folder && !place->shows_below;
    return place->parent_below && !covers &&
           tide_sys_stat(AT_FDCWD, tide_scratch_below(place), ret_real, AT_SYMLINK_NOFOLLOW) == 0;
}

static int rename_ends(two_ends *ends, unsigned flags) {
    char taken[TIDE_SCRATCH_PATH_BYTES];
    struct stat real;
    int result = check(ends, flags);
    if (result != 0) {
        return result == 1 ? 0 : result;
    }
    bool was_real = is_of_real(&ends->old, &real);
    result = take_old(ends, taken);
    if (result == 0) {
        result = put_new(ends, taken);
        tide_scratch_bump_generation();
    }
    if (result == 0) {
        tide_scratch_note_moved(was_real ? &real : NULL, ends->new.copy, ends->new.path);
    }
    return result;
}

/* ---- by exchange ---- */

/* Gives the path a copy with all its content. */
static int make_whole(tide_scratch_place *place, const struct stat *status) {
    char made[TIDE_SCRATCH_PATH_BYTES];
    if (!S_ISDIR(status->st_mode) || !place->shows_below) {
        return tide_scratch_copy_up(place, TIDE_SCRATCH_WHOLE);
    }
    int result = tide_scratch_ready(place);
    if (result != 0) {
        return result;
    }
    tide_scratch_temporary_name(made);
    result = tide_scratch_copy_tree(place, made);
    result =
        result == 0 ? tide_sys_rename(made, place->copy, place->has_copy ? EXCHANGE : 0) : result;
    tide_scratch_discard(made); /* the former copy, if any */
    place->has_copy = place->has_copy || result == 0;
    tide_scratch_bump_generation();
    return result;
}

static int exchange_ends(two_ends *ends) {
    struct stat real[2];
    int result = tide_scratch_status(&ends->old, &ends->old_status);
    result = result == 0 ? tide_scratch_status(&ends->new, &ends->new_status) : result;
    if (result != 0 || strcmp(ends->old.path, ends->new.path) == 0) {
        return result;
    }
    if (is_inside(ends->new.path, ends->old.path) || is_inside(ends->old.path, ends->new.path)) {
        return -EINVAL;
    }
    bool was_real[2] = {is_of_real(&ends->old, &real[0]), is_of_real(&ends->new, &real[1])};
    result = tide_scratch_may_change(&ends->old);
    result = result == 0 ? tide_scratch_may_change(&ends->new) : result;
    result = result == 0 ? make_whole(&ends->old, &ends->old_status) : result;
    result = result == 0 ? make_whole(&ends->new, &ends->new_status) : result;
    result = result == 0 ? tide_sys_rename(ends->old.copy, ends->new.copy, EXCHANGE) : result;
    tide_scratch_bump_generation();
    if (result == 0) {
        tide_scratch_note_moved(was_real[0] ? &real[0] : NULL, ends->new.copy, ends->new.path);
        tide_scratch_note_moved(was_real[1] ? &real[1] : NULL, ends->old.copy, ends->old.path);
    }
    return result;
}

static int change_ends(two_ends *ends, unsigned flags) {
    if (flags == EXCHANGE) {
        return exchange_ends(ends);
    }
    if ((flags & ~(unsigned)NOREPLACE) == 0) {
        return rename_ends(ends, flags);
    }
    if (flags == WHITEOUT) {
        tide_scratch_say("RENAME_WHITEOUT of ", ends->old.path,
                         " is refused: files that are kept away have no whiteouts; '--writes "
                         "allow' writes for real");
    }
    return -EINVAL;
}

static int rename_real(int old_at, const char *old_path, int at, const char *path, unsigned flags) {
    return (int)tide_scratch_call(flags == 0 ? SYS_renameat : SYS_renameat2, old_at,
                                  tide_scratch_word(old_path), at, tide_scratch_word(path),
                                  (long)flags);
}

int tide_scratch_rename(int old_at, const char *old_path, int at, const char *path,
                        unsigned flags) {
    const tide_scratch_state *state = tide_scratch_state_get();
    two_ends ends;
    if (tide_scratch_is_device(old_at, old_path) || tide_scratch_is_device(at, path)) {
        return -EPERM;
    }
    if (state->mode == TIDE_SCRATCH_OFF) {
        return rename_real(old_at, old_path, at, path, flags);
    }
    if (state->mode == TIDE_SCRATCH_BROKEN) {
        return -EROFS;
    }
    if (old_path == NULL || path == NULL) {
        return -EFAULT;
    }
    tide_scratch_lock();
    int result = tide_scratch_look(old_at, old_path, TIDE_SCRATCH_NOFOLLOW, &ends.old);
    result = result == 0 ? tide_scratch_look(at, path, TIDE_SCRATCH_NOFOLLOW, &ends.new) : result;
    result = result == 0 ? tide_scratch_may_write(&ends.old) : result;
    result = result == 0 ? tide_scratch_may_write(&ends.new) : result;
    if (result == 0) {
        if (ends.old.is_real && ends.new.is_real) {
            result = rename_real(
                tide_scratch_at(&ends.old, old_at), tide_scratch_text(&ends.old, old_path),
                tide_scratch_at(&ends.new, at), tide_scratch_text(&ends.new, path), flags);
        } else if (ends.old.is_real || ends.new.is_real) {
            result = -EXDEV; /* as between file systems: programs then copy */
        } else {
            result = change_ends(&ends, flags);
        }
    }
    tide_scratch_unlock();
    return result;
}
