/* test_layout.c - segments, blocks and gaps at an instant, compared with a table of every byte's
 * owner, and the account of the reserved bytes. test_instants.c tests how an instant is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/pytorch_files.h"
#include "support/synthetic.h"

#include "layout_fixture.h"

#define MIB (UINT64_C(1) << 20)

/* Pieces fill their segments, segments do not overlap, and no two gaps meet. */
static void assert_tiles(const tide_layout *layout) {
    uint64_t behind = 0;
    for (size_t i = 0; i < layout->n_segments; i++) {
        const tide_layout_segment *segment = &layout->segments[i];
        uint64_t at = segment->address;
        uint64_t cached = 0;
        assert_true(segment->address >= behind);
        for (size_t j = 0; j < segment->n_pieces; j++) {
            const tide_layout_piece *piece = &layout->pieces[segment->first_piece + j];
            assert_true(piece->address == at && piece->n_bytes > 0);
            assert_true(j == 0 || piece->lifetime != TIDE_NONE || piece[-1].lifetime != TIDE_NONE);
            cached += piece->lifetime == TIDE_NONE ? piece->n_bytes : 0;
            at += piece->n_bytes;
        }
        behind = segment->address + segment->total_bytes;
        assert_true(at == behind && cached == segment->cached_bytes);
        assert_true(segment->releasable_bytes <= cached);
    }
}

static void the_account_of_a_known_recording(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 0, 2 * MIB, 2 * MIB),
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 100 * MIB, 20 * MIB, 20 * MIB),
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 200 * MIB, 30 * MIB, 30 * MIB),
        made_event(TIDE_ACTION_ALLOC, 0, 1000, 1024),
        made_event(TIDE_ACTION_ALLOC, 100 * MIB, 9 * MIB + 1, 10 * MIB),
        made_event(TIDE_ACTION_ALLOC, 110 * MIB, 2 * MIB, 2 * MIB),
        made_event(TIDE_ACTION_FREE_REQUESTED, 110 * MIB, 2 * MIB, 2 * MIB),
    };
    tide_snapshot *made = recording(events, 7);
    tide_lifetimes lifetimes = lifetimes_of(made);
    tide_layout layout;
    const tide_instant at = {0, 6};
    assert_int_equal(tide_layout_init(&layout, made, &lifetimes, &at, NULL), TIDE_OK);
    assert_tiles(&layout);
    const tide_account *account = &layout.account;
    assert_int_equal(layout.n_segments, 3);
    assert_int_equal(account->asked_bytes, 1000 + 9 * MIB + 1);
    assert_int_equal(account->rounding_bytes, 24 + 511);
    assert_int_equal(account->unsplit_bytes, MIB - 512);
    assert_int_equal(account->pending_bytes, 2 * MIB);
    assert_int_equal(account->splittable_bytes, 2 * MIB - 1024 + 8 * MIB);
    assert_int_equal(account->releasable_bytes, 30 * MIB);
    assert_int_equal(account->unexplained_bytes, 0);
    assert_int_equal(account->reserved_bytes, 52 * MIB);
    assert_int_equal(layout.segments[0].pool, TIDE_SEGMENT_SMALL);
    assert_int_equal(layout.segments[1].pool, TIDE_SEGMENT_LARGE);
    assert_true(layout.pieces[layout.segments[1].first_piece + 1].is_pending);
    tide_layout_fini(&layout);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

/* Mapped memory joins, is cut in the middle, and joins again; a neighbour that is an ordinary
 * segment does not join it. */
