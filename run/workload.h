/* workload.h - the workload of a run, and everything that its callers need to know about it.
 *
 * A workload is a tagged union. Callers that sweep, search and compare use the functions below,
 * which switch on the kind, so they work for every kind of workload without a change. Only code
 * that is about our own model, such as a study of its blocks, uses the model itself
 * (tide_run_workload_model).
 *
 * A new kind needs the next number in tide_run_kind, a member in the union and a case in each
 * function of workload.c, in the engine (run/here.c), in the description (run/describe.c) and in
 * the handover to a subprocess (run/handover.c). The compiler reports every switch that lacks the
 * case.
 */
#ifndef TIDE_RUN_WORKLOAD_H
#define TIDE_RUN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "model/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_RUN_NAME_BYTES = 160, TIDE_RUN_MAX_DIMENSIONS = 8, TIDE_RUN_VALUES_BYTES = 256 };

typedef enum tide_run_kind {
    TIDE_RUN_MODEL = 0, /* our own transformer or MLP */
    TIDE_RUN_PROGRAM,   /* a user's command on a virtual card */
    TIDE_N_RUN_KINDS
} tide_run_kind;

/* A user's command, whose arguments contain names in braces (run/program.h). */
typedef struct tide_run_program {
    const char *command;                /* borrowed: the arguments, a JSON array of texts */
    char values[TIDE_RUN_VALUES_BYTES]; /* "batch=8,ctx=1024": the values of {batch} and {ctx} */
    char card[TIDE_RUN_NAME_BYTES];     /* prefix of its run's name; "": none */
    uint64_t n_steps;     /* optimizer steps after which it ends; 0: it runs to its end */
    uint64_t n_calls;     /* calls of its outermost module after which it ends; 0: as above */
    const char *reads;    /* static or borrowed, as the next: "auto", "zero", "shadow": the values
                             that reads from the card return; NULL: "auto" */
    const char *streams;  /* "now", "late": when work on streams completes; NULL: "now" */
    bool writes_are_real; /* its writes reach the user's files */
    bool forecasts_time;  /* log its launches, and forecast the time of its steps */
    /* The host whose time is forecast, in the form of tide_time_host_of. */
    const char *own_calibration; /* path, borrowed, as the next; NULL: none of this machine */
    const char *calibration;     /* of the machine to forecast for; NULL: none */
    double host_factor;          /* the user's; 0: none */
} tide_run_program;

typedef struct tide_run_workload {
    tide_run_kind kind;
    union {
        tide_workload_config model; /* TIDE_RUN_MODEL; run/ sets its progress functions itself */
        tide_run_program program;   /* TIDE_RUN_PROGRAM */
    } of;
} tide_run_workload;

/* Our own model with the defaults of tide_workload_config_init. */
void tide_run_workload_init(tide_run_workload *workload);

/* The model; NULL for a workload of another kind. Valid as long as the workload. */
const tide_workload_config *tide_run_workload_model(const tide_run_workload *workload);

/* TIDE_INVALID or TIDE_LIMIT, with the reason, if no device can run it. */
TIDE_NODISCARD tide_status tide_run_workload_check(const tide_run_workload *workload,
                                                   tide_error *error);

/* small-train-c128-b4-fp32, followed by every option that differs from the default. Two workloads
 * that differ in any option of a grid have different names. */
void tide_run_workload_name(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]);

/* The values for columns and labels. Texts are static or those of the workload; "" and 0 mean
 * none. */
typedef struct tide_run_labels {
    const char *size; /* a preset, "custom" or "mlp" */
    const char *mode, *precision, *attention, *recompute;
    const char *values; /* of a program */
    int64_t context_length, batch_size;
    int64_t warmup_steps, steps; /* steps before the measured ones, and measured steps */
} tide_run_labels;
void tide_run_workload_labels(const tide_run_workload *workload, tide_run_labels *ret_labels);

/* The dimensions of the model, without batch and context. Returns their number. */
typedef struct tide_run_dimension {
    const char *key; /* static: "d_model" */
    double value;
} tide_run_dimension;
size_t tide_run_workload_dimensions(const tide_run_workload *workload,
                                    tide_run_dimension ret_dimensions[TIDE_RUN_MAX_DIMENSIONS]);

/* Tokens in a step; for an MLP, whose batch has rows instead of sequences, its rows; for decode the
 * new tokens. */
int64_t tide_run_workload_n_tokens(const tide_run_workload *workload);

/* Parameters of the model; 0: unknown. */
uint64_t tide_run_workload_n_parameters(const tide_run_workload *workload);

/* FLOP of all steps, warm-up included; a sweep estimates times from it. */
double tide_run_workload_flops(const tide_run_workload *workload);

/* A lower bound of the requested bytes at its peak; 0: unknown. */
uint64_t tide_run_workload_least_bytes(const tide_run_workload *workload);

/* The implementation whose allocations the run makes: run.implementation of its snapshot
 * (snapshot/document/implementation.h). */
const char *tide_run_workload_implementation(const tide_run_workload *workload);

/* The quantities that a search may vary. */
typedef enum tide_run_quantity {
    TIDE_RUN_QUANTITY_BATCH = 0,
    TIDE_RUN_QUANTITY_CONTEXT,
    TIDE_RUN_QUANTITY_LAYERS,
    TIDE_RUN_QUANTITY_PRESET, /* the number of a preset, from 1 on; batch and context stay */
    TIDE_N_RUN_QUANTITIES
} tide_run_quantity;

/* Sets it. TIDE_INVALID, TIDE_LIMIT if no run may have that value; the workload is undefined
 * then. */
TIDE_NODISCARD tide_status tide_run_workload_set(tide_run_workload *workload,
                                                 tide_run_quantity quantity, uint64_t value,
                                                 tide_error *error);

/* "forward", "backward", "optimizer", "step" for TIDE_TIMED_..., which must be in range. */
const char *tide_run_phase_name(size_t phase);
/* TIDE_TIMED_..., or -1. */
int tide_run_phase_from_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
