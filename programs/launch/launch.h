/* launch.h - runs the user's program on a virtual card, and keeps the files that its processes
 * leave.
 *
 * The program is started unchanged. Preloaded libraries answer for CUDA (programs/virtual_cuda/)
 * and keep the program's writes away from the user's files (programs/scratch/). Everything that the
 * processes of the run share or leave is in one folder. A separate process removes the folder when
 * this process ends for whatever reason, and then also ends the remaining processes of the run.
 *
 * One launch at a time in a process. Only Linux on x86-64.
 */
#ifndef TIDE_LAUNCH_LAUNCH_H
#define TIDE_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/launch/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_LAUNCH_PATH_BYTES = 4096 };

/* How PyTorch's allocations are recorded. */
typedef enum tide_launch_method {
    TIDE_LAUNCH_AUTO = 0,   /* a preloaded library, or PyTorch's history if it cannot listen */
    TIDE_LAUNCH_PRELOAD,    /* only the library */
    TIDE_LAUNCH_PYTHONPATH, /* the library, opened by Python: for systems that forbid preloading */
    TIDE_LAUNCH_HISTORY     /* PyTorch's own history */
} tide_launch_method;

struct tide_launch;

/* The memory of NCCL's communicators is that of the model (virtual_cuda/nccl/buffers.h). */
#define TIDE_LAUNCH_NCCL_MODEL UINT64_MAX

/* Texts are borrowed during the calls. */
typedef struct tide_launch_config {
    char *const *arguments; /* the command and its arguments, NULL-terminated */
    const char *cards;      /* of device/cards.h: "h100-80+h100-80"; NULL: this machine's cards */
    uint64_t memory_bytes;  /* of each card; 0: the table's value */
    uint64_t spill_bytes;   /* of each card: further bytes in the host's memory; 0: none */
    uint64_t n_steps;    /* the program ends after this many steps of its optimizer; 0: no limit */
    uint64_t n_calls;    /* the same for calls of its outermost module */
    const char *values;  /* "auto", "zero": the values that the program reads */
    const char *streams; /* "now", "late": when work on streams completes */
    int64_t world;       /* ranks of a larger world, of which only some run; 0: no such run */
    const tide_ranks *ranks;   /* the ranks that run, one process each; only with world */
    uint64_t nccl_bytes;       /* of the card, for each communicator of NCCL, or the above */
    bool writes_are_real;      /* the program's writes reach the user's files */
    tide_launch_method method; /* what records its memory */
    const char *stacks; /* "python", "native", "both", "none": the frames recorded with events */
    const char *names; /* "kept", "all": tensors that autograd keeps, or all results of operators */
    const char *log;   /* pattern of the logs' paths, "%p" is the pid; NULL: in the run's folder */
    uint64_t log_bytes; /* room for each log; 0: 256 MiB */
    const char *full;   /* "keep-newest", "stop": for a full log */
    bool skips_calls;   /* calls of CUDA get no rows */
    uint64_t every;     /* whole stacks only in every n-th step; 0: in all */
    const char *output; /* the file for its output, and no input; NULL: those of this process */
    const char *errors; /* with output: the file for its error output; NULL: the same file */
    /* Called about ten times a second; true ends the program with SIGTERM. NULL: never. */
    bool (*shall_stop)(void *ctx);
    /* Called while the program runs: about ten times a second, once more at its end, and, with
     * `was_asked`, immediately when another process has sent this one the signal `asked_by`. That
     * signal is not passed on. NULL: never. The program does not wait meanwhile. */
    void (*watch)(void *ctx, const struct tide_launch *launch, bool was_asked);
    int asked_by;       /* number of a signal, which then has no other effect here; 0: none */
    bool logs_launches; /* each process writes a launch log (programs/wire/run_launches.h); with
                           cards */
    const char *clock;  /* the pace of the program's clock (programs/step_time/pace.h), with
                         * logs_launches; NULL: the real clock */
    const char *allocator_settings; /* added to those of PyTorch's allocator in the environment:
                                       "expandable_segments:True"; NULL: none */
    bool waits_asleep;   /* its idle threads sleep instead of spinning (OpenMP), because other
                            programs use the processors; the user's own setting wins */
    const char *changes; /* of `tidemark plan`, applied to the program: "checkpoint:Block,fused", or
                            "observe", which applies none; NULL: none */
    const char *sets;    /* lists of changes, separated by semicolons: one import for a run of each
                            (together.h); then `changes` is "observe". NULL: a plain run */
    bool asks_at_failure; /* with cards: at its first failed request, a process asks a copy of
                             itself what filled the memory (snapshot/document/at_failure.h) */
    bool notes_trackers; /* the program's Python notes which runs of trackers it makes, in the files
                            `trackers` and `trackers-python` of the run's folder */
    bool tells_failures; /* processes report failed requests (tide_left_count_failures) */
    void *ctx;           /* borrowed; the argument of shall_stop and watch */
} tide_launch_config;

