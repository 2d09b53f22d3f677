/* Hands a configuration over to a subprocess as JSON, and runs it there. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run/run_internal.h"

#define CONFIG(key, kind, member) TIDE_JSON_FIELD(tide_run_config, kind, key, member)
#define CHOICE(key, member, n) TIDE_JSON_FIELD_CHOICE(tide_run_config, key, member, n)
#define LIMITS(key, kind, member) CONFIG(key, kind, limits.member)
#define RECORDING(key, kind, member) CONFIG(key, kind, recording.member)

static const tide_json_field FIELDS[] = {
    CHOICE("kind", workload.kind, TIDE_N_RUN_KINDS),
    LIMITS("device", TIDE_JSON_FIELD_BORROWED, device),
    LIMITS("memory_limit", TIDE_JSON_FIELD_COUNT, memory_limit_bytes),
    LIMITS("alloc_conf", TIDE_JSON_FIELD_BORROWED, alloc_conf),
    LIMITS("spill", TIDE_JSON_FIELD_COUNT, spill_bytes),
    LIMITS("ignores_device", TIDE_JSON_FIELD_FLAG, ignores_device),
    RECORDING("records", TIDE_JSON_FIELD_FLAG, is_on),
    RECORDING("log_bytes", TIDE_JSON_FIELD_COUNT, recorder.log_bytes),
    CHOICE("log_full", recording.recorder.full_policy, 2),
    RECORDING("stacks", TIDE_JSON_FIELD_FLAG, recorder.capture_stacks),
    RECORDING("frames", TIDE_JSON_FIELD_INT, recorder.max_frames),
    RECORDING("log", TIDE_JSON_FIELD_BORROWED, recorder.log_path),
    RECORDING("ns_per_event", TIDE_JSON_FIELD_REAL, ns_per_event),
    RECORDING("overhead_pairs", TIDE_JSON_FIELD_COUNT, overhead_pairs),
    RECORDING("snapshot", TIDE_JSON_FIELD_BORROWED, snapshot_path),
    RECORDING("strip_private", TIDE_JSON_FIELD_FLAG, strip_private),
    RECORDING("command", TIDE_JSON_FIELD_BORROWED, command),
    RECORDING("snapshot_signal", TIDE_JSON_FIELD_INT, snapshot_signal),
    RECORDING("snapshot_every", TIDE_JSON_FIELD_COUNT, snapshot_every),
    RECORDING("forecasts_model_time", TIDE_JSON_FIELD_FLAG, forecasts_time),
};

#define OF_MODEL(key, kind, member) CONFIG(key, kind, workload.of.model.member)
#define OF_MODEL_CHOICE(key, member, n) CHOICE(key, workload.of.model.member, n)

/* AdamW's settings are the same in every run, so no option sets them. */
static const tide_json_field MODEL_FIELDS[] = {
    OF_MODEL_CHOICE("architecture", architecture, TIDE_N_ARCHITECTURES),
    OF_MODEL("size", TIDE_JSON_FIELD_TEXT, model.size),
    OF_MODEL("vocab_size", TIDE_JSON_FIELD_COUNT, model.vocab_size),
    OF_MODEL("d_model", TIDE_JSON_FIELD_COUNT, model.d_model),
    OF_MODEL("d_ff", TIDE_JSON_FIELD_COUNT, model.d_ff),
    OF_MODEL("n_layers", TIDE_JSON_FIELD_COUNT, model.n_layers),
    OF_MODEL("n_heads", TIDE_JSON_FIELD_COUNT, model.n_heads),
    OF_MODEL("context_length", TIDE_JSON_FIELD_COUNT, model.context_length),
    OF_MODEL("batch_size", TIDE_JSON_FIELD_COUNT, model.batch_size),
    OF_MODEL("rope_theta", TIDE_JSON_FIELD_REAL, model.rope_theta),
    OF_MODEL("no_head", TIDE_JSON_FIELD_FLAG, model.no_head),
    OF_MODEL("new_tokens", TIDE_JSON_FIELD_COUNT, new_tokens),
    OF_MODEL_CHOICE("mode", mode, TIDE_N_MODES),
    OF_MODEL("keep_graph", TIDE_JSON_FIELD_FLAG, keep_graph),
    OF_MODEL_CHOICE("precision", precision, TIDE_N_PRECISIONS),
    OF_MODEL_CHOICE("attention", attention, TIDE_N_ATTENTIONS),
    OF_MODEL_CHOICE("recompute", recompute, TIDE_N_RECOMPUTES),
    OF_MODEL_CHOICE("emulate", emulate, TIDE_N_EMULATIONS),
    OF_MODEL_CHOICE("edition", edition, TIDE_N_EDITIONS),
    OF_MODEL("clip_grad_norm", TIDE_JSON_FIELD_REAL, clip_grad_norm),
    OF_MODEL("seed", TIDE_JSON_FIELD_COUNT, seed),
    OF_MODEL("warmup_steps", TIDE_JSON_FIELD_COUNT, warmup_steps),
    OF_MODEL("steps", TIDE_JSON_FIELD_COUNT, steps),
    OF_MODEL("profiler_range", TIDE_JSON_FIELD_FLAG, profiler_range),
    OF_MODEL("times_all_scopes", TIDE_JSON_FIELD_FLAG, times_all_scopes),
    OF_MODEL("cuda_graph", TIDE_JSON_FIELD_FLAG, cuda_graph),
    OF_MODEL("sync_phases", TIDE_JSON_FIELD_FLAG, sync_phases),
    OF_MODEL("trace_kernels", TIDE_JSON_FIELD_FLAG, trace_kernels),
};

