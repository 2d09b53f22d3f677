/* The runs that a command line names, checked before the first one starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/profile/internal.h"
#include "snapshot/recorder_cost.h"

/* ---- options that hold for all runs ---- */

static bool some_run_trains(const tide_profile_options *options) {
    for (size_t i = 0; i < options->modes.n; i++) {
        if (strcmp(options->modes.texts[i], "train") == 0) {
            return true;
        }
    }
    return options->modes.n == 0; /* the default */
}

static tide_status check_pairs(const tide_profile_options *options, tide_error *error) {
    if (options->overhead_pairs > TIDE_RECORDER_MAX_PAIRS) {
        return tide_fail(error, TIDE_LIMIT, "--overhead-pairs: the limit is %d",
                         (int)TIDE_RECORDER_MAX_PAIRS);
    }
    if (options->overhead_pairs > 0 && options->no_record) {
        return tide_fail(error, TIDE_INVALID,
                         "--overhead-pairs compares recorded steps with others: it excludes "
                         "--no-record");
    }
    return TIDE_OK;
}

static tide_status check_log(const tide_profile_options *options, tide_error *error) {
    if (options->no_record && (options->log_path != NULL || options->log_bytes != TIDE_NOT_GIVEN ||
                               options->log_full != NULL)) {
        return tide_fail(error, TIDE_INVALID,
                         "--log, --log-bytes and --log-full are about the recording: they exclude "
                         "--no-record");
    }
    if (options->log_path != NULL && options->log_path[0] == '\0') {
        return tide_fail(error, TIDE_INVALID, "--log: the file has no name");
    }
    if (options->log_bytes > SIZE_MAX / 4 && options->log_bytes != TIDE_NOT_GIVEN) {
        return tide_fail(error, TIDE_LIMIT, "--log-bytes: more than this machine can address");
    }
    return TIDE_OK;
}

/* What PyTorch's allocations are emitted for, and what not. */
static tide_status check_eager(const tide_profile_options *options, tide_error *error) {
    bool is_pytorch = strcmp(options->emulate, "pytorch") == 0;
    if (!is_pytorch && options->edition != NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "--edition is the year of the PyTorch code that is emulated: it goes with "
                         "--emulate pytorch");
    }
    if (is_pytorch && options->clip_grad_norm > 0.0) {
        return tide_fail(error, TIDE_INVALID,
                         "--emulate pytorch has the steps of the assignment's loop, which clips "
                         "nothing: leave out --clip-grad-norm");
    }
    for (size_t i = 0; is_pytorch && i < options->precisions.n; i++) {
        if (strcmp(options->precisions.texts[i], "bf16-true") == 0) {
            return tide_fail(
                error, TIDE_INVALID,
                "--precision bf16-true: what PyTorch allocates is known of fp32, tf32 and "
                "bf16-mixed");
        }
    }
    return TIDE_OK;
}

/* What only a transformer has. */
static tide_status check_mlp(const tide_profile_options *options, tide_error *error) {
    const struct {
        const char *name;
        bool is_given;
    } others[] = {
        {"size", options->sizes.n > 0},
        {"context", options->contexts.n > 0},
        {"heads", options->n_heads != TIDE_NOT_GIVEN},
        {"d-ff", options->d_ff != TIDE_NOT_GIVEN},
        {"vocab", options->vocab_size != TIDE_NOT_GIVEN},
        {"config", options->config_path != NULL},
        {"attention", options->attentions.n > 0},
        {"recompute", options->recomputes.n > 0},
        {"emulate", strcmp(options->emulate, "pytorch") == 0},
    };
    for (size_t i = 0;
         strcmp(options->workload, "mlp") == 0 && i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].is_given) {
            return tide_fail(error, TIDE_INVALID,
                             "--%s is of a transformer: --workload mlp has --d-model, --layers and "
                             "--batch",
                             others[i].name);
        }
    }
    return TIDE_OK;
}

