/* The logs that running processes write: a recorder holds a lock on the file of its log. */
#define _DEFAULT_SOURCE /* flock */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/launch/logs/logs.h"
#include "programs/launch/logs/logs_internal.h"

enum { FILE_BYTES = 2 * TIDE_LAUNCH_PATH_BYTES };

/* The process id of "123.log"; -1 for other files. */
static int64_t pid_of(const char *name) {
    char *end = NULL;
    long pid = strtol(name, &end, 10);
    return end != name && strcmp(end, TIDE_LOGS_ENDING) == 0 ? pid : -1;
}

bool tide_logs_is_written(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) {
        (void)close(fd); /* was only read */
    }
    return is_locked;
}

/* Inserts the path in order of its process id. */
static void insert(tide_logs_list *to, const char *path) {
    if (to->n == TIDE_LOGS_MAX || strlen(path) >= TIDE_LAUNCH_PATH_BYTES) {
        return;
    }
    size_t at = to->n++;
    int64_t pid = pid_of(strrchr(path, '/') + 1);
    for (; at > 0 && pid_of(strrchr(to->paths[at - 1], '/') + 1) > pid; at--) {
        memcpy(to->paths[at], to->paths[at - 1], sizeof(to->paths[at]));
    }
    memcpy(to->paths[at], path, strlen(path) + 1);
}

/* The running logs of one run. */
static void list_run(const char *folder, int64_t pid, tide_logs_list *to) {
    char path[FILE_BYTES];
    DIR *open_folder = opendir(folder);
    to->n = 0;
    for (struct dirent *entry = open_folder != NULL ? readdir(open_folder) : NULL; entry != NULL;
         entry = readdir(open_folder)) {
        int64_t found = pid_of(entry->d_name);
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (found >= 0 && (pid < 0 || found == pid) && tide_logs_is_written(path)) {
            insert(to, path);
        }
    }
    if (open_folder != NULL) {
        (void)closedir(open_folder);
    }
}

static bool is_later(const struct timespec *one, const struct timespec *other) {
    return one->tv_sec > other->tv_sec ||
           (one->tv_sec == other->tv_sec && one->tv_nsec > other->tv_nsec);
}

/* The folder of a run changes when a process begins its log. */
static void choose_run(const char *state, int64_t pid, char ret_folder[TIDE_LAUNCH_PATH_BYTES],
                       tide_logs_list *list) {
    char path[FILE_BYTES];
    struct timespec newest = {0};
    DIR *open_folder = opendir(state);
    for (struct dirent *entry = open_folder != NULL ? readdir(open_folder) : NULL; entry != NULL;
         entry = readdir(open_folder)) {
        struct stat info;
        snprintf(path, sizeof(path), "%s/%s", state, entry->d_name);
        if (strncmp(entry->d_name, TIDE_LOGS_RUN, strlen(TIDE_LOGS_RUN)) != 0 ||
            strlen(path) >= TIDE_LAUNCH_PATH_BYTES || stat(path, &info) != 0 ||
            !is_later(&info.st_mtim, &newest)) {
            continue;
        }
        list_run(path, pid, list);
        if (list->n > 0) {
            newest = info.st_mtim;
            memcpy(ret_folder, path, strlen(path) + 1);
        }
    }
    if (open_folder != NULL) {
        (void)closedir(open_folder);
    }
}

tide_status tide_logs_find_running(int64_t pid, char folder[TIDE_LAUNCH_PATH_BYTES],
                                   tide_logs_list *ret, tide_error *error) {
    char state[TIDE_LAUNCH_PATH_BYTES] = "$XDG_STATE_HOME/tidemark";
    ret->n = 0;
    if (folder[0] == '\0' && tide_logs_find_state(state)) {
        choose_run(state, pid, folder, ret);
    }
    if (folder[0] != '\0') {
        list_run(folder, pid, ret);
    }
    if (ret->n > 0) {
        return TIDE_OK;
    }
    return pid < 0 ? tide_fail(error, TIDE_INVALID,
                               "no run is going on: no process writes a log in %s; a log that run "
                               "--log keeps elsewhere has to be named",
                               folder[0] != '\0' ? folder : state)
                   : tide_fail(error, TIDE_INVALID, "process %lld writes no log in %s",
                               (long long)pid, folder[0] != '\0' ? folder : state);
}
