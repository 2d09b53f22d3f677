/* test_cache_streams_random.c - random requests on several streams whose events are late, against a
 * plain model of which release waits for which stream. TIDEMARK_SEED=N repeats one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "common/map.h"

enum { N_STEPS = 2500, N_SEEDS = 5, N_SLOTS = 64, N_STREAMS = 5, MAX_BLOCKS = 4096 };

/* The life of one block, from its allocation to the completion of its release. */
typedef struct life {
    uint64_t address;
    uint64_t requested_bytes;
    uint64_t block_bytes;
    tide_stream stream;     /* allocated on */
    bool users[N_STREAMS];  /* other streams that use it, and after the release the streams it waits
                               for */
    size_t late[N_STREAMS]; /* after the release: queries that its event on that stream still
                               answers with "not ready" */
    bool is_waiting;        /* released */
} life;

/* The events that one stream has not reached, oldest first, as numbers of lives. */
typedef struct line {
    size_t of[MAX_BLOCKS];
    size_t first;
    size_t end;
} line;

typedef struct walk {
    fixture on;
    life lifetimes[MAX_BLOCKS]; /* of the whole test */
    size_t n_lifetimes;
    size_t slots[N_SLOTS]; /* number of an allocated life, + 1; 0: none */
    line lines[N_STREAMS];
    size_t n_queries; /* queries that the device should have seen */
    uint64_t random;
    size_t n_waited; /* lives that an allocation found still waiting */
    size_t n_waited_for;
    size_t n_refused;
} walk;

static uint64_t next_random(walk *of) {
    of->random = tide_hash_u64(of->random + 0x9e3779b97f4a7c15u);
    return of->random;
}

static void reach_first(walk *of, size_t stream) {
    line *waiting = &of->lines[stream];
    of->lifetimes[waiting->of[waiting->first++]].users[stream] = false;
}

static bool is_done(const life *one) {
    for (size_t s = 0; s < N_STREAMS; s++) {
        if (one->users[s]) {
            return false;
        }
    }
    return true;
}

/* Ends the lives that no longer wait for any stream. */
static void complete(walk *of) {
    for (size_t i = 0; i < of->n_lifetimes; i++) {
        if (of->lifetimes[i].is_waiting && is_done(&of->lifetimes[i])) {
            of->lifetimes[i].is_waiting = false;
        }
    }
}

/* Does what the cache does at the beginning of an allocation. */
static void model_poll(walk *of) {
    for (size_t s = 0; s < N_STREAMS; s++) {
        line *waiting = &of->lines[s];
        while (waiting->first < waiting->end) {
            size_t *late = &of->lifetimes[waiting->of[waiting->first]].late[s];
            of->n_queries++;
            if ((of->on.device.held_streams >> s & 1) != 0 || *late > 0) {
                *late -= (of->on.device.held_streams >> s & 1) != 0 ? 0 : 1;
                of->n_waited++;
                break;
            }
            reach_first(of, s);
        }
    }
    complete(of);
}

static void model_synchronize(walk *of) {
    for (size_t s = 0; s < N_STREAMS; s++) {
        while (of->lines[s].first < of->lines[s].end) {
            reach_first(of, s);
        }
    }
    complete(of);
}

/* Call this after a call that may have waited for all streams. */
static void follow_synchronize(walk *of) {
    if (of->on.device.n_waited_for != of->n_waited_for) {
        of->n_waited_for = of->on.device.n_waited_for;
        model_synchronize(of);
    }
}

static int64_t allocated_bytes(walk *of) {
    return fixture_stats(&of->on).allocated_bytes[TIDE_POOL_ALL].current;
}

static bool is_held(const life *one, size_t index, const walk *of) {
    if (one->is_waiting) {
        return true;
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        if (of->slots[i] == index + 1) {
            return true;
        }
    }
    return false;
}

static void check_new_block(const walk *of, const life *made) {
    for (size_t i = 0; i < of->n_lifetimes; i++) {
        const life *other = &of->lifetimes[i];
        if (is_held(other, i, of) && made->address < other->address + other->block_bytes &&
            other->address < made->address + made->block_bytes) {
            fail_msg("0x%llx was handed out while it is in use", (unsigned long long)made->address);
        }
    }
    const tide_cache_block *block = tide_cache_table_find(&of->on.cache->live, made->address);
    assert_non_null(block);
    assert_true(block->segment->stream == made->stream);
    assert_true(made->block_bytes >= made->requested_bytes);
}

