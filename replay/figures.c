/* The figures of a run: of a replay from its cache's statistics, of a recording from its rows. Both
 * must count at the same moments, or a verified replay would differ from its recording. */
#include <inttypes.h>

#include "replay/replay_internal.h"

static int64_t now(const tide_stat stats[TIDE_N_POOLS]) {
    return stats[TIDE_POOL_ALL].current;
}

void tide_replay_count(tide_replay_lane *lane) {
    const tide_cache_stats *stats = tide_cache_peek_stats(lane->cache);
    tide_replay_figures *figures = lane->figures;
    int64_t reserved = now(stats->reserved_bytes);
    int64_t cached = reserved - now(stats->allocated_bytes);
    figures->max_cached_bytes =
        cached > figures->max_cached_bytes ? cached : figures->max_cached_bytes;
    lane->cached_sum += (double)cached;
    lane->n_counted++;
    /* Walking all free blocks is slow, so pinned bytes are counted only when the peak rises. */
    if (reserved > lane->most_reserved_bytes) {
        lane->most_reserved_bytes = reserved;
        figures->pinned_bytes = (int64_t)tide_cache_pinned_bytes(lane->cache);
    }
}

void tide_replay_count_end(tide_replay_lane *lane) {
    tide_cache_stats stats;
    tide_replay_figures *figures = lane->figures;
    tide_cache_get_stats(lane->cache, &stats);
    figures->peak_reserved_bytes = stats.reserved_bytes[TIDE_POOL_ALL].peak;
    figures->peak_active_bytes = stats.active_bytes[TIDE_POOL_ALL].peak;
    figures->peak_allocated_bytes = stats.allocated_bytes[TIDE_POOL_ALL].peak;
    figures->peak_requested_bytes = stats.requested_bytes[TIDE_POOL_ALL].peak;
    figures->end_reserved_bytes = now(stats.reserved_bytes);
    figures->mean_cached_bytes =
        lane->n_counted > 0 ? (int64_t)(lane->cached_sum / (double)lane->n_counted) : 0;
    figures->n_segment_allocs = (int64_t)(stats.num_device_alloc - lane->base.num_device_alloc);
    figures->n_segment_frees = (int64_t)(stats.num_device_free - lane->base.num_device_free);
    figures->n_retries = (int64_t)(stats.num_alloc_retries - lane->base.num_alloc_retries);
    figures->n_ooms = (int64_t)stats.num_ooms;
}

/* A figure that one device does not know, -1, is unknown for all of them together. */
static void add(int64_t *sum, int64_t figure) {
    *sum = *sum < 0 || figure < 0 ? -1 : *sum + figure;
}

void tide_replay_sum(tide_replay_figures *all, const tide_replay_figures *one) {
    add(&all->peak_reserved_bytes, one->peak_reserved_bytes);
    add(&all->peak_active_bytes, one->peak_active_bytes);
    add(&all->peak_allocated_bytes, one->peak_allocated_bytes);
    add(&all->peak_requested_bytes, one->peak_requested_bytes);
    add(&all->end_reserved_bytes, one->end_reserved_bytes);
    add(&all->max_cached_bytes, one->max_cached_bytes);
    add(&all->mean_cached_bytes, one->mean_cached_bytes);
    add(&all->pinned_bytes, one->pinned_bytes);
    add(&all->n_segment_allocs, one->n_segment_allocs);
    add(&all->n_segment_frees, one->n_segment_frees);
    add(&all->n_retries, one->n_retries);
    add(&all->n_ooms, one->n_ooms);
}

/* ---- the recording ---- */

/* Totals of one device while its rows are read. */
typedef struct totals {
    int64_t reserved, active, allocated, requested;
    double cached_sum;
    size_t n_counted;
    tide_replay_figures figures;
} totals;

static void raise_to(int64_t *peak, int64_t value) {
    *peak = value > *peak ? value : *peak;
}