tide_status tide_profile_check(const tide_profile_options *options, tide_error *error) {
    if (options->steps == 0) {
        return tide_fail(error, TIDE_INVALID, "--steps 0: at least 1 step is measured");
    }
    if (options->steps > TIDE_PROFILE_MAX_STEPS || options->warmup_steps > TIDE_PROFILE_MAX_STEPS) {
        return tide_fail(error, TIDE_LIMIT, "--steps and --warmup: the limit is %d",
                         (int)TIDE_PROFILE_MAX_STEPS);
    }
    if (options->overhead_pairs != TIDE_NOT_GIVEN) {
        TIDE_TRY(check_pairs(options, error));
    }
    TIDE_TRY(check_log(options, error));
    TIDE_TRY(check_mlp(options, error));
    TIDE_TRY(check_eager(options, error));
    if (options->kernels && options->no_record) {
        return tide_fail(error, TIDE_INVALID,
                         "--kernels counts kernels by the scopes of the recording: it excludes "
                         "--no-record");
    }
    if (options->clip_grad_norm < 0.0) {
        return tide_fail(error, TIDE_INVALID, "--clip-grad-norm %g: must be above 0 (0: off)",
                         options->clip_grad_norm);
    }
    if (options->clip_grad_norm > 0.0 && !some_run_trains(options)) {
        return tide_fail(error, TIDE_INVALID,
                         "--clip-grad-norm goes with --mode train: the optimizer phase clips");
    }
    if (options->memory_limit_bytes == 0) {
        return tide_fail(error, TIDE_INVALID, "--memory-limit 0: must be above 0");
    }
    return TIDE_OK;
}

tide_status tide_profile_configure_cache(const tide_profile_options *options,
                                         tide_cache_config *cache, tide_error *error) {
    tide_cache_config_init(cache);
    TIDE_TRY(tide_cache_config_from_environment(cache, error));
    if (options->alloc_conf != NULL) {
        tide_status status = tide_cache_config_parse(cache, options->alloc_conf, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "--alloc-conf");
            return status;
        }
    }
    if (options->memory_limit_bytes != TIDE_NOT_GIVEN) {
        cache->memory_limit_bytes = options->memory_limit_bytes < SIZE_MAX
                                        ? (size_t)options->memory_limit_bytes
                                        : TIDE_UNLIMITED;
    }
    return TIDE_OK;
}

/* Whether the operators of a device open: its card may be too old, or cuBLAS missing. */
static tide_status try_operators(tide_device *device, tide_error *error) {
    tide_ops *ops = NULL;
    TIDE_TRY(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, error));
    tide_ops_close(ops);
    return TIDE_OK;
}

/* The first cuda device when it is here and can compute, else the cpu. A GPU that is left out is
 * told: nobody expects it. */
static tide_status open_best(const char *command, tide_device **ret_device, tide_error *error) {
    tide_device *device = NULL;
    tide_error reason = {""};
    if (tide_device_open("cuda:0", NULL, &device, NULL) == TIDE_OK) {
        if (try_operators(device, &reason) == TIDE_OK) {
            *ret_device = device;
            return TIDE_OK;
        }
        tide_cli_note(command, "the cpu computes, not %s: %s", tide_device_get_info(device)->name,
                      reason.message);
        tide_device_close(device);
    }
    return tide_device_open("cpu", NULL, ret_device, error);
}

tide_status tide_profile_pick_device(const char *command, const char *spec,
                                     char ret_spec[TIDE_PROFILE_SPEC_BYTES],
                                     tide_device_kind *ret_kind, tide_error *error) {
    tide_device *device = NULL;
    tide_status status = TIDE_OK;
    if (strcmp(spec, "auto") == 0) {
        status = open_best(command, &device, error);
    } else {
        status = tide_device_open(spec, NULL, &device, error);
    }
    if (status != TIDE_OK) {
        tide_error_prefix(error, "--device %.64s", spec);
        return status;
    }
    const tide_device_info *info = tide_device_get_info(device);
    snprintf(ret_spec, TIDE_PROFILE_SPEC_BYTES, "%s", info->spec);
    *ret_kind = info->kind;
    tide_device_close(device);
    return TIDE_OK;
}

