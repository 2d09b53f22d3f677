#include "snapshot/analysis/lifetimes.h"

#include "common/map.h"

/* What the walk knows about one device. */
typedef struct walk_device {
    tide_map alive; /* address -> index of its lifetime, until its free completes */
    tide_totals now;
} walk_device;

typedef struct walker {
    const tide_snapshot *snapshot; /* borrowed */
    tide_lifetimes *lifetimes;     /* borrowed; filled */
    walk_device *devices;          /* owned */
    size_t event;                  /* row at hand, + 1; 0: the start */
} walker;

bool tide_lifetime_is_allocated(const tide_lifetime *lifetime, int64_t event) {
    int64_t moment = event + 1;
    return (int64_t)lifetime->born <= moment && moment < (int64_t)lifetime->freed;
}

/* Adds to a total that holds no negative numbers. */
static tide_status add(int64_t *total, uint64_t n_bytes, tide_error *error) {
    if (n_bytes > (uint64_t)(INT64_MAX - *total)) {
        return tide_fail(error, TIDE_LIMIT, "the bytes alive at once exceed 2^63 - 1");
    }
    *total += (int64_t)n_bytes;
    return TIDE_OK;
}

static void note_maxima(walker *walk, size_t device) {
    tide_device_lifetimes *of = &walk->lifetimes->devices[device];
    const tide_totals *now = &walk->devices[device].now;
    int64_t values[TIDE_N_MAX] = {now->requested_bytes, now->allocated_bytes, now->active_bytes,
                                  now->reserved_bytes};
    for (int i = 0; i < TIDE_N_MAX; i++) {
        if (values[i] > of->max[i].bytes) {
            of->max[i] = (tide_extreme){values[i], (int64_t)walk->event - 1};
            if (i == TIDE_MAX_ALLOCATED) {
                of->at_peak = *now;
            }
        }
    }
}

static void forget(walker *walk, tide_lifetime *lifetime) {
    tide_totals *now = &walk->devices[lifetime->device].now;
    now->active_bytes -= (int64_t)lifetime->block_bytes;
    now->requested_bytes -= (int64_t)lifetime->requested_bytes;
    lifetime->completed = (uint32_t)walk->event;
    tide_map_remove(&walk->devices[lifetime->device].alive, lifetime->address);
}

static void stop_counting(walker *walk, tide_lifetime *lifetime) {
    tide_totals *now = &walk->devices[lifetime->device].now;
    now->allocated_bytes -= (int64_t)lifetime->block_bytes;
    now->n_blocks--;
    lifetime->freed = (uint32_t)walk->event;
}

static tide_status be_born(walker *walk, const tide_lifetime *born, tide_error *error) {
    walk_device *device = &walk->devices[born->device];
    uint64_t other = 0;
    if (tide_map_find(&device->alive, born->address, &other)) {
        tide_lifetime *replaced = &walk->lifetimes->lifetimes[other];
        walk->lifetimes->devices[born->device].n_unmatched++;
        if (replaced->freed == TIDE_LIFETIME_FOREVER) {
            stop_counting(walk, replaced);
        }
        forget(walk, replaced);
    }
    TIDE_TRY(add(&device->now.requested_bytes, born->requested_bytes, error));
    TIDE_TRY(add(&device->now.active_bytes, born->block_bytes, error));
    if (born->freed == TIDE_LIFETIME_FOREVER) {
        TIDE_TRY(add(&device->now.allocated_bytes, born->block_bytes, error));
        device->now.n_blocks++;
    }
    size_t index = walk->lifetimes->n_lifetimes++;
    walk->lifetimes->lifetimes[index] = *born;
    return tide_map_put(&device->alive, born->address, index);
}

static uint8_t certainty_at(const uint8_t *certainties, size_t row) {
    return certainties != NULL ? certainties[row] : TIDE_CERTAINTY_UNKNOWN;
}

