#define _GNU_SOURCE /* flock, O_DIRECTORY */
#include "programs/launch/logs/logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/launch/folders.h"
#include "programs/launch/logs/logs_internal.h"

#define UNFINISHED ".tidemark-" /* common/files/temporary_file.c */

bool tide_logs_find_state(char ret_folder[TIDE_LAUNCH_PATH_BYTES]) {
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int n = 0;
    if (state != NULL && state[0] == '/') {
        n = snprintf(ret_folder, TIDE_LAUNCH_PATH_BYTES, "%s/tidemark", state);
    } else if (tide_folder_exists(home)) {
        n = snprintf(ret_folder, TIDE_LAUNCH_PATH_BYTES, "%s/.local/state/tidemark", home);
    }
    return n > 0 && n < TIDE_LAUNCH_PATH_BYTES - 64;
}

tide_status tide_logs_make(char ret_folder[TIDE_LAUNCH_PATH_BYTES], tide_error *error) {
    if (!tide_logs_find_state(ret_folder)) {
        return tide_fail(
            error, TIDE_IO,
            "there is no folder for the log: HOME is no folder, and XDG_STATE_HOME is not set; "
            "--log names a file");
    }
    size_t n = strlen(ret_folder);
    bool ok = tide_folder_make_all(ret_folder);
    if (ok) {
        snprintf(ret_folder + n, TIDE_LAUNCH_PATH_BYTES - n, "/" TIDE_LOGS_RUN "XXXXXX");
        ok = mkdtemp(ret_folder) != NULL;
    }
    return ok ? TIDE_OK
              : tide_fail(error, TIDE_IO,
                          "no folder for the log can be made in %.*s: %s; --log names a file",
                          (int)n, ret_folder, strerror(errno));
}

void tide_logs_own(const char *folder, char *const *arguments, int *ret_fd) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    *ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd >= 0) {
        (void)flock(*ret_fd, LOCK_EX | LOCK_NB); /* the folder is new: no other process has it */
    }
    snprintf(path, sizeof(path), "%s/" TIDE_LOGS_COMMAND, folder);
    FILE *file = fopen(path, "wxe");
    for (size_t i = 0; file != NULL && arguments[i] != NULL; i++) {
        fprintf(file, "%s%s", i > 0 ? " " : "", arguments[i]);
    }
    if (file != NULL) {
        (void)fclose(file); /* it is for users who inspect the folder later */
    }
}

/* Whether tidemark made the file: the command, PID.log and the names derived from it, or an
 * unfinished file.
 */
static bool is_ours(const char *name) {
    size_t n_digits = strspn(name, "0123456789");
    bool is_log =
        n_digits > 0 && strncmp(name + n_digits, TIDE_LOGS_ENDING, strlen(TIDE_LOGS_ENDING)) == 0;
    return is_log || strcmp(name, TIDE_LOGS_COMMAND) == 0 ||
           strncmp(name, UNFINISHED, strlen(UNFINISHED)) == 0;
}

void tide_logs_remove(const char *folder) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    DIR *open_folder = folder[0] != '\0' ? opendir(folder) : NULL;
    if (open_folder == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(open_folder); entry != NULL; entry = readdir(open_folder)) {
        if (is_ours(entry->d_name)) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            (void)unlink(path); /* no process is left to report to */
        }
    }
    (void)closedir(open_folder);
    (void)rmdir(folder);
}

/* Selects the log if it is the newest so far. */
static void consider(const char *path, struct timespec *newest,
                     char ret_path[TIDE_LAUNCH_PATH_BYTES]) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        return;
    }
    bool is_newer =
        info.st_mtim.tv_sec > newest->tv_sec ||
        (info.st_mtim.tv_sec == newest->tv_sec && info.st_mtim.tv_nsec > newest->tv_nsec);
    if (is_newer && strlen(path) < TIDE_LAUNCH_PATH_BYTES) {
        *newest = info.st_mtim;
        memcpy(ret_path, path, strlen(path) + 1);
    }
}

static void search(const char *folder, struct timespec *newest,
                   char ret_path[TIDE_LAUNCH_PATH_BYTES]) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry = open_folder != NULL ? readdir(open_folder) : NULL; entry != NULL;
         entry = readdir(open_folder)) {
        size_t n = strlen(entry->d_name);
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, TIDE_LOGS_RUN, strlen(TIDE_LOGS_RUN)) == 0) {
            search(path, newest, ret_path);
        } else if (n > strlen(TIDE_LOGS_ENDING) &&
                   strcmp(entry->d_name + n - strlen(TIDE_LOGS_ENDING), TIDE_LOGS_ENDING) == 0) {
            consider(path, newest, ret_path);
        }
    }
    if (open_folder != NULL) {
        (void)closedir(open_folder);
    }
}

tide_status tide_logs_last(char ret_path[TIDE_LAUNCH_PATH_BYTES], tide_error *error) {
    char state[TIDE_LAUNCH_PATH_BYTES];
    struct timespec newest = {0};
    ret_path[0] = '\0';
    if (tide_logs_find_state(state)) {
        search(state, &newest, ret_path);
    } else {
        snprintf(state, sizeof(state), "$XDG_STATE_HOME/tidemark");
    }
    return ret_path[0] != '\0'
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "no run has left a log in %s: all were turned into snapshots", state);
}
