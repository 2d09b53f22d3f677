/* The result of a run to and from a JSON object. */
#include <math.h>
#include <string.h>

#include "programs/runs/run_friend.h"

enum { MAX_SAMPLES = 1000000 };

#define RESULT(key, kind, member) TIDE_JSON_FIELD(tide_run_result, kind, key, member)

#define OF_PROGRAM(key, member)                                                                    \
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_INT64, key, program.member)

static const tide_json_field FIELDS[] = {
    RESULT("reason", TIDE_JSON_FIELD_TEXT, reason),
    RESULT("signal", TIDE_JSON_FIELD_INT, signal_number),
    RESULT("asked_bytes", TIDE_JSON_FIELD_INT64, asked_bytes),
    RESULT("segment_bytes", TIDE_JSON_FIELD_INT64, segment_bytes),
    RESULT("free_bytes", TIDE_JSON_FIELD_INT64, free_bytes),
    RESULT("requested_peak_bytes", TIDE_JSON_FIELD_INT64, memory.requested_peak_bytes),
    RESULT("allocated_peak_bytes", TIDE_JSON_FIELD_INT64, memory.allocated_peak_bytes),
    RESULT("reserved_peak_bytes", TIDE_JSON_FIELD_INT64, memory.reserved_peak_bytes),
    RESULT("device_used_bytes", TIDE_JSON_FIELD_INT64, device_used_bytes),
    RESULT("device_used_before_bytes", TIDE_JSON_FIELD_INT64, device_used_before_bytes),
    RESULT("host_peak_bytes", TIDE_JSON_FIELD_INT64, host_peak_bytes),
    RESULT("tokens_per_step", TIDE_JSON_FIELD_INT64, n_tokens),
    RESULT("flops", TIDE_JSON_FIELD_REAL, flops),
    RESULT("stated_peak_flops", TIDE_JSON_FIELD_REAL, stated_peak_flops),
    RESULT("tokens_per_second", TIDE_JSON_FIELD_REAL, tokens_per_second),
    RESULT("achieved_flops", TIDE_JSON_FIELD_REAL, achieved_flops),
    RESULT("peak_share", TIDE_JSON_FIELD_REAL, peak_share),
    RESULT("started_unix_us", TIDE_JSON_FIELD_INT64, started_unix_us),
    RESULT("snapshot", TIDE_JSON_FIELD_TEXT, snapshot_path),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_INT64, "retries", memory.n_retries),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_INT64, "spill_peak_bytes",
                             memory.spill_peak_bytes),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_INT64, "spilled_segments",
                             memory.n_spilled),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_INT64, "spill_step",
                             memory.spill_step),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "loss", loss),
    OF_PROGRAM("steps_done", n_steps),
    OF_PROGRAM("growing_passes", growing_passes),
    OF_PROGRAM("growing_bytes", growing_bytes),
    OF_PROGRAM("margin_bytes", margin_bytes),
    OF_PROGRAM("inexact_calls", n_inexact),
    OF_PROGRAM("assumed_reads", assumed.n_reads),
    OF_PROGRAM("assumed_row_reads", assumed.n_rows),
    OF_PROGRAM("assumed_all_bytes", assumed.all_bytes),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_TEXT, "assumed_place",
                             program.assumed.place),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_TEXT, "assumed_what",
                             program.assumed.what),
    OF_PROGRAM("assumed_given_least", assumed.given_least),
    OF_PROGRAM("assumed_given_most", assumed.given_most),
    OF_PROGRAM("assumed_possible", assumed.possible),
    OF_PROGRAM("assumed_times", assumed.n_times),
    OF_PROGRAM("assumed_row_bytes", assumed.row_bytes),
    OF_PROGRAM("assumed_row_all_bytes", assumed.row_all_bytes),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "forecast_step_ms",
                             program.step_ms),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "forecast_step_low_ms",
                             program.step_low_ms),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "forecast_step_high_ms",
                             program.step_high_ms),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "forecast_gpu_ms",
                             program.gpu_ms),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "forecast_gpu_low_ms",
                             program.gpu_low_ms),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "forecast_gpu_high_ms",
                             program.gpu_high_ms),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_TEXT, "forecast_bound",
                             program.step_bound),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_TEXT, "forecast_host", program.host),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_REAL, "loss_scale", loss_scale),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_result, TIDE_JSON_FIELD_INT64, "skipped_steps",
                             n_skipped_steps),
    OF_PROGRAM("forecast_launches", n_launches),
    OF_PROGRAM("forecast_guessed_launches", n_guessed),
    OF_PROGRAM("unmeasured_bytes", unmeasured_bytes),
    OF_PROGRAM("near_limit", is_near),
};

enum { N_FIELDS = sizeof(FIELDS) / sizeof(FIELDS[0]) };

/* ---- writing ---- */

static bool add_samples(cJSON *phase, const char *key, const double *samples, size_t n) {
    cJSON *array = cJSON_AddArrayToObject(phase, key);
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < n; i++) {
        cJSON *number = cJSON_CreateNumber(samples[i]);
        is_complete = number != NULL && cJSON_AddItemToArray(array, number);
    }
    return is_complete;
}

static bool add_phases(cJSON *json, const tide_run_result *result) {
    cJSON *phases = cJSON_AddObjectToObject(json, "phases");
    bool is_complete = phases != NULL;
    for (size_t i = 0; is_complete && i < TIDE_N_TIMED; i++) {
        if (result->host_ms[i] == NULL) {
            continue;
        }
        cJSON *phase = cJSON_AddObjectToObject(phases, tide_run_phase_name(i));
        is_complete = phase != NULL &&
                      add_samples(phase, "device_ms", result->device_ms[i], result->n_samples) &&
                      add_samples(phase, "host_ms", result->host_ms[i], result->n_samples);
    }
    return is_complete;
}

