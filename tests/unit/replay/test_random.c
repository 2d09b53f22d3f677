/* test_random.c - replays of random programs reproduce their recordings under every setting. The
 * programs use several streams whose events are late, limits and capacities that run out, caches
 * that are emptied, and recordings that begin late. TIDEMARK_SEED=N repeats one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache_internal.h"
#include "capture/capture.h"
#include "common/map.h"
#include "replay/replay.h"
#include "snapshot/document/validate.h"
#include "support/event_rows.h"
#include "support/device_fault.h"

#define MIB ((size_t)1 << 20)

enum { N_STEPS = 2000, N_SEEDS = 4, N_SLOTS = 96, N_STREAMS = 3, N_DAMAGED = 12 };

/* A kind of program. */
typedef struct kind {
    const char *settings;
    uint64_t capacity_bytes; /* 0: unlimited */
    size_t limit_bytes;      /* 0: none */
    size_t log_rows;         /* 0: all are kept */
    bool uses_streams;       /* of one another */
} kind;

static const kind KINDS[] = {
    {"", 0, 0, 0, false},
    {"", 0, 0, 0, true},
    {"", 0, 0, 700, true},
    {"", 300 * MIB, 0, 0, false},
    {"", 300 * MIB, 0, 0, true},
    {"", 300 * MIB, 0, 700, true},
    {"", 0, 250 * MIB, 0, true},
    {"max_split_size_mb:24", 400 * MIB, 0, 0, false},
    {"max_split_size_mb:24", 400 * MIB, 0, 0, true},
    {"max_split_size_mb:24", 400 * MIB, 0, 700, true},
    {"garbage_collection_threshold:0.6", 0, 300 * MIB, 0, false},
    {"garbage_collection_threshold:0.6", 0, 300 * MIB, 0, true},
    {"roundup_power2_divisions:[1:4,4:8,>:2]", 0, 0, 0, true},
    {"large_segment_size_mb:12", 350 * MIB, 0, 0, true},
    {"expandable_segments:True", 0, 0, 0, false},
    {"expandable_segments:True", 300 * MIB, 0, 0, false},
    {"expandable_segments:True", 300 * MIB, 0, 0, true},
    {"expandable_segments:True", 300 * MIB, 0, 700, true},
    {"expandable_segments:True,large_segment_size_mb:12", 0, 250 * MIB, 0, true},
};
enum { N_KINDS = sizeof(KINDS) / sizeof(KINDS[0]) };

typedef struct program {
    tide_device *inner; /* owned */
    tide_device_fault device;
    tide_recorder *recorder; /* owned */
    tide_cache *cache;       /* owned */
    uint64_t slots[N_SLOTS]; /* addresses; 0: none */
    uint64_t random;
    size_t n_ooms;
} program;

static uint64_t next_random(program *of) {
    of->random = tide_hash_u64(of->random + 0x9e3779b97f4a7c15u);
    return of->random;
}

static size_t random_bytes(program *of) {
    static const size_t HIGHEST[] = {600, 40000, MIB + 4096, 3 * MIB, 12 * MIB, 40 * MIB};
    size_t highest = HIGHEST[next_random(of) % (sizeof(HIGHEST) / sizeof(HIGHEST[0]))];
    return 1 + (size_t)(next_random(of) % highest);
}

