/* Hands a configuration over to a subprocess as JSON, and runs it there. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "programs/runs/run_friend.h"

#define CONFIG(key, kind, member) TIDE_JSON_FIELD(tide_run_config, kind, key, member)
#define CHOICE(key, member, n) TIDE_JSON_FIELD_CHOICE(tide_run_config, key, member, n)
#define LIMITS(key, kind, member) CONFIG(key, kind, limits.member)
#define RECORDING(key, kind, member) CONFIG(key, kind, recording.member)

static const tide_json_field FIELDS[] = {
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

enum { N_FIELDS = sizeof(FIELDS) / sizeof(FIELDS[0]) };

/* The key of the kind of workload, whose own fields follow. */
static const char KIND[] = "kind";

cJSON *tide_run_config_to_json(const tide_run_config *config) {
    const tide_run_kind *kind = config->workload.kind;
    cJSON *json = cJSON_CreateObject();
    if (json == NULL || cJSON_AddStringToObject(json, KIND, kind->name) == NULL ||
        !tide_json_fields_write(json, FIELDS, N_FIELDS, config) ||
        !tide_json_fields_write(json, kind->fields, kind->n_fields, &config->workload.of)) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

/* NULL if this program does not have the kind. */
static const tide_run_kind *kind_of(const cJSON *json, const tide_run_kind *other) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, KIND));
    if (name != NULL && strcmp(name, tide_run_program_kind.name) == 0) {
        return &tide_run_program_kind;
    }
    return name != NULL && other != NULL && strcmp(name, other->name) == 0 ? other : NULL;
}

tide_status tide_run_config_from_json(const cJSON *json, const tide_run_kind *other,
                                      tide_run_config *ret_config, tide_error *error) {
    const tide_run_kind *kind = kind_of(json, other);
    tide_run_config_init(ret_config);
    if (kind == NULL) {
        return tide_fail(error, TIDE_FORMAT, "%s: it is missing or unknown", KIND);
    }
    TIDE_TRY(tide_json_fields_read(json, FIELDS, N_FIELDS, ret_config, error));
    tide_run_workload_init(&ret_config->workload, kind);
    return tide_json_fields_read(json, kind->fields, kind->n_fields, &ret_config->workload.of,
                                 error);
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

tide_status tide_run_subprocess_main(const char *json, const tide_run_kind *other,
                                     tide_error *error) {
    tide_run_config config;
    tide_run_result result;
    const char *end = NULL;
    cJSON *document = cJSON_ParseWithOpts(json, &end, true);
    tide_status status = document == NULL
                             ? tide_fail(error, TIDE_INVALID, "the configuration is no JSON")
                             : tide_run_config_from_json(document, other, &config, error);
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
