/* The memory of a recorded run. Only a row that ran out of memory shows it: the total is the free
 * bytes plus those that the allocator had reserved. */
#include "replay/replay_internal.h"
#include "snapshot/document/reserved.h"

tide_replay_limit tide_replay_limit_of(const tide_snapshot *snapshot, uint8_t device) {
    tide_replay_limit found = {.limit_bytes = UINT64_MAX};
    uint64_t reserved_bytes = tide_reserved_at_start(snapshot, device);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.device != device) {
            continue;
        }
        tide_reserved_pass(&row, &reserved_bytes);
        if (row.action == TIDE_ACTION_OOM && reserved_bytes <= (uint64_t)INT64_MAX &&
            row.block_bytes < (uint64_t)INT64_MAX - reserved_bytes && /* not unlimited */
            row.block_bytes + reserved_bytes < found.limit_bytes) {
            found = (tide_replay_limit){.limit_bytes = row.block_bytes + reserved_bytes,
                                        .free_bytes = row.block_bytes,
                                        .reserved_bytes = reserved_bytes,
                                        .event = i};
        }
    }
    return found;
}
