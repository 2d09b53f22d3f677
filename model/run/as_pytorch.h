/* as_pytorch.h - the run that a snapshot describes, as PyTorch would run it. */
#ifndef TIDE_MODEL_RUN_AS_PYTORCH_H
#define TIDE_MODEL_RUN_AS_PYTORCH_H

#include "common/status.h"
#include "model/workload/workload.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The run that a snapshot describes, as PyTorch in eager mode would run it: naive attention, no
 * recompute, no clipping; recorded, on the card that the snapshot names, if known. TIDE_INVALID if
 * the snapshot does not describe the run, or a forecast of it is impossible. The caller destroys
 * it. */
TIDE_NODISCARD tide_status tide_run_as_pytorch(const tide_snapshot *snapshot, tide_edition edition,
                                               tide_snapshot **ret_snapshot, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
