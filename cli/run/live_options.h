/* live_options.h - the options of `tidemark run` about the recording itself.
 */
#ifndef TIDE_CLI_RUN_LIVE_OPTIONS_H
#define TIDE_CLI_RUN_LIVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/options.h"
#include "programs/launch/launch.h"

/* Texts are static, or of the command line. */
typedef struct tide_live_options {
    const char *method; /* "auto", "preload", "pythonpath", "history" */
    const char *stacks; /* "python", "native", "both", "none" */
    const char *names;  /* "kept", "all" */
    const char *log;    /* NULL: in a folder of the run's own */
    uint64_t log_bytes; /* 0: 256 MiB */
    const char *driver; /* "on", "off" */
    const char *full;   /* "keep-newest", "stop" */
    uint64_t every;     /* 0: whole stacks in every step */
    const char *signal; /* that requests a snapshot of the running program; NULL: none */
    bool on_oom;        /* also print the answer at a failed request */
} tide_live_options;

#define TIDE_LIVE_OPTIONS_DEFAULT                                                                  \
    { .method = "auto", .stacks = "python", .names = "kept", .full = "keep-newest", .driver = "on" }

/* The i-th value, NULL past the last, for tide_option.choice_at. */
const char *tide_choice_method(size_t i);
const char *tide_choice_stacks(size_t i);
const char *tide_choice_names(size_t i);
const char *tide_choice_full(size_t i);
const char *tide_choice_driver(size_t i);
const char *tide_choice_signal(size_t i);

/* Rows of a table whose values have a tide_live_options at `at`. */
#define TIDE_LIVE_ROWS(at)                                                                         \
    TIDE_OPTION_OF(CHOICE, "stacks", NULL, tide_choice_stacks,                                     \
                   (at) + offsetof(tide_live_options, stacks),                                     \
                   "frames of each call stack: Python's, native ones, both or none; default "      \
                   "python"),                                                                      \
        TIDE_OPTION_OF(CHOICE, "names", NULL, tide_choice_names,                                   \
                       (at) + offsetof(tide_live_options, names),                                  \
                       "name the tensors that autograd keeps, or the results of all of "           \
                       "PyTorch's operators; default kept"),                                       \
        TIDE_OPTION(TEXT, "log", "FILE", (at) + offsetof(tide_live_options, log),                  \
                    "keep the log here; %p is replaced by the process id"),                        \
        TIDE_OPTION(SIZE, "log-bytes", "SIZE", (at) + offsetof(tide_live_options, log_bytes),      \
                    "room for the log of each process; default 256MiB"),                           \
        TIDE_OPTION_OF(CHOICE, "full", NULL, tide_choice_full,                                     \
                       (at) + offsetof(tide_live_options, full),                                   \
                       "a full log keeps its newest events, or stops; default keep-newest"),       \
        TIDE_OPTION_OF(CHOICE, "driver", NULL, tide_choice_driver,                                 \
                       (at) + offsetof(tide_live_options, driver),                                 \
                       "whether calls of CUDA that take memory are recorded, too, whoever makes "  \
                       "them; default on"),                                                        \
        TIDE_OPTION_OF(CHOICE, "signal", NULL, tide_choice_signal,                                 \
                       (at) + offsetof(tide_live_options, signal),                                 \
                       "this signal, sent to tidemark run, writes a snapshot of the running "      \
                       "program, which does not notice"),                                          \
        TIDE_OPTION(                                                                               \
            FLAG, "on-oom", NULL, (at) + offsetof(tide_live_options, on_oom),                      \
            "report what fills the memory, and write a snapshot, as soon as a request for "        \
            "memory fails, even if the program goes on"),                                          \
        TIDE_OPTION(COUNT, "every", "STEPS", (at) + offsetof(tide_live_options, every),            \
                    "record call stacks in every so many steps only"),                             \
        TIDE_OPTION_OF(CHOICE, "method", NULL, tide_choice_method,                                 \
                       (at) + offsetof(tide_live_options, method),                                 \
                       "record by a library that is preloaded or opened by Python, or by "         \
                       "PyTorch's own history; default auto")

/* Enters the options into the configuration, which borrows their texts. The message of TIDE_INVALID
 * names an invalid option. */
TIDE_NODISCARD tide_status tide_live_options_apply(const tide_live_options *options,
                                                   tide_launch_config *config, tide_error *error);

#endif
