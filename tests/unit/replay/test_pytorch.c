/* test_pytorch.c - replays of real PyTorch runs reproduce the recording: every segment at its
 * event, every block at its address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "replay/replay.h"
#include "support/pytorch_files.h"

/* The number of rows of each kind in the traces of a file. */
typedef struct expected {
    const char *name;
    size_t n_allocs;
    size_t n_segments; /* bought or mapped */
    size_t n_returns;  /* released or unmapped */
    size_t n_ooms;
} expected;

enum { N_SINGLE = 6, N_FILES = 7, SINGLE_ALLOCS = 14977 };

static const expected FILES[N_FILES] = {
    {"medium_fp32_ctx128_training", 6526, 0, 0, 0}, {"small_fp32_ctx128_forward", 681, 0, 0, 0},
    {"2.7B_fp32_ctx512_forward", 1800, 0, 0, 0},    {"2.7B_bf16_ctx512_forward", 2314, 0, 0, 0},
    {"cnn_snapshot_events", 1935, 7, 0, 0},         {"windows_few_frames", 1721, 0, 0, 0},
    {"expandable_four_devices", 3025, 293, 6, 1},
};

static void comes_out(const expected *file) {
    tide_snapshot *snapshot = pytorch_file_load(pytorch_file_named(file->name));
    tide_replay *replay = NULL;
    tide_error error = {""};
    if (tide_replay_run(snapshot, &(tide_replay_options){.verify = true}, &replay, &error) !=
        TIDE_OK) {
        fail_msg("%s: %s", file->name, error.message);
    }
    const tide_replay_verified *found = &replay->verified;
    if (!tide_replay_is_same(found)) {
        fail_msg("%s: %zu of %zu addresses, %zu of %zu segments; %s", file->name,
                 found->n_allocs_same, found->n_allocs, found->n_segments_same, found->n_segments,
                 found->first_difference);
    }
    assert_string_equal(found->first_difference, "");
    assert_int_equal(found->n_allocs, file->n_allocs);
    assert_int_equal(found->n_segments, file->n_segments);
    assert_int_equal(found->n_returns, file->n_returns);
    assert_int_equal(found->n_ooms, file->n_ooms);
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
}

static void addresses_come_out(void **state) {
    (void)state;
    size_t n_allocs = 0;
    for (size_t i = 0; i < N_FILES; i++) {
        comes_out(&FILES[i]);
        n_allocs += i < N_SINGLE ? FILES[i].n_allocs : 0;
    }
    assert_int_equal(n_allocs, SINGLE_ALLOCS);
}

/* Settings that the file was not recorded with: the comparison must detect that, and report
 * where. */
static void other_settings_do_not_come_out(void **state) {
    (void)state;
    static const char *const CONFS[] = {"roundup_power2_divisions:4", "expandable_segments:True"};
    tide_snapshot *snapshot = pytorch_file_load(pytorch_file_named("cnn_snapshot_events"));
    for (size_t i = 0; i < sizeof(CONFS) / sizeof(CONFS[0]); i++) {
        tide_cache_config config;
        tide_replay *replay = NULL;
        tide_error error = {""};
        assert_int_equal(tide_replay_settings(snapshot, &config, NULL, &error), TIDE_OK);
        assert_int_equal(tide_cache_config_parse(&config, CONFS[i], &error), TIDE_OK);
        if (tide_replay_run(snapshot, &(tide_replay_options){.config = &config, .verify = true},
                            &replay, &error) != TIDE_OK) {
            fail_msg("%s", error.message);
        }
        assert_false(tide_replay_is_same(&replay->verified));
        assert_memory_equal(replay->verified.first_difference, "event ", 6);
        tide_replay_destroy(replay);
    }
    tide_snapshot_destroy(snapshot);
}

/* The file with expandable segments ran out of memory on device 1 and states what was mapped and
 * free then. A replay under that limit runs out at the same request, and nowhere else. */
static void limit_runs_out_where_the_device_did(void **state) {
    (void)state;
    tide_snapshot *snapshot = pytorch_file_load(pytorch_file_named("expandable_four_devices"));
    tide_cache_config config;
    tide_replay *replay = NULL;
    tide_error error = {""};
    assert_int_equal(tide_replay_settings(snapshot, &config, NULL, &error), TIDE_OK);
    config.memory_limit_bytes = (size_t)84202749952 + 95682560;
    if (tide_replay_run(snapshot, &(tide_replay_options){.config = &config}, &replay, &error) !=
        TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(replay->figures.n_ooms, 1);
    assert_int_equal(replay->n_succeeded, 0);
    assert_int_equal(replay->n_lost, 0);
    assert_int_equal(snapshot->events.action[replay->oom_by_device[1].event], TIDE_ACTION_OOM);
    assert_int_equal(replay->oom_by_device[1].device, 1);
    assert_int_equal(replay->by_device[1].n_ooms, 1);
    assert_int_equal(replay->oom_by_device[1].reserved_bytes, 84202749952);
    tide_replay_limit limit = tide_replay_limit_of(snapshot, 1);
    assert_int_equal(limit.limit_bytes, config.memory_limit_bytes);
    assert_int_equal(limit.event, replay->oom_by_device[1].event);
    assert_true(tide_replay_limit_of(snapshot, 0).limit_bytes == UINT64_MAX); /* nothing ran out */
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    char path[PYTORCH_PATH_BYTES];
    if (!pytorch_file_path(&PYTORCH_FILES[0], path)) {
        printf("skipped: %s is not here\n", path);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_come_out),
        cmocka_unit_test(other_settings_do_not_come_out),
        cmocka_unit_test(limit_runs_out_where_the_device_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
