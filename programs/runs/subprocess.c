/* Runs a configuration in a subprocess: fork, exec, and the result through a pipe. */
#define _DEFAULT_SOURCE /* needed by prctl's header */
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

#include "common/clock.h"
#include "programs/runs/run_friend.h"

enum { TICK_MS = 100, MAX_RESULT_BYTES = 64 << 20, PIECE_BYTES = 65536, EXIT_NO_EXEC = 127 };

/* The subprocess, and the text that it has written so far. */
struct tide_run_process {
    pid_t pid;
    int fd;                  /* the end of the pipe from which this process reads */
    char *text;              /* owned; NULL at first */
    size_t n_bytes;          /* of text */
    size_t capacity;         /* of text */
    bool is_stopped;         /* it was asked to end, because the caller stops */
    bool no_memory;          /* for the text */
    tide_status started;     /* TIDE_OK, or why the subprocess was not started, with `error` */
    int64_t started_unix_us; /* when it was started */
    tide_error error;
};
typedef struct tide_run_process child;

/* Runs between fork and exec, where only async-signal-safe calls are allowed. Does not return.
 * Signals are blocked, because this program's handlers would only note them, and nothing would
 * react. */
static void become(const char *program, char **arguments, int result_fd, pid_t parent,
                   const sigset_t *mask) {
    /* The subprocess ends with its parent, even if the parent is killed, which may already have
     * happened. On this signal it removes its unfinished files, even if its parent ignores the
     * signal. */
    (void)signal(SIGTERM, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    bool is_ready = getppid() == parent;
    if (result_fd == TIDE_RUN_RESULT_FD) {
        is_ready = is_ready && fcntl(result_fd, F_SETFD, 0) == 0;
    } else {
        is_ready = is_ready && dup2(result_fd, TIDE_RUN_RESULT_FD) >= 0;
    }
    /* Standard output belongs to the table. */
    if (is_ready && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
        (void)execv(program, arguments);
    }
    _exit(EXIT_NO_EXEC);
}

static tide_status start(const char *program, char **arguments, child *ret, tide_error *error) {
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "no pipe for a subprocess: %s", strerror(errno));
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* both are open: it cannot fail */
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL); /* nothing must be written twice */
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
        return tide_fail(error, TIDE_IO, "no subprocess: %s", strerror(errno));
    }
    ret->pid = pid;
    ret->fd = ends[0];
    return TIDE_OK;
}

/* Reads some bytes. False: the end was reached. */
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
        from->no_memory = true; /* keep reading, so the subprocess can finish */
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

static void read_result(child *from, tide_run_result *ret) {
    tide_error error = {""};
    const char *end = NULL;
    cJSON *json = from->text != NULL ? cJSON_ParseWithOpts(from->text, &end, true) : NULL;
    tide_status status = TIDE_NO_MEMORY;
    if (!from->no_memory) {
        status = tide_run_result_from_json(json, ret, &error);
    }
    cJSON_Delete(json);
    if (status != TIDE_OK) {
        char text[TIDE_RUN_REASON_BYTES];
        tide_run_result_fini(ret);
        snprintf(text, sizeof(text), "its process ended without a result (%.400s)",
                 from->text == NULL ? "it wrote nothing" : error.message);
        tide_run_fail(ret, TIDE_OUTCOME_CRASHED, status, text);
    }
}

/* Makes the result from how the subprocess ended. A signal is stated by number and name. If the
 * process did not end well, even a complete result is discarded, because it may be corrupt. */
static void judge(child *of, int how, bool was_stopped, tide_run_result *ret) {
    char text[TIDE_RUN_REASON_BYTES];
    bool has_ended_well = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    /* The terminal also sends Ctrl-C to the subprocess, which may end before this process asks it
     * to. */
    if (!has_ended_well && was_stopped) {
        tide_run_fail(ret, TIDE_OUTCOME_STOPPED, TIDE_OK, "interrupted");
        return;
    }
    if (WIFSIGNALED(how)) {
        int number = WTERMSIG(how);
        snprintf(
            text, sizeof(text), "signal %d (%.64s) ended its process%s", number, strsignal(number),
            number == SIGKILL ? ": perhaps the kernel, because the host had no memory left" : "");
        tide_run_fail(ret, TIDE_OUTCOME_CRASHED, TIDE_DEVICE_FAILED, text);
        ret->signal_number = number;
        return;
    }
    if (!has_ended_well) {
        snprintf(text, sizeof(text), "its process ended with exit status %d and without a result",
                 WEXITSTATUS(how));
        tide_run_fail(ret, TIDE_OUTCOME_CRASHED, TIDE_DEVICE_FAILED, text);
        return;
    }
    read_result(of, ret);
}

