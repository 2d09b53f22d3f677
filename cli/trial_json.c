/* The result of a trial as a JSON object, and back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/trial_internal.h"

enum { MAX_SAMPLES = 1000000 };

typedef enum field_kind { FIELD_TEXT, FIELD_INT, FIELD_INT64, FIELD_REAL } field_kind;

/* One member of a struct, and its key. */
typedef struct field {
    const char *key;
    field_kind kind;
    size_t offset;  /* of the member */
    size_t n_bytes; /* room of a text */
} field;

#define TEXT(type, key, member)                                                                    \
    { key, FIELD_TEXT, offsetof(type, member), sizeof(((type *)0)->member) }
#define NUMBER(type, key, kind, member)                                                            \
    { key, kind, offsetof(type, member), 0 }
#define RESULT(key, kind, member) NUMBER(tide_trial_result, key, kind, member)
#define PLACE(key, kind, member) NUMBER(tide_trial_environment, key, kind, member)

static const field RESULT_FIELDS[] = {
    TEXT(tide_trial_result, "reason", reason),
    RESULT("signal", FIELD_INT, signal_number),
    RESULT("asked_bytes", FIELD_INT64, asked_bytes),
    RESULT("segment_bytes", FIELD_INT64, segment_bytes),
    RESULT("free_bytes", FIELD_INT64, free_bytes),
    RESULT("requested_peak_bytes", FIELD_INT64, requested_peak_bytes),
    RESULT("allocated_peak_bytes", FIELD_INT64, allocated_peak_bytes),
    RESULT("reserved_peak_bytes", FIELD_INT64, reserved_peak_bytes),
    RESULT("device_used_bytes", FIELD_INT64, device_used_bytes),
    RESULT("device_used_before_bytes", FIELD_INT64, device_used_before_bytes),
    RESULT("host_peak_bytes", FIELD_INT64, host_peak_bytes),
    RESULT("tokens_per_step", FIELD_INT64, n_tokens),
    RESULT("flops", FIELD_REAL, flops),
    RESULT("stated_peak_flops", FIELD_REAL, stated_peak_flops),
    RESULT("tokens_per_second", FIELD_REAL, tokens_per_second),
    RESULT("achieved_flops", FIELD_REAL, achieved_flops),
    RESULT("peak_share", FIELD_REAL, peak_share),
    RESULT("started_unix_us", FIELD_INT64, started_unix_us),
    TEXT(tide_trial_result, "snapshot", snapshot_path),
};

static const field ENVIRONMENT_FIELDS[] = {
    TEXT(tide_trial_environment, "device_kind", device_kind),
    TEXT(tide_trial_environment, "device_name", device_name),
    PLACE("device_total_bytes", FIELD_INT64, device_total_bytes),
    PLACE("compute_capability", FIELD_INT, compute_capability),
    PLACE("driver_version", FIELD_INT, driver_version),
    PLACE("runtime_version", FIELD_INT, runtime_version),
    TEXT(tide_trial_environment, "driver", driver),
    PLACE("sm_clock_khz", FIELD_INT, sm_clock_khz),
    PLACE("memory_clock_khz", FIELD_INT, memory_clock_khz),
    TEXT(tide_trial_environment, "computed_by", computed_by),
    TEXT(tide_trial_environment, "tool", tool),
    TEXT(tide_trial_environment, "build", build),
    TEXT(tide_trial_environment, "host_name", host.name),
    TEXT(tide_trial_environment, "host_os", host.os),
    TEXT(tide_trial_environment, "host_cpu", host.cpu),
    PLACE("host_cpus", FIELD_INT64, host.n_cpus),
    PLACE("host_total_bytes", FIELD_INT64, host.total_bytes),
};

enum {
    N_RESULT_FIELDS = sizeof(RESULT_FIELDS) / sizeof(RESULT_FIELDS[0]),
    N_ENVIRONMENT_FIELDS = sizeof(ENVIRONMENT_FIELDS) / sizeof(ENVIRONMENT_FIELDS[0])
};

/* ---- writing ---- */

