/* test_runs.c - several replays of one snapshot: which settings are added, which one is the base,
 * how they are ranked, and that a limit reported as sufficient was replayed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "replay/runs.h"
#include "support/made_snapshot.h"

#define MIB (UINT64_C(1) << 20)

/* Two allocations of 30 MiB that are live at the same time, on a device without a limit. */
static tide_snapshot *make_two(void) {
    static tide_event events[4];
    const uint64_t first = UINT64_C(1) << 32;
    const uint64_t second = first + 64 * MIB;
    events[0] = made_event(TIDE_ACTION_SEGMENT_ALLOC, first, 30 * MIB, 30 * MIB);
    events[1] = made_event(TIDE_ACTION_ALLOC, first, 30 * MIB, 30 * MIB);
    events[2] = made_event(TIDE_ACTION_SEGMENT_ALLOC, second, 30 * MIB, 30 * MIB);
    events[3] = made_event(TIDE_ACTION_ALLOC, second, 30 * MIB, 30 * MIB);
    return made_snapshot(NULL, &(made_tables){.n_devices = 1}, events, 4);
}

static tide_replay_runs begin(const tide_snapshot *snapshot, uint64_t limit_bytes) {
    const tide_replay_runs_options options = {.limit_bytes = limit_bytes};
    tide_replay_runs runs;
    assert_int_equal(tide_replay_runs_init(&runs, snapshot, &options, NULL), TIDE_OK);
    return runs;
}

static void the_recorded_settings_are_the_base(void **state) {
    (void)state;
    tide_snapshot *two = make_two();
    tide_replay_runs runs = begin(two, UINT64_MAX);
    assert_true(runs.base == SIZE_MAX);
    assert_int_equal(tide_replay_runs_add(&runs, "max_split_size_mb:64", NULL), TIDE_OK);
    assert_true(runs.base == SIZE_MAX);
    assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
    assert_int_equal(runs.base, 1);
    assert_int_equal(tide_replay_runs_add(&runs, "no_such_setting:1", NULL), TIDE_INVALID);
    assert_int_equal(runs.n_entries, 2);
    tide_replay_runs_fini(&runs);
    tide_snapshot_destroy(two);
}

static void no_more_settings_than_there_is_room_for(void **state) {
    (void)state;
    tide_snapshot *two = make_two();
    tide_replay_runs runs = begin(two, UINT64_MAX);
    for (size_t i = 0; i < TIDE_REPLAY_MAX_RUNS; i++) {
        assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
    }
    assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_LIMIT);
    tide_replay_runs_fini(&runs);
    tide_snapshot_destroy(two);
}

/* Without a memory limit, the grid skips the settings that need one. */
static void a_grid_has_what_changes_something(void **state) {
    (void)state;
    tide_snapshot *two = make_two();
    size_t n_without_limit = 0;
    for (uint64_t limit = UINT64_MAX;; limit = 100 * MIB) {
        tide_replay_runs runs = begin(two, limit);
        assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
        assert_int_equal(tide_replay_runs_add_grid(&runs, NULL), TIDE_OK);
        for (size_t i = 1; i < runs.n_entries; i++) {
            assert_false(
                tide_replay_config_equal(&runs.entries[i].config, &runs.entries[0].config));
        }
        size_t n = runs.n_entries;
        tide_replay_runs_fini(&runs);
        if (limit != UINT64_MAX) {
            assert_true(n > n_without_limit);
            break;
        }
        n_without_limit = n;
    }
    tide_snapshot_destroy(two);
}

/* Rounding to powers of two reserves more, so it ranks lower; equal settings keep their order. */
static void what_reserves_less_ranks_first(void **state) {
    (void)state;
    size_t order[TIDE_REPLAY_MAX_RUNS];
    tide_snapshot *two = make_two();
    tide_replay_runs runs = begin(two, UINT64_MAX);
    assert_int_equal(tide_replay_runs_add(&runs, "roundup_power2_divisions:2", NULL), TIDE_OK);
    assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
    assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
    assert_int_equal(tide_replay_runs_replay(&runs, NULL, NULL), TIDE_OK);
    assert_true(runs.entries[0].replay->by_device[0].peak_reserved_bytes >
                runs.entries[1].replay->by_device[0].peak_reserved_bytes);
    tide_replay_runs_rank(&runs, 0, order);
    assert_true(order[0] == 1 && order[1] == 2 && order[2] == 0);
    tide_replay_runs_fini(&runs);
    tide_snapshot_destroy(two);
}

static void what_survives_ranks_before_what_reserves_less(void **state) {
    (void)state;
    size_t order[TIDE_REPLAY_MAX_RUNS];
    tide_snapshot *two = make_two();
    tide_replay_runs runs = begin(two, 60 * MIB);
    assert_int_equal(tide_replay_runs_add(&runs, "roundup_power2_divisions:2", NULL), TIDE_OK);
    assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
    assert_int_equal(tide_replay_runs_replay(&runs, NULL, NULL), TIDE_OK);
    assert_true(runs.entries[0].replay->by_device[0].n_ooms == 1);
    assert_true(runs.entries[0].replay->by_device[0].peak_reserved_bytes <
                runs.entries[1].replay->by_device[0].peak_reserved_bytes);
    tide_replay_runs_rank(&runs, 0, order);
    assert_true(order[0] == 1 && order[1] == 0);
    tide_replay_runs_fini(&runs);
    tide_snapshot_destroy(two);
}

static void count(void *ctx, size_t n_done, size_t n_total) {
    size_t *n_calls = ctx;
    assert_true(++*n_calls == n_done && n_done <= n_total);
}

/* Within 40 MiB only the first of the two allocations fits. */
static void the_limit_that_is_needed_serves_all(void **state) {
    (void)state;
    size_t n_calls = 0;
    const tide_replay_progress progress = {&n_calls, count};
    tide_snapshot *two = make_two();
    tide_replay_runs runs = begin(two, 40 * MIB);
    assert_int_equal(tide_replay_runs_add(&runs, NULL, NULL), TIDE_OK);
    assert_int_equal(tide_replay_runs_replay(&runs, NULL, NULL), TIDE_OK);
    assert_true(runs.needs[0].limit_bytes == UINT64_MAX);
    assert_int_equal(tide_replay_runs_find_needs(&runs, &progress, NULL), TIDE_OK);
    assert_true(runs.needs[0].limit_bytes == 60 * MIB);
    assert_true(runs.needs[0].base_limit_bytes == 60 * MIB && runs.needs[0].entry == 0);
    assert_int_equal(n_calls, 1);
    tide_replay_runs_fini(&runs);
    tide_snapshot_destroy(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_settings_are_the_base),
        cmocka_unit_test(no_more_settings_than_there_is_room_for),
        cmocka_unit_test(a_grid_has_what_changes_something),
        cmocka_unit_test(what_reserves_less_ranks_first),
        cmocka_unit_test(what_survives_ranks_before_what_reserves_less),
        cmocka_unit_test(the_limit_that_is_needed_serves_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