static void expandable_segments_join_and_split(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_SEGMENT_MAP, 0, 20 * MIB, 20 * MIB),
        made_event(TIDE_ACTION_SEGMENT_MAP, 20 * MIB, 60 * MIB, 60 * MIB),
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 80 * MIB, 20 * MIB, 20 * MIB),
        made_event(TIDE_ACTION_ALLOC, 5 * MIB, 10 * MIB, 10 * MIB),
        made_event(TIDE_ACTION_SEGMENT_UNMAP, 40 * MIB, 20 * MIB, 20 * MIB),
        made_event(TIDE_ACTION_SEGMENT_MAP, 40 * MIB, 20 * MIB, 20 * MIB),
    };
    static const size_t N_SEGMENTS[] = {1, 1, 2, 2, 3, 2};
    tide_snapshot *made = recording(events, 6);
    tide_lifetimes lifetimes = lifetimes_of(made);
    for (int64_t i = 0; i < 6; i++) {
        tide_layout layout;
        const tide_instant at = {0, i};
        assert_int_equal(tide_layout_init(&layout, made, &lifetimes, &at, NULL), TIDE_OK);
        assert_tiles(&layout);
        assert_int_equal(layout.n_segments, N_SEGMENTS[i]);
        assert_int_equal(layout.account.unexplained_bytes, 0);
        assert_int_equal(sum_of(&layout.account), layout.account.reserved_bytes);
        if (i == 3) { /* granules after the block, which covers part of the first */
            assert_int_equal(layout.segments[0].releasable_bytes, 60 * MIB);
            assert_int_equal(layout.account.splittable_bytes, 10 * MIB);
            assert_int_equal(layout.account.releasable_bytes, 80 * MIB);
        }
        tide_layout_fini(&layout);
    }
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

/* Only granules that no block touches are unmapped. */
static void granules_in_blocks_stay(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_SEGMENT_MAP, 0, 80 * MIB, 80 * MIB),
        made_event(TIDE_ACTION_ALLOC, 15 * MIB, 30 * MIB, 30 * MIB),
    };
    tide_snapshot *made = recording(events, 2);
    tide_lifetimes lifetimes = lifetimes_of(made);
    tide_layout layout;
    const tide_instant at = {0, 1};
    assert_int_equal(tide_layout_init(&layout, made, &lifetimes, &at, NULL), TIDE_OK);
    assert_int_equal(layout.account.releasable_bytes, 20 * MIB);
    assert_int_equal(layout.account.splittable_bytes, 30 * MIB);
    tide_layout_fini(&layout);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

/* ---- random rows against a table of every unit of the address range ---- */

enum { UNITS = 400, RANDOM_EVENTS = 160 };

typedef struct world {
    tide_event events[RANDOM_EVENTS];
    size_t n_events;
    bool mapped[UNITS]; /* has memory */
    bool bought[UNITS]; /* in an ordinary segment */
    int owner[UNITS];   /* row of the block's birth; -1 */
    bool pending[UNITS];
} world;

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static bool all_are(const bool *flags, const int *owner, size_t begin, size_t n, bool wanted) {
    for (size_t i = begin; i < begin + n; i++) {
        if (flags[i] != wanted || owner[i] >= 0) {
            return false;
        }
    }
    return true;
}

static void append(world *in, tide_action action, size_t unit, size_t n, uint64_t requested) {
    in->events[in->n_events++] = made_event(action, unit * 512, requested, n * 512);
}

/* Makes one row that is possible in the current state, or none. */
static void random_row(world *in, uint64_t *seed) {
    size_t unit = next_random(seed) % (UNITS - 40);
    size_t n = 1 + next_random(seed) % 40;
    switch (next_random(seed) % 5) {
    case 0: /* map; the upper half has ordinary segments */
        if (unit + n <= UNITS / 2 && all_are(in->mapped, in->owner, unit, n, false)) {
            append(in, TIDE_ACTION_SEGMENT_MAP, unit, n, n * 512);
            memset(&in->mapped[unit], 1, n);
        } else if (unit >= UNITS / 2 && all_are(in->mapped, in->owner, unit, n, false)) {
            append(in, TIDE_ACTION_SEGMENT_ALLOC, unit, n, n * 512);
            memset(&in->mapped[unit], 1, n);
        }
        return;
    case 1:
        if (unit + n <= UNITS / 2 && all_are(in->mapped, in->owner, unit, n, true)) {
            append(in, TIDE_ACTION_SEGMENT_UNMAP, unit, n, n * 512);
            memset(&in->mapped[unit], 0, n);
        }
        return;
    case 2:
    case 3:
        n = 1 + n % 5;
        n = unit < UNITS / 2 ? n : 1; /* ordinary segments do not join */
        if (unit + n <= UNITS && all_are(in->mapped, in->owner, unit, n, true)) {
            for (size_t i = unit; i < unit + n; i++) {
                in->owner[i] = (int)in->n_events;
            }
            append(in, TIDE_ACTION_ALLOC, unit, n, 1 + next_random(seed) % (n * 512));
        }
        return;
    default:
        if (in->owner[unit] >= 0) {
            int owner = in->owner[unit];
            tide_event freed = in->events[owner];
            size_t first = freed.address / 512;
            bool waits = !in->pending[unit] && next_random(seed) % 2 == 0;
            freed.action = in->pending[unit] ? TIDE_ACTION_FREE_COMPLETED
                           : waits           ? TIDE_ACTION_FREE_REQUESTED
                                             : TIDE_ACTION_FREE;
            for (size_t i = first; i < first + freed.block_bytes / 512; i++) {
                in->owner[i] = waits ? owner : -1;
                in->pending[i] = waits;
            }
            in->events[in->n_events++] = freed;
        }
    }
}

