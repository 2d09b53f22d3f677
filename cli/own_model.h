/* own_model.h - the only way from the commands for users' programs to tidemark's own transformer:
 * one table of functions, which a build without the model (-DTIDEMARK_MODEL=OFF) lacks.
 *
 * fit, sweep, compare and devices serve both. They ask tide_own_model_here for what concerns the
 * model, and refuse with TIDE_NO_OWN_MODEL if it is NULL.
 */
#ifndef TIDE_CLI_OWN_MODEL_H
#define TIDE_CLI_OWN_MODEL_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "cli/cli.h"
#include "cli/options/manual.h"
#include "cli/options/run_options.h"
#include "common/status.h"
#include "device/device.h"
#include "programs/runs/run.h"
#include "snapshot/document/snapshot.h"

/* For messages: why a command or an option is missing, and the remedy. */
#define TIDE_NO_OWN_MODEL "this build has no model of its own; build with -DTIDEMARK_MODEL=ON"

struct tide_fit_options;
struct tide_sweep_options;

typedef struct tide_own_model {
    /* The second group of commands in --help, with what the manual page adds for them. */
    const tide_command *const *commands;
    size_t n_commands;
    const tide_program_item *environment, *files, *examples; /* each ends with a name NULL */
    /* fit and sweep with the options of both; they replace the commands of the same names. */
    const tide_command *const *shared;
    size_t n_shared;
    const tide_run_kind *kind; /* the workloads that a subprocess also runs */

    /* ---- the options of runs ---- */

    void (*init_options)(tide_run_options *ret_options);
    tide_status (*check_options)(const tide_run_options *options, tide_error *error);
    size_t (*n_runs)(const tide_run_options *options);
    tide_status (*pick_device)(const char *command, const char *spec,
                               char ret_spec[TIDE_RUN_SPEC_BYTES], tide_device_kind *ret_kind,
                               tide_error *error);

    /* ---- fit: the options of both, and the answer about the model ---- */

    const tide_option_table *fit_table; /* that of its command in `shared` */
    int (*fit)(struct tide_fit_options *options, const tide_operands *operands);

    /* ---- sweep: the options of both, a cell of the model's grid, and its header ---- */

    const tide_option_table *sweep_table; /* likewise */
    tide_status (*configure)(const tide_run_options *options, size_t cell, const char *device,
                             tide_run_config *ret_config, tide_error *error);
    tide_status (*sweep_header)(const struct tide_sweep_options *options, const char *device,
                                size_t shard, size_t n_shards, cJSON **ret_header,
                                tide_error *error);

    /* ---- compare: "pytorch:2026", the run of a snapshot as PyTorch would run it ---- */

    int (*edition_of)(const char *name); /* -1: unknown */
    tide_status (*as_pytorch)(const tide_snapshot *snapshot, int edition,
                              tide_snapshot **ret_snapshot, tide_error *error);

    /* ---- devices: what computes on a GPU, and on the processor ---- */

    tide_status (*describe_gpu)(tide_device *device, char *ret_text, size_t n_bytes,
                                tide_error *error);
    tide_status (*name_cpu_kernels)(const char **ret_name, tide_error *error);
} tide_own_model;

/* NULL in a build without the model. */
extern const tide_own_model *const tide_own_model_here;

/* The options of the model, for the tables of commands in a build without it. */
extern const tide_option_unneeded TIDE_OWN_MODEL_OPTIONS[];

/* Refuses, with TIDE_UNSUPPORTED, what needs the model in a build without it. `what` begins the
 * message. */
TIDE_NODISCARD tide_status tide_own_model_refuse(const char *what, tide_error *error);

#endif
