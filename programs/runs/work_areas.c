#include "programs/runs/work_areas.h"

#include "common/hostmem.h"
#include "programs/launch/left/peaks.h"
#include "replay/areas.h"
#include "snapshot/explain/words/area_words.h"

/* What the allocator of a process could reserve of a card: its peak, and what was never used. */
static uint64_t limit_of(const tide_left *process, const tide_summary *summary, size_t device) {
    const tide_run_device *account = &process->account[device % TIDE_RUN_DEVICES];
    if (device >= process->n_devices || account->total_bytes == 0) {
        return UINT64_MAX;
    }
    uint64_t room = account->total_bytes + account->spill_bytes;
    int64_t reserved = tide_left_reserved_peak(process, summary, device);
    return (reserved > 0 ? (uint64_t)reserved : 0) +
           (room > account->peak_bytes ? room - account->peak_bytes : 0);
}

tide_status tide_run_add_work_areas(const tide_left *process, const tide_summary *summary,
                                    tide_snapshot *snapshot, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    if (snapshot->n_area_calls == 0) {
        return TIDE_OK;
    }
    uint64_t *limits = tide_hostmem_zeroed(mem, snapshot->n_devices + 1, sizeof(*limits));
    if (limits == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        limits[i] = limit_of(process, summary, i);
    }
    tide_status status = tide_replay_add_work_areas(snapshot, limits, error);
    mem->release(mem->ctx, limits);
    return status == TIDE_FORMAT || status == TIDE_UNSUPPORTED ? TIDE_OK : status;
}

int64_t tide_run_unmeasured_bytes(const tide_card *card, const tide_snapshot_work_areas *areas) {
    bool is_measured = card != NULL && card->context_bytes >= 0;
    return (areas != NULL ? tide_area_margin_bytes(areas) : 0) +
           (is_measured ? 0 : TIDE_CONTEXT_MARGIN_BYTES);
}

bool tide_run_is_near_limit(const tide_card *card, const tide_snapshot_work_areas *areas,
                            int64_t left_bytes) {
    return left_bytes < tide_run_unmeasured_bytes(card, areas) ||
           (areas != NULL && areas->is_most_refused);
}
