#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "cli/run/numbers.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_NUMBER = 100000 };

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* Whether a file belongs to the run with this stem: its snapshot, those of its ranks, processes and
 * moments (programs/launch/names.h), or its page. */
static bool is_of(const char *name, const char *stem, bool has_page) {
    static const char *const PARTS[] = {".json", "-rank", "-process", "-at-", "-oom-"};
    size_t n = strlen(stem);
    if (strncmp(name, stem, n) != 0) {
        return false;
    }
    if (has_page && strcmp(name + n, ".html") == 0) {
        return true;
    }
    bool is_snapshot = ends_with(name, ".json.gz") || ends_with(name, ".json");
    for (size_t i = 0; is_snapshot && i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (strncmp(name + n, PARTS[i], strlen(PARTS[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_taken(const char *stem, bool has_page) {
    bool is_there = false;
    DIR *folder = opendir(".");
    for (const struct dirent *row = NULL; folder != NULL && !is_there;) {
        row = readdir(folder);
        if (row == NULL) {
            break;
        }
        is_there = is_of(row->d_name, stem, has_page);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return is_there;
}

static uint64_t hash_of(const struct stat *folder, const char *stem) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (const char *at = stem; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    }
    hash = (hash ^ (uint64_t)folder->st_dev) * UINT64_C(1099511628211);
    return (hash ^ (uint64_t)folder->st_ino) * UINT64_C(1099511628211);
}

/* Reserves the stem by an abstract socket of that name: it is unique in the system, is in no
 * folder, and disappears with its process. False if another process has it. */
static bool reserve(const char *stem, int *ret_fd) {
    struct stat folder;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *ret_fd = stat(".", &folder) == 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (*ret_fd < 0) {
        return true;
    }
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                     "tidemark-name-%016" PRIx64, hash_of(&folder, stem));
    socklen_t n_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (bind(*ret_fd, (const struct sockaddr *)&address, n_bytes) == 0) {
        return true;
    }
    bool is_taken_now = errno == EADDRINUSE;
    (void)close(*ret_fd);
    *ret_fd = -1;
    return !is_taken_now;
}

bool tide_run_choose_stem(const char *base, bool has_page, char ret_stem[TIDE_PATH_BYTES],
                          int *ret_fd) {
    *ret_fd = -1;
    for (int i = 1; i <= MAX_NUMBER; i++) {
        int n = i == 1 ? snprintf(ret_stem, TIDE_PATH_BYTES, "%s", base)
                       : snprintf(ret_stem, TIDE_PATH_BYTES, "%s-%d", base, i);
        if (n < 0 || n >= TIDE_PATH_BYTES) {
            return false;
        }
        /* Checked again after the reservation: a process that had the name may have written its
         * files in between. */
        if (!is_taken(ret_stem, has_page) && reserve(ret_stem, ret_fd)) {
            if (!is_taken(ret_stem, has_page)) {
                return true;
            }
            if (*ret_fd >= 0) {
                (void)close(*ret_fd);
                *ret_fd = -1;
            }
        }
    }
    return false;
}
