/* workload.h - the work of a run: a user's command on a virtual card, or a workload of another
 * kind, which another wing adds by a table of functions (tide_run_kind).
 *
 * The engine of runs and the rows of sweeps know a workload only through these functions, so they
 * do not depend on any model.
 */
#ifndef TIDE_PROGRAMS_RUNS_WORKLOAD_H
#define TIDE_PROGRAMS_RUNS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/runs/fields.h"
#include "programs/wire/step_phases.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RUN_NAME_BYTES = 160,
    TIDE_RUN_VALUES_BYTES = 256,
    TIDE_RUN_OTHER_BYTES = 512 /* room for the configuration of a workload of another kind */
};

/* A user's command, whose arguments contain names in braces (programs/runs/program.h). */
typedef struct tide_run_program {
    const char *command;                /* borrowed: the arguments, a JSON array of texts */
    char values[TIDE_RUN_VALUES_BYTES]; /* "batch=8,ctx=1024": the values of {batch} and {ctx} */
    char card[TIDE_RUN_NAME_BYTES];     /* prefix of its run's name; "": none */
    uint64_t n_steps;     /* optimizer steps after which it ends; 0: it runs to its end */
    uint64_t n_calls;     /* calls of its outermost module after which it ends; 0: as above */
    const char *reads;    /* static or borrowed, as the next: "auto", "zero": the values
                             that reads from the card return; NULL: "auto" */
    const char *streams;  /* "now", "late": when work on streams completes; NULL: "now" */
    const char *changes;  /* borrowed: those of `tidemark plan` that are applied to it, or
                             "observe"; NULL: none */
    const char *sets;     /* borrowed: lists of changes, separated by semicolons, that one import
                             runs one after the other (programs/launch/together/together.h), with
                             results in tide_run_result.parts; NULL: one run, with `changes` */
    const char *settings; /* borrowed: added to the allocator's; NULL: none */
    uint64_t world;       /* ranks of the job, of which some run; 0: no ranks */
    const char *ranks;    /* borrowed: those that run, "0,7"; only with world */
    bool waits_asleep;    /* its idle threads sleep: other runs use the processors */
    bool writes_are_real; /* its writes reach the user's files */
    bool forecasts_time;  /* log its launches, and forecast the time of its steps */
    /* The host whose time is forecast, in the form of tide_time_host_of. */
    const char *own_calibration; /* path, borrowed, as the next; NULL: none of this machine */
    const char *calibration;     /* of the machine to forecast for; NULL: none */
    double host_factor;          /* the user's; 0: none */
} tide_run_program;

typedef struct tide_run_kind tide_run_kind;

typedef struct tide_run_workload {
    const tide_run_kind *kind; /* static */
    union {
        tide_run_program program;                  /* of the kind tide_run_program_kind */
        unsigned char other[TIDE_RUN_OTHER_BYTES]; /* of another kind, which alone reads it */
    } of;
} tide_run_workload;

/* The values for columns and labels. Texts are static or those of the workload; "" and 0 mean
 * none. */
typedef struct tide_run_labels {
    const char *size; /* a preset, "custom" or "mlp" */
    const char *mode, *precision, *attention, *recompute;
    const char *values; /* of a program */
    int64_t context_length, batch_size;
    int64_t warmup_steps, steps; /* steps before the measured ones, and measured steps */
} tide_run_labels;

struct tide_run_config;
struct tide_run_hooks;
struct tide_run_result;

/* A kind of workload. Each function gets a workload of that kind. */
struct tide_run_kind {
    const char *name; /* for the handover to a subprocess: "program" */
    /* The members of tide_run_workload.of that a subprocess gets. */
    const tide_json_field *fields;
    size_t n_fields;
    bool is_in_this_process; /* tide_run_here runs it in the caller's process */
    void (*init)(tide_run_workload *workload);
    tide_status (*check)(const tide_run_workload *workload, tide_error *error);
    void (*name_of)(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]);
    tide_run_labels (*labels)(const tide_run_workload *workload);
    int64_t (*n_tokens)(const tide_run_workload *workload); /* NULL: unknown, as the next */
    double (*flops)(const tide_run_workload *workload);
    /* Runs a workload that was checked, and fills in the result, except for the parts that
     * tide_run_here fills in for every kind. */
    void (*here)(const struct tide_run_config *config, const struct tide_run_hooks *hooks,
                 struct tide_run_result *result);
};

/* A user's command. */
extern const tide_run_kind tide_run_program_kind;

/* Sets the defaults of a kind. */
void tide_run_workload_init(tide_run_workload *workload, const tide_run_kind *kind);

/* Whether it is a user's command. */
bool tide_run_workload_is_program(const tide_run_workload *workload);

/* TIDE_INVALID or TIDE_LIMIT, with the reason, if no device can run it. */
TIDE_NODISCARD tide_status tide_run_workload_check(const tide_run_workload *workload,
                                                   tide_error *error);

/* small-train-c128-b4-fp32, followed by every option that differs from the default. Two workloads
 * that differ in any option of a grid have different names. */
void tide_run_workload_name(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]);

void tide_run_workload_labels(const tide_run_workload *workload, tide_run_labels *ret_labels);

/* Tokens in a step; for an MLP, whose batch has rows instead of sequences, its rows; for decode the
 * new tokens; 0: unknown. */
int64_t tide_run_workload_n_tokens(const tide_run_workload *workload);

/* FLOP of all steps, warm-up included; a sweep estimates times from it. 0: unknown. */
double tide_run_workload_flops(const tide_run_workload *workload);

/* "forward", "backward", "optimizer", "step" for TIDE_TIMED_..., which must be in range. */
const char *tide_run_phase_name(size_t phase);
/* TIDE_TIMED_..., or -1. */
int tide_run_phase_from_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
