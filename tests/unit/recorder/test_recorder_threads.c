/* test_recorder_threads.c - four threads record and open scopes while a fifth copies. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/lock_friend.h"
#include "recorder/recorder.h"
#include "recorder/recorder_friend.h"
#include "stack/depot.h"

enum { N_THREADS = 4, N_ROUNDS = 400, N_EVENTS = N_THREADS * N_ROUNDS * 2 };

typedef struct shared_state {
    tide_recorder *recorder;
    atomic_int n_running;
    atomic_int n_wrong; /* notes with a scope of another thread */
} shared_state;

/* The argument of one thread. */
typedef struct worker {
    shared_state *shared;
    uint64_t number;
} worker;

static void record(shared_state *shared, uint64_t number, const char *name, tide_scope scope) {
    tide_note note = tide_recorder_note(shared->recorder, name);
    if (note.scope != scope) {
        atomic_fetch_add(&shared->n_wrong, 1);
    }
    tide_event event = {
        .address = number, .stack = note.stack, .scope = note.scope, .name = note.name};
    tide_lock_acquire(tide_recorder_lock(shared->recorder));
    tide_recorder_append(shared->recorder, event);
    tide_lock_release(tide_recorder_lock(shared->recorder));
}

static void *work(void *argument) {
    const worker *me = argument;
    shared_state *shared = me->shared;
    for (int i = 0; i < N_ROUNDS; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "layers.%d.%d", (int)me->number, i % 16);
        tide_scope outer =
            tide_scope_begin(shared->recorder, TIDE_SCOPE_STEP, "step", (int32_t)me->number);
        tide_scope inner = tide_scope_begin(shared->recorder, TIDE_SCOPE_OPERATOR, name, i);
        record(shared, me->number, name, inner);
        tide_scope_end(shared->recorder, i % 2 == 0 ? inner : outer);
        record(shared, me->number, name, i % 2 == 0 ? outer : TIDE_NONE);
        tide_scope_end(shared->recorder, outer);
    }
    atomic_fetch_sub(&shared->n_running, 1);
    return NULL;
}

/* The copy contains everything that a row refers to, and each thread has its own scopes. */
static void check(const tide_recording *recording) {
    int64_t last_ns = 0;
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        assert_true(event->time_ns >= last_ns);
        last_ns = event->time_ns;
        assert_true(event->stack == TIDE_NONE || event->stack < recording->n_stacks);
        assert_true(event->name < recording->n_strings);
        char prefix[32];
        (void)snprintf(prefix, sizeof(prefix), "layers.%d.", (int)event->address);
        assert_memory_equal(recording->strings[event->name], prefix, strlen(prefix));
        if (event->scope != TIDE_NONE) {
            assert_true(event->scope < recording->n_scopes);
            const tide_scope_row *scope = &recording->scopes[event->scope];
            while (scope->parent != TIDE_NONE) {
                assert_true(recording->scopes[scope->parent].thread == scope->thread);
                scope = &recording->scopes[scope->parent];
            }
            assert_int_equal(scope->index, event->address);
        }
    }
    for (size_t i = 0; i < recording->n_scopes; i++) {
        assert_true(i == 0 || recording->scopes[i].begin_ns >= recording->scopes[i - 1].begin_ns);
        assert_true(recording->scopes[i].name < recording->n_strings);
        assert_true(recording->scopes[i].parent == TIDE_NONE || recording->scopes[i].parent < i);
    }
    for (size_t i = 0; i < recording->n_stacks; i++) {
        assert_true(recording->stack_first[i] < recording->stack_first[i + 1]);
    }
}

