/* log_counters.c - decides which counters of a log can be true. A disk or a stray write may have
 * changed any of them, and a report must not present the result of a wrong counter as a fact. */
#include "capture/log_contents_internal.h"
#include "common/assert.h"

/* More than any process counts: one event a nanosecond for a hundred days. */
#define MAX_COUNTED (UINT64_C(1) << 53)

/* Returns the counter, or `instead` if it is above `limit`, and counts that in `n_damaged`. */
static uint64_t trusted(uint64_t counter, uint64_t limit, uint64_t instead, size_t *n_damaged) {
    if (counter <= limit) {
        return counter;
    }
    ++*n_damaged;
    return instead;
}

/* Whether the ring can have overwritten n_folded of n_written rows. A process that is still writing
 * advances the two while they are read, so fewer rows may seem to be kept. */
static bool is_ring(const tide_log_fill *fill, uint64_t max_events, bool is_live) {
    if (fill->n_folded == 0) {
        return fill->n_written <= max_events;
    }
    if (fill->n_folded > fill->n_written) {
        return false;
    }
    uint64_t n_kept = fill->n_written - fill->n_folded;
    return n_kept <= max_events &&
           (is_live || n_kept + tide_log_fold_rows(max_events) >= max_events);
}

/* Repairs the numbers of written and overwritten rows. Either follows from the other, because only
 * a full ring overwrites, and it always folds the same number of rows. The newest rows that only
 * n_written could show are left out. */
static void trust_ring(tide_log_fill *fill, uint64_t max_events, bool is_live) {
    bool is_written_good = fill->n_written <= MAX_COUNTED;
    bool is_folded_good = fill->n_folded <= MAX_COUNTED;
    if (is_written_good && is_folded_good && is_ring(fill, max_events, is_live)) {
        return;
    }
    uint64_t n_together = tide_log_fold_rows(max_events);
    fill->n_events_damaged++;
    if (is_written_good) {
        uint64_t n = fill->n_written > max_events ? fill->n_written - max_events : 0;
        fill->n_folded = (n + n_together - 1) / n_together * n_together;
    } else {
        fill->n_folded = is_folded_good ? fill->n_folded : 0;
        fill->n_written = fill->n_folded + max_events - (n_together - 1);
    }
}

tide_log_fill tide_log_fill_of(const tide_log_header *header, bool is_live) {
    const tide_log_layout *layout = &header->layout;
    const tide_log_counters *counters = &header->counters;
    uint64_t is_closed = atomic_load(&counters->is_closed);
    tide_log_fill fill = {.n_written = atomic_load(&counters->n_written),
                          .n_folded = atomic_load(&counters->n_folded),
                          .paused_at = atomic_load(&counters->paused_at),
                          .is_closed = is_closed == 1};
    trust_ring(&fill, layout->max_events, is_live);
    fill.n_refused =
        trusted(atomic_load(&counters->n_refused), MAX_COUNTED, 0, &fill.n_events_damaged);
    if (fill.paused_at > MAX_COUNTED && fill.paused_at != TIDE_LOG_NEVER) {
        fill.paused_at = TIDE_LOG_NEVER;
        fill.n_others_damaged++;
    }
    fill.n_others_damaged += is_closed > 1 ? 1 : 0;
    fill.n_base_used = trusted(atomic_load(&counters->n_base_used), layout->max_base,
                               layout->max_base, &fill.n_others_damaged);
    fill.n_scopes = trusted(atomic_load(&counters->n_scopes), layout->max_scopes,
                            layout->max_scopes, &fill.n_scopes_damaged);
    fill.n_scopes_refused =
        trusted(atomic_load(&counters->n_scopes_refused), MAX_COUNTED, 0, &fill.n_scopes_damaged);
    fill.journal_used_bytes =
        trusted(atomic_load(&counters->journal_used_bytes), layout->journal_bytes,
                layout->journal_bytes, &fill.n_others_damaged);
    fill.n_records_refused =
        trusted(atomic_load(&counters->n_records_refused), MAX_COUNTED, 0, &fill.n_others_damaged);
    TIDE_ASSERT(fill.n_folded <= fill.n_written &&
                fill.n_written - fill.n_folded <= layout->max_events);
    return fill;
}
