/* left.h - the files that the processes of a run have left in its folder.
 *
 * Each process that used PyTorch's allocator leaves PID.pickle, PyTorch's own snapshot, and
 * PID.json with additional data (python/tidemark/ writes both). Each process that met something
 * inexact leaves PID.card with a line for it (programs/virtual_cuda/process/inexact.h), and each
 * that assumed a value PID.assumed (programs/wire/run_assumed.h). A server of language models
 * leaves PID.pool. Each process that a Python exception ended leaves PID.error with its name and
 * the first line of its message.
 *
 * A place in a history is given by rows: the number of blocks that a device has allocated and freed
 * so far, plus the failed allocations, each of which is one row.
 */
#ifndef TIDE_LAUNCH_LEFT_H
#define TIDE_LAUNCH_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "common/arena.h"
#include "programs/wire/run_account.h"
#include "common/status.h"
#include "programs/launch/launch.h"
#include "snapshot/document/assumed.h"
#include "snapshot/document/at_failure.h"
#include "snapshot/document/serving.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PyTorch's statistics of a device, which are exact even if the history is incomplete. */
typedef struct tide_left_peak {
    int64_t allocated_bytes, reserved_bytes;
    int64_t n_retries;          /* how often the cache freed all its segments and tried again */
    int64_t n_oom;              /* failed allocations, including caught ones */
    bool ends_refused;          /* the last allocation failed; only known from a log */
    int64_t n_rows;             /* of its history, including dropped ones */
    const char *name;           /* of the device, from the driver; "" if unknown */
    int64_t total_bytes;        /* of the device; -1 */
    int64_t compute_capability; /* 90 for 9.0; -1 if unknown */
} tide_left_peak;

/* A place where an interval began or ended. */
typedef struct tide_left_mark {
    const char *name;    /* "step begins", "backward ends", ... (python/tidemark/steps.py) */
    const int64_t *rows; /* by device */
    uint64_t number;     /* of marks that begin a step: earlier marks of its name; 0: unknown */
} tide_left_mark;

/* At that place, the block at that address was that tensor. */
typedef struct tide_left_name {
    size_t device;
    int64_t row;
    uint64_t address;
    const char *category; /* "parameter", "gradient", "optimizer_state", "buffer"; "": the name is
                             for a block that has none, and leaves the category as it is */
    const char *name;     /* "h.0.attn.weight.grad" */
    bool is_by_rule;      /* it may be wrong; otherwise the address was read from the tensor */
} tide_left_name;

/* A result that is inexact, or a call that was refused. */
typedef struct tide_left_inexact {
    int64_t pid;
    const char *call, *what;
    const char *place;   /* line of the program that met it first, or its largest bound; "" */
    int64_t bound_bytes; /* it needs at most this many bytes more; -1 if unknown */
    bool is_refused;
    bool is_host; /* refused by the host, not by the card */
} tide_left_inexact;

/* A CUDA runtime that is linked into a file, and that the virtual card answered instead of. */
typedef struct tide_left_linked {
    const char *version; /* "13.0" */
    const char *path;
} tide_left_linked;

enum { TIDE_LEFT_MAX_LINKED = 32 };

/* A value that a process read from a virtual card, and that was assumed. */
typedef struct tide_left_assumed {
    int64_t pid;
    tide_snapshot_assumed row;
} tide_left_assumed;

/* A cache of keys and values: PID.pool (python/tidemark/serving/pools.py). */
typedef struct tide_left_pool {
    int64_t pid;
    tide_snapshot_kv_pool row;
} tide_left_pool;

/* XLA's figures of a card, or a line that made arrays: PID.xla (python/tidemark/serving/xla.py). */
typedef struct tide_left_xla {
    int64_t pid;
    tide_snapshot_xla row;
} tide_left_xla;

/* A process group of torch.distributed that the process was a member of. Its members are the ranks
 * of the world from `first` in steps of `stride`; stride 0: irregular. */
typedef struct tide_left_group {
    const char *name, *description;        /* description "" if there is none */
    int64_t size, position, first, stride; /* position: of the process among the members */
    bool sends;                            /* pairs of members send each other messages */
} tide_left_group;