static void step_alloc(walk *of, size_t slot) {
    uint64_t random = next_random(of);
    life made = {.stream = random % 3};
    made.requested_bytes =
        (random >> 8) % 3 == 0 ? (random >> 16) % (7 * MIB) + 1 : (random >> 16) % 60000 + 1;
    int64_t before = allocated_bytes(of);
    tide_status status = tide_cache_alloc(of->on.cache, made.requested_bytes, made.stream, NULL,
                                          &made.address, &of->on.error);
    model_poll(of);
    follow_synchronize(of);
    if (status != TIDE_OK) {
        assert_int_equal(status, TIDE_DEVICE_OOM);
        of->n_refused++;
        return;
    }
    made.block_bytes = (uint64_t)(allocated_bytes(of) - before);
    check_new_block(of, &made);
    assert_true(of->n_lifetimes < MAX_BLOCKS);
    of->lifetimes[of->n_lifetimes++] = made;
    of->slots[slot] = of->n_lifetimes;
}

static void step_use(walk *of, life *one) {
    size_t stream = (size_t)(next_random(of) % N_STREAMS);
    fixture_record_stream(&of->on, one->address, stream);
    one->users[stream] = one->users[stream] || stream != one->stream;
}

static void step_release(walk *of, size_t slot) {
    size_t index = of->slots[slot] - 1;
    life *one = &of->lifetimes[index];
    uint64_t random = next_random(of);
    bool fails = random % 16 == 0 && !is_done(one);
    size_t n_recorded = of->on.device.n_recorded;
    of->on.device.late_queries = (random >> 8) % 4;
    of->on.device.fail_call = fails ? of->on.device.n_calls + 1 : 0;
    tide_status status = tide_cache_release(of->on.cache, one->address, &of->on.error);
    of->on.device.fail_call = 0;
    if (fails) {
        assert_int_equal(status, TIDE_DEVICE_FAILED);
        return; /* the block stays allocated */
    }
    assert_int_equal(status, TIDE_OK);
    for (size_t s = 0; s < N_STREAMS; s++) {
        if (one->users[s]) {
            one->late[s] = of->on.device.late_queries;
            of->lines[s].of[of->lines[s].end++] = index;
            n_recorded++;
        }
    }
    assert_int_equal(of->on.device.n_recorded, n_recorded);
    one->is_waiting = !is_done(one);
    of->slots[slot] = 0;
}

static void step(walk *of) {
    uint64_t random = next_random(of);
    size_t slot = (size_t)(random % N_SLOTS);
    if ((random >> 8) % 8 == 0) {
        of->on.device.held_streams = next_random(of) & next_random(of) & 31;
    }
    if ((random >> 16) % 300 == 0) {
        assert_int_equal(tide_cache_empty(of->on.cache, &of->on.error), TIDE_OK);
        follow_synchronize(of);
    } else if (of->slots[slot] == 0) {
        step_alloc(of, slot);
    } else if ((random >> 24) % 3 != 0) {
        step_use(of, &of->lifetimes[of->slots[slot] - 1]);
    } else {
        step_release(of, slot);
    }
}

static void compare(walk *of) {
    int64_t n_allocated = 0;
    int64_t n_active = 0;
    int64_t bytes[3] = {0, 0, 0}; /* allocated, active, requested */
    size_t n_waiting = 0;
    for (size_t i = 0; i < of->n_lifetimes; i++) {
        const life *one = &of->lifetimes[i];
        if (!is_held(one, i, of)) {
            continue;
        }
        const tide_cache_block *block = tide_cache_table_find(&of->on.cache->live, one->address);
        assert_non_null(block);
        assert_int_equal(block->state,
                         one->is_waiting ? TIDE_BLOCK_PENDING_FREE : TIDE_BLOCK_ALLOCATED);
        n_active++;
        bytes[1] += (int64_t)one->block_bytes;
        bytes[2] += (int64_t)one->requested_bytes;
        if (!one->is_waiting) {
            n_allocated++;
            bytes[0] += (int64_t)one->block_bytes;
        }
    }
    for (size_t s = 0; s < N_STREAMS; s++) {
        n_waiting += of->lines[s].end - of->lines[s].first;
    }
    tide_cache_stats stats = fixture_stats(&of->on);
    assert_int_equal(stats.allocation[TIDE_POOL_ALL].current, n_allocated);
    assert_int_equal(stats.active[TIDE_POOL_ALL].current, n_active);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, bytes[0]);
    assert_int_equal(stats.active_bytes[TIDE_POOL_ALL].current, bytes[1]);
    assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].current, bytes[2]);
    assert_int_equal(of->on.cache->streams.n_waiting, n_waiting);
    assert_int_equal(of->on.device.n_queries, of->n_queries);
}

