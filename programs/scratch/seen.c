/* seen.c - the arguments of read-only calls on a place, and the check for calls that write. */
#define _GNU_SOURCE /* AT_FDCWD */
#include <errno.h>
#include <fcntl.h>

#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/place.h"

int tide_scratch_may_write(const tide_scratch_place *place) {
    if (!place->is_real || !place->is_foreign) {
        return 0;
    }
    tide_scratch_say("the program may not write to ", place->path,
                     ": it leads to a file that is deleted or outside of this root, of which no "
                     "copy can be kept; '--writes allow' writes for real");
    return -EROFS;
}

const char *tide_scratch_below(const tide_scratch_place *place) {
    return place->path[0] == '\0' ? "/" : place->path;
}

const char *tide_scratch_text(const tide_scratch_place *place, const char *path) {
    return place->is_changed ? tide_scratch_below(place) : path;
}

int tide_scratch_see(int *at, const char **path, tide_scratch_follow follow,
                     tide_scratch_place *place) {
    if (*path == NULL) {
        return 0;
    }
    if (tide_scratch_device(*at, *path, place->copy)) {
        *at = AT_FDCWD;
        *path = place->copy;
        return 0;
    }
    if (!tide_scratch_has_written()) {
        return 0;
    }
    int result = tide_scratch_look(*at, *path, follow, place);
    if (result == -EBADF || result == -ENXIO) {
        return 0; /* the kernel gives the exact error */
    }
    if (result != 0) {
        return result;
    }
    if (!place->is_real && place->has_copy && !(place->is_folder && place->shows_below)) {
        *at = AT_FDCWD;
        *path = place->copy;
        return 0;
    }
    if (!place->is_real && !place->shows_below) {
        return -ENOENT;
    }
    *path = tide_scratch_text(place, *path);
    *at = tide_scratch_at(place, *at);
    return 0;
}

void tide_scratch_merge_status(const tide_scratch_place *place, struct stat *status) {
    struct stat copy;
    if (!place->is_folder ||
        tide_sys_stat(AT_FDCWD, place->copy, &copy, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (copy.st_mode != (status->st_mode | S_IRWXU)) {
        status->st_mode = copy.st_mode;
    }
    if (copy.st_mtim.tv_sec > status->st_mtim.tv_sec ||
        (copy.st_mtim.tv_sec == status->st_mtim.tv_sec &&
         copy.st_mtim.tv_nsec > status->st_mtim.tv_nsec)) {
        status->st_mtim = copy.st_mtim;
        status->st_ctim = copy.st_ctim;
    }
}

int tide_scratch_status(const tide_scratch_place *place, struct stat *ret_status) {
    const char *path = tide_scratch_below(place);
    if (place->is_real) {
        return tide_sys_stat(AT_FDCWD, path, ret_status, AT_SYMLINK_NOFOLLOW);
    }
    int result = -ENOENT;
    if (place->shows_below) {
        result = tide_sys_stat(AT_FDCWD, path, ret_status, AT_SYMLINK_NOFOLLOW);
        if (result == 0) {
            tide_scratch_merge_status(place, ret_status);
        }
    }
    if (result == -ENOENT && place->has_copy) {
        result = tide_sys_stat(AT_FDCWD, place->copy, ret_status, AT_SYMLINK_NOFOLLOW);
    }
    return result;
}