tide_run_process *tide_run_process_start(const tide_run_config *config, const char *program) {
    static char NAME[] = "tidemark";
    static char COMMAND[] = TIDE_RUN_SUBPROCESS_COMMAND;
    child *process = tide_hostmem_zeroed(tide_hostmem_default(), 1, sizeof(*process));
    if (process == NULL) {
        return NULL;
    }
    cJSON *json = tide_run_config_to_json(config);
    char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
    char *arguments[] = {NAME, COMMAND, text, NULL};
    process->pid = -1;
    process->fd = -1;
    process->started_unix_us = tide_clock_unix_us();
    process->started = text == NULL ? TIDE_NO_MEMORY
                                    : start(program != NULL ? program : "/proc/self/exe", arguments,
                                            process, &process->error);
    cJSON_free(text);
    cJSON_Delete(json);
    return process;
}

int tide_run_process_fd(const tide_run_process *process) {
    return process->fd;
}

bool tide_run_process_attend(tide_run_process *process) {
    return process->started == TIDE_OK && receive(process);
}

void tide_run_process_stop(tide_run_process *process) {
    if (process->started == TIDE_OK && !process->is_stopped) {
        process->is_stopped = kill(process->pid, SIGTERM) == 0;
    }
}

void tide_run_process_finish(tide_run_process *process, bool was_stopped,
                             tide_run_result *ret_result) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_result_init(ret_result);
    if (process->started != TIDE_OK) {
        tide_run_fail(ret_result, TIDE_OUTCOME_FAILED, process->started, process->error.message);
    } else {
        int how = 0;
        (void)close(process->fd); /* was only read */
        while (waitpid(process->pid, &how, 0) < 0 && errno == EINTR) {
        }
        judge(process, how, was_stopped, ret_result);
    }
    /* A user's program ends in its own way when asked to. */
    if ((ret_result->outcome == TIDE_OUTCOME_FAILED ||
         ret_result->outcome == TIDE_OUTCOME_CRASHED) &&
        was_stopped) {
        tide_run_fail(ret_result, TIDE_OUTCOME_STOPPED, TIDE_OK, "interrupted");
    }
    if (ret_result->started_unix_us < 0) { /* it wrote nothing */
        ret_result->started_unix_us = process->started_unix_us;
        tide_run_environment_set_program(&ret_result->environment);
    }
    mem->release(mem->ctx, process->text);
    mem->release(mem->ctx, process);
}

/* Reads everything that it writes. */
static void attend(child *to, const tide_run_hooks *hooks) {
    bool goes_on = to->started == TIDE_OK;
    while (goes_on) {
        struct pollfd waits = {.fd = to->fd, .events = POLLIN};
        int n_ready = poll(&waits, 1, TICK_MS);
        if (hooks->shall_stop != NULL && hooks->shall_stop(hooks->ctx)) {
            tide_run_process_stop(to);
        }
        if (n_ready > 0) {
            goes_on = receive(to);
        }
        if (hooks->tick != NULL) {
            hooks->tick(hooks->ctx);
        }
    }
}

void tide_run_in_subprocess(const tide_run_config *config, const tide_run_hooks *hooks,
                            const char *program, tide_run_result *ret_result) {
    static const tide_run_hooks NO_HOOKS = {.ctx = NULL};
    const tide_run_hooks *heard = hooks != NULL ? hooks : &NO_HOOKS;
    tide_run_process *process = tide_run_process_start(config, program);
    if (process == NULL) {
        tide_run_result_init(ret_result);
        tide_run_fail(ret_result, TIDE_OUTCOME_FAILED, TIDE_NO_MEMORY,
                      "the host has no memory left for a subprocess");
        return;
    }
    attend(process, heard);
    tide_run_process_finish(process, heard->shall_stop != NULL && heard->shall_stop(heard->ctx),
                            ret_result);
}
