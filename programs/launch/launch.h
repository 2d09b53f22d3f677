/* launch.h - runs a program of the user's on a virtual card, and keeps what its processes leave.
 *
 * The program is started unchanged, with libraries preloaded that answer for CUDA
 * (programs/virtual_cuda/) and that keep what it writes away from the user's files
 * (programs/scratch/). Everything that the processes of the run share or leave lies in one folder,
 * which a process of its own removes when this process ends for whatever reason; it also ends what
 * is left of the run then.
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

/* Who records what PyTorch allocates. */
typedef enum tide_launch_method {
    TIDE_LAUNCH_AUTO = 0,   /* a preloaded library, or PyTorch's history where that cannot listen */
    TIDE_LAUNCH_PRELOAD,    /* the library alone */
    TIDE_LAUNCH_PYTHONPATH, /* the library, which Python opens when it starts: where nothing may be
                               preloaded */
    TIDE_LAUNCH_HISTORY     /* PyTorch's own history */
} tide_launch_method;

struct tide_launch;

/* Texts are borrowed during the calls. */
typedef struct tide_launch_config {
    char *const *arguments; /* the command and its arguments, NULL-terminated */
    const char *cards;      /* of device/cards.h, joined by "+": "h100-80+h100-80"; NULL: those of
                               this machine */
    uint64_t memory_bytes;  /* of each card; 0: what the table says */
    uint64_t spill_bytes;   /* of each card: further bytes in the host's memory; 0: none */
    uint64_t n_steps;    /* the program ends after so many steps of its optimizer; 0: it does not */
    uint64_t n_calls;    /* the same for calls of its outermost module */
    const char *values;  /* "auto", "zero", "shadow": what reads of small tensors give */
    const char *streams; /* "now", "late": when work on streams completes */
    int64_t world;       /* ranks of a larger world, of which only some run; 0: no such run */
    const tide_ranks *ranks;   /* those that run, one process each; with world only */
    uint64_t nccl_bytes;       /* that each communicator of NCCL takes of its card; 0: none */
    bool writes_are_real;      /* the program's writes reach the user's files */
    tide_launch_method method; /* what records its memory */
    const char *stacks; /* "python", "native", "both", "none": frames that events are recorded
                           with */
    const char *log;    /* pattern of the logs' paths, "%p" for the process id; NULL: in the folder
                           of the run */
    uint64_t log_bytes; /* room for each log; 0: 256 MiB */
    const char *full;   /* "keep-newest", "stop": what a full log does */
    bool skips_calls;   /* calls of CUDA get no rows of their own */
    uint64_t every;     /* whole stacks in every so many steps; 0: in all */
    const char *output; /* the file that takes its output, and it has no input then; NULL: it has
                           those of this process */
    const char *errors; /* with output: the file that takes its error output; NULL: the same */
    /* It is called about ten times a second; true ends the program with SIGTERM. NULL: never. */
    bool (*shall_stop)(void *ctx);
    /* Called while the program runs: about ten times a second, once more at its end, and with
     * `was_asked` at once when another process has sent this one the signal `asked_by`, which is
     * then not passed on. NULL: never. The program does not wait meanwhile. */
    void (*watch)(void *ctx, const struct tide_launch *launch, bool was_asked);
    int asked_by;       /* number of a signal, which does nothing else to this process from then on;
                           0: none */
    bool logs_launches; /* each process writes a launch log (common/run_launches.h); with cards */
    const char *clock;  /* what the program's clock goes by (programs/step_time/pace.h), with
                           logs_launches;  NULL: the real one */
    bool tells_failures; /* processes tell of requests that failed (running.h) */
    void *ctx;           /* borrowed; the argument of shall_stop and watch */
} tide_launch_config;

/* Sets all defaults: to the end, "auto", "now", writes kept away. */
void tide_launch_config_init(tide_launch_config *config);

typedef struct tide_launch {
    char folder[TIDE_LAUNCH_PATH_BYTES];  /* of the run; "" when there is none */
    char objects[TIDE_LAUNCH_PATH_BYTES]; /* folder with the libraries to preload */
    char python[TIDE_LAUNCH_PATH_BYTES];  /* folder with the package */
    char links[TIDE_LAUNCH_PATH_BYTES];   /* folder with links to those whose paths cannot be listed
                                             in   LD_PRELOAD and the like; "": not needed */
    char library[TIDE_LAUNCH_PATH_BYTES]; /* folder with the names of the driver */
    char program[TIDE_LAUNCH_PATH_BYTES]; /* this program */
    char logs[TIDE_LAUNCH_PATH_BYTES];    /* folder of the logs (logs.h); "": there is none */
    char compilers[TIDE_LAUNCH_PATH_BYTES]; /* cache of compilers (compilers.h); "": none */
    int compilers_fd;                       /* marks it as in use; -1: none */
    int logs_fd;             /* marks them as those of a run that goes on; -1: none */
    bool is_noexec;          /* nothing can be loaded from the folder */
    bool keeps_logs;         /* closing leaves them */
    int alive_fd;            /* the cleaner waits for its other end */
    long cleaner;            /* process; -1: none */
    long process;            /* the program's first */
    int exit_status;         /* of the program; -1: a signal ended it */
    int signal_number;       /* that ended it; 0: none */
    bool was_stopped;        /* shall_stop asked for it */
    double seconds;          /* from its start to its end */
    int64_t host_peak_bytes; /* the largest of its processes */
} tide_launch;

/* TIDE_INVALID: the command starts ranks itself, and cannot be one of them; the remedy. */
TIDE_NODISCARD tide_status tide_launch_check_world(char *const *arguments, tide_error *error);

/* Whether the command can be run so: TIDE_INVALID names what is wrong with it (no such program, not
 * executable, setuid, static, 32-bit, of another C library) and the remedy. Starts nothing. */
TIDE_NODISCARD tide_status tide_launch_check(const tide_launch_config *config, tide_error *error);

/* Whether the command names a file that can be started, or a Python file. Starts nothing. */
bool tide_launch_is_program(const char *command);

/* *ret_name: "python" or "python3", the first that PATH has, for a Python file that does not start
 * itself: it is not executable, has no "#!" line, or is named without its folder. NULL for any
 * other command. TIDE_INVALID: PATH has neither. */
TIDE_NODISCARD tide_status tide_launch_find_interpreter(const char *command, char **ret_name,
                                                        tide_error *error);

/* Checks, makes the folder, starts the program and waits for its end. SIGINT, SIGTERM and SIGHUP
 * that this process gets are passed on to it. On success the folder holds what the processes left
 * (left.h); call close in any case. Call it from a process with one thread. */
TIDE_NODISCARD tide_status tide_launch_run(const tide_launch_config *config,
                                           tide_launch *ret_launch, tide_error *error);

/* The folder that the Python package `tidemark` lies in. TIDE_UNSUPPORTED: it was not installed
 * with this program. */
TIDE_NODISCARD tide_status tide_launch_find_python(char ret_folder[TIDE_LAUNCH_PATH_BYTES],
                                                   tide_error *error);

/* Removes the folders, and ends processes of the run that are still there. */
void tide_launch_close(tide_launch *launch);

#ifdef __cplusplus
}
#endif

#endif
