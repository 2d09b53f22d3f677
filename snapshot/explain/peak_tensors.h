/* peak_tensors.h - the tensors that are alive at the peak of a recorded run.
 *
 * All tensors of one name are one group, whatever their layer. The device is that of
 * tide_summary_main_device.
 */
#ifndef TIDE_SNAPSHOT_PEAK_TENSORS_H
#define TIDE_SNAPSHOT_PEAK_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

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
    const tide_snapshot *snapshot; /* borrowed; all texts are borrowed from it */
    tide_summary *summary;         /* owned; of the snapshot */
    const tide_summary_peak *peak; /* in the summary */
    tide_arena arena;              /* holds the groups */
    const tide_peak_group *groups; /* largest first */
    size_t n_groups;
} tide_peak_tensors;

/* Groups the tensors alive at the snapshot's peak. The snapshot must outlive the groups.
 * TIDE_INVALID: the run was not recorded. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_peak_tensors_init(tide_peak_tensors *peak,
                                                  const tide_snapshot *snapshot, tide_error *error);
/* A zeroed struct is allowed. */
void tide_peak_tensors_fini(tide_peak_tensors *peak);

#ifdef __cplusplus
}
#endif

#endif
