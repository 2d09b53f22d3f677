#define _GNU_SOURCE /* O_TMPFILE, O_PATH */
#include "programs/scratch/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/change.h"
#include "programs/scratch/copy_up.h"
#include "programs/scratch/devices.h"
#include "programs/scratch/place.h"

enum { MAKING = O_CREAT | O_EXCL };

/* Opens a place that stays real, or whose original the program sees. */
static int open_real(const tide_scratch_place *place, int at, const char *path, int flags,
                     unsigned mode) {
    return tide_sys_open(tide_scratch_at(place, at), tide_scratch_text(place, path), flags, mode);
}

static int open_to_read(int at, const char *path, int flags, unsigned mode) {
    tide_scratch_place place;
    tide_scratch_follow follow =
        (flags & O_NOFOLLOW) != 0 ? TIDE_SCRATCH_NOFOLLOW : TIDE_SCRATCH_FOLLOW;
    int result = tide_scratch_see(&at, &path, follow, &place);
    return result == 0 ? tide_sys_open(at, path, flags, mode) : result;
}

/* Nothing exists there: creates a new file if asked to. */
static int open_new(tide_scratch_place *place, int flags, unsigned mode) {
    if ((flags & O_CREAT) == 0) {
        return -ENOENT;
    }
    if (place->ends_in_slash) {
        return -EISDIR;
    }
    int result = tide_scratch_may_change(place);
    result = result == 0 ? tide_scratch_ready(place) : result;
    if (result != 0) {
        return result;
    }
    if (!place->is_gone) {
        return tide_sys_open(AT_FDCWD, place->copy, flags | O_EXCL, mode);
    }
    char made[TIDE_SCRATCH_PATH_BYTES];
    tide_scratch_temporary_name(made);
    int fd = tide_sys_open(AT_FDCWD, made, flags | O_EXCL, mode);
    result = fd < 0 ? fd : tide_scratch_put(made, place);
    if (result != 0 && fd >= 0) {
        (void)tide_sys_unlink(made);
        (void)tide_sys_close(fd);
    }
    return result == 0 ? fd : result;
}

/* Opens a real file that the program sees. */
static int open_below(tide_scratch_place *place, const struct stat *status, int flags) {
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
    const char *below = tide_scratch_below(place);
    if (!S_ISREG(status->st_mode) || !writes) {
        return tide_sys_open(AT_FDCWD, below, flags & ~MAKING, 0);
    }
    int may = (flags & O_ACCMODE) == O_RDWR ? R_OK | W_OK : W_OK;
    int result = tide_sys_access(AT_FDCWD, below, may, AT_EACCESS);
    tide_scratch_content content = (flags & O_TRUNC) != 0 ? TIDE_SCRATCH_EMPTY : TIDE_SCRATCH_WHOLE;
    result = result == 0 ? tide_scratch_copy_up(place, content) : result;
    return result == 0 ? tide_sys_open(AT_FDCWD, place->copy, flags & ~MAKING, 0) : result;
}

/* Called with the lock. 1: opening may block, so open ret_path without the lock. */
static int open_locked(tide_scratch_place *place, int flags, unsigned mode) {
    struct stat status;
    int result = tide_scratch_status(place, &status);
    if (result == -ENOENT) {
        return open_new(place, flags, mode);
    }
    if (result != 0) {
        return result;
    }
    if ((flags & MAKING) == MAKING) {
        return -EEXIST;
    }
    if (S_ISDIR(status.st_mode)) {
        return (flags & O_DIRECTORY) != 0 && (flags & O_CREAT) != 0 ? -EINVAL : -EISDIR;
    }
    if (place->ends_in_slash || (flags & O_DIRECTORY) != 0) {
        return -ENOTDIR;
    }
    if (S_ISLNK(status.st_mode)) {
        return -ELOOP; /* links are not followed here */
    }
    return place->has_copy ? tide_sys_open(AT_FDCWD, place->copy, flags & ~MAKING, 0)
                           : open_below(place, &status, flags);
}

/* Whether opening may block. Only regular files are opened under the lock: a pipe waits for its
 * other end. */
static bool may_wait(const tide_scratch_place *place) {
    struct stat status;
    return tide_scratch_status(place, &status) == 0 && !S_ISREG(status.st_mode) &&
           !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode);
}

/* Opens an unnamed file in a folder of the view. */
static int open_nameless(tide_scratch_place *place, int flags, unsigned mode) {
    struct stat status;
    int result = tide_scratch_status(place, &status);
    if (result == 0 && !S_ISDIR(status.st_mode)) {
        result = -ENOTDIR;
    }
    result = result == 0 ? tide_scratch_copy_up(place, TIDE_SCRATCH_WHOLE) : result;
    return result == 0 ? tide_sys_open(AT_FDCWD, place->copy, flags, mode) : result;
}

static int open_to_write(int at, const char *path, int flags, unsigned mode) {
    tide_scratch_place place;
    bool follow = (flags & O_NOFOLLOW) == 0 && (flags & MAKING) != MAKING;
    tide_scratch_lock();
    int result =
        tide_scratch_look(at, path, follow ? TIDE_SCRATCH_FOLLOW : TIDE_SCRATCH_NOFOLLOW, &place);
    if (result != 0 || place.is_real) {
        tide_scratch_unlock();
        result = result == 0 ? tide_scratch_may_write(&place) : result;
        return result != 0 ? result : open_real(&place, at, path, flags, mode);
    }
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        result = open_nameless(&place, flags, mode);
    } else if ((flags & MAKING) != MAKING && may_wait(&place)) {
        tide_scratch_unlock();
        return tide_sys_open(AT_FDCWD, place.has_copy ? place.copy : tide_scratch_below(&place),
                             flags & ~MAKING, 0);
    } else {
        result = open_locked(&place, flags, mode);
    }
    tide_scratch_unlock();
    return result;
}

/* Opens a file of the card. None is made, because each of them means a card or its driver. */
static int open_device(int at, const char *path, int flags, unsigned mode) {
    char file[TIDE_SCRATCH_PATH_BYTES];
    if (!tide_scratch_device(at, path, file)) {
        return -ENAMETOOLONG;
    }
    bool makes = (flags & O_TMPFILE) == O_TMPFILE ||
                 ((flags & O_CREAT) != 0 && tide_sys_access(AT_FDCWD, file, F_OK, 0) == -ENOENT);
    return makes ? -EPERM : tide_sys_open(AT_FDCWD, file, flags, mode);
}

int tide_scratch_open(int at, const char *path, int flags, unsigned mode) {
    const tide_scratch_state *state = tide_scratch_state_get();
    bool writes = (flags & O_PATH) == 0 &&
                  ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_TRUNC | O_CREAT)) != 0 ||
                   (flags & O_TMPFILE) == O_TMPFILE);
    if (tide_scratch_may_be_device(path) && tide_scratch_is_device(at, path)) {
        return open_device(at, path, flags, mode);
    }
    if (state->mode == TIDE_SCRATCH_OFF || path == NULL) {
        return tide_sys_open(at, path, flags, mode);
    }
    if (!writes) {
        return open_to_read(at, path, flags, mode);
    }
    if (state->mode == TIDE_SCRATCH_BROKEN) {
        /* /dev/null and the like must still work. */
        tide_scratch_place place;
        int result = tide_scratch_look(at, path, TIDE_SCRATCH_FOLLOW, &place);
        bool is_real = result == 0 && place.is_real && !place.is_foreign;
        return is_real ? open_real(&place, at, path, flags, mode) : -EROFS;
    }
    return open_to_write(at, path, flags, mode);
}
