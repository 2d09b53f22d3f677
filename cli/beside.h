/* beside.h - two runs of one model side by side: by tidemark, and by PyTorch in eager mode. */
#ifndef TIDE_CLI_BESIDE_H
#define TIDE_CLI_BESIDE_H

#include "report/table.h"
#include "programs/runs/run.h"
#include "snapshot/explain/peak_tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Explains the difference: a sentence, a table by category, and a table by tensor with the `top`
 * largest differences. `label` names the run; "" for none. */
void tide_beside_report(tide_report *report, const char *label, const tide_peak_tensors *own,
                        const tide_peak_tensors *pytorch, size_t top);

/* Runs both with unlimited memory, and reports as above. */
TIDE_NODISCARD tide_status tide_beside_run(tide_report *report, const char *label,
                                           const tide_run_config *own,
                                           const tide_run_config *pytorch, size_t top,
                                           tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
