#include "snapshot/analysis/lifetimes.h"

#include <string.h>

#include "common/assert.h"
#include "snapshot/analysis/live_walk.h"

uint32_t tide_lifetime_own_name(const tide_lifetime *lifetime) {
    bool is_by_rule =
        lifetime->certainty == TIDE_CERTAINTY_RULE && lifetime->category != TIDE_INPUT;
    return is_by_rule ? TIDE_NONE : lifetime->name;
}

bool tide_lifetime_is_allocated(const tide_lifetime *lifetime, int64_t event) {
    int64_t moment = event + 1;
    return (int64_t)lifetime->born <= moment && moment < (int64_t)lifetime->freed;
}

/* Row of the event table, + 1; 0: before the start. */
static uint32_t moment_of(int64_t event) {
    return event == TIDE_WALK_NEVER ? TIDE_LIFETIME_FOREVER : (uint32_t)(event + 1);
}

/* The walk hands out blocks when they end; their numbers are the order of their births. */
static tide_status keep_block(void *ctx, const tide_walk_block *block) {
    tide_lifetimes *lifetimes = ctx;
    TIDE_ASSERT(block->number < lifetimes->n_lifetimes);
    TIDE_ASSERT(block->born <= block->freed && block->freed <= block->completed);
    lifetimes->lifetimes[block->number] = (tide_lifetime){.address = block->address,
                                                          .requested_bytes = block->requested_bytes,
                                                          .block_bytes = block->block_bytes,
                                                          .born = moment_of(block->born),
                                                          .freed = moment_of(block->freed),
                                                          .completed = moment_of(block->completed),
                                                          .stack = block->stack,
                                                          .scope = block->scope,
                                                          .name = block->name,
                                                          .category = block->category,
                                                          .certainty = block->certainty,
                                                          .device = block->device};
    return TIDE_OK;
}

enum { BATCH_ROWS = 16384 };

/* The events from the first one on, up to BATCH_ROWS of them. A browser makes a function fast
 * between two calls of it, so the loop over all events calls one. */
__attribute__((noinline)) static tide_status
walk_some(tide_live_walk *walk, const tide_snapshot *snapshot, size_t first, tide_error *error) {
    const uint8_t *certainties = snapshot->event_certainty;
    size_t n_left = snapshot->n_events - first;
    size_t end = first + (n_left < BATCH_ROWS ? n_left : BATCH_ROWS);
    for (size_t i = first; i < end; i++) {
        uint8_t certainty = certainties != NULL ? certainties[i] : TIDE_CERTAINTY_UNKNOWN;
        const tide_event event = tide_event_at(snapshot, i);
        int64_t block = -1;
        TIDE_TRY(tide_live_walk_event(walk, &event, certainty, &block, error));
    }
    return TIDE_OK;
}

static void keep_device(tide_device_lifetimes *to, const tide_walk_device *from) {
    memcpy(to->counts, from->counts, sizeof(to->counts));
    memcpy(to->max, from->max, sizeof(to->max));
    to->n_unmatched = from->n_unmatched;
    to->at_peak = from->at_peak;
    to->end = from->now;
}

static tide_status keep_totals(tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                               tide_live_walk *walk) {
    TIDE_TRY(tide_live_walk_finish(walk));
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        keep_device(&lifetimes->devices[i], tide_live_walk_device(walk, i));
        lifetimes->devices[i].is_pinned = tide_snapshot_is_pinned(snapshot, i);
    }
    return TIDE_OK;
}

static tide_status fold(tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                        tide_error *error) {
    const tide_walk_sink sink = {.block = keep_block, .ctx = lifetimes};
    tide_live_walk *walk = NULL;
    tide_status status = tide_live_walk_create(snapshot, &sink, lifetimes->mem, &walk, error);
    for (size_t first = 0; status == TIDE_OK && first < snapshot->n_events; first += BATCH_ROWS) {
        status = walk_some(walk, snapshot, first, error);
    }
    if (status == TIDE_OK) {
        status = keep_totals(lifetimes, snapshot, walk);
    }
    tide_live_walk_destroy(walk);
    return status;
}

