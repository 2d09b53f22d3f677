#define _GNU_SOURCE /* clone, environ */
#include "programs/live/box/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { STACK_BYTES = 1 << 15, MOST_FDS = 1024 };

void tide_live_copy_environment(char *to[TIDE_LIVE_MAX_ENTRIES]) {
    static const char *const OURS[] = {"LD_PRELOAD=", "TIDEMARK_"};
    size_t n = 0;
    for (size_t i = 0; environ[i] != NULL && n + 1 < TIDE_LIVE_MAX_ENTRIES; i++) {
        bool is_ours = false;
        for (size_t k = 0; k < sizeof(OURS) / sizeof(OURS[0]); k++) {
            is_ours = is_ours || strncmp(environ[i], OURS[k], strlen(OURS[k])) == 0;
        }
        if (!is_ours) {
            to[n++] = environ[i];
        }
    }
    to[n] = NULL;
}

typedef struct start {
    char *const *arguments;
    char *const *environment;
} start;

/* Shares the program's memory until it executes tidemark, while the calling thread waits. So it
 * only makes system calls, directly: the program may have replaced the C library's functions.
 * Signals stay blocked until tidemark has begun. */
static int become_helper(void *ctx) {
    const start *of = ctx;
    (void)syscall(SYS_setsid);
    long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    for (long fd = 0; fd <= STDERR_FILENO; fd++) {
        (void)syscall(SYS_dup2, null, fd);
    }
    if (syscall(SYS_close_range, STDERR_FILENO + 1, UINT32_MAX, 0) != 0) {
        for (long fd = STDERR_FILENO + 1; fd < MOST_FDS; fd++) {
            (void)syscall(SYS_close, fd);
        }
    }
    (void)syscall(SYS_execve, of->arguments[0], of->arguments, of->environment);
    (void)syscall(SYS_exit, 127);
    return 127;
}

bool tide_live_start_helper(char *const arguments[]) {
    static struct {
        char *environment[TIDE_LIVE_MAX_ENTRIES];
        _Alignas(16) unsigned char stack[STACK_BYTES];
    } room;
    int saved = errno;
    int how = -1;
    sigset_t all, before;
    start of = {arguments, room.environment};
    tide_live_copy_environment(room.environment);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    /* No signal at its end: such a child is only seen by those who ask for it with __WALL. */
    int child = clone(become_helper, room.stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, &of);
    long waited = child;
    while (child > 0 && (waited = syscall(SYS_wait4, child, &how, __WALL, NULL)) < 0 &&
           errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return waited > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}
