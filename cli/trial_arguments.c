/* How a trial is handed over to a process of its own: its configuration as a command line, and the
 * command that reads it, runs the trial and writes the result. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/trial_internal.h"

/* A configuration without nesting. Numbers that are names are the enumerations' own. */
typedef struct wire {
    const char *size, *device, *alloc_conf, *snapshot_path, *command; /* borrowed; NULL: none */
    uint64_t vocab_size, d_model, d_ff, n_layers, n_heads, context_length, batch_size;
    uint64_t mode, precision, attention, recompute, emulate, edition,
        architecture;                                       /* enumerations of model/config.h */
    uint64_t seed, warmup_steps, steps, memory_limit_bytes; /* limit 0: none */
    double rope_theta, clip_grad_norm;
    bool keep_graph, records, strip_private, profiler_range, times_all_scopes, trace_kernels;
} wire;

#define FIELD(kind, name, member)                                                                  \
    { kind, name, NULL, "X", "", NULL, NULL, NULL, offsetof(wire, member) }

static const tide_option OPTIONS[] = {
    FIELD(TIDE_OPTION_TEXT, "size", size),
    FIELD(TIDE_OPTION_TEXT, "device", device),
    FIELD(TIDE_OPTION_TEXT, "alloc-conf", alloc_conf),
    FIELD(TIDE_OPTION_TEXT, "snapshot", snapshot_path),
    FIELD(TIDE_OPTION_TEXT, "command", command),
    FIELD(TIDE_OPTION_COUNT, "vocab", vocab_size),
    FIELD(TIDE_OPTION_COUNT, "d-model", d_model),
    FIELD(TIDE_OPTION_COUNT, "d-ff", d_ff),
    FIELD(TIDE_OPTION_COUNT, "layers", n_layers),
    FIELD(TIDE_OPTION_COUNT, "heads", n_heads),
    FIELD(TIDE_OPTION_COUNT, "context", context_length),
    FIELD(TIDE_OPTION_COUNT, "batch", batch_size),
    FIELD(TIDE_OPTION_COUNT, "mode", mode),
    FIELD(TIDE_OPTION_COUNT, "precision", precision),
    FIELD(TIDE_OPTION_COUNT, "attention", attention),
    FIELD(TIDE_OPTION_COUNT, "recompute", recompute),
    FIELD(TIDE_OPTION_COUNT, "architecture", architecture),
    FIELD(TIDE_OPTION_COUNT, "emulate", emulate),
    FIELD(TIDE_OPTION_COUNT, "edition", edition),
    FIELD(TIDE_OPTION_COUNT, "seed", seed),
    FIELD(TIDE_OPTION_COUNT, "warmup", warmup_steps),
    FIELD(TIDE_OPTION_COUNT, "steps", steps),
    FIELD(TIDE_OPTION_COUNT, "memory-limit", memory_limit_bytes),
    FIELD(TIDE_OPTION_REAL, "rope-theta", rope_theta),
    FIELD(TIDE_OPTION_REAL, "clip-grad-norm", clip_grad_norm),
    FIELD(TIDE_OPTION_FLAG, "keep-graph", keep_graph),
    FIELD(TIDE_OPTION_FLAG, "records", records),
    FIELD(TIDE_OPTION_FLAG, "strip-private", strip_private),
    FIELD(TIDE_OPTION_FLAG, "profiler-range", profiler_range),
    FIELD(TIDE_OPTION_FLAG, "all-scopes", times_all_scopes),
    FIELD(TIDE_OPTION_FLAG, "kernels", trace_kernels),
};

enum { N_OPTIONS = sizeof(OPTIONS) / sizeof(OPTIONS[0]) };

static const tide_option_table TABLE = {
    .command = TIDE_TRIAL_COMMAND,
    .intro = "Runs one configuration for a command that waits for its result on file descriptor "
             "3.\n",
    .options = OPTIONS,
    .n_options = N_OPTIONS,
};

