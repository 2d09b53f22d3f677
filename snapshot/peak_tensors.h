/* peak_tensors.h - what is alive at a run's peak, tensor by tensor, and two runs of one model side
 * by side: as tidemark runs it, and as PyTorch, eager, does.
 */
#ifndef TIDE_CLI_PEAK_TENSORS_H
#define TIDE_CLI_PEAK_TENSORS_H

#include "report/table.h"
#include "common/arena.h"
#include "run/run.h"
#include "snapshot/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "layers.5.attn.exp" -> "attn.exp"; a part of `name`. */
const char *tide_name_without_layer(const char *name);

/* The tensors of one name in all layers that are alive at the peak. */
typedef struct tide_peak_group {
    const char *name; /* borrowed from the snapshot: "attn.exp" */
    uint8_t category; /* tide_category */
    int64_t bytes;    /* whole blocks */
    int64_t n_blocks;
} tide_peak_group;

typedef struct tide_peak_tensors {
    tide_run_memory memory;        /* its peaks; for a snapshot from a file, those of its rows */
    tide_snapshot *owned;          /* owned; NULL: the snapshot is somebody else's */
    const tide_snapshot *snapshot; /* what all texts are borrowed from */
    tide_summary *summary;         /* owned; of the snapshot */
    const tide_summary_peak *peak; /* in the summary */
    tide_arena arena;              /* what the groups lie in */
    const tide_peak_group *groups; /* largest first */
    size_t n_groups;
} tide_peak_tensors;

/* Runs it where nothing is short. Fini it in any case. */
TIDE_NODISCARD tide_status tide_peak_tensors_make(const tide_run_config *config,
                                                  tide_peak_tensors *ret_peak, tide_error *error);
/* The same for an existing snapshot, which outlives it. */
TIDE_NODISCARD tide_status tide_peak_tensors_of(const tide_snapshot *snapshot,
                                                tide_peak_tensors *ret_peak, tide_error *error);
void tide_peak_tensors_fini(tide_peak_tensors *peak);

/* The run that a snapshot describes as PyTorch, eager, has it: naive attention, no recompute, no
 * clipping; recorded, on the card that the snapshot names, if that is known. TIDE_INVALID: it does
 * not say what was run, or no forecast of that is possible. The caller destroys it. */
TIDE_NODISCARD tide_status tide_snapshot_as_pytorch(const tide_snapshot *snapshot,
                                                    tide_edition edition,
                                                    tide_snapshot **ret_snapshot,
                                                    tide_error *error);

/* Reports where the difference comes from: a sentence, a table by category, and a table by tensor
 * with the `top` largest differences. `label` names the run; "" for none. */
void tide_beside_report(tide_report *report, const char *label, const tide_peak_tensors *own,
                        const tide_peak_tensors *pytorch, size_t top);

/* Runs both where nothing is short, and reports as above. */
TIDE_NODISCARD tide_status tide_beside_run(tide_report *report, const char *label,
                                           const tide_run_config *own,
                                           const tide_run_config *pytorch, size_t top,
                                           tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
