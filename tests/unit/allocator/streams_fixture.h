/* streams_fixture.h - blocks that a second stream uses, and the checks of the tests about them. For
 * tests that include cmocka.h.
 */
#ifndef TIDE_TESTS_STREAMS_FIXTURE_H
#define TIDE_TESTS_STREAMS_FIXTURE_H

#include <string.h>

#include "cache_fixture.h"

static inline void expect_actions(fixture *on, const char *wanted) {
    char actions[256];
    fixture_actions(on, actions, sizeof(actions));
    assert_string_equal(actions, wanted);
}

/* Allocated and active bytes now, of both pools. */
static inline void expect_bytes(fixture *on, int64_t allocated_bytes, int64_t active_bytes) {
    tide_cache_stats stats = fixture_stats(on);
    fixture_check(on);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, allocated_bytes);
    assert_int_equal(stats.active_bytes[TIDE_POOL_ALL].current, active_bytes);
}

/* A block of stream 0 that stream `user` uses. */
static inline uint64_t alloc_used(fixture *on, size_t n_bytes, tide_stream user) {
    uint64_t address = fixture_alloc(on, n_bytes);
    fixture_record_stream(on, address, user);
    return address;
}

static inline void expect_text(const fixture *on, const char *text) {
    if (strstr(on->error.message, text) == NULL) {
        fail_msg("no \"%s\" in: %s", text, on->error.message);
    }
}

#endif