void tide_lifetimes_reserved_at(const tide_snapshot *snapshot, const tide_instant *at,
                                tide_totals *totals) {
    TIDE_ASSERT(at->event < (int64_t)snapshot->n_events);
    totals->reserved_bytes = 0;
    totals->n_segments = 0;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        if (segment->device == at->device) {
            totals->reserved_bytes += (int64_t)segment->total_bytes;
            totals->n_segments += segment->is_expandable ? 0 : 1;
        }
    }
    for (int64_t i = 0; i <= at->event; i++) {
        if (tide_action_is_of_segment(snapshot->events.action[i]) &&
            snapshot->events.device[i] == at->device) {
            const tide_event event = tide_event_at(snapshot, (size_t)i);
            (void)tide_walk_count_segment(totals, &event);
        }
    }
}

/* As many as the walk hands out: the start's blocks that are not free, and each alloc's. */
static size_t count_births(const tide_snapshot *snapshot) {
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        for (size_t j = 0; j < segment->n_blocks; j++) {
            n += snapshot->start_blocks[segment->first_block + j].state != TIDE_BLOCK_FREE;
        }
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n += snapshot->events.action[i] == TIDE_ACTION_ALLOC;
    }
    return n;
}

static tide_status begin(tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                         const tide_hostmem *mem, tide_error *error) {
    *lifetimes = (tide_lifetimes){.mem = mem, .n_devices = snapshot->n_devices};
    if (snapshot->n_events > TIDE_MAX_EVENTS) {
        return tide_fail(error, TIDE_LIMIT, "%zu events: the limit is 2^32 - 2",
                         snapshot->n_events);
    }
    lifetimes->n_lifetimes = count_births(snapshot);
    lifetimes->lifetimes =
        tide_hostmem_array(mem, lifetimes->n_lifetimes, sizeof(*lifetimes->lifetimes));
    lifetimes->devices = tide_hostmem_zeroed(mem, snapshot->n_devices, sizeof(*lifetimes->devices));
    if (lifetimes->lifetimes == NULL || lifetimes->devices == NULL) {
        tide_lifetimes_fini(lifetimes);
        return TIDE_NO_MEMORY;
    }
    return TIDE_OK;
}

tide_status tide_lifetimes_init(tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                                const tide_hostmem *mem, tide_error *error) {
    TIDE_TRY(begin(lifetimes, snapshot, mem, error));
    tide_status status = fold(lifetimes, snapshot, error);
    if (status != TIDE_OK) {
        tide_lifetimes_fini(lifetimes);
    }
    return status;
}

void tide_lifetimes_fini(tide_lifetimes *lifetimes) {
    if (lifetimes->mem == NULL) {
        return;
    }
    lifetimes->mem->release(lifetimes->mem->ctx, lifetimes->lifetimes);
    lifetimes->mem->release(lifetimes->mem->ctx, lifetimes->devices);
    *lifetimes = (tide_lifetimes){.mem = lifetimes->mem};
}

size_t tide_lifetimes_main_device(const tide_lifetimes *lifetimes) {
    size_t main_device = 0;
    for (size_t i = 1; i < lifetimes->n_devices; i++) {
        if (!lifetimes->devices[i].is_pinned &&
            lifetimes->devices[i].at_peak.allocated_bytes >
                lifetimes->devices[main_device].at_peak.allocated_bytes) {
            main_device = i;
        }
    }
    return main_device;
}

int64_t *tide_lifetimes_changes(const tide_lifetimes *lifetimes, size_t n_events, size_t device,
                                bool in_blocks) {
    int64_t *changes = tide_hostmem_zeroed(lifetimes->mem, n_events + 1, sizeof(*changes));
    for (size_t i = 0; changes != NULL && i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        if (lifetime->device != device || lifetime->freed <= lifetime->born) {
            continue; /* pending from the start on: never allocated */
        }
        TIDE_ASSERT(lifetime->born <= n_events);
        TIDE_ASSERT(lifetime->freed <= n_events || lifetime->freed == TIDE_LIFETIME_FOREVER);
        int64_t change = in_blocks ? 1 : (int64_t)lifetime->block_bytes;
        changes[lifetime->born] += change;
        if (lifetime->freed != TIDE_LIFETIME_FOREVER) {
            changes[lifetime->freed] -= change;
        }
    }
    return changes;
}
