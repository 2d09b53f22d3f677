/* cache_fixture.h - a cache on a virtual device wrapped by the failing decorator, and a recorder
 * without stacks. For tests that include cmocka.h.
 */
#ifndef TIDE_TESTS_CACHE_FIXTURE_H
#define TIDE_TESTS_CACHE_FIXTURE_H

#include "allocator/cache_internal.h"
#include "support/device_fault.h"

#define MIB ((size_t)1 << 20)

typedef struct fixture {
    tide_device *inner; /* owned */
    tide_device_fault device;
    tide_recorder *recorder; /* owned */
    tide_cache *cache;       /* owned */
    tide_error error;        /* of the last call below */
} fixture;

/* capacity_bytes 0: unlimited; limit_bytes 0: none; `settings` as for tide_cache_config_parse. */
static inline void fixture_open(fixture *on, uint64_t capacity_bytes, size_t limit_bytes,
                                const char *settings) {
    tide_device_options options = {.capacity_bytes = capacity_bytes};
    tide_recorder_config recording;
    tide_cache_config config;
    *on = (fixture){.inner = NULL};
    tide_recorder_config_init(&recording);
    recording.capture_stacks = false;
    recording.log_bytes = MIB;
    tide_cache_config_init(&config);
    config.memory_limit_bytes = limit_bytes == 0 ? TIDE_UNLIMITED : limit_bytes;
    assert_int_equal(tide_cache_config_parse(&config, settings, &on->error), TIDE_OK);
    assert_int_equal(tide_device_open("virtual", &options, &on->inner, NULL), TIDE_OK);
    tide_device_fault_init(&on->device, on->inner);
    assert_int_equal(tide_recorder_create(&recording, &on->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(&on->device.base, on->recorder, &config, &on->cache, NULL),
                     TIDE_OK);
}

static inline void fixture_check(fixture *on) {
    if (tide_cache_check(on->cache, &on->error) != TIDE_OK) {
        fail_msg("%s", on->error.message);
    }
}

static inline void fixture_close(fixture *on) {
    fixture_check(on);
    tide_cache_destroy(on->cache);
    tide_recorder_destroy(on->recorder);
    tide_device_close(on->inner);
}

static inline uint64_t fixture_alloc_on(fixture *on, size_t n_bytes, tide_stream stream) {
    uint64_t address = 0;
    tide_status status = tide_cache_alloc(on->cache, n_bytes, stream, NULL, &address, &on->error);
    if (status != TIDE_OK) {
        fail_msg("%zu bytes: %s", n_bytes, on->error.message);
    }
    return address;
}

static inline uint64_t fixture_alloc(fixture *on, size_t n_bytes) {
    return fixture_alloc_on(on, n_bytes, 0);
}

static inline void fixture_release(fixture *on, uint64_t address) {
    if (tide_cache_release(on->cache, address, &on->error) != TIDE_OK) {
        fail_msg("%s", on->error.message);
    }
}

static inline void fixture_record_stream(fixture *on, uint64_t address, tide_stream stream) {
    if (tide_cache_record_stream(on->cache, address, stream, &on->error) != TIDE_OK) {
        fail_msg("%s", on->error.message);
    }
}

static inline tide_cache_stats fixture_stats(fixture *on) {
    tide_cache_stats stats;
    tide_cache_get_stats(on->cache, &stats);
    return stats;
}

/* The actions recorded so far, one letter each: a alloc, f free, q free_requested, c
 * free_completed, S segment_alloc, R segment_free, M segment_map, U segment_unmap, o oom, ?
 * anything else. */
static inline void fixture_actions(fixture *on, char *text, size_t n_bytes) {
    tide_cache_state state;
    size_t n = 0;
    assert_int_equal(tide_cache_copy_state(on->cache, NULL, &state, NULL), TIDE_OK);
    for (size_t i = 0; i < state.recording.n_events && n + 1 < n_bytes; i++) {
        switch (state.recording.events[i].action) {
        case TIDE_ACTION_ALLOC:
            text[n++] = 'a';
            break;
        case TIDE_ACTION_FREE:
            text[n++] = 'f';
            break;
        case TIDE_ACTION_FREE_REQUESTED:
            text[n++] = 'q';
            break;
        case TIDE_ACTION_FREE_COMPLETED:
            text[n++] = 'c';
            break;
        case TIDE_ACTION_SEGMENT_ALLOC:
            text[n++] = 'S';
            break;
        case TIDE_ACTION_SEGMENT_FREE:
            text[n++] = 'R';
            break;
        case TIDE_ACTION_SEGMENT_MAP:
            text[n++] = 'M';
            break;
        case TIDE_ACTION_SEGMENT_UNMAP:
            text[n++] = 'U';
            break;
        case TIDE_ACTION_OOM:
            text[n++] = 'o';
            break;
        default:
            text[n++] = '?';
        }
    }
    text[n] = '\0';
    tide_cache_state_fini(&state);
}

#endif
