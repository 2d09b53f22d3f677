/* Allocated and reserved bytes after each row. They come from the lifetimes of the blocks, and so
 * equal the summary's figures even if the rows of a file contradict each other. */
#include "snapshot/export/export_friend.h"

static void add_start(const tide_lifetimes *lifetimes, const tide_snapshot *snapshot,
                      tide_export_series *series) {
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        series->start[segment->device].reserved_bytes += (int64_t)segment->total_bytes;
    }
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        if (tide_lifetime_is_allocated(&lifetimes->lifetimes[i], -1)) {
            series->start[lifetimes->lifetimes[i].device].allocated_bytes +=
                (int64_t)lifetimes->lifetimes[i].block_bytes;
        }
    }
}

/* Stores differences, which sum_up then adds up. */
static void add_lives(const tide_lifetimes *lifetimes, tide_export_series *series) {
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        if (lifetime->born > 0 && lifetime->freed > 0) {
            series->after[lifetime->born - 1].allocated_bytes += (int64_t)lifetime->block_bytes;
        }
        if (lifetime->freed > 0 && lifetime->freed != TIDE_LIFETIME_FOREVER) {
            series->after[lifetime->freed - 1].allocated_bytes -= (int64_t)lifetime->block_bytes;
        }
    }
}

static int64_t reserved_after(const tide_event *event, int64_t now_bytes) {
    int64_t n_bytes = (int64_t)event->block_bytes;
    switch (event->action) {
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        return now_bytes + n_bytes;
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_UNMAP:
        return n_bytes <= now_bytes ? now_bytes - n_bytes : now_bytes;
    default:
        return now_bytes;
    }
}

/* Each device has its own sum; `now` must hold the totals at the start. */
static void sum_up(const tide_snapshot *snapshot, tide_export_series *series,
                   tide_export_totals *now) {
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        tide_export_totals *of = &now[event.device];
        of->allocated_bytes += series->after[i].allocated_bytes;
        of->reserved_bytes = reserved_after(&event, of->reserved_bytes);
        series->after[i] = *of;
    }
}

tide_status tide_export_series_init(tide_export_series *series, const tide_snapshot *snapshot,
                                    tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    size_t n_devices = snapshot->n_devices;
    tide_lifetimes lifetimes;
    *series = (tide_export_series){.mem = mem};
    TIDE_TRY(
        tide_lifetimes_init(&lifetimes, snapshot, mem, error)); /* also checks that the sums fit */
    tide_status status = TIDE_NO_MEMORY;
    tide_export_totals *now = tide_hostmem_zeroed(mem, n_devices, sizeof(*now));
    series->start = tide_hostmem_zeroed(mem, n_devices, sizeof(*series->start));
    series->after = tide_hostmem_zeroed(mem, snapshot->n_events, sizeof(*series->after));
    if (now == NULL || series->start == NULL || series->after == NULL) {
        goto done;
    }
    add_start(&lifetimes, snapshot, series);
    add_lives(&lifetimes, series);
    for (size_t i = 0; i < n_devices; i++) {
        now[i] = series->start[i];
    }
    sum_up(snapshot, series, now);
    status = TIDE_OK;

done:
    mem->release(mem->ctx, now);
    tide_lifetimes_fini(&lifetimes);
    if (status != TIDE_OK) {
        tide_export_series_fini(series);
    }
    return status;
}

void tide_export_series_fini(tide_export_series *series) {
    if (series->mem != NULL) {
        series->mem->release(series->mem->ctx, series->start);
        series->mem->release(series->mem->ctx, series->after);
    }
    *series = (tide_export_series){.mem = NULL};
}
