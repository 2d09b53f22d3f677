#define _GNU_SOURCE /* syscall */
#include "programs/virtual_cuda/process/processes.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fields of /proc/PID/stat after the name, which may hold any characters: the state is the
 * first. */
enum { STATE = 0, N_THREADS = 17, START_TICKS = 19, N_PAGES = 21, STAT_BYTES = 1024 };

/* The text after the name; NULL if there is no such process. Allocates nothing, because a process
 * that has just forked may call it. */
static const char *read_stat(uint32_t pid, char *storage) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%u/stat", (unsigned)pid);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    ssize_t n = read(file, storage, STAT_BYTES - 1);
    (void)close(file);
    storage[n > 0 ? n : 0] = '\0';
    const char *behind = strrchr(storage, ')');
    return behind != NULL && behind[1] == ' ' ? behind + 2 : NULL;
}

static const char *field(const char *stat, int number) {
    for (int i = 0; i < number && stat != NULL; i++) {
        stat = strchr(stat, ' ');
        stat = stat != NULL ? stat + 1 : NULL;
    }
    return stat;
}

uint64_t tide_vc_start_ticks(uint32_t pid) {
    char storage[STAT_BYTES];
    const char *ticks = field(read_stat(pid, storage), START_TICKS);
    return ticks != NULL ? strtoull(ticks, NULL, 10) : 0;
}

bool tide_vc_is_alive(uint32_t pid, uint64_t start_ticks) {
    char storage[STAT_BYTES];
    const char *stat = read_stat(pid, storage);
    const char *ticks = field(stat, START_TICKS);
    const char *n_threads = field(stat, N_THREADS);
    if (ticks == NULL || strtoull(ticks, NULL, 10) != start_ticks) {
        return false;
    }
    /* A process whose first thread ended before the others also has a state that means ended. */
    bool has_ended = stat[STATE] == 'Z' || stat[STATE] == 'X';
    return !has_ended || strtoul(n_threads, NULL, 10) > 1;
}

uint64_t tide_vc_host_bytes(void) {
    char storage[STAT_BYTES];
    const char *n_pages = field(read_stat((uint32_t)getpid(), storage), N_PAGES);
    return n_pages != NULL ? strtoull(n_pages, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