static tide_status start(walker *walk, tide_error *error) {
    const tide_snapshot *snapshot = walk->snapshot;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        walk_device *device = &walk->devices[segment->device];
        TIDE_TRY(add(&device->now.reserved_bytes, segment->total_bytes, error));
        device->now.n_segments += segment->is_expandable ? 0 : 1;
        for (size_t j = 0; j < segment->n_blocks; j++) {
            size_t number = segment->first_block + j;
            const tide_block_row *block = &snapshot->start_blocks[number];
            if (block->state == TIDE_BLOCK_FREE) {
                continue;
            }
            tide_lifetime born = {
                .address = segment->address + block->offset_bytes,
                .requested_bytes = block->requested_bytes,
                .block_bytes = block->block_bytes,
                .freed = block->state == TIDE_BLOCK_PENDING_FREE ? 0 : TIDE_LIFETIME_FOREVER,
                .completed = TIDE_LIFETIME_FOREVER,
                .stack = block->stack,
                .scope = block->scope,
                .name = block->name,
                .category = block->category,
                .certainty = certainty_at(snapshot->start_block_certainty, number),
                .device = segment->device};
            TIDE_TRY(be_born(walk, &born, error));
        }
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        tide_device_lifetimes *of = &walk->lifetimes->devices[i];
        of->at_peak = walk->devices[i].now;
        for (int j = 0; j < TIDE_N_MAX; j++) {
            of->max[j] = (tide_extreme){-1, -1};
        }
        note_maxima(walk, i);
    }
    return TIDE_OK;
}

static tide_status alloc_row(walker *walk, const tide_event *event, tide_error *error) {
    tide_lifetime born = {.address = event->address,
                          .requested_bytes = event->requested_bytes,
                          .block_bytes = event->block_bytes,
                          .born = (uint32_t)walk->event,
                          .freed = TIDE_LIFETIME_FOREVER,
                          .completed = TIDE_LIFETIME_FOREVER,
                          .stack = event->stack,
                          .scope = event->scope,
                          .name = event->name,
                          .category = event->category,
                          .certainty =
                              certainty_at(walk->snapshot->event_certainty, walk->event - 1),
                          .device = event->device};
    return be_born(walk, &born, error);
}

static void free_row(walker *walk, const tide_event *event) {
    uint64_t index = 0;
    if (!tide_map_find(&walk->devices[event->device].alive, event->address, &index)) {
        walk->lifetimes->devices[event->device].n_unmatched++;
        return;
    }
    tide_lifetime *lifetime = &walk->lifetimes->lifetimes[index];
    if (lifetime->freed == TIDE_LIFETIME_FOREVER) {
        stop_counting(walk, lifetime);
    }
    if (event->action != TIDE_ACTION_FREE_REQUESTED) {
        forget(walk, lifetime);
    }
}

static bool is_segment_row(const tide_event *event) {
    return event->action >= TIDE_ACTION_SEGMENT_ALLOC && event->action <= TIDE_ACTION_SEGMENT_UNMAP;
}

/* False when it takes what is not there. */
static bool count_segment_row(tide_totals *now, const tide_event *event) {
    int64_t n_bytes = (int64_t)event->block_bytes;
    bool gives =
        event->action == TIDE_ACTION_SEGMENT_ALLOC || event->action == TIDE_ACTION_SEGMENT_MAP;
    bool is_whole =
        event->action == TIDE_ACTION_SEGMENT_ALLOC || event->action == TIDE_ACTION_SEGMENT_FREE;
    if (!gives && n_bytes > now->reserved_bytes) {
        return false;
    }
    now->reserved_bytes += gives ? n_bytes : -n_bytes;
    now->n_segments += is_whole ? (gives ? 1 : -1) : 0;
    return true;
}

