/* copy.c - a copy of the process that may do what the process itself must not: collect garbage.
 *
 * fork() makes it. Before it runs any code of the program, such as a finalizer, it loses all files
 * and most system calls. It can compute, allocate memory and write to one pipe. Nothing that it
 * does reaches files, other processes or the recording. It has one thread, so it may wait forever
 * for a lock that another thread held: the process ends it after a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "programs/live/exports.h"
#include "programs/live/state_friend.h"

enum { MOST_FILES = 65536, NS_PER_MS = 1000000 };

#define FIELD(name) offsetof(struct seccomp_data, name)
#define LOAD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(name))
#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1),                                       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Every other call fails with EPERM. */
static bool forbid_calls(void) {
    struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        ALLOW(write),
        ALLOW(exit_group),
        ALLOW(exit),
        ALLOW(brk),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(futex),
        ALLOW(clock_gettime),
        ALLOW(gettimeofday),
        ALLOW(sched_yield),
        ALLOW(getpid),
        ALLOW(gettid),
        ALLOW(getrandom),
        ALLOW(rt_sigaction),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void close_between(unsigned first, unsigned last) {
    if (first <= last && syscall(SYS_close_range, first, last, 0) != 0) {
        for (unsigned fd = first; fd <= last && fd < MOST_FILES; fd++) {
            (void)close((int)fd);
        }
    }
}

/* Leaves the copy nothing but the end of the pipe. `parent`: it may have ended already. */
static bool isolate(int fd, pid_t parent) {
    const struct rlimit none = {0, 0};
    close_between(0, (unsigned)fd - 1);
    close_between((unsigned)fd + 1, ~0u);
    return setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
           getppid() == parent && forbid_calls();
}

int tidemark_live_copy(int *ret_fd) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        tide_live_stay_closed();
        if (ends[1] == 0 || !isolate(ends[1], parent)) {
            syscall(SYS_exit_group, 1);
        }
        *ret_fd = ends[1];
        return 0;
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return -1;
    }
    *ret_fd = ends[0];
    return (int)pid;
}

void tidemark_live_copy_end(void) {
    syscall(SYS_exit_group, 0);
}

/* Waits until the pipe has bytes or its other end is closed; false: not until the deadline. */
static bool has_input(int fd, int64_t deadline_ns) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    for (;;) {
        int64_t left_ns = deadline_ns - tide_clock_now_ns();
        if (left_ns <= 0) {
            return false;
        }
        /* Not poll(): the program's clock may be a forecast's. */
        long n = syscall(SYS_poll, &one, 1, (int)(left_ns / NS_PER_MS) + 1);
        if (n > 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
    }
}

size_t tidemark_live_copy_wait(int pid, int fd, char *ret_text, size_t n_room, int most_ms) {
    int64_t deadline_ns = tide_clock_now_ns() + (int64_t)most_ms * NS_PER_MS;
    size_t n_read = 0;
    while (n_read < n_room && has_input(fd, deadline_ns)) {
        ssize_t n = read(fd, ret_text + n_read, n_room - n_read);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        n_read += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return n_read;
}
