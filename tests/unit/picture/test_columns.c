/* test_columns.c - the columns of a picture against a naive curve: every state of the recording
 * from its blocks, every column from all states that hold in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "picture/series_internal.h"
#include "support/made_snapshot.h"

enum { MAX_EVENTS = 400, MAX_BLOCKS = 32, N_CATEGORIES = 4 };

typedef struct curve {
    int64_t bytes[MAX_EVENTS + 1][N_CATEGORIES]; /* of device 0, after so many events */
    int64_t reserved[MAX_EVENTS + 1];
} curve;

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* Random rows of two devices. Some have the same time, some are far from the others. */
static size_t make_events(uint32_t seed, tide_event *events, curve *ret) {
    struct {
        uint64_t n_bytes;
        uint8_t category, device;
    } blocks[MAX_BLOCKS] = {{0}};
    size_t n = 1 + next_random(&seed) % MAX_EVENTS;
    int64_t now_ns = next_random(&seed) % 1000;
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < n; i++) {
        size_t slot = next_random(&seed) % MAX_BLOCKS;
        uint64_t address = 1 + slot * (1U << 20);
        memcpy(ret->bytes[i + 1], ret->bytes[i], sizeof(ret->bytes[i]));
        ret->reserved[i + 1] = ret->reserved[i];
        if (next_random(&seed) % 8 == 0) {
            uint64_t size = 512 * (1 + next_random(&seed) % 100);
            bool gives = next_random(&seed) % 2 == 0 || ret->reserved[i] < (int64_t)size;
            events[i] = made_event(gives ? TIDE_ACTION_SEGMENT_ALLOC : TIDE_ACTION_SEGMENT_FREE,
                                   1U << 30, size, size);
            ret->reserved[i + 1] += gives ? (int64_t)size : -(int64_t)size;
        } else if (blocks[slot].n_bytes == 0) {
            blocks[slot].n_bytes = 512 * (1 + next_random(&seed) % 1000);
            blocks[slot].category = (uint8_t)(next_random(&seed) % N_CATEGORIES);
            blocks[slot].device = next_random(&seed) % 4 == 0;
            events[i] =
                made_event(TIDE_ACTION_ALLOC, address, blocks[slot].n_bytes, blocks[slot].n_bytes);
            events[i].category = blocks[slot].category;
            events[i].device = blocks[slot].device;
            ret->bytes[i + 1][blocks[slot].category] +=
                blocks[slot].device == 0 ? (int64_t)blocks[slot].n_bytes : 0;
        } else {
            events[i] =
                made_event(TIDE_ACTION_FREE, address, blocks[slot].n_bytes, blocks[slot].n_bytes);
            events[i].category = blocks[slot].category;
            events[i].device = blocks[slot].device;
            ret->bytes[i + 1][blocks[slot].category] -=
                blocks[slot].device == 0 ? (int64_t)blocks[slot].n_bytes : 0;
            blocks[slot].n_bytes = 0;
        }
        uint32_t step = next_random(&seed) % 4;
        now_ns += step == 0 ? 0 : step == 1 ? 1 : next_random(&seed) % (step == 2 ? 50 : 5000);
        events[i].time_ns = now_ns;
    }
    return n;
}

/* Whether a state holds at any instant of a column; places are times the number of columns. */
static bool holds(const tide_picture_axis *axis, size_t n_columns, size_t column, size_t state) {
    size_t n_events = axis->snapshot->n_events;
    int64_t n = (int64_t)n_columns;
    int64_t span = axis->end - axis->begin;
    int64_t left = span * (int64_t)column;
    int64_t right = span * (int64_t)(column + 1);
    if (state == 0) {
        return column == 0;
    }
    int64_t from = (tide_picture_axis_place(axis, state - 1) - axis->begin) * n;
    int64_t to = (state < n_events ? tide_picture_axis_place(axis, state) - axis->begin : span) * n;
    if (from >= span * n) {
        return column + 1 == n_columns; /* it is at the very end */
    }
    return from < right && (to > left || (from == to && from >= left));
}

static int64_t shown(const curve *of, size_t state, uint32_t hidden) {
    int64_t sum = 0;
    for (size_t k = 0; k < N_CATEGORIES; k++) {
        sum += (hidden >> k & 1U) != 0 ? 0 : of->bytes[state][k];
    }
    return sum;
}