static void open_program(program *of, const kind *what, uint64_t seed) {
    tide_device_options options = {.capacity_bytes = what->capacity_bytes};
    tide_recorder_config recording;
    tide_cache_config config;
    tide_error error = {""};
    *of = (program){.random = seed};
    tide_recorder_config_init(&recording);
    recording.capture_stacks = false;
    recording.log_bytes = (what->log_rows == 0 ? 100000 : what->log_rows) * sizeof(tide_event);
    tide_cache_config_init(&config);
    config.memory_limit_bytes = what->limit_bytes == 0 ? TIDE_UNLIMITED : what->limit_bytes;
    if (tide_cache_config_parse(&config, what->settings, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(tide_device_open("virtual", &options, &of->inner, NULL), TIDE_OK);
    tide_device_fault_init(&of->device, of->inner);
    assert_int_equal(tide_recorder_create(&recording, &of->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(&of->device.base, of->recorder, &config, &of->cache, NULL),
                     TIDE_OK);
}

static void close_program(program *of) {
    tide_cache_destroy(of->cache);
    tide_recorder_destroy(of->recorder);
    tide_device_close(of->inner);
}

static void step(program *of, const kind *what) {
    size_t slot = (size_t)(next_random(of) % N_SLOTS);
    tide_stream stream = next_random(of) % N_STREAMS;
    if (next_random(of) % 400 == 0) {
        assert_int_equal(tide_cache_empty(of->cache, NULL), TIDE_OK);
    }
    of->device.late_queries = (size_t)(next_random(of) % 6);
    if (of->slots[slot] != 0) {
        if (what->uses_streams && next_random(of) % 3 == 0) {
            assert_int_equal(tide_cache_record_stream(of->cache, of->slots[slot], stream, NULL),
                             TIDE_OK);
        }
        assert_int_equal(tide_cache_release(of->cache, of->slots[slot], NULL), TIDE_OK);
        of->slots[slot] = 0;
        return;
    }
    const tide_tag tag = {.category = (tide_category)(next_random(of) % TIDE_N_CATEGORIES),
                          .name = next_random(of) % 2 == 0 ? "x" : NULL};
    tide_status status =
        tide_cache_alloc(of->cache, random_bytes(of), stream, &tag, &of->slots[slot], NULL);
    assert_true(status == TIDE_OK || status == TIDE_DEVICE_OOM);
    of->n_ooms += status == TIDE_OK ? 0 : 1;
}

static tide_snapshot *record(const kind *what, uint64_t seed, size_t *ret_n_ooms) {
    program *of = calloc(1, sizeof(*of));
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_non_null(of);
    open_program(of, what, seed);
    for (size_t i = 0; i < N_STEPS; i++) {
        step(of, what);
    }
    if (tide_capture(of->recorder, of->cache, NULL, &snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    *ret_n_ooms = of->n_ooms;
    close_program(of);
    free(of);
    return snapshot;
}

static uint64_t first_seed(void) {
    const char *text = getenv("TIDEMARK_SEED");
    return text == NULL ? 1 : strtoull(text, NULL, 10);
}

static tide_replay *run(const tide_snapshot *snapshot, const tide_replay_options *options,
                        const kind *what, uint64_t seed) {
    tide_replay *replay = NULL;
    tide_error error = {""};
    if (tide_replay_run(snapshot, options, &replay, &error) != TIDE_OK) {
        fail_msg("\"%s\", seed %llu: %s", what->settings, (unsigned long long)seed, error.message);
    }
    return replay;
}

/* Returns how many requests ran out of memory. */
static size_t comes_out(const kind *what, uint64_t seed) {
    size_t n_ooms = 0;
    tide_snapshot *snapshot = record(what, seed, &n_ooms);
    tide_replay *replay =
        run(snapshot, &(tide_replay_options){.verify = true, .keep_rows = true}, what, seed);
    if (!tide_replay_is_same(&replay->verified)) {
        fail_msg("kind %d \"%s\", seed %llu: %zu of %zu addresses; %s", (int)(what - KINDS),
                 what->settings, (unsigned long long)seed, replay->verified.n_allocs_same,
                 replay->verified.n_allocs, replay->verified.first_difference);
    }
    assert_true(replay->verified.n_allocs > 0);
    if (what->log_rows == 0) {
        assert_int_equal(replay->verified.n_ooms, n_ooms);
    }
    assert_int_equal(replay->n_rows, snapshot->n_events);
    tide_replay_destroy(replay);
    tide_snapshot_destroy(snapshot);
    return n_ooms;
}

static void recordings_come_out(void **state) {
    (void)state;
    size_t n_ooms = 0;
    uint64_t first = first_seed();
    uint64_t n_seeds = getenv("TIDEMARK_SEED") == NULL ? N_SEEDS : 1;
    for (uint64_t seed = first; seed < first + n_seeds; seed++) {
        for (size_t i = 0; i < N_KINDS; i++) {
            n_ooms += comes_out(&KINDS[i], seed);
        }
    }
    assert_true(n_ooms > 0);
}

/* ---- damage ---- */

static void damage(tide_snapshot *snapshot, program *of) {
    tide_event *rows = event_rows_of(snapshot);
    for (size_t n = 1 + next_random(of) % 6; n > 0; n--) {
        tide_event *row = &rows[next_random(of) % snapshot->n_events];
        const tide_event *other = &rows[next_random(of) % snapshot->n_events];
        switch (next_random(of) % 8) {
        case 0:
            row->action = (uint8_t)(next_random(of) % TIDE_N_ACTIONS);
            break;
        case 1:
            row->address = other->address;
            break;
        case 2:
            row->address = next_random(of) >> (2 + next_random(of) % 60);
            break;
        case 3:
            row->block_bytes = next_random(of) >> (2 + next_random(of) % 60);
            break;
        case 4:
            row->requested_bytes = next_random(of) >> (2 + next_random(of) % 60);
            break;
        case 5:
            row->stream = (uint8_t)(next_random(of) % snapshot->n_streams);
            break;
        default:
            *row = *other;
            break;
        }
    }
    event_rows_set(snapshot, rows, snapshot->n_events);
    free(rows);
}

/* The replay of any file that the reader accepts ends, with or without an error. */
static void damaged_recordings_end(void **state) {
    (void)state;
    program random = {.random = first_seed()};
    size_t n_run = 0;
    size_t n_refused = 0;
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t n_ooms = 0;
        tide_snapshot *snapshot = record(&KINDS[i], first_seed(), &n_ooms);
        const tide_event_table kept = snapshot->events;
        for (size_t n = 0; n < N_DAMAGED; n++) {
            char place[TIDE_PLACE_BYTES] = "";
            tide_replay *replay = NULL;
            tide_error error = {""};
            damage(snapshot, &random);
            if (tide_snapshot_validate(snapshot, place, NULL) == TIDE_OK) {
                tide_status status = tide_replay_run(
                    snapshot, &(tide_replay_options){.verify = n % 2 == 0, .n_samples = 2}, &replay,
                    &error);
                n_run++;
                n_refused += status == TIDE_OK ? 0 : 1;
                assert_true(status == TIDE_OK || error.message[0] != '\0');
                if (status == TIDE_OK) {
                    tide_replay_destroy(replay);
                }
            }
            snapshot->events = kept;
        }
        tide_snapshot_destroy(snapshot);
    }
    assert_true(n_refused > 0 && n_refused < n_run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_come_out),
        cmocka_unit_test(damaged_recordings_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
