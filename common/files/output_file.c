/* output_file.c - writes a file next to its final path and renames it when it is complete. */
#define _GNU_SOURCE /* renameat2 */
#include "common/files/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = TIDE_TEMPORARY_PATH_BYTES, MAX_LINKS = 40 /* as many as Linux follows */ };

_Static_assert(PATH_BYTES >= 4096, "realpath may write PATH_MAX bytes");

/* ---- the place ---- */

/* The absolute path of a file that does not exist yet. Returns 0 or errno. */
static int resolve_folder(const char *path, char ret_target[PATH_BYTES]) {
    char folder[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    if (base[0] == '\0') {
        return ENOENT; /* "NAME/" is a folder that does not exist */
    }
    int n = snprintf(folder, sizeof(folder), "%.*s.", (int)(base - path), path);
    if (n >= PATH_BYTES) {
        return ENAMETOOLONG;
    }
    if (realpath(folder, ret_target) == NULL) {
        return errno;
    }
    size_t n_target = strlen(ret_target);
    const char *between = n_target > 1 ? "/" : ""; /* the root ends with a slash already */
    n = snprintf(ret_target + n_target, PATH_BYTES - n_target, "%s%s", between, base);
    return n < (int)(PATH_BYTES - n_target) ? 0 : ENAMETOOLONG;
}

/* Replaces the path of a link by that of its target. Returns 0 or errno; EINVAL and ENOENT mean
 * that the path is not a link. */
static int follow_link(char path[PATH_BYTES]) {
    char held[PATH_BYTES];
    ssize_t n = readlink(path, held, sizeof(held) - 1);
    if (n < 0) {
        return errno;
    }
    held[n] = '\0';
    const char *slash = strrchr(path, '/');
    size_t n_folder = held[0] != '/' && slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (n_folder + (size_t)n >= PATH_BYTES) {
        return ENAMETOOLONG;
    }
    memcpy(path + n_folder, held, (size_t)n + 1);
    return 0;
}

/* The absolute path of the file itself. realpath fails for a link to a file that does not exist
 * yet, so such links are followed here. */
static int resolve(const char *path, char ret_target[PATH_BYTES]) {
    char at[PATH_BYTES];
    if (strlen(path) >= sizeof(at)) {
        return ENAMETOOLONG;
    }
    memcpy(at, path, strlen(path) + 1);
    for (int i = 0; i <= MAX_LINKS; i++) {
        if (realpath(at, ret_target) != NULL) {
            return 0;
        }
        if (errno != ENOENT) {
            return errno;
        }
        int reason = follow_link(at);
        if (reason == EINVAL || reason == ENOENT) {
            return resolve_folder(at, ret_target);
        }
        if (reason != 0) {
            return reason;
        }
    }
    return ELOOP;
}

/* ---- opening ---- */

static tide_status cannot(const char *path, const char *why, tide_error *error) {
    return tide_fail(error, TIDE_IO, "%s cannot be written: %s: choose another place", path, why);
}

/* An existing target must be a writable regular file. Renaming would replace a device such as
 * /dev/null, and also a write-protected file, because it only needs rights on the folder. */
static tide_status check_older(const tide_output_file *file, const struct stat *older,
                               tide_error *error) {
    if (S_ISDIR(older->st_mode)) {
        return cannot(file->path, "it is a folder", error);
    }
    if (!S_ISREG(older->st_mode)) {
        return tide_fail(error, TIDE_IO,
                         "%s cannot be written: it is a device or a pipe, and the finished file "
                         "would replace it: name a file",
                         file->path);
    }
    if (faccessat(AT_FDCWD, file->target, W_OK, AT_EACCESS) != 0) {
        return cannot(file->path, strerror(errno), error);
    }
    return TIDE_OK;
}

/* Gives the new file the owner and the rights of the older one. Only root may change the owner. If
 * the group cannot be changed either, the new file's group gets no rights: it may not be the group
 * that the older file's rights were meant for. */
static void take_rights(int fd, const struct stat *older) {
    struct stat made;
    mode_t mode = older->st_mode & 0777;
    if (fstat(fd, &made) == 0 && (made.st_uid != older->st_uid || made.st_gid != older->st_gid) &&
        fchown(fd, older->st_uid, older->st_gid) != 0 && made.st_gid != older->st_gid) {
        mode &= ~(mode_t)S_IRWXG;
    }
    (void)fchmod(fd, mode); /* some file systems refuse it; the rights then stay those of the
                               umask */
}

tide_status tide_output_file_open(const char *path, tide_output_file *ret_file, tide_error *error) {
    tide_output_file *file = ret_file;
    struct stat older;
    file->reason = 0;
    (void)snprintf(file->path, sizeof(file->path), "%s", path);
    if (path[0] == '\0') {
        return tide_fail(error, TIDE_IO, "a file to write has no name");
    }
    int reason = resolve(path, file->target);
    if (reason != 0) {
        return cannot(file->path, strerror(reason), error);
    }
    bool is_there = stat(file->target, &older) == 0;
    if (is_there) {
        TIDE_TRY(check_older(file, &older, error));
    }
    mode_t mode = is_there ? older.st_mode & 0777 : 0666;
    reason = tide_temporary_file_open(file->target, mode, &file->temporary);
    if (reason != 0) {
        return cannot(file->path, strerror(reason), error);
    }
    if (is_there) {
        take_rights(file->temporary.fd, &older);
    }
    return TIDE_OK;
}

/* ---- writing ---- */

bool tide_output_file_write(tide_output_file *file, const void *bytes, size_t n_bytes) {
    const unsigned char *at = bytes;
    size_t n_written = 0;
    while (n_written < n_bytes && file->reason == 0) {
        ssize_t n = write(file->temporary.fd, at + n_written, n_bytes - n_written);
        if (n > 0) {
            n_written += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            file->reason = n == 0 ? ENOSPC : errno;
        }
    }
    return file->reason == 0;
}

/* Writes the content to the disk before the file gets its name, so that a power failure cannot
 * leave an empty file under that name. EINVAL: the file system cannot synchronise. */
static void finish(tide_output_file *file) {
    if (file->reason == 0 && fsync(file->temporary.fd) != 0 && errno != EINVAL) {
        file->reason = errno;
    }
    if (close(file->temporary.fd) != 0 && file->reason == 0) {
        file->reason = errno;
    }
}

static tide_status tell(const tide_output_file *file, tide_error *error) {
    return file->reason == 0
               ? TIDE_OK
               : tide_fail(error, TIDE_IO, "%s cannot be written: %s: nothing was changed there",
                           file->path, strerror(file->reason));
}

tide_status tide_output_file_commit(tide_output_file *file, tide_error *error) {
    finish(file);
    if (file->reason == 0 && rename(file->temporary.path, file->target) != 0) {
        file->reason = errno;
    }
    if (file->reason == 0) {
        tide_temporary_file_forget(&file->temporary);
    } else {
        tide_temporary_file_remove(&file->temporary);
    }
    return tell(file, error);
}

tide_status tide_output_file_commit_new(tide_output_file *file, tide_error *error) {
    finish(file);
    /* Unlike rename, link fails if the target exists. On file systems without links, the kernel may
     * offer a rename that fails as well. */
    if (file->reason == 0 && link(file->temporary.path, file->target) != 0) {
        file->reason = errno;
        if (errno != EEXIST && renameat2(AT_FDCWD, file->temporary.path, AT_FDCWD, file->target,
                                         RENAME_NOREPLACE) == 0) {
            file->reason = 0;
        }
    }
    tide_temporary_file_remove(&file->temporary); /* after link the file has two names */
    if (file->reason == EEXIST) {
        return tide_fail(error, TIDE_INVALID, "%s is there and is not replaced: name another file",
                         file->path);
    }
    return tell(file, error);
}

void tide_output_file_abandon(tide_output_file *file) {
    (void)close(file->temporary.fd); /* an error does not matter: the content is discarded */
    tide_temporary_file_remove(&file->temporary);
}
