/* live_window.c - the last minutes of a log (programs/live/box/black_box.h). */
#include <stdlib.h>
#include <string.h>

#include "capture/live_internal.h"
#include "recorder/event_log.h"

#define SECOND_NS INT64_C(1000000000)
#define MOST_S INT64_C(1000000000)

static int64_t window_ns(const tide_log_tables *tables) {
    const char *text = tide_log_text_of(tables, "live.keep_s");
    int64_t seconds = text != NULL ? strtoll(text, NULL, 10) : 0;
    return seconds > 0 && seconds <= MOST_S ? seconds * SECOND_NS : 0;
}

static const tide_event *row_at(const tide_event *rows, size_t i) {
    return (const tide_event *)(const void *)((const unsigned char *)rows +
                                              i * sizeof(tide_live_row));
}

/* The rows before the first one in the window. Times of damaged rows decide nothing: the newest
 * time is that of the last row, and counting stops at the first row that is new enough. */
static size_t count_old(const tide_log_contents *contents, int64_t keep_ns) {
    size_t n = 0;
    if (contents->n_events == 0 || keep_ns == 0) {
        return 0;
    }
    int64_t newest_ns = row_at(contents->events, contents->n_events - 1)->time_ns;
    while (n < contents->n_events && row_at(contents->events, n)->time_ns < newest_ns - keep_ns) {
        n++;
    }
    return n < contents->n_events ? n : 0;
}

/* An impossible row must not reach the base, which trusts its writer. */
static bool is_sound(const tide_event *row) {
    bool is_known = row->action < TIDE_N_ACTIONS || row->action >= TIDE_LOG_LABEL_ACTION;
    return is_known && row->action != TIDE_BASE_UNUSED && row->address < UINT64_MAX / 8 &&
           row->block_bytes <= TIDE_MAX_BLOCK_BYTES && row->requested_bytes <= TIDE_MAX_BLOCK_BYTES;
}

static bool fold_all(const tide_log_contents *contents, size_t n_old, tide_event_log *log) {
    bool has_room = true;
    for (size_t i = 0; has_room && i < contents->n_base; i++) {
        const tide_event *row = row_at(contents->base, i);
        has_room = !is_sound(row) || tide_event_log_take_base(log, row);
    }
    for (size_t i = 0; has_room && i < n_old; i++) {
        const tide_event *row = row_at(contents->events, i);
        has_room = !is_sound(row) || tide_event_log_fold(log, row);
    }
    return has_room;
}

tide_status tide_live_cut(tide_log_contents *contents, const tide_log_tables *tables,
                          tide_recover_report *report) {
    const tide_hostmem *mem = contents->mem;
    size_t n_old = count_old(contents, window_ns(tables));
    size_t n_base = contents->n_base + 2 * n_old + 2; /* an unmapped piece may leave two */
    tide_event_log log;
    if (n_old == 0) {
        return TIDE_OK;
    }
    tide_event *base = tide_hostmem_zeroed(mem, n_base, sizeof(tide_live_row));
    if (base == NULL) {
        return TIDE_NO_MEMORY;
    }
    const tide_event_log_memory memory = {
        .row_bytes = sizeof(tide_live_row), .base = base, .max_base = n_base};
    tide_event_log_init_in(&log, mem, &memory, true);
    bool is_done = fold_all(contents, n_old, &log);
    size_t n_used = log.n_base_used;
    tide_event_log_fini(&log);
    if (!is_done) {
        mem->release(mem->ctx, base);
        return TIDE_NO_MEMORY;
    }
    mem->release(mem->ctx, contents->base);
    contents->base = base;
    contents->n_base = n_used;
    contents->n_events -= n_old;
    contents->first_event += n_old;
    memmove(contents->events, row_at(contents->events, n_old),
            contents->n_events * sizeof(tide_live_row));
    report->n_dropped += n_old;
    return TIDE_OK;
}
