/* One row of a sweep, in memory and as JSON. */
#include <stdio.h>
#include <string.h>

#include "programs/runs/sweep.h"

tide_sweep_row *tide_sweep_row_create(size_t cell, const tide_run_workload *workload) {
    tide_sweep_row *row = tide_hostmem_zeroed(tide_hostmem_default(), 1, sizeof(*row));
    if (row == NULL) {
        return NULL;
    }
    row->cell = cell;
    tide_run_result_init(&row->result);
    if (workload != NULL) {
        tide_run_labels labels;
        tide_run_workload_labels(workload, &labels);
        tide_run_workload_name(workload, row->name);
        (void)snprintf(row->size, sizeof(row->size), "%s", labels.size);
        (void)snprintf(row->mode, sizeof(row->mode), "%s", labels.mode);
        (void)snprintf(row->precision, sizeof(row->precision), "%s", labels.precision);
        (void)snprintf(row->attention, sizeof(row->attention), "%s", labels.attention);
        (void)snprintf(row->recompute, sizeof(row->recompute), "%s", labels.recompute);
        (void)snprintf(row->values, sizeof(row->values), "%s", labels.values);
        row->context_length = labels.context_length;
        row->batch_size = labels.batch_size;
    }
    return row;
}

void tide_sweep_row_destroy(tide_sweep_row *row) {
    if (row != NULL) {
        tide_run_result_fini(&row->result);
        tide_hostmem_default()->release(tide_hostmem_default()->ctx, row);
    }
}

/* The texts of a row with their keys. */
static const struct {
    const char *key;
    size_t offset;    /* in tide_sweep_row */
    size_t n_bytes;   /* room */
    bool is_optional; /* it is not written if "", and may be missing */
} TEXTS[] = {
    {"name", offsetof(tide_sweep_row, name), TIDE_RUN_NAME_BYTES, false},
    {"size", offsetof(tide_sweep_row, size), 32, false},
    {"mode", offsetof(tide_sweep_row, mode), 32, false},
    {"precision", offsetof(tide_sweep_row, precision), 32, false},
    {"attention", offsetof(tide_sweep_row, attention), 32, false},
    {"recompute", offsetof(tide_sweep_row, recompute), 32, false},
    {"values", offsetof(tide_sweep_row, values), TIDE_RUN_VALUES_BYTES, true},
    {"device", offsetof(tide_sweep_row, device), TIDE_RUN_NAME_BYTES, true},
};

enum { N_TEXTS = sizeof(TEXTS) / sizeof(TEXTS[0]) };

cJSON *tide_sweep_row_to_json(const tide_sweep_row *row) {
    cJSON *result = tide_run_result_to_json(&row->result);
    cJSON *json = cJSON_CreateObject();
    bool is_complete = result != NULL && json != NULL &&
                       cJSON_AddNumberToObject(json, "cell", (double)row->cell) != NULL;
    for (size_t i = 0; is_complete && i < N_TEXTS; i++) {
        const char *text = (const char *)row + TEXTS[i].offset;
        is_complete = (TEXTS[i].is_optional && text[0] == '\0') ||
                      cJSON_AddStringToObject(json, TEXTS[i].key, text) != NULL;
    }
    is_complete =
        is_complete &&
        cJSON_AddNumberToObject(json, "context_length", (double)row->context_length) != NULL &&
        cJSON_AddNumberToObject(json, "batch_size", (double)row->batch_size) != NULL &&
        cJSON_AddItemToObject(json, "result", result);
    if (!is_complete) {
        cJSON_Delete(result);
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

static tide_status read_count(const cJSON *json, const char *key, double limit, double *ret,
                              tide_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0) || item->valuedouble > limit ||
        item->valuedouble != (double)(int64_t)item->valuedouble) {
        return tide_fail(error, TIDE_FORMAT, "%s is missing or no count", key);
    }
    *ret = item->valuedouble;
    return TIDE_OK;
}

static tide_status read_row(const cJSON *json, tide_sweep_row *row, tide_error *error) {
    double cell = 0.0;
    double context_length = 0.0;
    double batch_size = 0.0;
    if (!cJSON_IsObject(json)) {
        return tide_fail(error, TIDE_FORMAT, "it is no JSON object");
    }
    TIDE_TRY(read_count(json, "cell", TIDE_SWEEP_MAX_CELLS, &cell, error));
    TIDE_TRY(read_count(json, "context_length", 9007199254740992.0, &context_length, error));
    TIDE_TRY(read_count(json, "batch_size", 9007199254740992.0, &batch_size, error));
    for (size_t i = 0; i < N_TEXTS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, TEXTS[i].key);
        if (item == NULL && TEXTS[i].is_optional) {
            continue;
        }
        const char *text = cJSON_GetStringValue(item);
        if (text == NULL || strlen(text) >= TEXTS[i].n_bytes) {
            return tide_fail(error, TIDE_FORMAT, "%s is missing or no text of a row", TEXTS[i].key);
        }
        memcpy((char *)row + TEXTS[i].offset, text, strlen(text) + 1);
    }
    row->cell = (size_t)cell;
    row->context_length = (int64_t)context_length;
    row->batch_size = (int64_t)batch_size;
    return tide_run_result_from_json(cJSON_GetObjectItemCaseSensitive(json, "result"), &row->result,
                                     error);
}

tide_status tide_sweep_row_from_json(const cJSON *json, tide_sweep_row **ret_row,
                                     tide_error *error) {
    tide_sweep_row *row = tide_sweep_row_create(0, NULL);
    if (row == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for a row");
    }
    tide_status status = read_row(json, row, error);
    if (status != TIDE_OK) {
        tide_sweep_row_destroy(row);
        return status;
    }
    *ret_row = row;
    return TIDE_OK;
}

bool tide_sweep_row_agrees(const tide_sweep_row *row, const tide_sweep_row *other) {
    static const char *const WHERE[] = {"started_unix_us", "host_peak_bytes", "environment",
                                        "snapshot"};
    cJSON *both[] = {tide_sweep_row_to_json(row), tide_sweep_row_to_json(other)};
    for (size_t i = 0; i < 2; i++) {
        cJSON *result = cJSON_GetObjectItemCaseSensitive(both[i], "result");
        for (size_t k = 0; k < sizeof(WHERE) / sizeof(WHERE[0]); k++) {
            cJSON_DeleteItemFromObjectCaseSensitive(result, WHERE[k]);
        }
    }
    bool agree = cJSON_Compare(both[0], both[1], true) != 0; /* NULL equals nothing */
    cJSON_Delete(both[0]);
    cJSON_Delete(both[1]);
    return agree;
}