static tide_status segment_row(walker *walk, const tide_event *event, tide_error *error) {
    tide_totals *now = &walk->devices[event->device].now;
    bool gives =
        event->action == TIDE_ACTION_SEGMENT_ALLOC || event->action == TIDE_ACTION_SEGMENT_MAP;
    if (gives && (int64_t)event->block_bytes > INT64_MAX - now->reserved_bytes) {
        return tide_fail(error, TIDE_LIMIT, "the bytes alive at once exceed 2^63 - 1");
    }
    if (!count_segment_row(now, event)) {
        walk->lifetimes->devices[event->device].n_unmatched++;
    }
    return TIDE_OK;
}

void tide_lifetimes_reserved_at(const tide_snapshot *snapshot, const tide_instant *at,
                                tide_totals *totals) {
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
        const tide_event event = tide_event_at(snapshot, (size_t)i);
        if (is_segment_row(&event) && event.device == at->device) {
            (void)count_segment_row(totals, &event);
        }
    }
}

static tide_status one_event(walker *walk, const tide_event *event, tide_error *error) {
    walk->lifetimes->devices[event->device].counts[event->action]++;
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        TIDE_TRY(alloc_row(walk, event, error));
        note_maxima(walk, event->device);
        return TIDE_OK;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
    case TIDE_ACTION_FREE_COMPLETED:
        free_row(walk, event);
        return TIDE_OK;
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        TIDE_TRY(segment_row(walk, event, error));
        note_maxima(walk, event->device);
        return TIDE_OK;
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_UNMAP:
        return segment_row(walk, event, error);
    default:
        return TIDE_OK;
    }
}

static tide_status walk_all(walker *walk, tide_error *error) {
    const tide_snapshot *snapshot = walk->snapshot;
    TIDE_TRY(start(walk, error));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        walk->event = i + 1;
        const tide_event event = tide_event_at(snapshot, i);
        TIDE_TRY(one_event(walk, &event, error));
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        walk->lifetimes->devices[i].end = walk->devices[i].now;
    }
    return TIDE_OK;
}

static size_t count_births(const tide_snapshot *snapshot) {
    size_t n = snapshot->n_start_blocks;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n += snapshot->events.action[i] == TIDE_ACTION_ALLOC;
    }
    return n;
}

tide_status tide_lifetimes_init(tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                                const tide_hostmem *mem, tide_error *error) {
    *lifetimes = (tide_lifetimes){.mem = mem, .n_devices = snapshot->n_devices};
    if (snapshot->n_events > TIDE_MAX_EVENTS) {
        return tide_fail(error, TIDE_LIMIT, "%zu events: the limit is 2^32 - 2",
                         snapshot->n_events);
    }
    walker walk = {.snapshot = snapshot, .lifetimes = lifetimes};
    size_t n_births = count_births(snapshot);
    tide_status status = TIDE_NO_MEMORY;
    lifetimes->lifetimes = tide_hostmem_zeroed(mem, n_births, sizeof(*lifetimes->lifetimes));
    lifetimes->devices = tide_hostmem_zeroed(mem, snapshot->n_devices, sizeof(*lifetimes->devices));
    walk.devices = tide_hostmem_zeroed(mem, snapshot->n_devices, sizeof(*walk.devices));
    if (lifetimes->lifetimes == NULL || lifetimes->devices == NULL || walk.devices == NULL) {
        goto done;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        tide_map_init(&walk.devices[i].alive, mem);
        lifetimes->devices[i].is_pinned = tide_snapshot_is_pinned(snapshot, i);
    }
    status = walk_all(&walk, error);
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        tide_map_fini(&walk.devices[i].alive);
    }

done:
    mem->release(mem->ctx, walk.devices);
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
        int64_t change = in_blocks ? 1 : (int64_t)lifetime->block_bytes;
        changes[lifetime->born] += change;
        if (lifetime->freed != TIDE_LIFETIME_FOREVER) {
            changes[lifetime->freed] -= change;
        }
    }
    return changes;
}