static bool add_field(cJSON *json, const field *at, const void *from) {
    const char *member = (const char *)from + at->offset;
    double number = -1.0;
    int integer = 0;
    int64_t wide = 0;
    switch (at->kind) {
    case FIELD_TEXT:
        return cJSON_AddStringToObject(json, at->key, member) != NULL;
    case FIELD_INT:
        memcpy(&integer, member, sizeof(integer));
        number = (double)integer;
        break;
    case FIELD_INT64:
        memcpy(&wide, member, sizeof(wide));
        number = (double)wide;
        break;
    case FIELD_REAL:
        memcpy(&number, member, sizeof(number));
        break;
    }
    return cJSON_AddNumberToObject(json, at->key, number) != NULL;
}

static bool add_fields(cJSON *json, const field *fields, size_t n, const void *from) {
    bool is_complete = true;
    for (size_t i = 0; i < n; i++) {
        is_complete = add_field(json, &fields[i], from) && is_complete;
    }
    return is_complete;
}

static bool add_samples(cJSON *phase, const char *key, const double *samples, size_t n) {
    cJSON *array = cJSON_AddArrayToObject(phase, key);
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < n; i++) {
        cJSON *number = cJSON_CreateNumber(samples[i]);
        is_complete = number != NULL && cJSON_AddItemToArray(array, number);
    }
    return is_complete;
}

static bool add_phases(cJSON *json, const tide_trial_result *result) {
    cJSON *phases = cJSON_AddObjectToObject(json, "phases");
    bool is_complete = phases != NULL;
    for (size_t i = 0; is_complete && i < TIDE_N_TIMED; i++) {
        if (result->host_ms[i] == NULL) {
            continue;
        }
        cJSON *phase = cJSON_AddObjectToObject(phases, tide_trial_phase_name(i));
        is_complete = phase != NULL &&
                      add_samples(phase, "device_ms", result->device_ms[i], result->n_samples) &&
                      add_samples(phase, "host_ms", result->host_ms[i], result->n_samples);
    }
    return is_complete;
}

cJSON *tide_trial_result_to_json(const tide_trial_result *result) {
    cJSON *json = cJSON_CreateObject();
    cJSON *environment = NULL;
    bool is_complete = cJSON_AddStringToObject(
                           json, "outcome", tide_trial_outcome_name((int)result->outcome)) != NULL;
    is_complete = is_complete && add_fields(json, RESULT_FIELDS, N_RESULT_FIELDS, result);
    is_complete = is_complete && add_phases(json, result);
    environment = is_complete ? cJSON_AddObjectToObject(json, "environment") : NULL;
    if (environment == NULL ||
        !add_fields(environment, ENVIRONMENT_FIELDS, N_ENVIRONMENT_FIELDS, &result->environment)) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

/* ---- reading ---- */

static tide_status read_number(const field *at, double number, void *member, tide_error *error) {
    double limit = at->kind == FIELD_INT ? 2147483647.0 : 9007199254740992.0;
    int integer = 0;
    int64_t wide = 0;
    if (at->kind == FIELD_REAL) {
        memcpy(member, &number, sizeof(number));
        return TIDE_OK;
    }
    if (!(fabs(number) <= limit) || floor(number) != number) {
        return tide_fail(error, TIDE_FORMAT, "%s is not a whole number within its limit", at->key);
    }
    if (at->kind == FIELD_INT) {
        integer = (int)number;
        memcpy(member, &integer, sizeof(integer));
    } else {
        wide = (int64_t)number;
        memcpy(member, &wide, sizeof(wide));
    }
    return TIDE_OK;
}

static tide_status read_field(const cJSON *json, const field *at, void *to, tide_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, at->key);
    char *member = (char *)to + at->offset;
    if (at->kind != FIELD_TEXT) {
        if (!cJSON_IsNumber(item)) {
            return tide_fail(error, TIDE_FORMAT, "%s is missing or no number", at->key);
        }
        return read_number(at, item->valuedouble, member, error);
    }
    if (!cJSON_IsString(item)) {
        return tide_fail(error, TIDE_FORMAT, "%s is missing or no text", at->key);
    }
    (void)snprintf(member, at->n_bytes, "%s", item->valuestring);
    return TIDE_OK;
}

static tide_status read_fields(const cJSON *json, const field *fields, size_t n, void *to,
                               tide_error *error) {
    for (size_t i = 0; i < n; i++) {
        TIDE_TRY(read_field(json, &fields[i], to, error));
    }
    return TIDE_OK;
}

