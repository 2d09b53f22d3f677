/* test_threads.c - four threads allocate, release each other's blocks and open scopes while a fifth
 * writes snapshots: each snapshot is readable and consistent, and adds up.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/validate.h"

enum { N_THREADS = 4, N_ROUNDS = 1500, N_SLOTS = 32, MIN_SNAPSHOTS = 3 };

typedef struct shared_state {
    tide_recorder *recorder;
    tide_cache *cache;
    /* Live blocks: the address, a multiple of 512, plus the number of the thread that allocated it;
     * 0: none. The thread that takes a block out releases it. */
    _Atomic uint64_t slots[N_SLOTS];
    pthread_barrier_t start; /* starts all threads at once */
    atomic_int n_crossed;    /* blocks that another thread released */
    atomic_int n_running;
    atomic_int n_failed;    /* failed calls */
    atomic_bool is_stopped; /* enough snapshots were taken */
    char folder[32];
} shared_state;

/* The arguments of one thread. */
typedef struct worker {
    shared_state *shared;
    uint64_t number;
} worker;

static void expect_ok(shared_state *shared, tide_status status) {
    if (status != TIDE_OK) {
        atomic_fetch_add(&shared->n_failed, 1);
    }
}

/* Allocates a block, leaves it in a slot that all threads share, and releases what was there.
 * Returns the address of the block, which may be released by now. */
static uint64_t exchange(shared_state *shared, uint64_t number, uint64_t round) {
    static const size_t SIZES[] = {700, 40000, 3 << 20, 1 << 20, 12 << 20};
    char name[32];
    uint64_t address = 0;
    (void)snprintf(name, sizeof(name), "thread.%d.%d", (int)number, (int)(round % 8));
    const tide_tag tag = {(tide_category)(round % TIDE_N_CATEGORIES), name};
    expect_ok(shared,
              tide_cache_alloc(shared->cache, SIZES[round % 5] + number, 0, &tag, &address, NULL));
    uint64_t slot = (round * 7 + number * 5) % N_SLOTS;
    uint64_t before = atomic_exchange(&shared->slots[slot], address | number);
    if (before != 0 && before % N_THREADS != number) {
        atomic_fetch_add(&shared->n_crossed, 1);
    }
    expect_ok(shared, tide_cache_release(shared->cache, before / N_THREADS * N_THREADS, NULL));
    return address;
}

/* Whatever the scheduling of the threads. */
static bool is_enough(shared_state *shared) {
    return atomic_load(&shared->is_stopped) && atomic_load(&shared->n_crossed) > N_ROUNDS;
}

static void *work(void *argument) {
    const worker *me = argument;
    shared_state *shared = me->shared;
    (void)pthread_barrier_wait(&shared->start);
    tide_error error = {""};
    for (uint64_t i = 0; i < N_ROUNDS || !is_enough(shared); i++) {
        (void)sched_yield(); /* lets the others run, also on few cores */
        tide_scope outer = tide_scope_begin(shared->recorder, TIDE_SCOPE_STEP, "step", (int32_t)i);
        uint64_t address = exchange(shared, me->number, i);
        tide_scope inner = tide_scope_begin(shared->recorder, TIDE_SCOPE_OPERATOR, "exchange", -1);
        (void)exchange(shared, me->number, i + 3);
        tide_scope_end(shared->recorder, i % 2 == 0 ? inner : outer);
        if (i % 50 == 0) {
            expect_ok(shared, tide_cache_empty(shared->cache, NULL));
        }
        if (i % 5 == 0) {
            /* A refusal reads the recording while the others write it. */
            if (tide_cache_release(shared->cache, address + 1, &error) != TIDE_INVALID) {
                atomic_fetch_add(&shared->n_failed, 1);
            }
        }
        tide_scope_end(shared->recorder, outer);
    }
    atomic_fetch_sub(&shared->n_running, 1);
    return NULL;
}

