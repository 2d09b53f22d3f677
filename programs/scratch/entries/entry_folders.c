/* entry_folders.c - the current folder, and resolved paths. */
#define _GNU_SOURCE /* get_current_dir_name, canonicalize_file_name */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/place.h"

char *__getcwd_chk(char *text, size_t n_bytes, size_t room);
char *__realpath_chk(const char *path, char *text, size_t room);

TIDE_SCRATCH_EXPORT int chdir(const char *path) {
    tide_scratch_place place;
    int at = AT_FDCWD;
    int result = tide_scratch_see(&at, &path, TIDE_SCRATCH_FOLLOW, &place);
    return (int)tide_scratch_answer(result == 0 ? tide_sys_chdir(path) : result);
}

/* A copy of the text for the caller: in `text`, if it fits, or allocated. */
static char *hand_over(const char *whole, char *text, size_t n_bytes, int too_long) {
    size_t n = strlen(whole) + 1;
    if (text == NULL) {
        text = malloc(n_bytes > n ? n_bytes : n);
    } else if (n > n_bytes) {
        errno = too_long;
        return NULL;
    }
    return text == NULL ? NULL : memcpy(text, whole, n);
}

TIDE_SCRATCH_EXPORT char *getcwd(char *text, size_t n_bytes) {
    char whole[TIDE_SCRATCH_PATH_BYTES];
    if (text != NULL && n_bytes == 0) {
        errno = EINVAL;
        return NULL;
    }
    long n = tide_sys_getcwd(whole, sizeof(whole));
    if (n < 0) {
        errno = (int)-n;
        return NULL;
    }
    if (whole[0] != '/') {
        errno = ENOENT;
        return NULL;
    }
    (void)tide_scratch_strip(whole);
    if (text == NULL && n_bytes > 0 && strlen(whole) >= n_bytes) {
        errno = ERANGE;
        return NULL;
    }
    return hand_over(whole, text, n_bytes, ERANGE);
}

TIDE_SCRATCH_EXPORT char *__getcwd_chk(char *text, size_t n_bytes, size_t room) {
    return getcwd(text, n_bytes < room ? n_bytes : room);
}

TIDE_SCRATCH_EXPORT char *get_current_dir_name(void) {
    return getcwd(NULL, 0);
}

/* The path itself, if the card has the file; a real file of that name is hidden. */
static char *device_path(const char *path, char *text) {
    char name[TIDE_SCRATCH_PATH_BYTES];
    char file[TIDE_SCRATCH_PATH_BYTES];
    bool fits =
        tide_scratch_device_name(AT_FDCWD, path, name) && tide_scratch_device(AT_FDCWD, path, file);
    int result = fits ? tide_sys_access(AT_FDCWD, file, F_OK, 0) : -ENAMETOOLONG;
    if (result != 0) {
        errno = -result; /* stays as it is after a success */
        return NULL;
    }
    return hand_over(name, text, TIDE_SCRATCH_PATH_BYTES, ENAMETOOLONG);
}

static char *realpath_slowly(const char *path, char *text, char *(*next)(const char *, char *)) {
    tide_scratch_place place;
    struct stat status;
    int result = tide_scratch_look(AT_FDCWD, path, TIDE_SCRATCH_FOLLOW, &place);
    if (result == 0 && place.is_real) {
        /* The C library reports whether it exists. */
        return next(tide_scratch_below(&place), text);
    }
    result = result == 0 ? tide_scratch_status(&place, &status) : result;
    if (result == 0 && place.ends_in_slash && !S_ISDIR(status.st_mode)) {
        result = -ENOTDIR;
    }
    if (result != 0) {
        errno = -result;
        return NULL;
    }
    return hand_over(tide_scratch_below(&place), text, TIDE_SCRATCH_PATH_BYTES, ENAMETOOLONG);
}

TIDE_SCRATCH_EXPORT char *realpath(const char *path, char *text) {
    static char *(*next)(const char *, char *);
    TIDE_SCRATCH_NEXT(next, "realpath");
    if (tide_scratch_is_device(AT_FDCWD, path)) {
        return device_path(path, text);
    }
    return path == NULL || !tide_scratch_has_written() ? next(path, text)
                                                       : realpath_slowly(path, text, next);
}

TIDE_SCRATCH_EXPORT char *__realpath_chk(const char *path, char *text, size_t room) {
    (void)room; /* the C library requires PATH_MAX */
    return realpath(path, text);
}

TIDE_SCRATCH_EXPORT char *canonicalize_file_name(const char *path) {
    return realpath(path, NULL);
}
