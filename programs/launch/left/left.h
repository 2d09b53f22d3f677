/* left.h - what the processes of a run have left in its folder.
 *
 * Each process that used PyTorch's allocator leaves PID.pickle, PyTorch's own snapshot, and
 * PID.json with what that has no place for (python/tidemark/ writes both). Each process that met
 * something inexact leaves PID.card with a line for it (programs/virtual_cuda/process/inexact.h).
 * Each that an exception of Python's ended leaves PID.error with its name and the first line of its
 * message.
 *
 * Places in a history are told by rows: the blocks that a device has given out and taken back so
 * far, and the allocations that failed, each of which is one.
 */
#ifndef TIDE_LAUNCH_LEFT_H
#define TIDE_LAUNCH_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "common/arena.h"
#include "common/run_account.h"
#include "common/status.h"
#include "programs/launch/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PyTorch's statistics of a device, which are exact even where the history is not whole. */
typedef struct tide_left_peak {
    int64_t allocated_bytes, reserved_bytes;
    int64_t n_retries;          /* how often the cache gave back all its segments and tried again */
    int64_t n_oom;              /* allocations that failed, caught ones too */
    bool ends_refused;          /* the last allocation failed; known of a log alone */
    int64_t n_rows;             /* of its history, dropped ones included */
    const char *name;           /* of the device, as the driver calls it; "" unknown */
    int64_t total_bytes;        /* of the device; -1 */
    int64_t compute_capability; /* 90 for 9.0; -1 */
} tide_left_peak;

/* A place where something began or ended. */
typedef struct tide_left_mark {
    const char *name;    /* "step begins", "backward ends", ... (python/tidemark/steps.py) */
    const int64_t *rows; /* by device */
    uint64_t number;     /* of marks that begin a step: those of its name before it; 0: unknown */
} tide_left_mark;

/* At that place, the block at that address was that tensor. */
typedef struct tide_left_name {
    size_t device;
    int64_t row;
    uint64_t address;
    const char *category; /* "parameter", "gradient", "optimizer_state", "buffer" */
    const char *name;     /* "h.0.attn.weight.grad" */
    bool is_by_rule;      /* it may be wrong; else the address was read from the tensor */
} tide_left_name;

/* What could not be known exactly, or was refused. */
typedef struct tide_left_inexact {
    int64_t pid;
    const char *call, *what;
    const char *place;   /* line of the program that met it first, or its largest bound; "" */
    int64_t bound_bytes; /* it needs at most so many bytes more; -1: not known */
    bool is_refused;
    bool is_host; /* by the machine that the program runs on, and not by the card */
} tide_left_inexact;

/* A process group of torch.distributed that the process was a member of. Its members are ranks of
 * the world: `first`, and each `stride` further; stride 0: they are no regular row. */
typedef struct tide_left_group {
    const char *name, *description;        /* description "": none */
    int64_t size, position, first, stride; /* position: of the process among the members */
    bool sends;                            /* members send each other something, two by two */
} tide_left_group;

/* One process. Texts are "" where nothing is known, numbers -1. */
typedef struct tide_left {
    int64_t pid, rank;
    const char *snapshot_path; /* NULL: PyTorch has no history of it */
    const char *log_path;      /* of its live recording; NULL: there is none */
    const char *calls_path;    /* what it asked of CUDA's memory pools; NULL: nothing */
    const char *launches_path; /* its launch log; NULL: there is none */
    const char *command;       /* its arguments, joined by blanks */
    const char *torch, *cuda, *python, *backend;
    const char *exception;    /* that ended it, with its message */
    const char *failing_line; /* where the program raised it: "main (train.py:58)" */
    bool is_out_of_memory;    /* it is PyTorch's OutOfMemoryError */
    bool is_live;             /* its log has its events */
    bool ended_early;         /* after the steps or calls that were asked for */
    bool is_running;          /* it goes on, and its log grows */
    bool was_cut;             /* it was killed: what it did last may be incomplete */
    int64_t n_steps, n_calls, host_peak_bytes;
    int64_t local_rank, world_size; /* as torchrun sets them */
    int64_t node;                   /* of a run of ranks of a larger world; else 0 */
    int64_t ended_unix_us;          /* when it told what it left */
    const tide_left_group *groups;  /* in the order in which they were made */
    size_t n_groups;
    const tide_run_device *account; /* the cards of its node, TIDE_RUN_DEVICES */
    const tide_left_peak *peaks;    /* by device */
    size_t n_devices;
    const tide_left_mark *marks; /* in order */
    size_t n_marks;
    const tide_left_name *names; /* in order of their rows, by device */
    size_t n_names;
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
    tide_left_inexact *inexact; /* each of a process once */
    size_t n_inexact;
    tide_run_device devices[TIDE_RUN_DEVICES]; /* what all processes of node 0 took together of
                                                  each card; zeros: nobody used it */
    int64_t failed_rank;   /* of a run of ranks of a larger world: the one that failed first; -1 */
    int failed_status;     /* its exit status; of a signal, the number below 0 */
    const char *exception; /* that ended the program or, if its first process has none, another
                              process of it; "": none, or unknown */
    bool is_of_program;    /* it ended the first process */
} tide_left_list;

/* Reads the folder of the launch. TIDE_FORMAT names the file and what is wrong with it. The caller
 * finishes the list, also after a failure. */
TIDE_NODISCARD tide_status tide_left_read(const tide_launch *launch, tide_left_list *ret,
                                          tide_error *error);

/* The processes of a run that goes on, out of their logs: those that have allocated something, by
 * rank and process id. `pid` -1: all that are still running; else that one alone. There may be
 * none. The caller finishes the list, also after a failure. */
TIDE_NODISCARD tide_status tide_left_read_running(const tide_launch *launch, int64_t pid,
                                                  tide_left_list *ret, tide_error *error);

/* How many requests for memory have failed in a process so far. */
typedef struct tide_left_failures {
    int64_t pid;
    size_t n;
} tide_left_failures;

/* Of each process in which any failed, if tide_launch_config.tells_failures asked for it; at most
 * n_room. Returns how many. */
size_t tide_left_count_failures(const tide_launch *launch, tide_left_failures *ret, size_t n_room);

void tide_left_fini(tide_left_list *list);

#ifdef __cplusplus
}
#endif

#endif
