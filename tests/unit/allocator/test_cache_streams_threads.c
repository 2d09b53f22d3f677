/* test_cache_streams_threads.c - threads that use each other's blocks on their own streams. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "common/map.h"

enum { N_THREADS = 4, N_STEPS = 6000, N_SLOTS = 8 };

/* A place where a thread leaves a block. The next thread takes it, uses it on its own stream and
 * releases it. */
typedef struct shelf {
    pthread_mutex_t lock; /* guards the address */
    uint64_t address;     /* 0: empty */
} shelf;

typedef struct worker {
    tide_cache *cache;
    shelf *shared;
    tide_stream stream; /* its own, from 1 */
    size_t n_failed;
    size_t n_passed_on; /* blocks of others that it released */
} worker;

/* Leaves a block on the shelf and takes the one that was there. */
static uint64_t exchange(shelf *shared, uint64_t address) {
    pthread_mutex_lock(&shared->lock);
    uint64_t before = shared->address;
    shared->address = address;
    pthread_mutex_unlock(&shared->lock);
    return before;
}

static tide_status use_and_release(worker *self, uint64_t address, tide_stream stream) {
    TIDE_TRY(tide_cache_record_stream(self->cache, address, stream, NULL));
    return tide_cache_release(self->cache, address, NULL);
}

static tide_status step(worker *self, uint64_t *slot, uint64_t random) {
    if (*slot == 0) {
        const tide_tag tag = {TIDE_TEMPORARY, "scratch"};
        return tide_cache_alloc(self->cache, (random >> 32) % (3 * MIB) + 1, self->stream, &tag,
                                slot, NULL);
    }
    uint64_t address = *slot;
    *slot = 0;
    if (random % 3 != 0) {
        return use_and_release(self, address, (random >> 8) % (N_THREADS + 1));
    }
    address = exchange(self->shared, address);
    self->n_passed_on += address == 0 ? 0 : 1;
    return address == 0 ? TIDE_OK : use_and_release(self, address, self->stream);
}

static void *work(void *argument) {
    worker *self = argument;
    uint64_t live[N_SLOTS] = {0};
    uint64_t random = self->stream;
    for (int i = 0; i < N_STEPS; i++) {
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        tide_status status = random % 400 == 0
                                 ? tide_cache_empty(self->cache, NULL)
                                 : step(self, &live[(random >> 16) % N_SLOTS], random >> 20);
        self->n_failed += status == TIDE_OK ? 0 : 1;
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        self->n_failed += tide_cache_release(self->cache, live[i], NULL) == TIDE_OK ? 0 : 1;
    }
    return NULL;
}

static void threads_may_use_each_others_blocks(void **state) {
    (void)state;
    fixture on;
    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    shelf shared = {.address = 0};
    size_t n_passed_on = 0;
    fixture_open(&on, 0, 0, "");
    on.device.late_queries = 3;
    assert_int_equal(pthread_mutex_init(&shared.lock, NULL), 0);
    for (size_t i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){.cache = on.cache, .shared = &shared, .stream = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 40; i++) { /* meanwhile this thread copies and checks the cache */
        tide_cache_state now;
        fixture_check(&on);
        assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
        tide_cache_state_fini(&now);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].n_failed, 0);
        n_passed_on += workers[i].n_passed_on;
    }
    fixture_release(&on, exchange(&shared, 0));
    assert_true(n_passed_on > 100 && on.device.n_recorded > 500);
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 0);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    assert_int_equal(fixture_stats(&on).reserved_bytes[TIDE_POOL_ALL].current, 0);
    fixture_close(&on);
    assert_int_equal(on.device.n_events, 0);
    pthread_mutex_destroy(&shared.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_may_use_each_others_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
