/* model.h - our own model as a kind of workload (programs/runs/workload.h): its configuration in a
 * workload, and the quantities that a search may vary.
 */
#ifndef TIDE_MODEL_RUN_MODEL_H
#define TIDE_MODEL_RUN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "model/workload/workload.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_RUN_MAX_DIMENSIONS = 8 };

extern const tide_run_kind tide_run_model_kind;

/* tide_run_config_init, with our own model and the defaults of tide_workload_config_init. */
void tide_run_model_init(tide_run_config *config);

/* The configuration of a workload of our kind; valid as long as the workload. The engine sets its
 * progress functions itself. */
tide_workload_config *tide_run_model_of(tide_run_workload *workload);

/* The same; NULL for a workload of another kind. */
const tide_workload_config *tide_run_workload_model(const tide_run_workload *workload);

/* The dimensions of the model, without batch and context. Returns their number. */
typedef struct tide_run_dimension {
    const char *key; /* static: "d_model" */
    double value;
} tide_run_dimension;
size_t tide_run_model_dimensions(const tide_model_config *model,
                                 tide_run_dimension ret_dimensions[TIDE_RUN_MAX_DIMENSIONS]);

/* The implementation whose allocations the run makes: run.implementation of its snapshot
 * (snapshot/document/implementation.h). */
const char *tide_run_model_implementation(const tide_workload_config *workload);

/* The quantities that a search may vary. */
typedef enum tide_run_quantity {
    TIDE_RUN_QUANTITY_BATCH = 0,
    TIDE_RUN_QUANTITY_CONTEXT,
    TIDE_RUN_QUANTITY_LAYERS,
    TIDE_RUN_QUANTITY_PRESET, /* the number of a preset, from 1 on; batch and context stay */
    TIDE_N_RUN_QUANTITIES
} tide_run_quantity;

/* Sets it in a workload of our kind. TIDE_INVALID, TIDE_LIMIT if no run may have that value; the
 * workload is undefined then. */
TIDE_NODISCARD tide_status tide_run_model_set(tide_run_workload *workload,
                                              tide_run_quantity quantity, uint64_t value,
                                              tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
