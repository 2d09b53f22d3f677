#define _GNU_SOURCE /* flock, O_DIRECTORY */
#include "programs/launch/logs/logs_left.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "programs/launch/logs/logs.h"
#include "programs/launch/logs/logs_internal.h"

enum { FILE_BYTES = 2 * TIDE_LAUNCH_PATH_BYTES, BLOCK_BYTES = 512, NEW_S = 60 };

static bool is_run(const struct dirent *entry) {
    return strncmp(entry->d_name, TIDE_LOGS_RUN, strlen(TIDE_LOGS_RUN)) == 0 &&
           strlen(entry->d_name) < sizeof(((tide_logs_run *)NULL)->name);
}

/* Opens and locks the folder of a run that has ended. -1: it is still running, or does not
 * exist. */
static int lock_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_log(const char *name) {
    size_t n = strspn(name, "0123456789");
    return n > 0 && strncmp(name + n, TIDE_LOGS_ENDING, strlen(TIDE_LOGS_ENDING)) == 0;
}

static void read_command(const char *path, tide_logs_run *to) {
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(to->command, 1, sizeof(to->command) - 1, file) : 0;
    to->command[n] = '\0';
    if (file != NULL) {
        (void)fclose(file); /* was only read */
    }
}

/* Counts the files of a run. False: the folder is gone, or is a link. */
static bool count(const char *folder, tide_logs_run *to) {
    char path[FILE_BYTES];
    struct stat info;
    if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return false;
    }
    int fd = lock_folder(folder);
    time_t newest = info.st_mtime;
    size_t n_files = 0;
    to->is_running = fd < 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL;
         entry = readdir(listing)) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
            continue;
        }
        n_files++;
        to->n_bytes += (uint64_t)info.st_blocks * BLOCK_BYTES;
        newest = info.st_mtime > newest ? info.st_mtime : newest;
        if (is_log(entry->d_name)) {
            to->n_logs++;
            to->is_running = to->is_running || tide_logs_is_written(path);
        } else if (strcmp(entry->d_name, TIDE_LOGS_COMMAND) == 0) {
            read_command(path, to);
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    time_t now = time(NULL);
    to->age_s = now > newest ? (int64_t)(now - newest) : 0;
    /* A folder made a moment ago may not be marked yet. */
    to->is_running = to->is_running || (n_files == 0 && to->age_s < NEW_S);
    return true;
}

static int by_age(const void *left, const void *right) {
    const tide_logs_run *one = left;
    const tide_logs_run *other = right;
    return one->age_s != other->age_s ? (one->age_s > other->age_s) - (one->age_s < other->age_s)
                                      : strcmp(one->name, other->name);
}

/* Makes room for one more. */
static tide_logs_run *next_run(tide_logs_left *to, size_t *capacity) {
    const tide_hostmem *mem = tide_hostmem_default();
    if (to->n_runs == *capacity) {
        size_t n = *capacity == 0 ? 16 : 2 * *capacity;
        tide_logs_run *larger = tide_hostmem_zeroed(mem, n, sizeof(*larger));
        if (larger == NULL) {
            return NULL;
        }
        if (to->n_runs > 0) {
            memcpy(larger, to->runs, to->n_runs * sizeof(*larger));
        }
        mem->release(mem->ctx, to->runs);
        to->runs = larger;
        *capacity = n;
    }
    memset(&to->runs[to->n_runs], 0, sizeof(to->runs[0]));
    return &to->runs[to->n_runs];
}

tide_status tide_logs_left_init(tide_logs_left *ret, tide_error *error) {
    char path[FILE_BYTES];
    size_t capacity = 0;
    tide_status status = TIDE_OK;
    *ret = (tide_logs_left){.n_runs = 0};
    if (!tide_logs_find_state(ret->folder)) {
        ret->folder[0] = '\0';
        return TIDE_OK;
    }
    DIR *listing = opendir(ret->folder);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL;
         status == TIDE_OK && entry != NULL; entry = readdir(listing)) {
        tide_logs_run *run = is_run(entry) ? next_run(ret, &capacity) : NULL;
        if (run == NULL) {
            status = is_run(entry) ? tide_fail(error, TIDE_NO_MEMORY, "no memory for the list")
                                   : TIDE_OK;
            continue;
        }
        snprintf(run->name, sizeof(run->name), "%s", entry->d_name);
        snprintf(path, sizeof(path), "%s/%s", ret->folder, run->name);
        if (count(path, run)) {
            ret->n_runs++;
            ret->n_left += run->is_running ? 0 : 1;
            ret->n_bytes += run->is_running ? 0 : run->n_bytes;
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    if (ret->n_runs > 0) {
        qsort(ret->runs, ret->n_runs, sizeof(ret->runs[0]), by_age);
    }
    if (status != TIDE_OK) {
        tide_logs_left_fini(ret);
    }
    return status;
}

void tide_logs_left_fini(tide_logs_left *left) {
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, left->runs);
    *left = (tide_logs_left){.n_runs = 0};
}

tide_status tide_logs_left_remove(const tide_logs_left *left, size_t run, tide_error *error) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    tide_logs_run now = {.n_logs = 0};
    int n = snprintf(path, sizeof(path), "%s/%s", left->folder, left->runs[run].name);
    if (n >= (int)sizeof(path) || !count(path, &now)) {
        return TIDE_OK; /* another process was faster */
    }
    int fd = now.is_running ? -1 : lock_folder(path);
    if (fd < 0) {
        return tide_fail(error, TIDE_INVALID, "%s stays, because its run goes on", path);
    }
    tide_logs_remove(path);
    (void)close(fd);
    return access(path, F_OK) != 0
               ? TIDE_OK
               : tide_fail(error, TIDE_IO,
                           "%s stays, because it has a file that tidemark did not make, or cannot "
                           "be removed",
                           path);
}