static void count_row(totals *of) {
    int64_t cached = of->reserved - of->allocated;
    raise_to(&of->figures.peak_reserved_bytes, of->reserved);
    raise_to(&of->figures.peak_active_bytes, of->active);
    raise_to(&of->figures.peak_allocated_bytes, of->allocated);
    raise_to(&of->figures.peak_requested_bytes, of->requested);
    raise_to(&of->figures.max_cached_bytes, cached);
}

static void add_start(totals *of, const tide_snapshot *snapshot, uint8_t device) {
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        if (segment->device != device) {
            continue;
        }
        of->reserved += (int64_t)segment->total_bytes;
        for (size_t j = 0; j < segment->n_blocks; j++) {
            const tide_block_row *block = &snapshot->start_blocks[segment->first_block + j];
            bool is_active = block->state != TIDE_BLOCK_FREE;
            bool is_allocated = block->state == TIDE_BLOCK_ALLOCATED;
            of->active += is_active ? (int64_t)block->block_bytes : 0;
            of->requested += is_active ? (int64_t)block->requested_bytes : 0;
            of->allocated += is_allocated ? (int64_t)block->block_bytes : 0;
        }
    }
}

static void add_row(totals *of, const tide_event *row) {
    int64_t block = (int64_t)row->block_bytes;
    int64_t requested = (int64_t)row->requested_bytes;
    bool ends = row->action == TIDE_ACTION_FREE || row->action == TIDE_ACTION_FREE_COMPLETED;
    bool is_requested =
        row->action == TIDE_ACTION_FREE || row->action == TIDE_ACTION_FREE_REQUESTED;
    if (row->action == TIDE_ACTION_ALLOC) {
        of->active += block;
        of->allocated += block;
        of->requested += requested;
    } else if (tide_action_gives_segment(row->action)) {
        of->reserved += block;
        of->figures.n_segment_allocs++;
    } else if (tide_action_takes_segment(row->action)) {
        of->reserved -= block;
        of->figures.n_segment_frees++;
    } else if (row->action == TIDE_ACTION_OOM) {
        of->figures.n_ooms++;
    } else if (ends || is_requested) {
        of->active -= ends ? block : 0;
        of->requested -= ends ? requested : 0;
        of->allocated -= is_requested ? block : 0;
    }
    count_row(of);
    /* The mean is taken at the same moments as in a replay: after each request, and after the
     * start. */
    if (row->action <= TIDE_ACTION_FREE_REQUESTED || row->action == TIDE_ACTION_OOM) {
        of->cached_sum += (double)(of->reserved - of->allocated);
        of->n_counted++;
    }
}

tide_status tide_replay_recorded(const tide_snapshot *snapshot, tide_replay_figures *ret_by_device,
                                 tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    totals *devices = tide_hostmem_zeroed(mem, snapshot->n_devices + 1, sizeof(*devices));
    if (devices == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu devices",
                         snapshot->n_devices);
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        if (!tide_snapshot_is_pinned(snapshot, i)) {
            add_start(&devices[i], snapshot, (uint8_t)i);
        }
        count_row(&devices[i]);
        devices[i].cached_sum = (double)(devices[i].reserved - devices[i].allocated);
        devices[i].n_counted = 1;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (!tide_snapshot_is_pinned(snapshot, snapshot->events.device[i])) {
            const tide_event event = tide_event_at(snapshot, i);
            add_row(&devices[event.device], &event);
        }
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        devices[i].figures.end_reserved_bytes = devices[i].reserved;
        devices[i].figures.mean_cached_bytes =
            (int64_t)(devices[i].cached_sum / (double)devices[i].n_counted);
        devices[i].figures.n_retries = -1;
        devices[i].figures.pinned_bytes = -1;
        ret_by_device[i] = devices[i].figures;
    }
    mem->release(mem->ctx, devices);
    return TIDE_OK;
}
