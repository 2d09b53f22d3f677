/* The process of the program: starts it, passes signals on, waits for it. */
#define _DEFAULT_SOURCE /* prctl, rusage */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "programs/launch/launch_internal.h"

enum { TICK_NS = 100000000, KIB = 1024 };

/* The data needed to start the user's program. */
typedef struct start_of {
    const char *path;
    char *const *arguments;
    char *const *environment;
    int output_fd; /* -1: input and output are those of this process */
    int error_fd;
    int input_fd;
    int report_fd; /* errno goes here if it cannot be executed */
    pid_t parent;
    const sigset_t *mask;
    int asked_by;            /* tide_launch_config */
    struct sigaction before; /* the signal's former action, which the program gets */
} start_of;

/* Runs between fork and exec: only async-signal-safe calls are allowed. */
static void become(const start_of *start) {
    bool is_ready = true;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (start->output_fd >= 0) {
        is_ready = dup2(start->input_fd, STDIN_FILENO) >= 0 &&
                   dup2(start->output_fd, STDOUT_FILENO) >= 0 &&
                   dup2(start->error_fd, STDERR_FILENO) >= 0;
    }
    if (start->asked_by > 0) {
        (void)sigaction(start->asked_by, &start->before, NULL);
    }
    (void)sigprocmask(SIG_SETMASK, start->mask, NULL);
    if (is_ready && getppid() == start->parent) {
        (void)execve(start->path, start->arguments, start->environment);
    }
    int reason = errno;
    (void)!write(start->report_fd, &reason, sizeof(reason));
    _exit(125);
}

/* Blocks the signals that are waited for, so none interrupts or ends this process. */
static void block_signals(int asked_by, sigset_t *ret_waited, sigset_t *ret_before) {
    static const int NUMBERS[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    (void)sigemptyset(ret_waited);
    if (asked_by > 0) {
        (void)sigaddset(ret_waited, asked_by);
    }
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        (void)sigaddset(ret_waited, NUMBERS[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, ret_waited, ret_before);
}

static void do_nothing(int number) {
    (void)number;
}

/* A signal that arrives too late, while snapshots are written, must not end this process. */
static void catch_signal(start_of *start) {
    const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = (int)SA_RESTART};
    if (start->asked_by > 0) {
        (void)sigaction(start->asked_by, &action, &start->before);
    }
}

/* Passes a signal on. The program receives the terminal's signals itself, because it is in the same
 * process group. */
static void pass_on(const siginfo_t *info, pid_t program) {
    if (info->si_signo != SIGCHLD && info->si_code != SI_KERNEL) {
        (void)kill(program, info->si_signo);
    }
}

static void look(const tide_launch_config *config, const tide_launch *launch, bool was_asked) {
    if (config->watch != NULL) {
        config->watch(config->ctx, launch, was_asked);
    }
}

static void attend(pid_t program, const sigset_t *waited, const tide_launch_config *config,
                   tide_launch *launch) {
    int how = 0;
    struct rusage used = {.ru_maxrss = 0};
    const struct timespec tick = {.tv_nsec = TICK_NS};
    while (wait4(program, &how, WNOHANG, &used) != program) {
        siginfo_t info;
        bool came = sigtimedwait(waited, &info, &tick) > 0;
        bool was_asked = came && info.si_signo == config->asked_by && info.si_code != SI_KERNEL;
        if (came && !was_asked) {
            pass_on(&info, program);
        }
        look(config, launch, was_asked);
        if (!launch->was_stopped && config->shall_stop != NULL && config->shall_stop(config->ctx)) {
            launch->was_stopped = kill(program, SIGTERM) == 0;
        }
    }
    look(config, launch, false);
    struct rusage all;
    if (getrusage(RUSAGE_CHILDREN, &all) == 0 && all.ru_maxrss > used.ru_maxrss) {
        used.ru_maxrss = all.ru_maxrss;
    }
    launch->host_peak_bytes = (int64_t)used.ru_maxrss * KIB;
    launch->exit_status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    launch->signal_number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

static tide_status open_output(const char *path, int *ret_fd, tide_error *error) {
    *ret_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return *ret_fd >= 0 ? TIDE_OK
                        : tide_fail(error, TIDE_IO, "%s: the program's output cannot go there: %s",
                                    path, strerror(errno));
}

static tide_status open_files(const tide_launch_config *config, start_of *start,
                              tide_error *error) {
    if (config->output == NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(open_output(config->output, &start->output_fd, error));
    if (config->errors != NULL) {
        TIDE_TRY(open_output(config->errors, &start->error_fd, error));
    } else { /* opened once, so neither overwrites the other */
        start->error_fd = fcntl(start->output_fd, F_DUPFD_CLOEXEC, 0);
    }
    start->input_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return start->input_fd >= 0 && start->error_fd >= 0
               ? TIDE_OK
               : tide_fail(error, TIDE_IO, "the program's files cannot be opened: %s",
                           strerror(errno));
}

static void close_files(const start_of *start) {
    const int all[] = {start->output_fd, start->error_fd, start->input_fd};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i] >= 0) {
            (void)close(all[i]);
        }
    }
}

/* Whether the program was executed: then its end of the pipe closes without a message. */
static tide_status hear(int fd, const char *path, tide_error *error) {
    int reason = 0;
    ssize_t n = 0;
    do {
        n = read(fd, &reason, sizeof(reason));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(reason)
               ? tide_fail(error, TIDE_INVALID, "%s could not be started: %s", path,
                           strerror(reason))
               : TIDE_OK;
}

static tide_status run(start_of *start, const tide_launch_config *config, tide_launch *launch,
                       tide_error *error) {
    int ends[2];
    sigset_t waited;
    sigset_t before;
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "no pipe for the program: %s", strerror(errno));
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* both are open: it cannot fail */
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL); /* no buffer may be written twice */
    block_signals(start->asked_by, &waited, &before);
    catch_signal(start);
    start->parent = getpid();
    start->report_fd = ends[1];
    start->mask = &before;
    int64_t begin = tide_clock_now_ns();
    pid_t program = fork();
    if (program == 0) {
        become(start);
    }
    (void)close(ends[1]);
    tide_status status =
        program > 0 ? hear(ends[0], start->path, error)
                    : tide_fail(error, TIDE_IO, "no process for the program: %s", strerror(errno));
    if (program > 0) {
        launch->process = program;
        attend(program, &waited, config, launch);
    }
    launch->seconds = (double)(tide_clock_now_ns() - begin) / 1e9;
    (void)close(ends[0]); /* was only read */
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    start->mask = NULL; /* it ends with this function */
    return status;
}

tide_status tide_launch_child(const char *path, char **environment,
                              const tide_launch_config *config, tide_launch *launch,
                              tide_error *error) {
    start_of start = {.path = path,
                      .arguments = config->arguments,
                      .environment = environment,
                      .asked_by = config->asked_by,
                      .output_fd = -1,
                      .error_fd = -1,
                      .input_fd = -1};
    tide_status status = open_files(config, &start, error);
    if (status == TIDE_OK) {
        status = run(&start, config, launch, error);
    }
    close_files(&start);
    return status;
}
