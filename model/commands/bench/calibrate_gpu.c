/* The part of `bench calibrate` that runs on this machine's GPU, in a plain Python: nothing is
 * recorded there, because that would cost the host time. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/commands/bench/calibrate.h"
#include "common/clock.h"

enum { MOST_S = 90, ANSWER_BYTES = 1 << 15, ARGUMENT_BYTES = 4096 };

extern char **environ;

static const char MARK[] = "tidemark:"; /* Python may print other text before it */

static bool has_driver(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver != NULL) {
        (void)dlclose(driver);
    }
    return driver != NULL;
}

/* Reads the pipe to its end. False if it did not end in time, or the text is too long. */
static bool read_answer(int fd, char answer[ANSWER_BYTES]) {
    int64_t until_ns = tide_clock_now_ns() + INT64_C(1000000000) * MOST_S;
    size_t n = 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (n + 1 < ANSWER_BYTES) {
        int64_t left_ms = (until_ns - tide_clock_now_ns()) / 1000000;
        if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) <= 0) {
            return false;
        }
        ssize_t got = read(fd, answer + n, ANSWER_BYTES - 1 - n);
        if (got <= 0) {
            answer[n] = '\0';
            return got == 0;
        }
        n += (size_t)got;
    }
    return false;
}

static int start(char *const arguments[], const int ends[2], pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawn_file_actions_addclose(&actions, ends[0]);
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    }
    if (failed == 0) {
        failed = posix_spawnp(ret_pid, arguments[0], &actions, NULL, arguments, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static tide_status run(char *const arguments[], char answer[ANSWER_BYTES], tide_error *error) {
    int ends[2];
    pid_t pid = -1;
    int status = 0;
    bool is_whole = false;
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "no pipe for %s: %s", arguments[0], strerror(errno));
    }
    int failed = start(arguments, ends, &pid);
    (void)close(ends[1]);
    if (failed == 0) {
        is_whole = read_answer(ends[0], answer);
        if (!is_whole) {
            (void)kill(pid, SIGKILL);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    (void)close(ends[0]);
    if (failed != 0) {
        return tide_fail(error, TIDE_INVALID, "no Python: %s: %s", arguments[0], strerror(failed));
    }
    return is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? TIDE_OK
               : tide_fail(error, TIDE_IO,
                           is_whole ? "measuring the GPU failed: what Python says is above"
                                    : "measuring the GPU did not end within 90 seconds");
}

tide_status tide_bench_calibrate_gpu(const char *python, const char *script,
                                     const size_t n_launches[2], tide_calibration *to,
                                     tide_error *error) {
    char answer[ANSWER_BYTES] = "";
    char texts[5][ARGUMENT_BYTES]; /* posix_spawn requires writable texts */
    char *const arguments[] = {texts[0], texts[1], texts[2], texts[3], texts[4], NULL};
    if (!has_driver()) {
        return TIDE_OK;
    }
    snprintf(texts[0], ARGUMENT_BYTES, "%s", python);
    snprintf(texts[1], ARGUMENT_BYTES, "%s", script);
    snprintf(texts[2], ARGUMENT_BYTES, "gpu");
    snprintf(texts[3], ARGUMENT_BYTES, "%zu", n_launches[0]);
    snprintf(texts[4], ARGUMENT_BYTES, "%zu", n_launches[1]);
    TIDE_TRY(run(arguments, answer, error));
    const char *found = strstr(answer, MARK);
    tide_status status =
        tide_calibration_take_gpu(found != NULL ? found + strlen(MARK) : "", to, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "what was measured of the GPU");
    }
    return status;
}
