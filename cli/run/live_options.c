#include "cli/run/live_options.h"

#include <string.h>

enum { MIN_LOG_BYTES = 1 << 20 };

#define N_OF(table) (sizeof(table) / sizeof(*(table)))

static const char *choice(const char *const *values, size_t n_values, size_t i) {
    return i < n_values ? values[i] : NULL;
}

const char *tide_choice_method(size_t i) {
    static const char *const VALUES[] = {"auto", "preload", "history"};
    return choice(VALUES, N_OF(VALUES), i);
}

const char *tide_choice_stacks(size_t i) {
    static const char *const VALUES[] = {"python", "native", "both", "none"};
    return choice(VALUES, N_OF(VALUES), i);
}

const char *tide_choice_full(size_t i) {
    static const char *const VALUES[] = {"keep-newest", "stop"};
    return choice(VALUES, N_OF(VALUES), i);
}

tide_status tide_live_options_apply(const tide_live_options *options, tide_launch_config *config,
                                    tide_error *error) {
    if (options->log_bytes > 0 && options->log_bytes < MIN_LOG_BYTES) {
        return tide_fail(error, TIDE_INVALID, "--log-bytes: a log needs 1MiB at least");
    }
    config->method = strcmp(options->method, "history") == 0   ? TIDE_LAUNCH_HISTORY
                     : strcmp(options->method, "preload") == 0 ? TIDE_LAUNCH_PRELOAD
                                                               : TIDE_LAUNCH_AUTO;
    config->stacks = options->stacks;
    config->log = options->log;
    config->log_bytes = options->log_bytes;
    config->full = options->full;
    config->every = options->every;
    return TIDE_OK;
}