/* ---- there ---- */

static void fill_wire(const tide_trial_config *config, wire *ret) {
    const tide_workload_config *workload = &config->workload;
    const tide_model_config *model = &workload->model;
    *ret = (wire){
        .size = model->size,
        .device = config->device,
        .alloc_conf = config->alloc_conf,
        .snapshot_path = config->snapshot_path,
        .command = config->command,
        .vocab_size = model->vocab_size,
        .d_model = model->d_model,
        .d_ff = model->d_ff,
        .n_layers = model->n_layers,
        .n_heads = model->n_heads,
        .context_length = model->context_length,
        .batch_size = model->batch_size,
        .mode = (uint64_t)workload->mode,
        .precision = (uint64_t)workload->precision,
        .attention = (uint64_t)workload->attention,
        .recompute = (uint64_t)workload->recompute,
        .architecture = (uint64_t)workload->architecture,
        .emulate = (uint64_t)workload->emulate,
        .edition = (uint64_t)workload->edition,
        .seed = workload->seed,
        .warmup_steps = workload->warmup_steps,
        .steps = workload->steps,
        .memory_limit_bytes =
            config->memory_limit_bytes == TIDE_TRIAL_UNLIMITED ? 0 : config->memory_limit_bytes,
        .rope_theta = model->rope_theta,
        .clip_grad_norm = workload->clip_grad_norm,
        .keep_graph = workload->keep_graph,
        .records = config->records,
        .strip_private = config->strip_private,
        .profiler_range = workload->profiler_range,
        .times_all_scopes = workload->times_all_scopes,
        .trace_kernels = workload->trace_kernels,
    };
}

/* "--name=value"; NULL where there is no memory. `ret_is_left_out`: the default. */
static char *argument_of(const tide_option *option, const wire *from, bool *ret_is_left_out) {
    const char *member = (const char *)from + option->offset;
    char number[64] = "";
    const char *value = number;
    *ret_is_left_out = false;
    if (option->kind == TIDE_OPTION_FLAG) {
        *ret_is_left_out = !*(const bool *)(const void *)member;
        value = NULL;
    } else if (option->kind == TIDE_OPTION_TEXT) {
        value = *(const char *const *)(const void *)member;
        *ret_is_left_out = value == NULL;
    } else if (option->kind == TIDE_OPTION_REAL) {
        (void)snprintf(number, sizeof(number), "%.17g", *(const double *)(const void *)member);
    } else {
        (void)snprintf(number, sizeof(number), "%" PRIu64, *(const uint64_t *)(const void *)member);
    }
    if (*ret_is_left_out) {
        return NULL;
    }
    size_t n = strlen(option->name) + (value != NULL ? strlen(value) : 0) + 4;
    char *text = tide_hostmem_zeroed(tide_hostmem_default(), n, 1);
    if (text != NULL) {
        (void)snprintf(text, n, "--%s%s%s", option->name, value != NULL ? "=" : "",
                       value != NULL ? value : "");
    }
    return text;
}

char **tide_trial_arguments(const tide_trial_config *config) {
    const tide_hostmem *mem = tide_hostmem_default();
    char **arguments = tide_hostmem_zeroed(mem, (size_t)N_OPTIONS + 3, sizeof(*arguments));
    wire handed;
    size_t n = 0;
    if (arguments == NULL) {
        return NULL;
    }
    fill_wire(config, &handed);
    arguments[n++] = tide_hostmem_text(mem, "tidemark");
    arguments[n] = arguments[0] != NULL ? tide_hostmem_text(mem, TIDE_TRIAL_COMMAND) : NULL;
    bool is_complete = arguments[n++] != NULL;
    for (size_t i = 0; is_complete && i < N_OPTIONS; i++) {
        bool is_left_out = false;
        arguments[n] = argument_of(&OPTIONS[i], &handed, &is_left_out);
        is_complete = is_left_out || arguments[n] != NULL;
        n += is_left_out ? 0 : 1;
    }
    if (!is_complete) {
        tide_trial_arguments_release(arguments);
        return NULL;
    }
    return arguments;
}

