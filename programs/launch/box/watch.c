/* watch.c - the process that waits beside a recorded one. It is the recorded one's only witness, so
 * it depends on nothing in it: the end is seen by a descriptor of the process, or else by the
 * ring's lock, and a failed request by the ring's time of access. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/recover.h"
#include "common/clock.h"
#include "programs/launch/box/box.h"
#include "programs/launch/box/box_internal.h"
#include "programs/launch/logs/logs.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
    LOOK_MS = 1000,       /* between two looks where the system does not report changes */
    NAMES_MS = 5000,      /* after a failure, in which the process names its tensors, at most */
    MOST_WRITTEN = 3,     /* snapshots while the process runs */
    MOST_FAILED = 1 << 20 /* a later time of access is a real one */
};

#define MILLISECOND_NS INT64_C(1000000)

typedef struct watch {
    const char *ring;
    char target[TIDE_LAUNCH_PATH_BYTES]; /* of a link; "": the ring is none */
    int64_t number;                      /* of the process */
    int process;                         /* its descriptor; -1: not available */
    int changes;                         /* of inotify; -1: not available */
    bool has_failed;
} watch;

static int64_t now_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 * MILLISECOND_NS + now.tv_nsec;
}

static bool has_ended(const watch *of) {
    struct pollfd look = {.fd = of->process, .events = POLLIN};
    return of->process >= 0 ? poll(&look, 1, 0) > 0 : !tide_logs_is_written(of->ring);
}

/* Waits for the end of the process or for a change; at most so long, -1 for ever. */
static void wait_ms(const watch *of, bool for_changes, int most_ms) {
    char events[4096];
    struct pollfd looks[] = {{.fd = of->process, .events = POLLIN},
                             {.fd = for_changes ? of->changes : -1, .events = POLLIN}};
    (void)poll(looks, 2, most_ms);
    if ((looks[1].revents & POLLIN) != 0) {
        (void)!read(of->changes, events, sizeof(events)); /* only that there was a change counts */
    }
}

/* Failed requests so far, and whether the process has named its tensors since; 0 also when another
 * program has read the ring since. */
static uint64_t count_failures(const watch *of, bool *ret_is_named) {
    struct stat info;
    const char *file = of->target[0] != '\0' ? of->target : of->ring;
    bool is_known =
        stat(file, &info) == 0 && info.st_atim.tv_sec > 0 && info.st_atim.tv_sec < MOST_FAILED;
    *ret_is_named = is_known && info.st_atim.tv_nsec > 0;
    return is_known ? (uint64_t)info.st_atim.tv_sec : 0;
}

/* Whether the process ended with success by a system call, past the C library. The library removes
 * a ring that it closes, unless a request has failed. */
static bool is_good_end(const watch *of, const tide_recover_head *header,
                        const tide_box_ended *ended) {
    return strcmp(ended->text, "status 0") == 0 && !of->has_failed && !header->is_closed;
}

/* The process removes its link first and then its ring, and may be killed in between. */
static void remove_target(const watch *of) {
    tide_recover_head header;
    if (of->target[0] != '\0' && !of->has_failed &&
        tide_recover_look(of->target, &header, NULL) == TIDE_OK && header.is_closed) {
        (void)unlink(of->target);
    }
}

static void end(const watch *of) {
    tide_recover_head header;
    if (tide_recover_look(of->ring, &header, NULL) != TIDE_OK) {
        remove_target(of);
        return; /* it ended by itself, and removed the ring */
    }
    tide_box_ended ended = {.unix_us = tide_clock_unix_us()};
    if (!tide_box_how_ended(of->process, of->number, ended.text)) {
        ended.text[0] = '\0';
    }
    bool is_done = header.is_empty || is_good_end(of, &header, &ended) ||
                   (header.is_closed && tide_box_is_written(of->ring));
    tide_status status = TIDE_OK;
    if (!is_done) {
        status = tide_box_write(of->ring, &ended, NULL);
    } else if (header.is_closed && ended.text[0] != '\0') {
        status = tide_box_add_end(of->ring, &ended, NULL);
    }
    if (is_done || status == TIDE_OK) {
        tide_box_remove(of->ring);
    }
}

static void stay(watch *of) {
    int most_ms = of->process >= 0 && of->changes >= 0 ? -1 : LOOK_MS;
    const tide_box_ended running = {.text = ""};
    uint64_t n_seen = 0;
    int n_written = 0;
    while (!has_ended(of)) {
        bool is_named = false;
        uint64_t n = count_failures(of, &is_named);
        of->has_failed = of->has_failed || n > 0;
        if (n > n_seen && n_written < MOST_WRITTEN) {
            int64_t until_ns = now_ns() + NAMES_MS * MILLISECOND_NS;
            while (!is_named && !has_ended(of) && now_ns() < until_ns) {
                wait_ms(of, true, LOOK_MS);
                (void)count_failures(of, &is_named);
            }
            n_written += tide_box_write(of->ring, &running, NULL) == TIDE_OK;
            n_seen = n;
            continue; /* it may have failed again */
        }
        wait_ms(of, true, most_ms);
    }
    /* Before end() reads the ring, which sets the time of access. */
    bool is_named = false;
    of->has_failed = of->has_failed || count_failures(of, &is_named) > 0;
    end(of);
}

tide_status tide_box_watch(const char *ring, tide_error *error) {
    tide_recover_head header;
    watch of = {.ring = ring};
    sigset_t none;
    TIDE_TRY(tide_recover_look(ring, &header, error));
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* the program blocked all while it started us */
    /* Before the caller waits for us no longer: until then the process cannot end. */
    of.number = header.process;
    ssize_t n_target = readlink(ring, of.target, sizeof(of.target) - 1);
    of.target[n_target > 0 ? n_target : 0] = '\0';
    of.process = (int)syscall(SYS_pidfd_open, (pid_t)header.process, 0);
    of.changes = inotify_init1(IN_CLOEXEC);
    if (of.changes >= 0 && inotify_add_watch(of.changes, ring, IN_ATTRIB) < 0) {
        (void)close(of.changes);
        of.changes = -1;
    }
    pid_t child = fork();
    if (child < 0) {
        return tide_fail(error, TIDE_IO, "no process can be made");
    }
    if (child == 0) {
        (void)setsid();
        (void)chdir("/"); /* the ring's path is absolute, and no folder stays in use */
        stay(&of);
        _exit(0);
    }
    return TIDE_OK;
}
