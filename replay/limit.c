/* The memory of a recorded run. Only a row that ran out of memory shows it: the total is the free
 * bytes plus those that the allocator had reserved. */
#include "replay/replay_internal.h"

/* The sizes in a forged file may exceed 64 bits in sum. Then the sum stays at UINT64_MAX, even when
 * segments are released, because the remainder is unknown. */
static uint64_t add_bytes(uint64_t sum_bytes, uint64_t n_bytes) {
    return n_bytes < UINT64_MAX - sum_bytes ? sum_bytes + n_bytes : UINT64_MAX;
}

static uint64_t start_bytes(const tide_snapshot *snapshot, uint8_t device) {
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        n_bytes = add_bytes(n_bytes, segment->device == device ? segment->total_bytes : 0);
    }
    return n_bytes;
}

void tide_replay_pass_reserved(const tide_event *row, uint64_t *reserved_bytes) {
    if (tide_replay_is_buy(row->action)) {
        *reserved_bytes = add_bytes(*reserved_bytes, row->block_bytes);
    } else if (tide_replay_is_return(row->action) && *reserved_bytes != UINT64_MAX) {
        *reserved_bytes -= row->block_bytes < *reserved_bytes ? row->block_bytes : *reserved_bytes;
    }
}

uint64_t tide_replay_reserved_peak(const tide_snapshot *snapshot, uint8_t device,
                                   uint64_t *ret_start_bytes) {
    uint64_t reserved_bytes = start_bytes(snapshot, device);
    uint64_t peak_bytes = reserved_bytes;
    *ret_start_bytes = reserved_bytes;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.device == device) {
            tide_replay_pass_reserved(&row, &reserved_bytes);
            peak_bytes = reserved_bytes > peak_bytes ? reserved_bytes : peak_bytes;
        }
    }
    return peak_bytes;
}

tide_replay_limit tide_replay_limit_of(const tide_snapshot *snapshot, uint8_t device) {
    tide_replay_limit found = {.limit_bytes = UINT64_MAX};
    uint64_t reserved_bytes = start_bytes(snapshot, device);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.device != device) {
            continue;
        }
        tide_replay_pass_reserved(&row, &reserved_bytes);
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