/* Compares the end of the file by its rows with the end by its segments. */
static void expect_agreement(const tide_snapshot *snapshot) {
    tide_error error = {""};
    tide_summary *summary = NULL;
    char place[TIDE_PLACE_BYTES] = "";
    if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK ||
        tide_summary_create(snapshot, &summary, &error) != TIDE_OK) {
        fail_msg("%s: %s", place, error.message);
    }
    int64_t requested_bytes = 0;
    int64_t allocated_bytes = 0;
    int64_t reserved_bytes = 0;
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        reserved_bytes += (int64_t)snapshot->end_segments[i].total_bytes;
    }
    for (size_t i = 0; i < snapshot->n_end_blocks; i++) {
        const tide_block_row *block = &snapshot->end_blocks[i];
        requested_bytes += (int64_t)block->requested_bytes;
        allocated_bytes += block->state == TIDE_BLOCK_FREE ? 0 : (int64_t)block->block_bytes;
    }
    assert_int_equal(summary->n_devices, 1);
    const tide_summary_device *device = &summary->devices[0];
    assert_int_equal(device->n_unmatched, 0);
    assert_int_equal(device->end.requested_bytes, requested_bytes);
    assert_int_equal(device->end.allocated_bytes, allocated_bytes);
    assert_int_equal(device->end.reserved_bytes, reserved_bytes);
    tide_summary_destroy(summary);
}

static void take_snapshot(shared_state *shared) {
    char path[64];
    tide_error error = {""};
    tide_snapshot *snapshot = NULL;
    (void)snprintf(path, sizeof(path), "%s/run.json.gz", shared->folder);
    tide_status status = tide_snapshot_write(shared->recorder, shared->cache, path, &error);
    if (status == TIDE_OK) {
        status = tide_snapshot_load(path, NULL, &snapshot, &error);
    }
    if (status != TIDE_OK) {
        fail_msg("%s: %s", tide_status_text(status), error.message);
    }
    expect_agreement(snapshot);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(path), 0);
}

/* `n_events`: capacity of the log; a small one wraps while it is copied. */
static void run(shared_state *shared, size_t n_events) {
    tide_device *device = NULL;
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = n_events * sizeof(tide_event);
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(&config, &shared->recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(device, shared->recorder, NULL, &shared->cache, NULL),
                     TIDE_OK);
    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    atomic_store(&shared->n_running, N_THREADS);
    assert_int_equal(pthread_barrier_init(&shared->start, NULL, N_THREADS), 0);
    for (uint64_t i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){shared, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t n = 0; n < MIN_SNAPSHOTS; n++) {
        take_snapshot(shared);
    }
    atomic_store(&shared->is_stopped, true);
    while (atomic_load(&shared->n_running) > 0) {
        take_snapshot(shared);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(pthread_barrier_destroy(&shared->start), 0);
    assert_int_equal(atomic_load(&shared->n_failed), 0);
    assert_true(atomic_load(&shared->n_crossed) > N_ROUNDS);
    assert_int_equal(tide_cache_check(shared->cache, NULL), TIDE_OK);
    take_snapshot(shared);
    for (size_t i = 0; i < N_SLOTS; i++) {
        uint64_t address = shared->slots[i] / N_THREADS * N_THREADS;
        assert_int_equal(tide_cache_release(shared->cache, address, NULL), TIDE_OK);
    }
    assert_int_equal(tide_cache_check(shared->cache, NULL), TIDE_OK);
    tide_cache_destroy(shared->cache);
    tide_recorder_destroy(shared->recorder);
    tide_device_close(device);
}

static void run_with_log(size_t n_events) {
    shared_state shared = {.recorder = NULL, .folder = "/tmp/tidemark-threads-XXXXXX"};
    assert_non_null(mkdtemp(shared.folder));
    run(&shared, n_events);
    assert_int_equal(rmdir(shared.folder), 0);
}

static void snapshots_are_taken_while_threads_allocate(void **state) {
    (void)state;
    run_with_log((size_t)1 << 18);
}

static void and_while_a_small_log_wraps(void **state) {
    (void)state;
    run_with_log(1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_taken_while_threads_allocate),
        cmocka_unit_test(and_while_a_small_log_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
