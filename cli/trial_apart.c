/* A trial in a process of its own: fork, exec, and what comes through the pipe. */
#define _DEFAULT_SOURCE /* prctl's header wants it */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/trial_internal.h"
#include "common/clock.h"

enum { TICK_MS = 100, MAX_RESULT_BYTES = 64 << 20, PIECE_BYTES = 65536, EXIT_NO_EXEC = 127 };

/* The process, and what it has written so far. */
typedef struct child {
    pid_t pid;
    int fd;          /* the pipe's end that is read */
    char *text;      /* owned; NULL at first */
    size_t n_bytes;  /* of text */
    size_t capacity; /* of text */
    bool was_told;   /* to end, because of an interruption */
    bool no_memory;  /* for the text */
} child;

/* Between fork and exec: only what a signal handler may do, too. Does not return. Signals are
 * blocked: this program's handlers would note them for nobody. */
static void become(const char *program, char **arguments, int result_fd, pid_t parent,
                   const sigset_t *mask) {
    /* It ends with its parent, also where that one is killed; perhaps it already was. On this
     * signal it takes its unfinished files away, also where its parent ignores it. */
    (void)signal(SIGTERM, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    bool is_ready = getppid() == parent;
    if (result_fd == TIDE_TRIAL_RESULT_FD) {
        is_ready = is_ready && fcntl(result_fd, F_SETFD, 0) == 0;
    } else {
        is_ready = is_ready && dup2(result_fd, TIDE_TRIAL_RESULT_FD) >= 0;
    }
    /* Standard output is the table's. */
    if (is_ready && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
        (void)execv(program, arguments);
    }
    _exit(EXIT_NO_EXEC);
}

static tide_status start(const char *program, char **arguments, child *ret, tide_error *error) {
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "no pipe for a process of its own: %s", strerror(errno));
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* both are open: it cannot fail */
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL); /* nothing is to be written twice */
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        become(program, arguments, ends[1], parent, &before);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return tide_fail(error, TIDE_IO, "no process of its own: %s", strerror(errno));
    }
    *ret = (child){.pid = pid, .fd = ends[0]};
    return TIDE_OK;
}

/* Reads a piece. False: there is no more. */
static bool receive(child *from) {
    char piece[PIECE_BYTES];
    ssize_t n = read(from->fd, piece, sizeof(piece));
    if (n < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    if (n == 0) {
        return false;
    }
    if (from->no_memory || from->n_bytes + (size_t)n >= (size_t)MAX_RESULT_BYTES) {
        from->no_memory = true; /* read on, so that it can come to its end */
        return true;
    }
    char *grown = tide_hostmem_grow(tide_hostmem_default(), from->text, &from->capacity,
                                    from->n_bytes + (size_t)n + 1, 1);
    if (grown == NULL) {
        from->no_memory = true;
        return true;
    }
    from->text = grown;
    memcpy(from->text + from->n_bytes, piece, (size_t)n);
    from->n_bytes += (size_t)n;
    from->text[from->n_bytes] = '\0';
    return true;
}

/* Reads all that it writes, and waits for its end. An interruption of this process is handed on. */
static int attend(child *to, const tide_trial_apart *apart) {
    bool goes_on = true;
    while (goes_on) {
        struct pollfd waits = {.fd = to->fd, .events = POLLIN};
        int n_ready = poll(&waits, 1, TICK_MS);
        if (tide_interrupt_signal() != 0 && !to->was_told) {
            to->was_told = kill(to->pid, SIGTERM) == 0;
        }
        if (n_ready > 0) {
            goes_on = receive(to);
        }
        if (apart != NULL && apart->tick != NULL) {
            apart->tick(apart->ctx);
        }
    }
    (void)close(to->fd); /* was only read */
    int how = 0;
    while (waitpid(to->pid, &how, 0) < 0 && errno == EINTR) {
    }
    return how;
}

static void read_result(child *from, tide_trial_result *ret) {
    tide_error error = {""};
    const char *end = NULL;
    cJSON *json = from->text != NULL ? cJSON_ParseWithOpts(from->text, &end, true) : NULL;
    tide_status status = TIDE_NO_MEMORY;
    if (!from->no_memory) {
        status = tide_trial_result_from_json(json, ret, &error);
    }
    cJSON_Delete(json);
    if (status != TIDE_OK) {
        char text[TIDE_TRIAL_REASON_BYTES];
        tide_trial_result_fini(ret);
        snprintf(text, sizeof(text), "its process ended without a result (%.400s)",
                 from->text == NULL ? "it wrote nothing" : error.message);
        tide_trial_fail(ret, TIDE_TRIAL_CRASHED, status, text);
    }
}

/* What its end says. A signal is told by number and name. */
static void judge(child *of, int how, tide_trial_result *ret) {
    char text[TIDE_TRIAL_REASON_BYTES];
    bool has_ended_well = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    if (!has_ended_well && tide_interrupt_signal() != 0) {
        tide_trial_fail(ret, TIDE_TRIAL_STOPPED, TIDE_OK, "interrupted");
        return;
    }
    if (WIFSIGNALED(how)) {
        int number = WTERMSIG(how);
        snprintf(
            text, sizeof(text), "signal %d (%.64s) ended its process%s", number, strsignal(number),
            number == SIGKILL ? ": perhaps the kernel, because the host had no memory left" : "");
        tide_trial_fail(ret, TIDE_TRIAL_CRASHED, TIDE_DEVICE_FAILED, text);
        ret->signal_number = number;
        return;
    }
    if (WEXITSTATUS(how) != 0) {
        snprintf(text, sizeof(text), "its process ended with exit status %d and without a result",
                 WEXITSTATUS(how));
        tide_trial_fail(ret, TIDE_TRIAL_CRASHED, TIDE_DEVICE_FAILED, text);
        return;
    }
    read_result(of, ret);
}

void tide_trial_run_apart(const tide_trial_config *config, const tide_trial_apart *apart,
                          tide_trial_result *ret_result) {
    const char *program =
        apart != NULL && apart->program != NULL ? apart->program : "/proc/self/exe";
    int64_t started_unix_us = tide_clock_unix_us();
    child process = {.pid = -1};
    tide_error error = {""};
    tide_trial_result_init(ret_result);
    char **arguments = tide_trial_arguments(config);
    tide_status status =
        arguments != NULL ? start(program, arguments, &process, &error) : TIDE_NO_MEMORY;
    tide_trial_arguments_release(arguments);
    if (status != TIDE_OK) {
        tide_trial_fail(ret_result, TIDE_TRIAL_FAILED, status, error.message);
    } else {
        judge(&process, attend(&process, apart), ret_result);
    }
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, process.text);
    if (ret_result->started_unix_us < 0) { /* it told nothing */
        ret_result->started_unix_us = started_unix_us;
        tide_trial_describe_program(&ret_result->environment);
    }
}
