/* What the commands for users' programs ask of our own model (cli/own_model.h). */
#include "cli/own_model.h"

#include <stdio.h>

#include "model/commands/commands.h"
#include "model/commands/options/model_options.h"
#include "model/ops.h"
#include "model/ops_cpu/kernels.h"
#include "model/run/as_pytorch.h"

static const tide_command *const COMMANDS[] = {
    &tide_command_profile, &tide_command_forecast,        &tide_command_study,
    &tide_command_bench,   &tide_command_check_reference,
};

static const tide_command FIT = {
    .name = "fit",
    .summary = "the largest batch, context or model that fits a card, without a GPU",
    .options = &tide_model_fit_table,
    .run = tide_fit_main,
};

static const tide_command SWEEP = {
    .name = "sweep",
    .summary = "run a grid of sizes, contexts, precisions ... and print one table",
    .options = &tide_model_sweep_table,
    .run = tide_sweep_main,
};

static const tide_command *const SHARED[] = {&FIT, &SWEEP};

static const tide_program_item ENVIRONMENT[] = {
    {"TIDEMARK_CUBLAS", "path of cuBLAS, for the cuda device; by default tidemark searches for it"},
    {"TIDEMARK_CPU_KERNELS",
     "kernels of the cpu device: avx512, avx2 or generic; default the best that runs here"},
    {"OMP_NUM_THREADS", "threads of the cpu device; default all cores"},
    {"OMP_WAIT_POLICY", "passive: idle threads sleep, for a machine that also does other work"},
    {NULL, NULL},
};

static const tide_program_item FILES[] = {
    {"SIZE-MODE-cCONTEXT-bBATCH-PRECISION.json.gz",
     "the snapshot that profile writes without -o; docs/reference/snapshot-format.md describes the "
     "format"},
    {NULL, NULL},
};

static const tide_program_item EXAMPLES[] = {
    {"tidemark profile --size small --device cpu --warmup 1 --steps 2 -o small.json.gz",
     "Two training steps of the small model on the cpu, recorded"},
    {"tidemark explain small.json.gz", "What fills the memory, what grows, and what would help"},
    {"tidemark summary small.json.gz", "What filled the memory at the peak"},
    {"tidemark profile --size 2.7B --device virtual:h100-80 --warmup 0 --steps 2",
     "Whether a model fits a card that this machine does not have"},
    {"tidemark fit --size 2.7B --context 512 --device virtual:h100-80",
     "The largest batch that fits that card"},
    {"tidemark study memory", "Peaks of a 2.7B model at three contexts, and its largest tensors"},
    {"tidemark forecast --size 2.7B --context 512 --precision bf16 --device virtual:h100-80",
     "Whether the same model run by PyTorch fits it, and what would make it fit"},
    {"tidemark profile --size small --device cpu --log run.log",
     "A run whose recording outlives it; after a crash: tidemark recover run.log"},
    {"tidemark profile --precision fp32,bf16-mixed --device virtual --warmup 0 --steps 2",
     "Two precisions side by side, with a report"},
    {"tidemark sweep --size small,medium --context 128,512 --device virtual --warmup 0 --steps 2",
     "A grid of runs as one table"},
    {NULL, NULL},
};

/* The run of a cell; the time of our own operators is also forecast. */
static tide_status configure(const tide_run_options *options, size_t cell, const char *device,
                             tide_run_config *ret_config, tide_error *error) {
    TIDE_TRY(tide_run_options_configure(options, cell, device, ret_config, error));
    ret_config->recording.forecasts_time =
        tide_run_model_of(&ret_config->workload)->emulate != TIDE_EMULATE_PYTORCH;
    return TIDE_OK;
}

static tide_status as_pytorch(const tide_snapshot *snapshot, int edition,
                              tide_snapshot **ret_snapshot, tide_error *error) {
    return tide_run_as_pytorch(snapshot, (tide_edition)edition, ret_snapshot, error);
}

/* cuBLAS, without which a GPU computes nothing. */
static tide_status describe_gpu(tide_device *device, char *ret_text, size_t n_bytes,
                                tide_error *error) {
    tide_ops *ops = NULL;
    TIDE_TRY(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, error));
    snprintf(ret_text, n_bytes, "%s", ops->table->describe(ops));
    tide_ops_close(ops);
    return TIDE_OK;
}

static tide_status name_cpu_kernels(const char **ret_name, tide_error *error) {
    const tide_cpu_kernels *kernels = NULL;
    TIDE_TRY(tide_cpu_kernels_choose(&kernels, error));
    *ret_name = kernels->name;
    return TIDE_OK;
}

static const tide_own_model OWN_MODEL = {
    .commands = COMMANDS,
    .n_commands = sizeof(COMMANDS) / sizeof(COMMANDS[0]),
    .environment = ENVIRONMENT,
    .files = FILES,
    .examples = EXAMPLES,
    .shared = SHARED,
    .n_shared = sizeof(SHARED) / sizeof(SHARED[0]),
    .kind = &tide_run_model_kind,
    .init_options = tide_model_options_init,
    .check_options = tide_run_options_check,
    .n_runs = tide_run_options_n_runs,
    .pick_device = tide_pick_device_in_subprocess,
    .fit_table = &tide_model_fit_table,
    .fit = tide_model_fit,
    .sweep_table = &tide_model_sweep_table,
    .configure = configure,
    .sweep_header = tide_model_sweep_header,
    .edition_of = tide_edition_from_name,
    .as_pytorch = as_pytorch,
    .describe_gpu = describe_gpu,
    .name_cpu_kernels = name_cpu_kernels,
};

const tide_own_model *const tide_own_model_here = &OWN_MODEL;
