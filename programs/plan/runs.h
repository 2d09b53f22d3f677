/* runs.h - the runs of a plan: each set of changes once, several at a time, and what each showed.
 *
 * A run is a subprocess, as in `fit` and `sweep`, and leaves a snapshot in the plan's folder.
 * Several sets may share one subprocess, and with it one import of torch
 * (programs/launch/together/together.h). Runs are compared without the card's limit: under a limit
 * the allocator returns cached memory and tries again, so peaks would depend on the room.
 */
#ifndef TIDE_PROGRAMS_PLAN_RUNS_H
#define TIDE_PROGRAMS_PLAN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/plan/own.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PLAN_LIST_BYTES = 512, /* of a list of changes */
    TIDE_PLAN_SETTING_BYTES = 96,
    TIDE_PLAN_ROWS = 256, /* runs of a plan, at most */
    TIDE_PLAN_JOBS = 8    /* at a time */
};

/* The memory of the card in runs without a limit: more than any card has. */
#define TIDE_PLAN_NO_LIMIT_BYTES ((uint64_t)4 << 40)

typedef enum tide_plan_limit {
    TIDE_PLAN_WITHOUT_LIMIT = 0,
    TIDE_PLAN_WITH_LIMIT /* of the card, or of the stated room */
} tide_plan_limit;

typedef struct tide_plan_run {
    char changes[TIDE_PLAN_LIST_BYTES];    /* "checkpoint:Block,fused"; "": the unchanged program */
    char setting[TIDE_PLAN_SETTING_BYTES]; /* of the allocator in this run; "": the program's own */
    tide_plan_limit limit;
    bool is_begun;                      /* a subprocess runs it */
    bool must_be_alone;                 /* it did not end well by a shared import */
    bool is_done;                       /* false: the other members are meaningless */
    bool is_complete;                   /* ran to its end, and made all changes */
    bool is_refused;                    /* it ran to its end, and a change was not applied */
    char reason[TIDE_RUN_REASON_BYTES]; /* otherwise: why not */
    tide_outcome outcome;
    tide_run_memory memory; /* peaks of its fullest process and card */
    int64_t others_bytes;   /* of the card, used besides PyTorch's memory: the context, libraries,
                               NCCL; -1: unknown, such as under a limit */
    int64_t margin_bytes;   /* as in tide_run_of_program, as the next three */
    int64_t is_near, n_launches, n_inexact;
    double gpu_ms, gpu_low_ms, gpu_high_ms; /* the card's time of a step; -1: no forecast */
    double step_ms;
    char snapshot_path[TIDE_RUN_PATH_BYTES]; /* "": none was saved */
    /* A setting with which a replay of this run's requests fits a room that it does not fit as it
     * is; "": none, not needed, or not asked. */
    char fitting_setting[TIDE_PLAN_SETTING_BYTES];
    int64_t fitting_reserved_bytes; /* the reserved peak with it */
    int64_t least_reserved_bytes;   /* the lowest of this run and of its replays; 0: not asked */
    bool is_refuted;                /* expected to fit, and ran out of memory under the limit */
} tide_plan_run;

/* What the caller sees of the runs. Each may be NULL. */
typedef struct tide_plan_hooks {
    void *ctx; /* borrowed; the first argument of each */
    bool (*shall_stop)(void *ctx);
    /* Before a run begins, and about ten times a second. `n_begun`: runs so far. */
    void (*progress)(void *ctx, size_t n_begun, const char *changes);
} tide_plan_hooks;

typedef struct tide_plan_runs {
    const tide_run_config *config; /* borrowed: the unchanged program on its card */
    const tide_plan_own *own;      /* borrowed: changes of the command itself */
    tide_plan_hooks hooks;
    const char *folder;  /* borrowed: exists; snapshots are written there */
    int64_t room_bytes;  /* a limit below the card's; -1: none */
    size_t n_jobs;       /* at a time; 1 to TIDE_PLAN_JOBS */
    size_t n_most;       /* the budget of runs */
    tide_plan_run *rows; /* owned; TIDE_PLAN_ROWS of them */
    size_t n;
    size_t n_begun;
    bool can_share;  /* one import may serve several runs */
    bool is_stopped; /* the caller stopped them; no run is made any more */
} tide_plan_runs;

TIDE_NODISCARD tide_status tide_plan_runs_init(tide_plan_runs *runs);
void tide_plan_runs_fini(tide_plan_runs *runs);

/* Whether one import may serve several runs of a command: it is a script of Python. */
TIDE_NODISCARD tide_status tide_plan_can_share_import(const tide_run_program *program,
                                                      bool *ret_can, tide_error *error);

/* Whether a complete run left the history of one process alone. */
bool tide_plan_runs_is_one_process(const tide_plan_runs *runs, const tide_plan_run *run);

/* The number of a run of these changes; SIZE_MAX if there is none. */
size_t tide_plan_runs_find(const tide_plan_runs *runs, const char *changes, const char *setting,
                           tide_plan_limit limit);

/* Whether the budget has room for `n` more. */
bool tide_plan_runs_may_add(const tide_plan_runs *runs, size_t n);

/* Adds a run unless there is one, which tide_plan_runs_do then makes. Needs room in the budget. */
size_t tide_plan_runs_add(tide_plan_runs *runs, const char *changes, const char *setting,
                          tide_plan_limit limit);

/* Makes all added runs. An unsuccessful program is no failure of this function. If the caller stops
 * it (is_stopped), some are not done. */
TIDE_NODISCARD tide_status tide_plan_runs_do(tide_plan_runs *runs, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
