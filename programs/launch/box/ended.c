#define _DEFAULT_SOURCE /* nanosleep, kill */
#include "programs/launch/box/ended.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The kernel's struct pidfd_info in its first version (linux/pidfd.h, as of 6.13; the status as of
 * 6.15), which older headers lack. */
typedef struct pidfd_info_0 {
    uint64_t mask; /* of the fields that are asked for, and then of those that are there */
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t status; /* as wait() returns it */
} pidfd_info_0;
_Static_assert(sizeof(pidfd_info_0) == 64, "the size is part of the request's number");

#define GET_INFO _IOWR(0xFF, 11, pidfd_info_0)
enum { HAS_STATUS = 1 << 3 };

enum { TRIES = 100, TRY_NS = 10000000, STATUS_FIELD = 52 };

void tide_box_ended_text(int status, char ret_text[TIDE_ENDED_BYTES]) {
    static const struct {
        int number;
        const char *name;
    } NAMES[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                 {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
                 {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
                 {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
                 {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
                 {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
    if (!WIFSIGNALED(status)) {
        (void)snprintf(ret_text, TIDE_ENDED_BYTES, "status %d", WEXITSTATUS(status));
        return;
    }
    (void)snprintf(ret_text, TIDE_ENDED_BYTES, "signal %d", WTERMSIG(status));
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (NAMES[i].number == WTERMSIG(status)) {
            (void)snprintf(ret_text, TIDE_ENDED_BYTES, "%s", NAMES[i].name);
        }
    }
}

/* After its parent has read the status. */
static bool ask_descriptor(int descriptor, int *ret_status) {
    pidfd_info_0 info = {.mask = HAS_STATUS};
    if (descriptor < 0 || ioctl(descriptor, GET_INFO, &info) != 0 ||
        (info.mask & HAS_STATUS) == 0) {
        return false;
    }
    *ret_status = info.status;
    return true;
}

/* "" if it cannot be read. */
static void read_proc(int64_t process, const char *name, char *ret_text, size_t n_room) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/%s", process, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, ret_text, n_room - 1) : -1;
    if (file >= 0) {
        (void)close(file);
    }
    ret_text[n > 0 ? n : 0] = '\0';
}

/* Whether real, effective and saved number of the row are ours. */
static bool has_ids(const char *text, const char *row, unsigned ours) {
    unsigned ids[3];
    const char *at = strstr(text, row);
    return at != NULL && sscanf(at + strlen(row), "%u %u %u", &ids[0], &ids[1], &ids[2]) == 3 &&
           ids[0] == ours && ids[1] == ours && ids[2] == ours;
}

/* Whether the kernel shows us the status without further rights (ptrace(2), "Ptrace access mode
 * checking"). */
static bool is_readable(int64_t process) {
    char text[4096];
    read_proc(process, "status", text, sizeof(text));
    return has_ids(text, "\nUid:", (unsigned)geteuid()) &&
           has_ids(text, "\nGid:", (unsigned)getegid());
}

/* Before that: the last field of "4711 (name) Z 1 ...". A name may contain anything. The field is
 * also 0 if we may not read it. */
static bool ask_proc(int64_t process, int *ret_status) {
    char text[2048];
    read_proc(process, "stat", text, sizeof(text));
    const char *at = strrchr(text, ')');
    if (at == NULL || strncmp(at, ") Z ", 4) != 0) {
        return false;
    }
    for (int field = 2; field < STATUS_FIELD && at != NULL; field++) {
        at = strchr(at + 1, ' ');
    }
    *ret_status = at != NULL ? atoi(at + 1) : 0;
    return at != NULL && (*ret_status != 0 || is_readable(process));
}

bool tide_box_how_ended(int descriptor, int64_t process, char ret_text[TIDE_ENDED_BYTES]) {
    const struct timespec pause = {.tv_nsec = TRY_NS};
    int status = 0;
    for (int i = 0; i < TRIES; i++) {
        if (ask_descriptor(descriptor, &status) || ask_proc(process, &status)) {
            tide_box_ended_text(status, ret_text);
            return true;
        }
        if (kill((pid_t)process, 0) != 0) { /* its parent was faster */
            bool is_known = ask_descriptor(descriptor, &status);
            if (is_known) {
                tide_box_ended_text(status, ret_text);
            }
            return is_known;
        }
        (void)nanosleep(&pause, NULL);
    }
    return false;
}