/* Sets all defaults: to the end, "auto", "now", writes kept away. */
void tide_launch_config_init(tide_launch_config *config);

typedef struct tide_launch {
    char folder[TIDE_LAUNCH_PATH_BYTES];    /* of the run; "" if there is none */
    char objects[TIDE_LAUNCH_PATH_BYTES];   /* folder with the libraries to preload */
    char python[TIDE_LAUNCH_PATH_BYTES];    /* folder with the package */
    char links[TIDE_LAUNCH_PATH_BYTES];     /* folder with links to libraries whose paths cannot be
                                             * listed in LD_PRELOAD and the like; "": not needed */
    char library[TIDE_LAUNCH_PATH_BYTES];   /* folder with the names of the driver */
    char program[TIDE_LAUNCH_PATH_BYTES];   /* this program */
    char logs[TIDE_LAUNCH_PATH_BYTES];      /* folder of the logs (logs.h); "" if there is none */
    char compilers[TIDE_LAUNCH_PATH_BYTES]; /* cache of compilers (compilers.h); "": none */
    int compilers_fd;                       /* marks it as in use; -1 if there is none */
    int logs_fd;             /* marks them as belonging to a running run; -1 if there are none */
    bool is_noexec;          /* nothing can be loaded from the folder */
    bool keeps_logs;         /* tide_launch_close leaves the logs */
    int alive_fd;            /* the cleaner waits on its other end */
    long cleaner;            /* process id; -1 if there is none */
    long process;            /* the program's first process */
    int exit_status;         /* of the program; -1: a signal ended it */
    int signal_number;       /* that ended it; 0 if none */
    bool was_stopped;        /* shall_stop returned true */
    double seconds;          /* from its start to its end */
    int64_t host_peak_bytes; /* the largest of its processes */
} tide_launch;

/* TIDE_INVALID: the command starts ranks itself, so it cannot be one of them; the message has the
 * remedy. */
TIDE_NODISCARD tide_status tide_launch_check_world(char *const *arguments, tide_error *error);

/* Whether the command can run like this: TIDE_INVALID names the problem (no such program, not
 * executable, setuid, static, 32-bit, another C library) and the remedy. Starts nothing. */
TIDE_NODISCARD tide_status tide_launch_check(const tide_launch_config *config, tide_error *error);

/* Whether the command names a file that can be started, or a Python file. Starts nothing. */
bool tide_launch_is_program(const char *command);

/* *ret_name: "python" or "python3", the first in PATH, for a Python file that cannot start itself:
 * it is not executable, has no "#!" line, or is named without its folder. NULL for any other
 * command. TIDE_INVALID: PATH has neither. */
TIDE_NODISCARD tide_status tide_launch_find_interpreter(const char *command, char **ret_name,
                                                        tide_error *error);

/* Checks, makes the folder, starts the program and waits for its end. SIGINT, SIGTERM and SIGHUP
 * that this process receives are passed on to it. On success the folder holds the files that the
 * processes left (left.h); call tide_launch_close in any case. Call it from a process with one
 * thread. */
TIDE_NODISCARD tide_status tide_launch_run(const tide_launch_config *config,
                                           tide_launch *ret_launch, tide_error *error);

/* Finds the libraries and the package, relative to this program, and enters their folders. */
TIDE_NODISCARD tide_status tide_launch_find_objects(tide_launch *launch, tide_error *error);

/* Whether the object that records is in the folder of the virtual card's; builds with a sanitizer
 * do not have it. */
bool tide_launch_has_live(const tide_launch *launch);

/* The folder of the Python package `tidemark`. TIDE_UNSUPPORTED: it was not installed with this
 * program. */
TIDE_NODISCARD tide_status tide_launch_find_python(char ret_folder[TIDE_LAUNCH_PATH_BYTES],
                                                   tide_error *error);

/* Removes the folders, and ends processes of the run that are still running. */
void tide_launch_close(tide_launch *launch);

#ifdef __cplusplus
}
#endif

#endif