/* The band of a category; -1: it never appears. */
static int band_of(const tide_picture_bands *bands, const char *name) {
    for (size_t i = 0; i < bands->n_bands; i++) {
        if (strcmp(bands->bands[i].key, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void check_column(const tide_picture_columns *columns, const tide_picture_axis *axis,
                         const tide_picture_bands *bands, const curve *of, size_t c,
                         uint32_t hidden) {
    size_t best = SIZE_MAX;
    int64_t reserved = 0;
    for (size_t s = 0; s <= axis->snapshot->n_events; s++) {
        if (holds(axis, columns->n, c, s)) {
            best = best == SIZE_MAX || shown(of, s, hidden) > shown(of, best, hidden) ? s : best;
            reserved = of->reserved[s] > reserved ? of->reserved[s] : reserved;
        }
    }
    assert_int_not_equal(best, SIZE_MAX);
    assert_int_equal(columns->states[c], best);
    assert_int_equal(columns->totals[c], shown(of, best, hidden));
    assert_int_equal(columns->reserved[c], reserved);
    for (size_t k = 0; k < N_CATEGORIES; k++) {
        int band = band_of(bands, tide_snapshot_category(axis->snapshot, k));
        if (band >= 0) {
            assert_int_equal(columns->bytes[c * bands->n_bands + (size_t)band],
                             (hidden >> k & 1U) != 0 ? 0 : of->bytes[best][k]);
        }
    }
}

static void check_peak(const tide_picture_columns *columns, const tide_picture_bands *bands,
                       const curve *of, size_t n_events, uint32_t hidden) {
    size_t peak = 0;
    int64_t sum = 0;
    for (size_t s = 1; s <= n_events; s++) {
        peak = shown(of, s, hidden) > shown(of, peak, hidden) ? s : peak;
    }
    assert_int_equal(columns->peak_state, peak);
    assert_int_equal(columns->peak_bytes, shown(of, peak, hidden));
    assert_int_equal(columns->states[columns->peak_column], peak);
    for (size_t i = 0; i < bands->n_bands; i++) {
        sum += bands->bands[i].is_hidden ? 0 : bands->bands[i].peak_bytes;
    }
    assert_int_equal(sum, columns->peak_bytes);
}

static void check_picture(const tide_snapshot *snapshot, const curve *of, size_t n_columns,
                          bool is_time, uint32_t hidden) {
    tide_lifetimes lifetimes;
    tide_picture_bands bands;
    tide_picture_columns columns;
    tide_picture_axis axis = {
        .snapshot = snapshot, .is_time = is_time, .end = (int64_t)snapshot->n_events};
    if (is_time) {
        int64_t end = snapshot->events.time_ns[snapshot->n_events - 1];
        axis.begin = snapshot->events.time_ns[0];
        axis.end = end > axis.begin ? end : axis.begin + 1;
    }
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    assert_int_equal(
        tide_picture_bands_init(&bands, snapshot, &lifetimes, 0, TIDE_PICTURE_BY_CATEGORY),
        TIDE_OK);
    for (size_t k = 0; k < N_CATEGORIES; k++) {
        int band = band_of(&bands, tide_snapshot_category(snapshot, k));
        if (band >= 0) {
            bands.bands[band].is_hidden = (hidden >> k & 1U) != 0;
        }
    }
    assert_int_equal(tide_picture_columns_init(&columns, &axis, &lifetimes, 0, &bands, n_columns),
                     TIDE_OK);
    for (size_t c = 0; c < n_columns; c++) {
        check_column(&columns, &axis, &bands, of, c, hidden);
    }
    check_peak(&columns, &bands, of, snapshot->n_events, hidden);
    tide_picture_columns_fini(&columns);
    tide_picture_bands_fini(&bands);
    tide_lifetimes_fini(&lifetimes);
}

static void columns_are_those_of_the_curve(void **state) {
    (void)state;
    static const size_t WIDTHS[] = {1, 2, 3, 7, 64, 399, 1000};
    static const made_tables TABLES = {.n_devices = 2};
    static tide_event events[MAX_EVENTS];
    static curve of;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        size_t n = make_events(seed, events, &of);
        tide_snapshot *snapshot = made_snapshot(NULL, &TABLES, events, n);
        for (size_t w = 0; w < sizeof(WIDTHS) / sizeof(WIDTHS[0]); w++) {
            check_picture(snapshot, &of, WIDTHS[w], false, 0);
            check_picture(snapshot, &of, WIDTHS[w], true, 0);
            check_picture(snapshot, &of, WIDTHS[w], true, 1U << (seed % N_CATEGORIES));
        }
        tide_snapshot_destroy(snapshot);
    }
}

static void failures_have_their_totals(void **state) {
    (void)state;
    static const made_tables TABLES = {.n_devices = 2};
    tide_event events[] = {
        made_event(TIDE_ACTION_ALLOC, 512, 512, 512), made_event(TIDE_ACTION_OOM, 0, 99, 7),
        made_event(TIDE_ACTION_OOM, 0, 5, 7),         made_event(TIDE_ACTION_FREE, 512, 512, 512),
        made_event(TIDE_ACTION_OOM, 0, 1, 7),
    };
    events[2].device = 1;
    tide_snapshot *snapshot = made_snapshot(NULL, &TABLES, events, 5);
    tide_lifetimes lifetimes;
    tide_picture_bands bands;
    tide_picture_columns columns;
    const tide_picture_axis axis = {.snapshot = snapshot, .end = 5};
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    assert_int_equal(
        tide_picture_bands_init(&bands, snapshot, &lifetimes, 0, TIDE_PICTURE_BY_USUAL), TIDE_OK);
    assert_int_equal(tide_picture_columns_init(&columns, &axis, &lifetimes, 0, &bands, 10),
                     TIDE_OK);
    assert_int_equal(columns.n_ooms, 2);
    assert_int_equal(columns.ooms[0].event, 1);
    assert_int_equal(columns.ooms[0].total_bytes, 512);
    assert_int_equal(columns.ooms[0].requested_bytes, 99);
    assert_int_equal(columns.ooms[1].event, 4);
    assert_int_equal(columns.ooms[1].total_bytes, 0);
    tide_picture_columns_fini(&columns);
    tide_picture_bands_fini(&bands);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_curve),
        cmocka_unit_test(failures_have_their_totals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
