/* The processes of a run and their memory so far, while they run. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "programs/launch/left/left_friend.h"

enum { FILE_BYTES = TIDE_LAUNCH_PATH_BYTES + 300 };

/* A log without events belongs to a process that uses no card, or has not begun to. */
static tide_status read_log(const char *path, int64_t pid, bool wants_ended, tide_left_list *list,
                            tide_error *error) {
    tide_left *to = &list->processes[list->n_processes];
    const char *kept = tide_arena_text(&list->arena, path);
    if (kept == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = tide_left_read_log(kept, pid, list, to, error);
    if (status == TIDE_FORMAT || status == TIDE_IO) {
        return TIDE_OK;
    }
    list->n_processes += status == TIDE_OK && (wants_ended || to->is_running);
    return status;
}

static tide_status read_folder(const tide_launch *launch, DIR *folder, int64_t pid,
                               tide_left_list *list, tide_error *error) {
    char path[FILE_BYTES];
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        int64_t found = tide_left_pid_of(entry->d_name, ".log");
        if (found >= 0 && (pid < 0 || found == pid) &&
            list->n_processes < TIDE_LEFT_MAX_PROCESSES) {
            snprintf(path, sizeof(path), "%s/%s", launch->folder, entry->d_name);
            TIDE_TRY(read_log(path, found, pid >= 0, list, error));
        }
    }
    tide_left_sort(list);
    return TIDE_OK;
}

tide_status tide_left_read_running(const tide_launch *launch, int64_t pid, tide_left_list *ret,
                                   tide_error *error) {
    DIR *folder = NULL;
    TIDE_TRY(tide_left_begin(launch, ret, &folder, error));
    tide_status status = read_folder(launch, folder, pid, ret, error);
    (void)closedir(folder);
    return status;
}

size_t tide_left_count_failures(const tide_launch *launch, tide_left_failures *ret, size_t n_room) {
    char path[FILE_BYTES];
    size_t n = 0;
    DIR *folder = opendir(launch->folder);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL;
         entry != NULL && n < n_room; entry = readdir(folder)) {
        struct stat info;
        int64_t pid = tide_left_pid_of(entry->d_name, ".oom");
        snprintf(path, sizeof(path), "%s/%s", launch->folder, entry->d_name);
        if (pid >= 0 && stat(path, &info) == 0) {
            ret[n++] = (tide_left_failures){.pid = pid, .n = (size_t)info.st_size};
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return n;
}
