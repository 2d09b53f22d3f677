#include "snapshot/explain/failure.h"

#include "snapshot/analysis/summary.h"

size_t tide_failure_row(const tide_snapshot *snapshot, size_t device) {
    size_t row = 0;
    while (row < snapshot->n_events && (snapshot->events.action[row] != TIDE_ACTION_OOM ||
                                        snapshot->events.device[row] != device)) {
        row++;
    }
    return row;
}

static int64_t largest_block(const tide_lifetimes *lifetimes, size_t device, int64_t event) {
    uint64_t largest = 0;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        if (block->device == device && block->block_bytes > largest &&
            tide_lifetime_is_allocated(block, event)) {
            largest = block->block_bytes;
        }
    }
    return (int64_t)largest;
}

/* The memory that the process could use: the device's, or its limit. */
static void find_total(const tide_snapshot *snapshot, size_t device, tide_failure *to) {
    int64_t limit = snapshot->run.memory_limit_bytes;
    int64_t total = snapshot->devices[device].total_bytes;
    to->is_limited = limit > 0 && (total < 0 || limit < total);
    to->total_bytes = to->is_limited ? limit : total;
}

static tide_reserved_kind kind_of(const tide_snapshot *snapshot, uint8_t stream) {
    bool is_main = stream >= snapshot->n_streams || snapshot->streams[stream].handle == 0;
    return is_main ? TIDE_RESERVED_MAIN : TIDE_RESERVED_STREAMS;
}

/* Free memory that the request could not use. With several side streams, their caches count: it is
 * unknown which of them is the request's. */
static int64_t elsewhere_bytes(const tide_failure *failure) {
    int64_t bytes = failure->reserved.pending_bytes;
    for (size_t i = 0; i < TIDE_N_RESERVED; i++) {
        const tide_reserved_part *part = &failure->reserved.parts[i];
        bool is_own =
            i == (size_t)failure->kind && (i == TIDE_RESERVED_MAIN || part->n_owners <= 1);
        bytes += is_own ? 0 : part->free_bytes;
    }
    return bytes;
}

tide_status tide_failure_find(const tide_stack_facts *stacks, const tide_lifetimes *lifetimes,
                              size_t device, tide_failure *ret_failure) {
    const tide_snapshot *snapshot = stacks->snapshot;
    *ret_failure = (tide_failure){.event = -1, .stack = TIDE_NONE, .scope = TIDE_NONE};
    size_t first = tide_failure_row(snapshot, device);
    ret_failure->n_failed = (size_t)lifetimes->devices[device].counts[TIDE_ACTION_OOM];
    if (ret_failure->n_failed == 0) {
        return TIDE_OK;
    }
    const tide_event row = tide_event_at(snapshot, first);
    ret_failure->event = (int64_t)first;
    ret_failure->stack = row.stack;
    ret_failure->scope = row.scope;
    ret_failure->asked_bytes = (int64_t)row.requested_bytes;
    ret_failure->kind = kind_of(snapshot, row.stream);
    ret_failure->free_bytes = tide_oom_free_bytes(&row);
    ret_failure->largest_bytes = largest_block(lifetimes, device, (int64_t)first);
    find_total(snapshot, device, ret_failure);
    TIDE_TRY(tide_reserved_at(stacks, lifetimes, device, (int64_t)first, &ret_failure->reserved));
    ret_failure->allocated_bytes = ret_failure->reserved.allocated_bytes;
    if (ret_failure->free_bytes >= 0) {
        ret_failure->capacity_bytes = ret_failure->reserved.bytes + ret_failure->free_bytes;
        ret_failure->margin_bytes =
            ret_failure->capacity_bytes - ret_failure->allocated_bytes - ret_failure->asked_bytes;
        ret_failure->usable_margin_bytes = ret_failure->margin_bytes - elsewhere_bytes(ret_failure);
    }
    return TIDE_OK;
}
