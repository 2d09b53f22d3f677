/* Which device a sweep runs on. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sweep/internal.h"

/* What the process that looked has to say: plain bytes, through a pipe. */
typedef struct answer {
    tide_status status;
    tide_error error;
    tide_device_kind kind;
    char spec[TIDE_PROFILE_SPEC_BYTES];
} answer;

static void look(const char *spec, answer *ret) {
    memset(ret, 0, sizeof(*ret));
    ret->status = tide_profile_pick_device("sweep", spec, ret->spec, &ret->kind, &ret->error);
}

/* Less than the whole is no answer: the process ended before. */
static bool receive(int fd, answer *ret) {
    size_t n = 0;
    while (n < sizeof(*ret)) {
        ssize_t n_read = read(fd, (char *)ret + n, sizeof(*ret) - n);
        if (n_read < 0 && errno == EINTR) {
            continue;
        }
        if (n_read <= 0) {
            return false;
        }
        n += (size_t)n_read;
    }
    return true;
}

static bool send(int fd, const answer *from) {
    size_t n = 0;
    while (n < sizeof(*from)) {
        ssize_t n_written = write(fd, (const char *)from + n, sizeof(*from) - n);
        if (n_written <= 0 && errno != EINTR) {
            return false;
        }
        n += n_written > 0 ? (size_t)n_written : 0;
    }
    return true;
}

/* Who opens a GPU has a context on it until the end, which would take memory from every cell: a
 * process looks that ends again. */
tide_status tide_sweep_pick_device(const char *spec, char ret_spec[TIDE_PROFILE_SPEC_BYTES],
                                   tide_device_kind *ret_kind, tide_error *error) {
    int ends[2];
    answer found;
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "--device %.64s: no pipe: %s", spec, strerror(errno));
    }
    (void)fflush(NULL); /* nothing is to be written twice */
    pid_t pid = fork();
    if (pid == 0) {
        look(spec, &found);
        _exit(send(ends[1], &found) ? 0 : 1);
    }
    (void)close(ends[1]);
    bool is_answer = pid > 0 && receive(ends[0], &found);
    (void)close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (!is_answer) {
        return tide_fail(error, TIDE_DEVICE_FAILED,
                         "--device %.64s: the process that looked for it ended without an answer",
                         spec);
    }
    if (found.status != TIDE_OK) {
        return tide_fail(error, found.status, "%s", found.error.message);
    }
    memcpy(ret_spec, found.spec, TIDE_PROFILE_SPEC_BYTES);
    *ret_kind = found.kind;
    return TIDE_OK;
}