/* The bytes that the table counts as mapped, cached, pending and allocated. */
static void assert_as_in(const world *in, const tide_layout *layout) {
    int64_t mapped = 0, cached = 0, pending = 0;
    for (size_t i = 0; i < UNITS; i++) {
        mapped += in->mapped[i] ? 512 : 0;
        cached += in->mapped[i] && in->owner[i] < 0 ? 512 : 0;
        pending += in->pending[i] ? 512 : 0;
    }
    const tide_account *account = &layout->account;
    assert_int_equal(account->reserved_bytes, mapped);
    assert_int_equal(account->splittable_bytes + account->releasable_bytes, cached);
    assert_int_equal(account->pending_bytes, pending);
    assert_int_equal(account->unexplained_bytes, 0);
    assert_int_equal(sum_of(account), mapped);
    for (size_t i = 0; i < layout->n_pieces; i++) {
        const tide_layout_piece *piece = &layout->pieces[i];
        for (uint64_t a = piece->address / 512; a < (piece->address + piece->n_bytes) / 512; a++) {
            assert_true(in->mapped[a]);
            assert_true((in->owner[a] >= 0) == (piece->lifetime != TIDE_NONE));
            assert_true(in->pending[a] == piece->is_pending);
        }
    }
}

static void random_rows_agree_with_a_table(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        static world in;
        memset(&in, 0, sizeof(in));
        for (size_t i = 0; i < UNITS; i++) {
            in.owner[i] = -1;
        }
        while (in.n_events < RANDOM_EVENTS) {
            size_t before = in.n_events;
            random_row(&in, &random);
            if (in.n_events == before) {
                continue;
            }
            tide_snapshot *made = recording(in.events, in.n_events);
            tide_lifetimes lifetimes = lifetimes_of(made);
            tide_layout layout;
            const tide_instant at = {0, (int64_t)in.n_events - 1};
            assert_int_equal(tide_layout_init(&layout, made, &lifetimes, &at, NULL), TIDE_OK);
            assert_tiles(&layout);
            assert_as_in(&in, &layout);
            tide_layout_fini(&layout);
            tide_lifetimes_fini(&lifetimes);
            tide_snapshot_destroy(made);
        }
    }
}

/* After the last row the layout equals the recorded end. */
static void assert_end_agrees(const tide_snapshot *snapshot) {
    tide_lifetimes lifetimes = lifetimes_of(snapshot);
    for (size_t d = 0; d < snapshot->n_devices; d++) {
        tide_layout layout;
        const tide_instant at = {d, (int64_t)snapshot->n_events - 1};
        assert_int_equal(tide_layout_init(&layout, snapshot, &lifetimes, &at, NULL), TIDE_OK);
        int64_t reserved = 0, cached = 0, pending = 0, n = 0;
        for (size_t i = 0; i < snapshot->n_end_segments; i++) {
            const tide_segment_row *segment = &snapshot->end_segments[i];
            for (size_t j = 0; segment->device == d && j < segment->n_blocks; j++) {
                const tide_block_row *block = &snapshot->end_blocks[segment->first_block + j];
                int64_t n_bytes = (int64_t)block->block_bytes;
                reserved += n_bytes;
                cached += block->state == TIDE_BLOCK_FREE ? n_bytes : 0;
                pending += block->state == TIDE_BLOCK_PENDING_FREE ? n_bytes : 0;
            }
            n += segment->device == d;
        }
        assert_tiles(&layout);
        assert_int_equal(layout.account.reserved_bytes, reserved);
        assert_int_equal(layout.account.unexplained_bytes, 0);
        assert_int_equal(layout.account.pending_bytes, pending);
        assert_int_equal(layout.account.splittable_bytes + layout.account.releasable_bytes, cached);
        assert_int_equal(layout.n_segments, n);
        tide_layout_fini(&layout);
    }
    tide_lifetimes_fini(&lifetimes);
}