#define OF_PROGRAM(key, kind, member) CONFIG(key, kind, workload.of.program.member)

static const tide_json_field PROGRAM_FIELDS[] = {
    OF_PROGRAM("arguments", TIDE_JSON_FIELD_BORROWED, command),
    OF_PROGRAM("values", TIDE_JSON_FIELD_TEXT, values),
    OF_PROGRAM("card", TIDE_JSON_FIELD_TEXT, card),
    OF_PROGRAM("steps", TIDE_JSON_FIELD_COUNT, n_steps),
    OF_PROGRAM("calls", TIDE_JSON_FIELD_COUNT, n_calls),
    OF_PROGRAM("reads", TIDE_JSON_FIELD_BORROWED, reads),
    OF_PROGRAM("streams", TIDE_JSON_FIELD_BORROWED, streams),
    OF_PROGRAM("writes_are_real", TIDE_JSON_FIELD_FLAG, writes_are_real),
    OF_PROGRAM("forecasts_time", TIDE_JSON_FIELD_FLAG, forecasts_time),
    OF_PROGRAM("own_calibration", TIDE_JSON_FIELD_BORROWED, own_calibration),
    OF_PROGRAM("calibration", TIDE_JSON_FIELD_BORROWED, calibration),
    OF_PROGRAM("host_factor", TIDE_JSON_FIELD_REAL, host_factor),
};

enum {
    N_FIELDS = sizeof(FIELDS) / sizeof(FIELDS[0]),
    N_MODEL_FIELDS = sizeof(MODEL_FIELDS) / sizeof(MODEL_FIELDS[0]),
    N_PROGRAM_FIELDS = sizeof(PROGRAM_FIELDS) / sizeof(PROGRAM_FIELDS[0])
};

/* The fields that only this kind of workload has. */
static const tide_json_field *fields_of(tide_run_kind kind, size_t *ret_n) {
    *ret_n = 0;
    switch (kind) {
    case TIDE_RUN_MODEL:
        *ret_n = N_MODEL_FIELDS;
        return MODEL_FIELDS;
    case TIDE_RUN_PROGRAM:
        *ret_n = N_PROGRAM_FIELDS;
        return PROGRAM_FIELDS;
    case TIDE_N_RUN_KINDS:
        break;
    }
    return NULL;
}

cJSON *tide_run_config_to_json(const tide_run_config *config) {
    size_t n = 0;
    const tide_json_field *fields = fields_of(config->workload.kind, &n);
    cJSON *json = cJSON_CreateObject();
    if (json == NULL || !tide_json_fields_write(json, FIELDS, N_FIELDS, config) ||
        !tide_json_fields_write(json, fields, n, config)) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

tide_status tide_run_config_from_json(const cJSON *json, tide_run_config *ret_config,
                                      tide_error *error) {
    size_t n = 0;
    tide_run_config_init(ret_config);
    TIDE_TRY(tide_json_fields_read(json, FIELDS, N_FIELDS, ret_config, error));
    if (ret_config->workload.kind == TIDE_RUN_PROGRAM) { /* the union had the default model */
        ret_config->workload.of.program = (tide_run_program){.command = NULL};
    }
    const tide_json_field *fields = fields_of(ret_config->workload.kind, &n);
    return tide_json_fields_read(json, fields, n, ret_config, error);
}

/* ---- in the subprocess ---- */

static tide_status write_all(const char *text, tide_error *error) {
    for (size_t n = strlen(text); n > 0;) {
        ssize_t n_written = write(TIDE_RUN_RESULT_FD, text, n);
        if (n_written < 0 && errno == EINTR) {
            continue;
        }
        if (n_written <= 0) {
            return tide_fail(error, TIDE_IO, "the result cannot be handed back: %s",
                             strerror(errno));
        }
        text += n_written;
        n -= (size_t)n_written;
    }
    return TIDE_OK;
}

tide_status tide_run_subprocess_main(const char *json, tide_error *error) {
    tide_run_config config;
    tide_run_result result;
    const char *end = NULL;
    cJSON *document = cJSON_ParseWithOpts(json, &end, true);
    tide_status status = document == NULL
                             ? tide_fail(error, TIDE_INVALID, "the configuration is no JSON")
                             : tide_run_config_from_json(document, &config, error);
    if (status != TIDE_OK) {
        cJSON_Delete(document);
        return status;
    }
    tide_run_here(&config, NULL, &result);
    cJSON *answer = tide_run_result_to_json(&result);
    char *text = answer != NULL ? cJSON_PrintUnformatted(answer) : NULL;
    status = text != NULL ? write_all(text, error) : TIDE_NO_MEMORY;
    cJSON_free(text);
    cJSON_Delete(answer);
    cJSON_Delete(document);
    tide_run_result_fini(&result);
    return status;
}
