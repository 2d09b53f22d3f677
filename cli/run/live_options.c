#define _POSIX_C_SOURCE 200809L
#include "cli/run/live_options.h"

#include <signal.h>
#include <string.h>

enum { MIN_LOG_BYTES = 1 << 20 };

#define N_OF(table) (sizeof(table) / sizeof(*(table)))

static const char *choice(const char *const *values, size_t n_values, size_t i) {
    return i < n_values ? values[i] : NULL;
}

const char *tide_choice_method(size_t i) {
    static const char *const VALUES[] = {"auto", "preload", "pythonpath", "history"};
    return choice(VALUES, N_OF(VALUES), i);
}

const char *tide_choice_stacks(size_t i) {
    static const char *const VALUES[] = {"python", "native", "both", "none"};
    return choice(VALUES, N_OF(VALUES), i);
}

const char *tide_choice_names(size_t i) {
    static const char *const VALUES[] = {"kept", "all"};
    return choice(VALUES, N_OF(VALUES), i);
}

const char *tide_choice_full(size_t i) {
    static const char *const VALUES[] = {"keep-newest", "stop"};
    return choice(VALUES, N_OF(VALUES), i);
}

const char *tide_choice_driver(size_t i) {
    static const char *const VALUES[] = {"on", "off"};
    return choice(VALUES, N_OF(VALUES), i);
}

static const struct {
    const char *name;
    int number;
} SIGNALS[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

const char *tide_choice_signal(size_t i) {
    return i < N_OF(SIGNALS) ? SIGNALS[i].name : NULL;
}

static int signal_of(const char *name) {
    for (size_t i = 0; name != NULL && i < N_OF(SIGNALS); i++) {
        if (strcmp(SIGNALS[i].name, name) == 0) {
            return SIGNALS[i].number;
        }
    }
    return 0;
}

static tide_launch_method method_of(const char *text) {
    if (strcmp(text, "history") == 0) {
        return TIDE_LAUNCH_HISTORY;
    }
    if (strcmp(text, "pythonpath") == 0) {
        return TIDE_LAUNCH_PYTHONPATH;
    }
    return strcmp(text, "preload") == 0 ? TIDE_LAUNCH_PRELOAD : TIDE_LAUNCH_AUTO;
}

tide_status tide_live_options_apply(const tide_live_options *options, tide_launch_config *config,
                                    tide_error *error) {
    if (options->log_bytes > 0 && options->log_bytes < MIN_LOG_BYTES) {
        return tide_fail(error, TIDE_INVALID, "--log-bytes: a log needs 1MiB at least");
    }
    if (strcmp(options->method, "history") == 0 && (options->signal != NULL || options->on_oom)) {
        return tide_fail(error, TIDE_INVALID,
                         "--signal and --on-oom read the log of the running program, and --method "
                         "history keeps none");
    }
    if (strcmp(options->method, "history") == 0 && strcmp(options->names, "all") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--names all writes into the log of the running program, and --method "
                         "history keeps none");
    }
    config->method = method_of(options->method);
    config->stacks = options->stacks;
    config->names = options->names;
    config->log = options->log;
    config->log_bytes = options->log_bytes;
    config->full = options->full;
    config->every = options->every;
    config->skips_calls = strcmp(options->driver, "off") == 0;
    config->asked_by = signal_of(options->signal);
    config->tells_failures = options->on_oom;
    return TIDE_OK;
}
