/* writes_keep.c - moves the files that a run wrote to a folder of the user. */
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

#include "programs/launch/writes/writes.h"
#include "programs/launch/writes/writes_internal.h"

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

/* Copies one entry of the tree to the same place below the target. */
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
        return TIDE_OK; /* pipes and sockets are useless now */
    }
}

/* Walks over the tree: copies it to `target` without the folder `left_out` (NULL: none), or removes
 * its marks if `target` is NULL. */
static tide_status walk(char *tree, const char *left_out, const char *target, tide_error *error) {
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
        if (left_out != NULL && strcmp(entry->fts_path, left_out) == 0) {
            (void)fts_set(walked, entry, FTS_SKIP);
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s%s", target, entry->fts_path + n_prefix);
        status = copy_entry(entry, path, error);
    }
    (void)fts_close(walked);
    return status;
}

/* Moves the folder `tree` to `target`, which is an empty folder or does not exist. */
static tide_status move_tree(char *tree, const char *left_out, const char *target,
                             tide_error *error) {
    /* The kernel refuses a target that has become a non-empty folder. */
    if (rename(tree, target) == 0) {
        return TIDE_OK;
    }
    if (errno != EXDEV && errno != ENOTDIR && errno != EBUSY) {
        return failed(error, "make", target);
    }
    if (mkdir(target, 0700) != 0 && errno != EEXIST) {
        return failed(error, "make", target);
    }
    return walk(tree, left_out, target, error);
}

static bool is_folder(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Whether the tree holds anything besides the folder `below` and its parents. */
static bool has_more(char *tree, const char *below) {
    char *const paths[] = {tree, NULL};
    FTS *walked = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool has = false;
    FTSENT *entry = NULL;
    while (!has && walked != NULL && (entry = fts_read(walked)) != NULL) {
        size_t n = strlen(entry->fts_path);
        bool leads = strncmp(below, entry->fts_path, n) == 0 && below[n] == '/';
        if (strcmp(entry->fts_path, below) == 0) {
            (void)fts_set(walked, entry, FTS_SKIP);
        } else {
            has = !leads;
        }
    }
    if (walked != NULL) {
        (void)fts_close(walked);
    }
    return has;
}

/* Removes the parents of `below` that are empty. */
static void remove_way(const char *tree, char *below) {
    for (char *slash = NULL; (slash = strrchr(below, '/')) > below + strlen(tree);) {
        *slash = '\0';
        if (rmdir(below) != 0) {
            return;
        }
    }
}

/* TARGET/elsewhere, or an unused variant of the name. */
static tide_status name_elsewhere(const char *target, char ret_path[TIDE_WRITES_TEXT_BYTES],
                                  tide_error *error) {
    struct stat status;
    enum { MAX_TRIES = 1000 };
    (void)snprintf(ret_path, TIDE_WRITES_TEXT_BYTES, "%s/elsewhere", target);
    for (int i = 2; i < MAX_TRIES && lstat(ret_path, &status) == 0; i++) {
        (void)snprintf(ret_path, TIDE_WRITES_TEXT_BYTES, "%s/elsewhere-%d", target, i);
    }
    return lstat(ret_path, &status) != 0 ? TIDE_OK
                                         : tide_fail(error, TIDE_IO, "%s exists", ret_path);
}

tide_status tide_writes_keep(const char *folder, const char *current, const char *target,
                             tide_error *error) {
    char tree[TIDE_WRITES_PATH_BYTES];
    char below[TIDE_WRITES_TEXT_BYTES];
    char elsewhere[TIDE_WRITES_TEXT_BYTES];
    int n = snprintf(tree, sizeof(tree), "%s/files", folder);
    if (n < 0 || (size_t)n >= sizeof(tree)) {
        return tide_fail(error, TIDE_LIMIT, "the path of the folder is too long: %s", folder);
    }
    TIDE_TRY(tide_writes_check_target(target, error));
    (void)snprintf(below, sizeof(below), "%s%s", tree, strcmp(current, "/") != 0 ? current : "");
    if (access(tree, F_OK) == 0) {
        TIDE_TRY(walk(tree, NULL, NULL, error));
    }
    if (is_folder(below)) {
        TIDE_TRY(move_tree(below, NULL, target, error));
    } else if (mkdir(target, 0700) != 0 && errno != EEXIST) {
        return failed(error, "make", target);
    }
    if (!is_folder(tree) || !has_more(tree, below)) {
        return TIDE_OK;
    }
    TIDE_TRY(name_elsewhere(target, elsewhere, error));
    char way[TIDE_WRITES_TEXT_BYTES];
    (void)snprintf(way, sizeof(way), "%s", below);
    if (!is_folder(below)) {
        remove_way(tree, way);
    }
    return move_tree(tree, below, elsewhere, error);
}