/* The sum of the rows, now and at its peak. */
typedef struct total {
    int64_t now;
    int64_t peak;
} total;

static void add(total *to, int64_t n_bytes) {
    to->now += n_bytes;
    to->peak = to->now > to->peak ? to->now : to->peak;
}

/* The rows must add up to the statistics, and each request completes at most once, and later. */
static void compare_rows(walk *of) {
    tide_cache_state now;
    total allocated = {0, 0};
    total active = {0, 0};
    total requested = {0, 0};
    int64_t n_pending = 0;
    assert_int_equal(tide_cache_copy_state(of->on.cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.recording.n_dropped, 0);
    for (size_t i = 0; i < now.recording.n_events; i++) {
        const tide_event *row = &now.recording.events[i];
        int64_t n_bytes = (int64_t)row->block_bytes;
        bool is_free = row->action == TIDE_ACTION_FREE;
        bool is_request = row->action == TIDE_ACTION_FREE_REQUESTED;
        bool is_completion = row->action == TIDE_ACTION_FREE_COMPLETED;
        int64_t sign = row->action == TIDE_ACTION_ALLOC ? 1 : 0;
        add(&allocated, (sign - (is_free || is_request ? 1 : 0)) * n_bytes);
        sign -= is_free || is_completion ? 1 : 0;
        add(&active, sign * n_bytes);
        add(&requested, sign * (int64_t)row->requested_bytes);
        n_pending += (is_request ? 1 : 0) - (is_completion ? 1 : 0);
        assert_true(n_pending >= 0);
    }
    tide_cache_stats stats = fixture_stats(&of->on);
    assert_int_equal(n_pending, stats.active[0].current - stats.allocation[0].current);
    assert_int_equal(stats.allocated_bytes[0].current, allocated.now);
    assert_int_equal(stats.allocated_bytes[0].peak, allocated.peak);
    assert_int_equal(stats.active_bytes[0].current, active.now);
    assert_int_equal(stats.active_bytes[0].peak, active.peak);
    assert_int_equal(stats.requested_bytes[0].peak, requested.peak);
    assert_true(active.peak >= allocated.peak);
    tide_cache_state_fini(&now);
}

typedef struct setup {
    const char *settings;
    uint64_t capacity_bytes; /* 0: unlimited */
    size_t limit_bytes;      /* 0: none */
} setup;

static const setup SETUPS[] = {
    {"", 0, 0},
    {"", 80 * MIB, 0},
    {"roundup_power2_divisions:4,large_segment_size_mb:12", 0, 90 * MIB},
    {"garbage_collection_threshold:0.5,max_split_size_mb:20", 0, 90 * MIB},
};
enum { N_SETUPS = sizeof(SETUPS) / sizeof(SETUPS[0]) };

static void walk_under(const setup *under, uint64_t seed) {
    static walk of;
    of = (walk){.random = seed};
    printf("settings \"%s\", seed %llu\n", under->settings, (unsigned long long)seed);
    fixture_open(&of.on, under->capacity_bytes, under->limit_bytes, under->settings);
    for (int i = 0; i < N_STEPS; i++) {
        step(&of);
        fixture_check(&of.on);
        compare(&of);
    }
    compare_rows(&of);
    assert_true(of.n_waited > 100 && of.n_waited_for > 0);
    assert_int_equal(of.n_refused > 0, under->capacity_bytes != 0 || under->limit_bytes != 0);
    assert_true(of.on.device.n_created < of.on.device.n_recorded / 2); /* most are used again */
    fixture_close(&of.on);
    assert_int_equal(of.on.device.n_events, 0);
    assert_int_equal(of.on.device.n_segments, 0);
}

static void random_streams_agree_with_the_model(void **state) {
    (void)state;
    const char *text = getenv("TIDEMARK_SEED");
    for (size_t i = 0; i < N_SETUPS; i++) {
        for (uint64_t n = 0; n < (text != NULL ? 1 : N_SEEDS); n++) {
            walk_under(&SETUPS[i], text != NULL ? strtoull(text, NULL, 10) : 100 * i + n);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_streams_agree_with_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