static void threads_record_while_another_copies(void **state) {
    (void)state;
    shared_state shared = {.n_wrong = 0};
    assert_int_equal(tide_recorder_create(NULL, &shared.recorder, NULL), TIDE_OK);
    atomic_init(&shared.n_running, N_THREADS);
    atomic_init(&shared.n_wrong, 0);
    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    for (uint64_t i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){&shared, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    size_t n_last = 0;
    do {
        tide_recording recording;
        assert_int_equal(tide_recorder_copy(shared.recorder, NULL, &recording, NULL), TIDE_OK);
        assert_true(recording.n_events >= n_last);
        n_last = recording.n_events;
        check(&recording);
        tide_recording_fini(&recording);
    } while (atomic_load(&shared.n_running) > 0);
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&shared.n_wrong), 0);

    tide_recording recording;
    assert_int_equal(tide_recorder_copy(shared.recorder, NULL, &recording, NULL), TIDE_OK);
    check(&recording);
    assert_int_equal(recording.n_events, N_EVENTS);
    assert_int_equal(recording.n_scopes, N_EVENTS);
    assert_int_equal(recording.n_dropped, 0);
    /* One stack for each of the two places above. It is the same in all threads, because stacks end
     * at the start of the thread. */
    if (tide_recorder_stacks_missing(shared.recorder) == NULL) {
        assert_int_equal(recording.n_stacks, 2);
    }
    for (size_t i = 0; i < recording.n_scopes; i++) {
        assert_true(recording.scopes[i].thread < N_THREADS);
        assert_true(recording.scopes[i].duration_ns >= 0);
    }
    tide_recording_fini(&recording);
    tide_recorder_destroy(shared.recorder);
}

static void *begin_and_leave(void *argument) {
    (void)tide_scope_begin(argument, TIDE_SCOPE_USER, "left open", -1);
    return NULL;
}

/* Threads that follow one another often get the same memory for thread-local variables. */
static void a_new_thread_starts_without_scopes(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, begin_and_leave, recorder), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    tide_recording recording;
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    assert_int_equal(recording.n_scopes, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_true(recording.scopes[i].parent == TIDE_NONE);
        assert_int_equal(recording.scopes[i].thread, i);
    }
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

enum { N_STACKS = 3000 }; /* the table of the depot has to grow */

/* What one thread interns. */
typedef struct interner {
    tide_stack_depot *depot;
    uint64_t number;
    uint32_t numbers[N_STACKS]; /* the number that the depot gave each stack */
} interner;

static void *intern_all(void *argument) {
    interner *me = argument;
    for (uint64_t i = 0; i < N_STACKS; i++) {
        /* Half of the threads go forwards and half backwards, so that they collide. */
        uint64_t stack = me->number % 2 == 0 ? i : N_STACKS - 1 - i;
        const uint64_t pcs[] = {stack, stack * 3, 17};
        me->numbers[stack] = tide_stack_depot_intern(me->depot, pcs, 3);
    }
    return NULL;
}

static void threads_agree_on_the_numbers_of_stacks(void **state) {
    (void)state;
    tide_stack_depot *depot = NULL;
    assert_int_equal(tide_stack_depot_create(tide_hostmem_default(), &depot), TIDE_OK);
    static interner interners[N_THREADS];
    pthread_t threads[N_THREADS];
    for (uint64_t i = 0; i < N_THREADS; i++) {
        interners[i].depot = depot;
        interners[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &interners[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    size_t n_stacks = 0;
    tide_stack_depot_get_stats(depot, &n_stacks, NULL);
    assert_int_equal(n_stacks, N_STACKS);
    static bool seen[N_STACKS];
    for (size_t s = 0; s < N_STACKS; s++) {
        uint32_t number = interners[0].numbers[s];
        assert_true(number < N_STACKS && !seen[number]);
        seen[number] = true;
        for (size_t i = 1; i < N_THREADS; i++) {
            assert_int_equal(interners[i].numbers[s], number);
        }
    }
    tide_stack_depot_destroy(depot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_record_while_another_copies),
        cmocka_unit_test(a_new_thread_starts_without_scopes),
        cmocka_unit_test(threads_agree_on_the_numbers_of_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