static bool add_parts(cJSON *json, const tide_run_result *result) {
    cJSON *array = result->n_parts > 0 ? cJSON_AddArrayToObject(json, "parts") : NULL;
    bool is_complete = result->n_parts == 0 || array != NULL;
    for (size_t i = 0; is_complete && i < result->n_parts; i++) {
        cJSON *part = tide_run_result_to_json(&result->parts[i]);
        is_complete = part != NULL && cJSON_AddItemToArray(array, part);
    }
    return is_complete;
}

cJSON *tide_run_result_to_json(const tide_run_result *result) {
    cJSON *json = cJSON_CreateObject();
    bool is_complete =
        cJSON_AddStringToObject(json, "outcome", tide_outcome_name((int)result->outcome)) != NULL;
    is_complete = is_complete && tide_json_fields_write(json, FIELDS, N_FIELDS, result) &&
                  add_phases(json, result) && add_parts(json, result);
    cJSON *environment = is_complete ? cJSON_AddObjectToObject(json, "environment") : NULL;
    if (environment == NULL ||
        !tide_json_fields_write(environment, tide_run_environment_fields, TIDE_N_ENVIRONMENT_FIELDS,
                                &result->environment)) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

/* ---- reading ---- */

static tide_status read_samples(const cJSON *phase, const char *key, tide_run_result *result,
                                double **ret_samples, tide_error *error) {
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(phase, key);
    int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    bool is_first = result->mem == NULL;
    if (n < 0 || n > MAX_SAMPLES || (!is_first && (size_t)n != result->n_samples)) {
        return tide_fail(error, TIDE_FORMAT,
                         "%s of %s is no list of as many samples as the other phases have", key,
                         phase->string);
    }
    result->mem = tide_hostmem_default();
    result->n_samples = (size_t)n;
    *ret_samples = tide_hostmem_zeroed(result->mem, n > 0 ? (size_t)n : 1, sizeof(double));
    if (*ret_samples == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for %d samples", n);
    }
    size_t i = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item)) {
            return tide_fail(error, TIDE_FORMAT, "%s of %s has a sample that is no number", key,
                             phase->string);
        }
        (*ret_samples)[i++] = item->valuedouble;
    }
    return TIDE_OK;
}

static tide_status read_phases(const cJSON *json, tide_run_result *result, tide_error *error) {
    const cJSON *phases = cJSON_GetObjectItemCaseSensitive(json, "phases");
    if (!cJSON_IsObject(phases)) {
        return tide_fail(error, TIDE_FORMAT, "phases is missing or no object");
    }
    const cJSON *phase = NULL;
    cJSON_ArrayForEach(phase, phases) {
        int timed = tide_run_phase_from_name(phase->string);
        if (timed < 0 || result->host_ms[timed] != NULL) {
            return tide_fail(error, TIDE_FORMAT, "phases has '%.64s', which is unknown or double",
                             phase->string);
        }
        TIDE_TRY(read_samples(phase, "host_ms", result, &result->host_ms[timed], error));
        TIDE_TRY(read_samples(phase, "device_ms", result, &result->device_ms[timed], error));
    }
    return TIDE_OK;
}

/* Parts of parts are refused. */
static tide_status read_parts(const cJSON *json, tide_run_result *result, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(json, "parts");
    const cJSON *item = NULL;
    int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 0;
    if (n == 0) {
        return TIDE_OK;
    }
    result->parts = tide_hostmem_zeroed(mem, (size_t)n, sizeof(*result->parts));
    if (result->parts == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for %d results", n);
    }
    cJSON_ArrayForEach(item, array) {
        if (cJSON_HasObjectItem(item, "parts")) {
            return tide_fail(error, TIDE_FORMAT, "a part of parts has parts itself");
        }
        TIDE_TRY(tide_run_result_from_json(item, &result->parts[result->n_parts++], error));
    }
    return TIDE_OK;
}

tide_status tide_run_result_from_json(const cJSON *json, tide_run_result *ret_result,
                                      tide_error *error) {
    tide_run_result_init(ret_result);
    const cJSON *outcome = cJSON_GetObjectItemCaseSensitive(json, "outcome");
    const cJSON *environment = cJSON_GetObjectItemCaseSensitive(json, "environment");
    int number = cJSON_IsString(outcome) ? tide_outcome_from_name(outcome->valuestring) : -1;
    if (number < 0) {
        return tide_fail(error, TIDE_FORMAT, "outcome is missing or unknown");
    }
    TIDE_TRY(tide_json_fields_read(json, FIELDS, N_FIELDS, ret_result, error));
    TIDE_TRY(tide_json_fields_read(environment, tide_run_environment_fields,
                                   TIDE_N_ENVIRONMENT_FIELDS, &ret_result->environment, error));
    TIDE_TRY(read_phases(json, ret_result, error));
    TIDE_TRY(read_parts(json, ret_result, error));
    ret_result->outcome = (tide_outcome)number;
    ret_result->status =
        tide_outcome_status(ret_result->outcome); /* the exact value is not written */
    memcpy(ret_result->error.message, ret_result->reason, sizeof(ret_result->reason));
    tide_run_derive(ret_result);
    return TIDE_OK;
}
