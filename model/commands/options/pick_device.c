/* Finds the device for the runs of a command. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "model/commands/options/model_options.h"

/* Tries to open the operators of a device: the card may be too old, or cuBLAS missing. */
static tide_status try_operators(tide_device *device, tide_error *error) {
    tide_ops *ops = NULL;
    TIDE_TRY(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, error));
    tide_ops_close(ops);
    return TIDE_OK;
}

/* Opens the first cuda device if it exists and can compute, else the cpu. Prints a note if an
 * existing GPU is not used, because that is unexpected. */
static tide_status open_best(const char *command, tide_device **ret_device, tide_error *error) {
    tide_device *device = NULL;
    tide_error reason = {""};
    if (tide_device_open("cuda:0", NULL, &device, NULL) == TIDE_OK) {
        if (try_operators(device, &reason) == TIDE_OK) {
            *ret_device = device;
            return TIDE_OK;
        }
        tide_cli_note(command, "the cpu computes, not %s: %s", tide_device_get_info(device)->name,
                      reason.message);
        tide_device_close(device);
    }
    return tide_device_open("cpu", NULL, ret_device, error);
}

tide_status tide_pick_device(const char *command, const char *spec,
                             char ret_spec[TIDE_RUN_SPEC_BYTES], tide_device_kind *ret_kind,
                             tide_error *error) {
    tide_device *device = NULL;
    tide_status status = TIDE_OK;
    if (strcmp(spec, "auto") == 0) {
        status = open_best(command, &device, error);
    } else {
        status = tide_device_open(spec, NULL, &device, error);
    }
    if (status != TIDE_OK) {
        tide_error_prefix(error, "--device %.64s", spec);
        return status;
    }
    const tide_device_info *info = tide_device_get_info(device);
    snprintf(ret_spec, TIDE_RUN_SPEC_BYTES, "%s", info->spec);
    *ret_kind = info->kind;
    tide_device_close(device);
    return TIDE_OK;
}

/* The cpu device has no tensor cores. This is checked before anything runs, so a list of runs does
 * not fail half-way. */
tide_status tide_check_precision(tide_device_kind kind, tide_precision precision,
                                 tide_error *error) {
    if (kind != TIDE_DEVICE_CPU || precision != TIDE_PRECISION_TF32) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_INVALID,
                     "--precision tf32 needs a GPU's tensor cores, which the cpu device does not "
                     "have: use --device cuda, or --device virtual for its memory without times");
}

/* ---- in a subprocess ---- */

/* The subprocess sends this through a pipe, as plain bytes. */
typedef struct answer {
    tide_status status;
    tide_error error;
    tide_device_kind kind;
    char spec[TIDE_RUN_SPEC_BYTES];
} answer;

static void look(const char *command, const char *spec, answer *ret) {
    memset(ret, 0, sizeof(*ret));
    ret->status = tide_pick_device(command, spec, ret->spec, &ret->kind, &ret->error);
}

/* False: the process ended before it had sent the whole answer. */
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

/* Opening a GPU keeps a context on it until the process ends, which would cost every run memory, so
 * a short-lived subprocess queries it. */
tide_status tide_pick_device_in_subprocess(const char *command, const char *spec,
                                           char ret_spec[TIDE_RUN_SPEC_BYTES],
                                           tide_device_kind *ret_kind, tide_error *error) {
    int ends[2];
    answer found;
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "--device %.64s: cannot make a pipe: %s", spec,
                         strerror(errno));
    }
    (void)fflush(NULL); /* nothing must be written twice */
    pid_t pid = fork();
    if (pid == 0) {
        look(command, spec, &found);
        _exit(send(ends[1], &found) ? 0 : 1);
    }
    (void)close(ends[1]);
    bool is_answer = pid > 0 && receive(ends[0], &found);
    (void)close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (!is_answer) {
        return tide_fail(
            error, TIDE_DEVICE_FAILED,
            "--device %.64s: the process that looked for the device ended without an answer", spec);
    }
    if (found.status != TIDE_OK) {
        return tide_fail(error, found.status, "%s", found.error.message);
    }
    memcpy(ret_spec, found.spec, TIDE_RUN_SPEC_BYTES);
    *ret_kind = found.kind;
    return TIDE_OK;
}
