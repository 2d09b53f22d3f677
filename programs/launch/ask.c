#define _POSIX_C_SOURCE 200809L
#include "programs/launch/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the program prints more. A signal to this process does not end the wait. */
static bool has_more(int fd, int wait_ms) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int n = 0;
    while ((n = poll(&wait, 1, wait_ms)) < 0 && errno == EINTR) {
    }
    return n > 0;
}

/* Reads to the end of the output, so the program never blocks on a full pipe. Drops the bytes that
 * do not fit. */
static void read_answer(int fd, int wait_ms, char *answer, size_t n_room) {
    char rest[1024];
    size_t n = 0;
    while (has_more(fd, wait_ms)) {
        bool has_room = n + 1 < n_room;
        ssize_t got =
            has_room ? read(fd, answer + n, n_room - 1 - n) : read(fd, rest, sizeof(rest));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            break;
        }
        n += has_room && got > 0 ? (size_t)got : 0;
    }
    answer[n] = '\0';
}

static int start(const tide_ask *ask, const int ends[2], pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawn_file_actions_addclose(&actions, ends[0]);
    if (failed == 0) {
        failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    }
    if (failed == 0) {
        failed = ask->reads_errors
                     ? posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
                     : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                        O_WRONLY, 0);
    }
    if (failed == 0) {
        failed = posix_spawnp(ret_pid, ask->arguments[0], &actions, NULL, ask->arguments,
                              ask->environment);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

int tide_ask_program(const tide_ask *ask, char *ret_answer, size_t n_room) {
    int ends[2];
    pid_t pid = -1;
    int status = 0;
    ret_answer[0] = '\0';
    if (pipe(ends) != 0) {
        return errno;
    }
    int failed = start(ask, ends, &pid);
    (void)close(ends[1]);
    if (failed == 0) {
        read_answer(ends[0], ask->wait_ms, ret_answer, n_room);
    }
    (void)close(ends[0]);
    if (failed == 0) {
        (void)kill(pid, SIGKILL); /* it has answered, or never will */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    return failed;
}
