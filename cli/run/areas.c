/* The work areas of cuDNN: peaks without them, with the likely and with the largest ones. */
#include "cli/run/internal.h"
#include "common/hostmem.h"
#include "replay/areas.h"

/* What the allocator of a process could reserve of a card: its peak, and what was never used. */
static uint64_t limit_of(const tide_run_answer *of, tide_run_place at) {
    const tide_left *left = of->processes[at.process].left;
    if (at.device >= left->n_devices ||
        left->account[at.device % TIDE_RUN_DEVICES].total_bytes == 0) {
        return UINT64_MAX;
    }
    int64_t rest = tide_run_left_of(of, at);
    return (uint64_t)(tide_run_reserved_peak(of, at) + (rest > 0 ? rest : 0));
}

tide_status tide_run_add_areas(const tide_run_answer *of, size_t process, tide_snapshot *snapshot,
                               tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    if (of->config->cards == NULL || snapshot->n_area_calls == 0) {
        return TIDE_OK;
    }
    uint64_t *limits = tide_hostmem_zeroed(mem, snapshot->n_devices + 1, sizeof(*limits));
    if (limits == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        limits[i] = limit_of(of, (tide_run_place){process, i});
    }
    tide_status status = tide_replay_add_work_areas(snapshot, limits, error);
    mem->release(mem->ctx, limits);
    /* A history that contradicts itself has no peaks to compare, but is an answer all the same. */
    return status == TIDE_FORMAT || status == TIDE_UNSUPPORTED ? TIDE_OK : status;
}