static tide_status read_samples(const cJSON *phase, const char *key, tide_trial_result *result,
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

static tide_status read_phases(const cJSON *json, tide_trial_result *result, tide_error *error) {
    const cJSON *phases = cJSON_GetObjectItemCaseSensitive(json, "phases");
    if (!cJSON_IsObject(phases)) {
        return tide_fail(error, TIDE_FORMAT, "phases is missing or no object");
    }
    const cJSON *phase = NULL;
    cJSON_ArrayForEach(phase, phases) {
        int timed = tide_trial_phase_from_name(phase->string);
        if (timed < 0 || result->host_ms[timed] != NULL) {
            return tide_fail(error, TIDE_FORMAT, "phases has '%.64s', which is unknown or double",
                             phase->string);
        }
        TIDE_TRY(read_samples(phase, "host_ms", result, &result->host_ms[timed], error));
        TIDE_TRY(read_samples(phase, "device_ms", result, &result->device_ms[timed], error));
    }
    return TIDE_OK;
}

/* What the outcome means as a status; the precise one is not written. */
static tide_status status_of(tide_trial_outcome outcome) {
    switch (outcome) {
    case TIDE_TRIAL_COMPLETED:
    case TIDE_TRIAL_STOPPED:
        return TIDE_OK;
    case TIDE_TRIAL_OOM:
    case TIDE_TRIAL_NO_HOST:
        return TIDE_DEVICE_OOM;
    case TIDE_TRIAL_UNSUPPORTED:
        return TIDE_UNSUPPORTED;
    default:
        return TIDE_DEVICE_FAILED;
    }
}

tide_status tide_trial_result_from_json(const cJSON *json, tide_trial_result *ret_result,
                                        tide_error *error) {
    tide_trial_result_init(ret_result);
    const cJSON *outcome = cJSON_GetObjectItemCaseSensitive(json, "outcome");
    const cJSON *environment = cJSON_GetObjectItemCaseSensitive(json, "environment");
    int number = cJSON_IsString(outcome) ? tide_trial_outcome_from_name(outcome->valuestring) : -1;
    if (number < 0) {
        return tide_fail(error, TIDE_FORMAT, "outcome is missing or unknown");
    }
    TIDE_TRY(read_fields(json, RESULT_FIELDS, N_RESULT_FIELDS, ret_result, error));
    TIDE_TRY(read_fields(environment, ENVIRONMENT_FIELDS, N_ENVIRONMENT_FIELDS,
                         &ret_result->environment, error));
    TIDE_TRY(read_phases(json, ret_result, error));
    ret_result->outcome = (tide_trial_outcome)number;
    ret_result->status = status_of(ret_result->outcome);
    tide_trial_derive(ret_result);
    return TIDE_OK;
}

/* ---- comparing ---- */

/* Does it say anything: a text that is not empty, a number that is not -1? */
static bool is_known(const field *at, const char *member) {
    int integer = 0;
    int64_t wide = 0;
    switch (at->kind) {
    case FIELD_TEXT:
        return member[0] != '\0';
    case FIELD_INT:
        memcpy(&integer, member, sizeof(integer));
        return integer != -1;
    case FIELD_INT64:
        memcpy(&wide, member, sizeof(wide));
        return wide != -1;
    case FIELD_REAL:
        break;
    }
    return true;
}

static size_t bytes_of(const field *at) {
    switch (at->kind) {
    case FIELD_TEXT:
        return at->n_bytes;
    case FIELD_INT:
        return sizeof(int);
    case FIELD_INT64:
        return sizeof(int64_t);
    case FIELD_REAL:
        break;
    }
    return sizeof(double);
}

bool tide_trial_environment_join(tide_trial_environment *place,
                                 const tide_trial_environment *other) {
    for (size_t i = 0; i < N_ENVIRONMENT_FIELDS; i++) {
        const field *at = &ENVIRONMENT_FIELDS[i];
        const char *mine = (const char *)place + at->offset;
        const char *theirs = (const char *)other + at->offset;
        bool is_equal = at->kind == FIELD_TEXT ? strcmp(mine, theirs) == 0
                                               : memcmp(mine, theirs, bytes_of(at)) == 0;
        if (!is_equal && is_known(at, mine) && is_known(at, theirs)) {
            return false;
        }
    }
    for (size_t i = 0; i < N_ENVIRONMENT_FIELDS; i++) {
        const field *at = &ENVIRONMENT_FIELDS[i];
        const char *theirs = (const char *)other + at->offset;
        if (is_known(at, theirs)) {
            memcpy((char *)place + at->offset, theirs, bytes_of(at));
        }
    }
    return true;
}
