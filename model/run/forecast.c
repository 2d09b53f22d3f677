/* Determines whether PyTorch's run fits a card, and which change would make it fit. */
#include "model/run/forecast.h"

#include <stdio.h>

/* ---- changes ---- */

/* Tries a changed run. Its peaks are those within its limits, or, if it does not fit, those with
 * unlimited memory. */
static tide_status try_change(const tide_run_config *changed, tide_forecast_change *change,
                              tide_error *error) {
    tide_run_config unlimited = *changed;
    bool fits = false;
    unlimited.limits.ignores_device = true;
    unlimited.limits.memory_limit_bytes = TIDE_RUN_UNLIMITED;
    TIDE_TRY(tide_run_try(changed, &change->fits, &change->memory, error));
    return change->fits ? TIDE_OK : tide_run_try(&unlimited, &fits, &change->memory, error);
}

static tide_status change_attention(tide_forecast *f, tide_forecast_change_kind kind,
                                    tide_error *error) {
    static const char *const TEXTS[] = {"flash attention", "recompute of each block",
                                        "flash attention and recompute"};
    tide_forecast_change *change = &f->changes[kind];
    tide_run_config config = f->config;
    tide_workload_config *workload = tide_run_model_of(&config.workload);
    bool has_flash = workload->attention == TIDE_ATTENTION_FLASH;
    bool has_recompute = workload->recompute == TIDE_RECOMPUTE_BLOCK;
    bool keeps = workload->mode != TIDE_FORWARD || workload->keep_graph;
    change->applies = kind == TIDE_CHANGE_FLASH       ? !has_flash
                      : kind == TIDE_CHANGE_RECOMPUTE ? keeps && !has_recompute
                                                      : keeps && !has_flash && !has_recompute;
    if (!change->applies) {
        return TIDE_OK;
    }
    (void)snprintf(change->text, sizeof(change->text), "%s", TEXTS[kind]);
    if (kind != TIDE_CHANGE_RECOMPUTE) {
        workload->attention = TIDE_ATTENTION_FLASH;
    }
    if (kind != TIDE_CHANGE_FLASH) {
        workload->recompute = TIDE_RECOMPUTE_BLOCK;
    }
    return try_change(&config, change, error);
}

static void set_value(tide_run_config *config, tide_forecast_change_kind kind, size_t value) {
    tide_model_config *model = &tide_run_model_of(&config->workload)->model;
    if (kind == TIDE_CHANGE_BATCH) {
        model->batch_size = value;
    } else {
        model->context_length = value;
    }
}

/* Finds the largest value below the run's that fits, by bisection; 0 if none does. */
static tide_status largest_below(const tide_forecast *f, tide_forecast_change_kind kind,
                                 size_t step, size_t *ret_value, tide_error *error) {
    const tide_model_config *model = &tide_run_workload_model(&f->config.workload)->model;
    size_t value = kind == TIDE_CHANGE_BATCH ? model->batch_size : model->context_length;
    size_t low = 0;                          /* in steps: the largest that is known to fit, or 0 */
    size_t high = (value + step - 1) / step; /* does not fit */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        tide_run_config config = f->config;
        tide_run_memory memory;
        bool fits = false;
        set_value(&config, kind, middle * step);
        TIDE_TRY(tide_run_try(&config, &fits, &memory, error));
        if (fits) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *ret_value = low * step;
    return TIDE_OK;
}

static tide_status change_value(tide_forecast *f, tide_forecast_change_kind kind,
                                tide_error *error) {
    tide_forecast_change *change = &f->changes[kind];
    size_t context = tide_run_workload_model(&f->config.workload)->model.context_length;
    size_t step = kind == TIDE_CHANGE_BATCH || context <= TIDE_FORECAST_CONTEXT_STEP
                      ? 1
                      : (size_t)TIDE_FORECAST_CONTEXT_STEP;
    size_t value = 0;
    TIDE_TRY(largest_below(f, kind, step, &value, error));
    change->applies = kind != TIDE_CHANGE_BATCH ||
                      tide_run_workload_model(&f->config.workload)->model.batch_size > 1;
    (void)snprintf(change->text, sizeof(change->text), "%s %zu",
                   kind == TIDE_CHANGE_BATCH ? "batch" : "context", value > 0 ? value : step);
    if (!change->applies) {
        return TIDE_OK;
    }
    tide_run_config config = f->config;
    set_value(&config, kind, value > 0 ? value : step);
    return try_change(&config, change, error);
}

static tide_status try_changes(tide_forecast *f, tide_error *error) {
    TIDE_TRY(change_attention(f, TIDE_CHANGE_FLASH, error));
    TIDE_TRY(change_attention(f, TIDE_CHANGE_RECOMPUTE, error));
    TIDE_TRY(change_attention(f, TIDE_CHANGE_BOTH, error));
    TIDE_TRY(change_value(f, TIDE_CHANGE_BATCH, error));
    return change_value(f, TIDE_CHANGE_CONTEXT, error);
}

/* ---- the forecast ---- */

tide_status tide_forecast_make(const tide_run_config *config, tide_forecast *ret_forecast,
                               tide_error *error) {
    tide_forecast *f = ret_forecast;
    *f = (tide_forecast){.config = *config};
    TIDE_TRY(tide_run_record(config, &f->unlimited_memory, &f->snapshot, error));
    TIDE_TRY(tide_peak_tensors_init(&f->peak, f->snapshot, error));
    TIDE_TRY(tide_run_limits_usable(&config->limits, &f->usable_bytes, &f->device, error));
    TIDE_TRY(tide_run_try(config, &f->fits, &f->memory, error));
    return f->fits ? TIDE_OK : try_changes(f, error);
}

void tide_forecast_fini(tide_forecast *forecast) {
    tide_peak_tensors_fini(&forecast->peak);
    tide_snapshot_destroy(forecast->snapshot);
    forecast->snapshot = NULL;
}