/* The cpu device has no tensor cores: said before anything runs, not by the run of a list that
 * needs them. */
tide_status tide_profile_check_precision(tide_device_kind kind, tide_precision precision,
                                         tide_error *error) {
    if (kind != TIDE_DEVICE_CPU || precision != TIDE_PRECISION_TF32) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_INVALID,
                     "--precision tf32 is arithmetic of a GPU's tensor cores, which the cpu device "
                     "does not have: --device virtual tells its memory, without times");
}

/* ---- output ---- */

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* Writes "FOLDER/NAME" ("NAME" without a folder). */
static tide_status join(char *path, const char *folder, const char *name, const char *ending,
                        tide_error *error) {
    bool needs_slash = folder[0] != '\0' && !ends_with(folder, "/");
    int n =
        snprintf(path, TIDE_PATH_BYTES, "%s%s%s%s", folder, needs_slash ? "/" : "", name, ending);
    if (n < 0 || n >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "-o: the path is longer than the limit of %d bytes",
                         (int)TIDE_PATH_BYTES);
    }
    return TIDE_OK;
}

/* The report of a single run lies beside its snapshot: FILE.json.gz -> FILE.html. */
static tide_status name_report_beside(const char *snapshot, char *path, tide_error *error) {
    char stem[TIDE_PATH_BYTES];
    snprintf(stem, sizeof(stem), "%s", snapshot);
    if (ends_with(stem, ".json.gz")) {
        stem[strlen(stem) - strlen(".json.gz")] = '\0';
    }
    return join(path, "", stem, ".html", error);
}

/* A file that is to be written, and is neither the event log, which it would replace, nor the
 * model. */
static tide_status check_file(const tide_profile_plan *plan, const char *path, tide_content content,
                              bool is_named, tide_error *error) {
    const tide_profile_options *options = plan->options;
    const char *log = options->log_path != NULL ? options->log_path : getenv("TIDEMARK_LOG");
    const tide_output output = {.path = path,
                                .content = content,
                                .name = is_named ? TIDE_OUTPUT_NAMED : TIDE_OUTPUT_AGAIN,
                                .inputs = &options->config_path,
                                .n_inputs = 1};
    if (log != NULL && !options->no_record && tide_file_is_same(path, log)) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is the event log, too: name another file with --log, or with -o",
                         path);
    }
    return tide_output_check(&output, error);
}

/* The log's own file says whether it may be replaced. */
static tide_status check_log_name(const tide_profile_options *options, tide_error *error) {
    const tide_output output = {.path = options->log_path != NULL ? options->log_path : "-",
                                .content = TIDE_CONTENT_LOG,
                                .inputs = &options->config_path,
                                .n_inputs = 1};
    return options->log_path != NULL ? tide_output_check_name(&output, error) : TIDE_OK;
}

static tide_status name_files(tide_profile_plan *plan, tide_error *error) {
    const tide_profile_options *options = plan->options;
    const char *output = options->output;
    bool is_named = false;
    if (!plan->is_list && output != NULL && !ends_with(output, "/") &&
        !tide_file_is_folder(output)) {
        TIDE_TRY(join(plan->runs[0].path, "", output, "", error));
        is_named = true;
    } else {
        const char *folder = output != NULL ? output : "";
        if (ends_with(folder, ".gz") && !tide_file_is_folder(folder)) {
            return tide_fail(error, TIDE_INVALID,
                             "-o %s: %zu runs write %zu snapshots: name a folder", folder,
                             plan->n_runs, plan->n_runs);
        }
        if (output != NULL) {
            TIDE_TRY(tide_file_make_folder(output, error));
        }
        for (size_t i = 0; i < plan->n_runs; i++) {
            TIDE_TRY(join(plan->runs[i].path, folder, plan->runs[i].name, ".json.gz", error));
        }
        if (plan->is_list) {
            TIDE_TRY(join(plan->report_path, folder, "report", ".html", error));
        }
    }
    if (!plan->is_list && options->open_browser) {
        TIDE_TRY(name_report_beside(plan->runs[0].path, plan->report_path, error));
    }
    for (size_t i = 0; i < plan->n_runs; i++) {
        TIDE_TRY(check_file(plan, plan->runs[i].path, TIDE_CONTENT_SNAPSHOT, is_named, error));
    }
    TIDE_TRY(check_log_name(options, error));
    return plan->report_path[0] != '\0'
               ? check_file(plan, plan->report_path, TIDE_CONTENT_PAGE, false, error)
               : TIDE_OK;
}

