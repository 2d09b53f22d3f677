#include "snapshot/document/reserved.h"

static uint64_t add_bytes(uint64_t sum_bytes, uint64_t n_bytes) {
    return n_bytes < UINT64_MAX - sum_bytes ? sum_bytes + n_bytes : UINT64_MAX;
}

uint64_t tide_reserved_at_start(const tide_snapshot *snapshot, size_t device) {
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        n_bytes = add_bytes(n_bytes, segment->device == device ? segment->total_bytes : 0);
    }
    return n_bytes;
}

void tide_reserved_pass(const tide_event *row, uint64_t *reserved_bytes) {
    if (tide_action_gives_segment(row->action)) {
        *reserved_bytes = add_bytes(*reserved_bytes, row->block_bytes);
    } else if (tide_action_takes_segment(row->action) && *reserved_bytes != UINT64_MAX) {
        *reserved_bytes -= row->block_bytes < *reserved_bytes ? row->block_bytes : *reserved_bytes;
    }
}

uint64_t tide_reserved_peak(const tide_snapshot *snapshot, size_t device) {
    uint64_t reserved_bytes = tide_reserved_at_start(snapshot, device);
    uint64_t peak_bytes = reserved_bytes;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.device == device) {
            tide_reserved_pass(&row, &reserved_bytes);
            peak_bytes = reserved_bytes > peak_bytes ? reserved_bytes : peak_bytes;
        }
    }
    return peak_bytes;
}