static void made_up_recordings_end_as_they_say(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        tide_snapshot *made = synthetic_create(&(synthetic_config){.seed = seed,
                                                                   .n_events = 3000 * seed,
                                                                   .n_layers = (size_t)seed,
                                                                   .element_bytes = 4,
                                                                   .two_streams = seed % 2 == 0,
                                                                   .precision = "fp32"});
        assert_end_agrees(made);
        tide_snapshot_destroy(made);
    }
}

/* Real files, if present, at both ends and at every seventh of the way. */
static void real_files_add_up(void **state) {
    (void)state;
    char path[PYTORCH_PATH_BYTES];
    if (!pytorch_file_path(&PYTORCH_FILES[0], path)) {
        printf("real files skipped: they are not here\n");
        skip();
    }
    for (size_t f = 0; f < PYTORCH_N_FILES; f++) {
        tide_snapshot *snapshot = pytorch_file_load(&PYTORCH_FILES[f]);
        assert_end_agrees(snapshot);
        tide_lifetimes lifetimes = lifetimes_of(snapshot);
        for (size_t i = 0; i < 7 * snapshot->n_devices; i++) {
            tide_layout layout;
            const tide_instant at = {i / 7, (int64_t)(i % 7 * snapshot->n_events / 7) - 1};
            assert_int_equal(tide_layout_init(&layout, snapshot, &lifetimes, &at, NULL), TIDE_OK);
            assert_tiles(&layout);
            assert_int_equal(layout.account.unexplained_bytes, 0);
            assert_int_equal(sum_of(&layout.account), layout.account.reserved_bytes);
            tide_layout_fini(&layout);
        }
        tide_lifetimes_fini(&lifetimes);
        tide_snapshot_destroy(snapshot);
    }
}

/* ---- recordings that contradict themselves ---- */

static void what_does_not_fit_is_shown(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_ALLOC, 0, 1024, 1024), /* in no segment */
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 4096, 4096, 4096),
        made_event(TIDE_ACTION_ALLOC, 7680, 1024, 1024), /* beyond its end */
        made_event(TIDE_ACTION_ALLOC, 4096, 1024, 1024),
        made_event(TIDE_ACTION_ALLOC, 4608, 512, 512), /* inside of another */
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 4096, 8192, 8192),
    };
    tide_snapshot *made = recording(events, 6);
    tide_lifetimes lifetimes = lifetimes_of(made);
    for (int64_t i = -1; i < 6; i++) {
        tide_layout layout;
        const tide_instant at = {0, i};
        assert_int_equal(tide_layout_init(&layout, made, &lifetimes, &at, NULL), TIDE_OK);
        assert_tiles(&layout);
        assert_int_equal(sum_of(&layout.account), layout.account.reserved_bytes);
        assert_true((layout.account.unexplained_bytes == 0) == (i == -1));
        tide_layout_fini(&layout);
    }
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

static void sums_beyond_the_limit_are_refused(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_ALLOC, 0, INT64_MAX, INT64_MAX),
        made_event(TIDE_ACTION_SEGMENT_ALLOC, 0, 1024, 1024),
    };
    tide_snapshot *made = recording(events, 2);
    tide_lifetimes lifetimes = lifetimes_of(made);
    tide_layout layout;
    tide_error error = {""};
    const tide_instant at = {0, 1};
    assert_int_equal(tide_layout_init(&layout, made, &lifetimes, &at, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "2^63"));
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_account_of_a_known_recording),
        cmocka_unit_test(expandable_segments_join_and_split),
        cmocka_unit_test(granules_in_blocks_stay),
        cmocka_unit_test(random_rows_agree_with_a_table),
        cmocka_unit_test(made_up_recordings_end_as_they_say),
        cmocka_unit_test(real_files_add_up),
        cmocka_unit_test(what_does_not_fit_is_shown),
        cmocka_unit_test(sums_beyond_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
