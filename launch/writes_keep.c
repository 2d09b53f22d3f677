/* writes_keep.c - what a run wrote becomes a folder of the user's. */
#define _GNU_SOURCE /* fts, copy_file_range */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/writes.h"
#include "launch/writes_internal.h"

static tide_status failed(tide_error *error, const char *what, const char *path) {
    return tide_fail(error, TIDE_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

tide_status tide_writes_check_target(const char *target, tide_error *error) {
    struct stat status;
    if (lstat(target, &status) != 0) {
        return errno == ENOENT ? TIDE_OK : failed(error, "use", target);
    }
    DIR *folder = opendir(target);
    bool is_empty = folder != NULL;
    for (const struct dirent *row = NULL; is_empty && (row = readdir(folder)) != NULL;) {
        is_empty = strcmp(row->d_name, ".") == 0 || strcmp(row->d_name, "..") == 0;
    }
    if (folder == NULL) {
        return tide_fail(error, TIDE_INVALID, "%s is not a folder", target);
    }
    (void)closedir(folder);
    return is_empty ? TIDE_OK
                    : tide_fail(error, TIDE_INVALID,
                                "%s is not empty: name a folder that is empty or does not exist",
                                target);
}

static bool is_mark(const FTSENT *entry) {
    bool is_link = entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE;
    return strcmp(entry->fts_name, TIDE_WRITES_COVERS) == 0 ||
           (is_link && tide_writes_is_gone(entry->fts_accpath));
}

static tide_status copy_bytes(int from, int to, const char *path, tide_error *error) {
    enum { BUFFER_BYTES = 65536 };
    char buffer[BUFFER_BYTES];
    ssize_t n = 0;
    while ((n = read(from, buffer, sizeof(buffer))) > 0) {
        for (ssize_t done = 0; done < n;) {
            ssize_t written = write(to, buffer + done, (size_t)(n - done));
            if (written < 0) {
                return failed(error, "write", path);
            }
            done += written;
        }
    }
    return n < 0 ? failed(error, "read", path) : TIDE_OK;
}

static tide_status copy_file(const FTSENT *entry, const char *path, tide_error *error) {
    int from = open(entry->fts_accpath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0) {
        return failed(error, "read", entry->fts_path);
    }
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    tide_status status = to < 0 ? failed(error, "make", path) : copy_bytes(from, to, path, error);
    (void)close(from);
    if (to >= 0) {
        const struct timespec times[2] = {entry->fts_statp->st_atim, entry->fts_statp->st_mtim};
        (void)fchmod(to, entry->fts_statp->st_mode & 07777);
        (void)futimens(to, times);
        if (close(to) != 0 && status == TIDE_OK) {
            status = failed(error, "write", path);
        }
    }
    return status;
}

static tide_status copy_link(const FTSENT *entry, const char *path, tide_error *error) {
    char target[TIDE_WRITES_PATH_BYTES];
    ssize_t n = readlink(entry->fts_accpath, target, sizeof(target) - 1);
    if (n < 0) {
        return failed(error, "read", entry->fts_path);
    }
    target[n] = '\0';
    return symlink(target, path) == 0 ? TIDE_OK : failed(error, "make", path);
}

/* One entry of the tree, to the same place below the target. */
static tide_status copy_entry(const FTSENT *entry, const char *path, tide_error *error) {
    switch (entry->fts_info) {
    case FTS_D:
        return entry->fts_level == FTS_ROOTLEVEL || mkdir(path, 0700) == 0
                   ? TIDE_OK
                   : failed(error, "make", path);
    case FTS_DP:
        (void)chmod(path, entry->fts_statp->st_mode & 07777);
        return TIDE_OK;
    case FTS_F:
        return is_mark(entry) ? TIDE_OK : copy_file(entry, path, error);
    case FTS_SL:
    case FTS_SLNONE:
        return is_mark(entry) ? TIDE_OK : copy_link(entry, path, error);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = entry->fts_errno;
        return failed(error, "read", entry->fts_path);
    default:
        return TIDE_OK; /* pipes and sockets are of no use any more */
    }
}

/* Walks over the tree: copies it to `target`, or takes the marks out of it if that is NULL. */
static tide_status walk(char *tree, const char *target, tide_error *error) {
    char *const paths[] = {tree, NULL};
    FTS *walked = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (walked == NULL) {
        return failed(error, "read", tree);
    }
    size_t n_prefix = strlen(tree);
    tide_status status = TIDE_OK;
    FTSENT *entry = NULL;
    while (status == TIDE_OK && (entry = fts_read(walked)) != NULL) {
        char path[TIDE_WRITES_TEXT_BYTES];
        if (target == NULL) {
            if (entry->fts_info != FTS_DP && is_mark(entry) && unlink(entry->fts_accpath) != 0) {
                status = failed(error, "remove", entry->fts_path);
            }
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s%s", target, entry->fts_path + n_prefix);
        status = copy_entry(entry, path, error);
    }
    (void)fts_close(walked);
    return status;
}

tide_status tide_writes_keep(const char *folder, const char *target, tide_error *error) {
    char tree[TIDE_WRITES_PATH_BYTES];
    int n = snprintf(tree, sizeof(tree), "%s/files", folder);
    if (n < 0 || (size_t)n >= sizeof(tree)) {
        return tide_fail(error, TIDE_LIMIT, "the path of the folder is too long: %s", folder);
    }
    TIDE_TRY(tide_writes_check_target(target, error));
    bool is_there = access(tree, F_OK) == 0;
    if (is_there) {
        TIDE_TRY(walk(tree, NULL, error));
        /* The kernel refuses a target that is not an empty folder by now. */
        if (rename(tree, target) == 0) {
            return TIDE_OK;
        }
        if (errno != EXDEV && errno != ENOTDIR && errno != EBUSY) {
            return failed(error, "make", target);
        }
    }
    if (mkdir(target, 0700) != 0 && errno != EEXIST) {
        return failed(error, "make", target);
    }
    return is_there ? walk(tree, target, error) : TIDE_OK;
}
