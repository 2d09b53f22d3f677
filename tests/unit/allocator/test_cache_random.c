/* test_cache_random.c - random requests under many settings, with every invariant checked after
 * each step. TIDEMARK_SEED=N repeats one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "common/map.h"

enum { N_STEPS = 2600, N_SLOTS = 96, N_SEEDS = 6 };

typedef struct setup {
    const char *settings;
    uint64_t capacity_bytes; /* 0: unlimited */
    size_t limit_bytes;      /* 0: none */
    uint64_t fail_every;     /* 0: never; n: one device call in n fails */
} setup;

static const setup SETUPS[] = {
    {"", 0, 0, 0},
    {"", 400 * MIB, 0, 0},
    {"", 0, 300 * MIB, 0},
    {"garbage_collection_threshold:0.6", 0, 400 * MIB, 0},
    {"max_split_size_mb:24,max_non_split_rounding_mb:20", 500 * MIB, 400 * MIB, 0},
    {"roundup_power2_divisions:[1:2,4:4,>:8],large_segment_size_mb:12,max_split_size_mb:20", 0,
     300 * MIB, 0},
    {"garbage_collection_threshold:0.3,max_split_size_mb:20,per_process_memory_fraction:0.9",
     500 * MIB, 0, 7},
    {"expandable_segments:True", 0, 0, 0},
    {"expandable_segments:True", 400 * MIB, 0, 0},
    {"expandable_segments:True,large_segment_size_mb:12", 0, 300 * MIB, 0},
    {"expandable_segments:True,garbage_collection_threshold:0.3,max_split_size_mb:24,"
     "roundup_power2_divisions:4",
     500 * MIB, 400 * MIB, 5},
};
enum { N_SETUPS = sizeof(SETUPS) / sizeof(SETUPS[0]) };

/* A request: small, around the limits between pools and segments, or large. */
static size_t random_bytes(uint64_t random) {
    switch (random % 8) {
    case 0:
    case 1:
    case 2:
        return (size_t)(random >> 8) % 20000 + 1;
    case 3:
        return MIB - 2048 + (size_t)(random >> 8) % 4096;
    case 4:
        return 10 * MIB - 2048 + (size_t)(random >> 8) % 4096;
    case 5:
        return (size_t)(random >> 8) % (40 * MIB) + 1;
    default:
        return (size_t)(random >> 8) % (6 * MIB) + 1;
    }
}

typedef struct walk {
    fixture on;
    uint64_t live[N_SLOTS];    /* addresses; 0: none */
    uint64_t n_bytes[N_SLOTS]; /* as requested */
    uint64_t random;
    size_t n_refused;
} walk;

static uint64_t next_random(walk *of) {
    of->random = tide_hash_u64(of->random + 0x9e3779b97f4a7c15u);
    return of->random;
}

static void plant_failures(walk *of, const setup *under) {
    tide_device_fault *device = &of->on.device;
    bool fails = under->fail_every != 0 && next_random(of) % under->fail_every == 0;
    device->alloc_status = next_random(of) % 2 == 0 ? TIDE_DEVICE_OOM : TIDE_DEVICE_FAILED;
    device->fail_alloc_from = fails ? device->n_allocs + 1 : 0;
    device->fail_alloc_to = device->n_allocs + 1;
    device->fail_release_from = fails ? device->n_releases + 1 : 0;
    device->fail_release_to = device->n_releases + 1;
    device->fail_map_from = fails ? device->n_maps + 1 + next_random(of) % 2 : 0;
    device->fail_map_to = device->fail_map_from;
    device->fail_unmap_from = fails ? device->n_unmaps + 1 + next_random(of) % 4 : 0;
    device->fail_unmap_to = device->fail_unmap_from;
}

static void step(walk *of, const setup *under) {
    uint64_t random = next_random(of);
    size_t slot = (size_t)(random % N_SLOTS);
    plant_failures(of, under);
    if (of->live[slot] != 0) {
        fixture_release(&of->on, of->live[slot]);
        of->live[slot] = 0;
    } else if ((random >> 20) % 200 == 0) {
        tide_status status = tide_cache_empty(of->on.cache, &of->on.error);
        assert_true(status == TIDE_OK || under->fail_every != 0);
    } else {
        size_t n_bytes = random_bytes(next_random(of));
        tide_status status = tide_cache_alloc(of->on.cache, n_bytes, (random >> 32) % 3, NULL,
                                              &of->live[slot], &of->on.error);
        of->n_bytes[slot] = n_bytes;
        of->n_refused += status == TIDE_OK ? 0 : 1;
        assert_true(status == TIDE_OK || status == TIDE_DEVICE_OOM ||
                    (under->fail_every != 0 && status == TIDE_DEVICE_FAILED));
    }
}