/* ---- the plan ---- */

static tide_status add_runs(tide_profile_plan *plan, tide_error *error) {
    const tide_profile_options *options = plan->options;
    size_t n = tide_profile_n_runs(options);
    if (n > TIDE_PROFILE_MAX_RUNS) {
        return tide_fail(error, TIDE_LIMIT, "%zu runs in one list: the limit is %d", n,
                         (int)TIDE_PROFILE_MAX_RUNS);
    }
    plan->runs = tide_hostmem_zeroed(tide_hostmem_default(), n, sizeof(*plan->runs));
    if (plan->runs == NULL) {
        return TIDE_NO_MEMORY;
    }
    plan->n_runs = n;
    plan->is_list = n > 1;
    for (size_t i = 0; i < n; i++) {
        tide_profile_run *run = &plan->runs[i];
        TIDE_TRY(tide_profile_configure(options, i, &run->workload, error));
        tide_profile_name(&run->workload, run->name);
    }
    return TIDE_OK;
}

tide_status tide_profile_plan_init(tide_profile_plan *plan, const tide_profile_options *options,
                                   const char *command, tide_error *error) {
    *plan =
        (tide_profile_plan){.options = options, .command = command, .recorder_ns_per_event = -1.0};
    TIDE_TRY(tide_profile_check(options, error));
    TIDE_TRY(tide_profile_dumps_check(options, plan, error));
    TIDE_TRY(tide_profile_configure_cache(options, &plan->cache, error));
    TIDE_TRY(add_runs(plan, error));
    TIDE_TRY(
        tide_profile_pick_device("profile", options->device, plan->device, &plan->kind, error));
    if (options->overhead_pairs != TIDE_NOT_GIVEN && options->overhead_pairs > 0 &&
        plan->kind == TIDE_DEVICE_VIRTUAL) {
        return tide_fail(
            error, TIDE_INVALID,
            "--overhead-pairs compares times, and the virtual device has none: --device "
            "cpu has");
    }
    if (strcmp(options->emulate, "pytorch") == 0 && plan->kind != TIDE_DEVICE_VIRTUAL) {
        return tide_fail(error, TIDE_INVALID,
                         "--emulate pytorch makes the allocations of PyTorch and computes "
                         "nothing: it needs --device virtual or virtual:CARD");
    }
    if (options->profiler_range && plan->kind != TIDE_DEVICE_CUDA) {
        return tide_fail(error, TIDE_INVALID,
                         "--profiler-range starts the CUDA profiler, which does not look at the "
                         "device %s: it needs --device cuda",
                         plan->device);
    }
    if (options->kernels && plan->kind != TIDE_DEVICE_CUDA) {
        return tide_fail(error, TIDE_INVALID,
                         "--kernels traces what a GPU runs, and the device %s is none: it needs "
                         "--device cuda",
                         plan->device);
    }
    for (size_t i = 0; i < plan->n_runs; i++) {
        TIDE_TRY(tide_profile_check_precision(plan->kind, plan->runs[i].workload.precision, error));
    }
    return name_files(plan, error);
}

void tide_profile_plan_fini(tide_profile_plan *plan) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; i < plan->n_runs; i++) {
        tide_snapshot_destroy(plan->runs[i].snapshot);
    }
    mem->release(mem->ctx, plan->runs);
    *plan = (tide_profile_plan){.options = plan->options};
}