void tide_trial_arguments_release(char **arguments) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (char **at = arguments; at != NULL && *at != NULL; at++) {
        mem->release(mem->ctx, *at);
    }
    mem->release(mem->ctx, arguments);
}

/* ---- and back ---- */

static void read_wire(const wire *from, tide_trial_config *ret) {
    tide_trial_config_init(ret);
    ret->device = from->device;
    ret->alloc_conf = from->alloc_conf;
    ret->snapshot_path = from->snapshot_path;
    ret->command = from->command;
    ret->records = from->records;
    ret->strip_private = from->strip_private;
    if (from->memory_limit_bytes > 0) {
        ret->memory_limit_bytes = from->memory_limit_bytes;
    }
    tide_workload_config *workload = &ret->workload;
    workload->model = (tide_model_config){.vocab_size = (size_t)from->vocab_size,
                                          .d_model = (size_t)from->d_model,
                                          .d_ff = (size_t)from->d_ff,
                                          .n_layers = (size_t)from->n_layers,
                                          .n_heads = (size_t)from->n_heads,
                                          .context_length = (size_t)from->context_length,
                                          .batch_size = (size_t)from->batch_size,
                                          .rope_theta = from->rope_theta};
    (void)snprintf(workload->model.size, sizeof(workload->model.size), "%s", from->size);
    workload->mode = (tide_mode)from->mode;
    workload->precision = (tide_precision)from->precision;
    workload->attention = (tide_attention)from->attention;
    workload->recompute = (tide_recompute)from->recompute;
    workload->architecture = (tide_architecture)from->architecture;
    workload->emulate = (tide_emulation)from->emulate;
    workload->edition = (tide_edition)from->edition;
    workload->keep_graph = from->keep_graph;
    workload->profiler_range = from->profiler_range;
    workload->times_all_scopes = from->times_all_scopes;
    workload->trace_kernels = from->trace_kernels;
    workload->clip_grad_norm = from->clip_grad_norm;
    workload->seed = from->seed;
    workload->warmup_steps = (size_t)from->warmup_steps;
    workload->steps = (size_t)from->steps;
}

static int write_all(const char *text) {
    for (size_t n = strlen(text); n > 0;) {
        ssize_t n_written = write(TIDE_TRIAL_RESULT_FD, text, n);
        if (n_written < 0 && errno == EINTR) {
            continue;
        }
        if (n_written <= 0) {
            return TIDE_EXIT_FAILURE;
        }
        text += n_written;
        n -= (size_t)n_written;
    }
    return TIDE_EXIT_SUCCESS;
}

int tide_trial_command(int argc, char **argv) {
    wire handed = {.size = "custom", .device = "virtual", .rope_theta = 10000.0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &handed, NULL, &exit_status)) {
        return exit_status;
    }
    if (handed.mode >= TIDE_N_MODES || handed.precision >= TIDE_N_PRECISIONS ||
        handed.attention >= TIDE_N_ATTENTIONS || handed.recompute >= TIDE_N_RECOMPUTES ||
        handed.architecture >= TIDE_N_ARCHITECTURES || handed.emulate >= TIDE_N_EMULATIONS ||
        handed.edition >= TIDE_N_EDITIONS) {
        tide_cli_note(TIDE_TRIAL_COMMAND, "a name is beyond its list");
        return TIDE_EXIT_USAGE;
    }
    tide_trial_config config;
    tide_trial_result result;
    read_wire(&handed, &config);
    tide_trial_run(&config, &result);
    cJSON *json = tide_trial_result_to_json(&result);
    char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
    exit_status = text != NULL ? write_all(text) : TIDE_EXIT_FAILURE;
    cJSON_free(text);
    cJSON_Delete(json);
    tide_trial_result_fini(&result);
    return exit_status;
}