/* Compares the cache with the walk's own sums, and with the limits. */
static void compare(walk *of) {
    const tide_cache_config *config = tide_cache_get_config(of->on.cache);
    tide_cache_stats stats = fixture_stats(&of->on);
    uint64_t requested_bytes = 0;
    int64_t n_live = 0;
    for (size_t i = 0; i < N_SLOTS; i++) {
        requested_bytes += of->live[i] != 0 ? of->n_bytes[i] : 0;
        n_live += of->live[i] != 0 ? 1 : 0;
    }
    assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].current, requested_bytes);
    assert_int_equal(stats.allocation[TIDE_POOL_ALL].current, n_live);
    assert_true((uint64_t)stats.reserved_bytes[TIDE_POOL_ALL].peak <= config->memory_limit_bytes);
}

/* The rows must add up to the statistics. */
static void compare_rows(walk *of) {
    tide_cache_state now;
    int64_t allocated_bytes = 0;
    int64_t reserved_bytes = 0;
    int64_t peak_bytes = 0;
    assert_int_equal(tide_cache_copy_state(of->on.cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.recording.n_dropped, 0);
    for (size_t i = 0; i < now.recording.n_events; i++) {
        const tide_event *row = &now.recording.events[i];
        int64_t n_bytes = (int64_t)row->block_bytes;
        allocated_bytes += row->action == TIDE_ACTION_ALLOC  ? n_bytes
                           : row->action == TIDE_ACTION_FREE ? -n_bytes
                                                             : 0;
        reserved_bytes += row->action == TIDE_ACTION_SEGMENT_ALLOC   ? n_bytes
                          : row->action == TIDE_ACTION_SEGMENT_FREE  ? -n_bytes
                          : row->action == TIDE_ACTION_SEGMENT_MAP   ? n_bytes
                          : row->action == TIDE_ACTION_SEGMENT_UNMAP ? -n_bytes
                                                                     : 0;
        peak_bytes = allocated_bytes > peak_bytes ? allocated_bytes : peak_bytes;
        assert_true(allocated_bytes <= reserved_bytes);
    }
    tide_cache_stats stats = fixture_stats(&of->on);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, allocated_bytes);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].peak, peak_bytes);
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_ALL].current, reserved_bytes);
    reserved_bytes = 0;
    for (size_t i = 0; i < now.n_segments; i++) {
        reserved_bytes += (int64_t)now.segments[i].total_bytes;
        assert_true(now.segments[i].is_expandable ==
                    tide_cache_get_config(of->on.cache)->expandable_segments);
    }
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_ALL].current, reserved_bytes);
    tide_cache_state_fini(&now);
}

static size_t walk_under(const setup *under, uint64_t seed, int n_steps) {
    static walk of;
    of = (walk){.random = seed};
    fixture_open(&of.on, under->capacity_bytes, under->limit_bytes, under->settings);
    for (int i = 0; i < n_steps; i++) {
        step(&of, under);
        fixture_check(&of.on);
        compare(&of);
    }
    compare_rows(&of);
    of.on.device.fail_release_from = 0;
    of.on.device.fail_unmap_from = 0;
    for (size_t i = 0; i < N_SLOTS; i++) {
        if (of.live[i] != 0) {
            fixture_release(&of.on, of.live[i]);
        }
    }
    assert_int_equal(tide_cache_empty(of.on.cache, NULL), TIDE_OK);
    assert_int_equal(fixture_stats(&of.on).reserved_bytes[TIDE_POOL_ALL].current, 0);
    assert_int_equal(of.on.device.mapped_bytes, 0);
    if (!tide_cache_get_config(of.on.cache)->expandable_segments) {
        assert_int_equal(of.on.cache->n_segments, 0);
    } /* otherwise reserved addresses of failed attempts may remain */
    fixture_close(&of.on);
    assert_int_equal(of.on.device.n_ranges, 0);
    return of.n_refused;
}

