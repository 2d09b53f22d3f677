/* temporary_file.c - makes unfinished files, and removes them when a signal ends the process.
 *
 * A signal handler may run at any instruction of any thread and may take no lock. So the list of
 * files is an array of fixed size, and the owner of each place changes atomically: free, being
 * filled, or complete.
 */
#define _GNU_SOURCE /* getrandom, O_NOFOLLOW */
#include "common/files/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"

enum {
    MAX_ATTEMPTS = 16, /* to find a free name; two random 64-bit numbers are practically never
                          equal */
    MAX_WAITS = 1000,  /* times that the handler waits for a thread which is making its file */
    WAIT_NS = 1000000, /* each time */
    N_NAME_BYTES = 40  /* ".tidemark-", 16 digits, ".tmp" and a NUL */
};

/* One place of the list. Its text is written only while `owner` is negative. */
typedef struct place {
    atomic_int owner; /* 0: free; the process ID, negative while the file is being made */
    char path[TIDE_TEMPORARY_PATH_BYTES];
} place;

/* A signal handler gets no argument from us, so the list is global. */
static struct {
    atomic_bool is_ending; /* from now on no text of the list changes */
    place places[TIDE_TEMPORARY_MAX];
} list;

/* Writes FOLDER/.tidemark-RANDOM.tmp. Returns 0 or errno. */
static int name(const char *target, char path[TIDE_TEMPORARY_PATH_BYTES]) {
    uint64_t number = 0;
    const char *slash = strrchr(target, '/');
    size_t n_folder = slash != NULL ? (size_t)(slash - target) + 1 : 0;
    if (n_folder + N_NAME_BYTES > TIDE_TEMPORARY_PATH_BYTES) {
        return ENAMETOOLONG;
    }
    ssize_t n;
    do {
        n = getrandom(&number, sizeof(number), 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(number)) {
        return n < 0 ? errno : EIO;
    }
    memcpy(path, target, n_folder);
    (void)snprintf(path + n_folder, N_NAME_BYTES, ".tidemark-%016" PRIx64 ".tmp", number);
    return 0;
}

/* Takes a free place for this process. Returns 0 or errno. */
static int claim(int process, size_t *ret_slot) {
    for (size_t i = 0; i < TIDE_TEMPORARY_MAX; i++) {
        int none = 0;
        if (!atomic_compare_exchange_strong(&list.places[i].owner, &none, -process)) {
            continue;
        }
        /* Both are sequentially consistent: either this thread sees that the process is ending, or
         * the handler sees that the place is in use and waits for it. */
        if (atomic_load(&list.is_ending)) {
            atomic_store(&list.places[i].owner, 0);
            return EINTR;
        }
        *ret_slot = i;
        return 0;
    }
    return EMFILE;
}

/* Called with all signals blocked: a handler on this thread would wait for the file that this
 * thread is making. */
static int make(const char *target, mode_t mode, tide_temporary_file *ret_file) {
    int process = (int)getpid();
    size_t slot = 0;
    int fd = -1;
    int reason = claim(process, &slot);
    if (reason != 0) {
        return reason;
    }
    place *at = &list.places[slot];
    for (int i = 0; fd < 0 && (i == 0 || (i < MAX_ATTEMPTS && reason == EEXIST)); i++) {
        reason = name(target, at->path);
        if (reason == 0) {
            fd = open(at->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
            reason = fd < 0 ? errno : 0;
        }
    }
    if (reason != 0) {
        atomic_store(&at->owner, 0);
        return reason;
    }
    atomic_store(&at->owner, process);
    *ret_file = (tide_temporary_file){.fd = fd, .slot = slot, .path = at->path};
    return 0;
}

int tide_temporary_file_open(const char *target, mode_t mode, tide_temporary_file *ret_file) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    int reason = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (reason != 0) {
        return reason;
    }
    reason = make(target, mode, ret_file);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail: it worked above */
    return reason;
}

void tide_temporary_file_remove(tide_temporary_file *file) {
    (void)unlink(file->path); /* fails if the file or its folder is gone already */
    tide_temporary_file_forget(file);
}

void tide_temporary_file_forget(tide_temporary_file *file) {
    atomic_store(&list.places[file->slot].owner, 0);
    file->path = "";
}

void tide_temporary_files_end(void) {
    int process = (int)getpid();
    atomic_store(&list.is_ending, true);
    for (size_t i = 0; i < TIDE_TEMPORARY_MAX; i++) {
        place *at = &list.places[i];
        for (int n = 0; n < MAX_WAITS && atomic_load(&at->owner) == -process; n++) {
            tide_clock_pause_ns(WAIT_NS);
        }
        if (atomic_load(&at->owner) == process) {
            (void)unlink(at->path); /* fails if its thread has just done so */
        }
    }
}