/* One process. Unknown texts are "", unknown numbers -1. */
typedef struct tide_left {
    int64_t pid, rank;
    const char *snapshot_path; /* NULL if PyTorch has no history of it */
    const char *log_path;      /* of its live recording; NULL if there is none */
    const char *calls_path;    /* its calls of CUDA's memory pools; NULL if there are none */
    const char *launches_path; /* its launch log; NULL if there is none */
    const char *command;       /* its arguments, joined by blanks */
    const char *torch, *cuda, *python, *backend;
    const char *exception;    /* that ended it, with its message */
    const char *failing_line; /* where the program raised it: "main (train.py:58)" */
    bool is_out_of_memory;    /* it is PyTorch's OutOfMemoryError */
    bool is_live;             /* its log has its events */
    bool ended_early;         /* after the number of steps or calls that was asked for */
    bool is_running;          /* it is still running, and its log grows */
    bool was_cut;             /* it was killed: its last actions may be incomplete */
    int64_t n_steps, n_calls, host_peak_bytes;
    int64_t local_rank, world_size; /* as torchrun sets them */
    int64_t node;                   /* of a run of ranks of a larger world; otherwise 0 */
    int64_t ended_unix_us;          /* when it wrote its files */
    const tide_left_group *groups;  /* in the order of their creation */
    size_t n_groups;
    const tide_run_device *account; /* the cards of its node, TIDE_RUN_DEVICES */
    const tide_left_peak *peaks;    /* by device */
    size_t n_devices;
    const tide_left_mark *marks; /* in order */
    size_t n_marks;
    const tide_left_name *names; /* in order of their rows, by device */
    size_t n_names;
    const tide_snapshot_at_failure *at_failure; /* NULL: nothing is known of a failed request */
} tide_left;

/* Whether a document can be made of it (document.h). */
static inline bool tide_left_has_history(const tide_left *process) {
    return process->snapshot_path != NULL || process->log_path != NULL ||
           process->calls_path != NULL;
}

typedef struct tide_left_list {
    tide_arena arena;     /* of all that is below */
    tide_left *processes; /* by rank, then by process id */
    size_t n_processes;
    tide_left_inexact *inexact; /* each once a process */
    size_t n_inexact;
    tide_left_assumed *assumed; /* of all processes; those that may take most bytes more first */
    size_t n_assumed;
    tide_left_linked linked[TIDE_LEFT_MAX_LINKED]; /* each file once; further ones are dropped */
    size_t n_linked;
    tide_left_pool *pools; /* by process id; one that is too small ended the program */
    size_t n_pools;
    tide_left_xla *xla; /* in the order of the files; a request without room ended the program */
    size_t n_xla;
    tide_run_device devices[TIDE_RUN_DEVICES]; /* totals of node 0 by card; zeros: unused */
    int64_t failed_rank;   /* the first that failed of a larger world's ranks; -1: none */
    int failed_status;     /* its exit status; after a signal, the negative signal number */
    const char *exception; /* that ended the program or, if its first process has none, another
                            * process of it; "": none, or unknown */
    bool is_of_program;    /* it ended the first process */
} tide_left_list;

/* Reads the folder of the launch. TIDE_FORMAT names the file and the error. The caller calls
 * tide_left_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_left_read(const tide_launch *launch, tide_left_list *ret,
                                          tide_error *error);

/* The processes of a running run, from their logs: those that have allocated memory, by rank and
 * process id. `pid` -1: all that are still running; otherwise only that one. The list may be empty.
 * The caller calls tide_left_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_left_read_running(const tide_launch *launch, int64_t pid,
                                                  tide_left_list *ret, tide_error *error);

/* The number of failed requests for memory in a process so far. */
typedef struct tide_left_failures {
    int64_t pid;
    size_t n;
} tide_left_failures;

/* Lists the processes with failed requests, at most n_room, if tide_launch_config.tells_failures is
 * set. Returns their number. */
size_t tide_left_count_failures(const tide_launch *launch, tide_left_failures *ret, size_t n_room);

void tide_left_fini(tide_left_list *list);

#ifdef __cplusplus
}
#endif

#endif