static void random_requests_keep_every_invariant(void **state) {
    (void)state;
    const char *text = getenv("TIDEMARK_SEED");
    for (size_t i = 0; i < N_SETUPS; i++) {
        for (uint64_t n = 0; n < (text != NULL ? 1 : N_SEEDS); n++) {
            uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1000 * i + n;
            printf("settings \"%s\", seed %llu\n", SETUPS[i].settings, (unsigned long long)seed);
            size_t n_refused = walk_under(&SETUPS[i], seed, N_STEPS);
            bool can_refuse = SETUPS[i].capacity_bytes != 0 || SETUPS[i].limit_bytes != 0;
            assert_true(n_refused < N_STEPS / 4);
            assert_int_equal(can_refuse, n_refused > 0);
        }
    }
}

/* Combines every setting with every other one, on a small device whose calls also fail. */
static void every_combination_of_settings_keeps_them(void **state) {
    (void)state;
    static const char *const SETTINGS[] = {
        "expandable_segments:True,",
        "roundup_power2_divisions:[1:2,4:4,>:8],",
        "max_split_size_mb:24,max_non_split_rounding_mb:20,",
        "garbage_collection_threshold:0.4,",
        "large_segment_size_mb:12,",
        "per_process_memory_fraction:0.8,",
    };
    enum { N_BITS = sizeof(SETTINGS) / sizeof(SETTINGS[0]) };
    for (unsigned bits = 0; bits < 1u << (N_BITS + 1); bits++) {
        char text[512] = "";
        for (unsigned i = 0; i < N_BITS; i++) {
            strcat(text, (bits >> i & 1) != 0 ? SETTINGS[i] : "");
        }
        const bool fails = (bits >> N_BITS & 1) != 0;
        const setup under = {text, 300 * MIB, 250 * MIB, fails ? 9 : 0};
        printf("settings \"%s\"%s\n", text, fails ? ", failing" : "");
        (void)walk_under(&under, bits, 300);
    }
}

/* The same requests give the same blocks at the same addresses on cpu and virtual. */
static void compare_cpu_and_virtual(bool is_expandable) {
    static const char *const SPECS[] = {"cpu", "virtual"};
    tide_device *devices[2] = {NULL, NULL};
    tide_cache *caches[2] = {NULL, NULL};
    static walk of;
    of = (walk){.random = 5};
    tide_cache_config config;
    tide_cache_config_init(&config);
    config.expandable_segments = is_expandable;
    for (int d = 0; d < 2; d++) {
        tide_device_options options = {.capacity_bytes = 300 * MIB};
        assert_int_equal(tide_device_open(SPECS[d], &options, &devices[d], NULL), TIDE_OK);
        assert_int_equal(tide_cache_create(devices[d], NULL, &config, &caches[d], NULL), TIDE_OK);
    }
    for (int i = 0; i < N_STEPS; i++) {
        size_t slot = (size_t)(next_random(&of) % N_SLOTS);
        size_t n_bytes = random_bytes(next_random(&of));
        uint64_t addresses[2] = {0, 0};
        for (int d = 0; d < 2; d++) {
            if (of.live[slot] != 0) {
                assert_int_equal(tide_cache_release(caches[d], of.live[slot], NULL), TIDE_OK);
            } else {
                tide_status status =
                    tide_cache_alloc(caches[d], n_bytes, 0, NULL, &addresses[d], NULL);
                assert_true(status == TIDE_OK || status == TIDE_DEVICE_OOM);
            }
        }
        assert_true(addresses[0] == addresses[1]);
        if (addresses[0] != 0) { /* the cpu device has real memory */
            memset(tide_device_pointer(devices[0], addresses[0]), 1, 1);
            memset((char *)tide_device_pointer(devices[0], addresses[0]) + n_bytes - 1, 1, 1);
        }
        of.live[slot] = addresses[0];
    }
    for (int d = 0; d < 2; d++) {
        tide_cache_destroy(caches[d]);
        tide_device_close(devices[d]);
    }
}

static void cpu_and_virtual_hand_out_the_same_blocks(void **state) {
    (void)state;
    compare_cpu_and_virtual(false);
    compare_cpu_and_virtual(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests_keep_every_invariant),
        cmocka_unit_test(every_combination_of_settings_keeps_them),
        cmocka_unit_test(cpu_and_virtual_hand_out_the_same_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
