/* forecast.h - forecasts a run of PyTorch, eager, on a card: whether it fits, where its peak is and
 * what is alive there, and which change would make it fit.
 *
 * Every figure comes from a run on the virtual device (programs/runs/run.h, model/eager/eager.h),
 * none from a formula.
 */
#ifndef TIDE_MODEL_RUN_FORECAST_H
#define TIDE_MODEL_RUN_FORECAST_H

#include "model/run/model.h"
#include "snapshot/explain/peak_tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The possible changes, mildest first: flash attention computes the same numbers, recomputation
 * needs more time for them, and another batch or context trains on other data. */
typedef enum tide_forecast_change_kind {
    TIDE_CHANGE_FLASH = 0, /* scaled_dot_product_attention */
    TIDE_CHANGE_RECOMPUTE, /* a checkpoint around each block */
    TIDE_CHANGE_BOTH,      /* of these */
    TIDE_CHANGE_BATCH,     /* the largest that fits */
    TIDE_CHANGE_CONTEXT,   /* the longest that fits, a multiple of TIDE_FORECAST_CONTEXT_STEP */
    TIDE_N_CHANGES
} tide_forecast_change_kind;

enum { TIDE_FORECAST_CONTEXT_STEP = 64, TIDE_FORECAST_TEXT_BYTES = 64 };

typedef struct tide_forecast_change {
    bool applies;                        /* false: the run already has it, or no smaller value
                                            remains */
    char text[TIDE_FORECAST_TEXT_BYTES]; /* "flash attention", "batch 3" */
    bool fits;                           /* within the limits */
    tide_run_memory memory; /* its peaks; if it does not fit, those with unlimited memory */
} tide_forecast_change;

typedef struct tide_forecast {
    tide_run_config config;           /* the run, and the limits in which it must fit */
    tide_device_info device;          /* the device that the limits name */
    uint64_t usable_bytes;            /* limit of the reserved bytes; UINT64_MAX: no bound */
    bool fits;                        /* within the limits */
    tide_run_memory memory;           /* within the limits */
    tide_run_memory unlimited_memory; /* with unlimited memory */
    tide_snapshot *snapshot;          /* owned; of the run with unlimited memory */
    tide_peak_tensors peak;           /* of that snapshot */
    tide_forecast_change changes[TIDE_N_CHANGES]; /* tried if the run does not fit */
} tide_forecast;

/* `config` must be of a model that emulates PyTorch. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_forecast_make(const tide_run_config *config,
                                              tide_forecast *ret_forecast, tide_error *error);
void tide_forecast_fini(tide_forecast *forecast);

#ifdef __cplusplus
}
#endif

#endif
