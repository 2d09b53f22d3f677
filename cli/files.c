#define _DEFAULT_SOURCE
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool tide_file_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

tide_status tide_file_make_folder(const char *path, tide_error *error) {
    if (tide_file_is_folder(path) || mkdir(path, 0777) == 0) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_IO, "the folder %s cannot be made: %s: choose another place", path,
                     strerror(errno));
}

/* Length of the path's folder with its last slash; 0: the current folder. */
static size_t folder_bytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

tide_status tide_file_make_parents(const char *path, tide_error *error) {
    char folder[TIDE_PATH_BYTES];
    const size_t n_bytes = folder_bytes(path);
    if (n_bytes >= sizeof(folder)) {
        return tide_fail(error, TIDE_LIMIT, "%s: the path is longer than %d bytes", path,
                         (int)sizeof(folder) - 1);
    }
    for (size_t i = 1; i < n_bytes; i++) { /* "a/b/": a, then a/b */
        if (path[i] == '/' && path[i - 1] != '/') {
            (void)snprintf(folder, sizeof(folder), "%.*s", (int)i, path);
            TIDE_TRY(tide_file_make_folder(folder, error));
        }
    }
    return TIDE_OK;
}

static bool stat_folder(const char *path, struct stat *ret_stat) {
    char folder[TIDE_PATH_BYTES];
    size_t n = folder_bytes(path);
    int n_text = snprintf(folder, sizeof(folder), "%.*s.", (int)n, path);
    return n_text > 0 && n_text < TIDE_PATH_BYTES && stat(folder, ret_stat) == 0;
}

bool tide_file_is_same(const char *path, const char *other) {
    struct stat a;
    struct stat b;
    bool is_there = stat(path, &a) == 0;
    bool other_is_there = stat(other, &b) == 0;
    if (is_there != other_is_there) {
        return false;
    }
    if (!is_there && (strcmp(path + folder_bytes(path), other + folder_bytes(other)) != 0 ||
                      !stat_folder(path, &a) || !stat_folder(other, &b))) {
        return false;
    }
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

tide_status tide_browser_open(const char *path, tide_error *error) {
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "no browser could be opened (xdg-open, package xdg-utils): open %s "
                         "yourself",
                         path);
    }
    return TIDE_OK;
}
