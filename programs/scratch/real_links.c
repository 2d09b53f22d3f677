#define _GNU_SOURCE /* AT_FDCWD */
#include "programs/scratch/real_links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/place.h"

#define PROCESSES "/proc/"

/* /proc/self and similar names are ordinary links, so the path of a process has its number. */
static bool is_of_process(const char *path) {
    size_t n = sizeof(PROCESSES) - 1;
    return strncmp(path, PROCESSES, n) == 0 && path[n] >= '0' && path[n] <= '9' &&
           strchr(path + n, '/') != NULL;
}

/* Whether the link is of a descriptor that is open for writing. The view never opens a protected
 * real file for writing, so such a descriptor was opened before the run. */
static bool is_open_for_writing(const char *path) {
    const char *name = strrchr(path, '/');
    struct stat status;
    return name - path >= 3 && memcmp(name - 3, "/fd", 3) == 0 &&
           tide_sys_stat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (status.st_mode & S_IWUSR) != 0;
}

/* Whether the text, which is not empty, names the link's target. */
static bool is_named(const char *path, const char *text) {
    struct stat here;
    struct stat there;
    return text[0] == '/' && tide_sys_stat(AT_FDCWD, path, &here, 0) == 0 &&
           tide_sys_stat(AT_FDCWD, text, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/* The kind of a link whose text is not a path to its target. */
static int kind_of_nameless(const char *path, const char *text) {
    struct stat status;
    bool may_have_names = text[0] == '/' && !tide_scratch_is_real(text, strlen(text)) &&
                          tide_sys_stat(AT_FDCWD, path, &status, 0) == 0 && status.st_nlink > 0 &&
                          (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
    return may_have_names && !is_open_for_writing(path) ? TIDE_SCRATCH_FOREIGN
                                                        : TIDE_SCRATCH_ITSELF;
}

int tide_scratch_real_link(const char *path, char ret_text[TIDE_SCRATCH_PATH_BYTES],
                           size_t *ret_bytes) {
    long n = tide_sys_readlink(AT_FDCWD, path, ret_text, TIDE_SCRATCH_PATH_BYTES - 1);
    if (n <= 0) {
        return n == 0 || n == -EINVAL ? TIDE_SCRATCH_NO_LINK : (int)n;
    }
    *ret_bytes = (size_t)n;
    if (!is_of_process(path)) {
        return TIDE_SCRATCH_BY_TEXT;
    }
    ret_text[n] = '\0';
    if (!is_named(path, ret_text)) {
        return kind_of_nameless(path, ret_text);
    }
    if (tide_scratch_strip(ret_text)) {
        *ret_bytes = strlen(ret_text);
    } else if (is_open_for_writing(path)) {
        return TIDE_SCRATCH_ITSELF;
    }
    return TIDE_SCRATCH_BY_NAME;
}
