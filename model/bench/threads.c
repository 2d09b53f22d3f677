/* threads.c - threads that work through lists of requests, and their times. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>

#include "model/bench/workload_internal.h"
#include "common/clock.h"

tide_status tide_bench_thread_init(tide_bench_thread *thread, const tide_bench_workload *workload,
                                   const tide_bench_side *side, void *state, tide_error *error) {
    *thread = (tide_bench_thread){.workload = workload, .side = side, .state = state};
    thread->addresses =
        tide_hostmem_zeroed(workload->mem, workload->n_slots, sizeof(*thread->addresses));
    if (thread->addresses == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the blocks of a benchmark");
    }
    for (size_t i = 0; i < workload->n_first; i++) {
        tide_status status = tide_bench_chain(thread, &workload->ops[i], 1, error);
        if (status != TIDE_OK) {
            tide_bench_thread_fini(thread);
            return status;
        }
    }
    return TIDE_OK;
}

void tide_bench_thread_fini(tide_bench_thread *thread) {
    if (thread->workload != NULL) {
        thread->workload->mem->release(thread->workload->mem->ctx, thread->addresses);
    }
    *thread = (tide_bench_thread){.workload = NULL};
}

tide_status tide_bench_thread_run(tide_bench_thread *thread, size_t n_passes, tide_error *error) {
    const tide_bench_workload *workload = thread->workload;
    const tide_bench_op *end = workload->ops + workload->n_first + workload->n_ops;
    for (size_t pass = 0; pass < n_passes; pass++) {
        const tide_bench_op *op = workload->ops + workload->n_first;
        for (; op < end; op += workload->n_at_once) {
            TIDE_TRY(tide_bench_chain(thread, op, workload->n_at_once, error));
        }
    }
    return TIDE_OK;
}

size_t tide_bench_pairs(const tide_bench_workload *workload) {
    return workload->n_passes * workload->n_ops / 2;
}

tide_status tide_bench_crowd_init(tide_bench_crowd *crowd, const tide_bench_workload *workload,
                                  const tide_bench_side *side, void *state, tide_error *error) {
    *crowd = (tide_bench_crowd){.n_threads = 1};
    return tide_bench_thread_init(&crowd->threads[0], workload, side, state, error);
}

enum { N_TURNS = 16 }; /* of each thread, before all of them begin */

/* Shared by the threads, which begin when all of them run. */
typedef struct start {
    pthread_mutex_t lock;  /* held by the one that makes the threads */
    bool is_off;           /* guarded by the lock: not all threads could be made */
    size_t n_threads;      /* that are made */
    atomic_size_t n_turns; /* taken so far; turn i is that of thread i % n_threads */
    atomic_size_t n_timed; /* threads whose time has been taken */
} start;

typedef struct worker {
    tide_bench_thread *thread; /* its work */
    start *begin;              /* borrowed; the same for all */
    size_t number;             /* of the thread, 0..n_threads - 1 */
    bool is_by_clock;
    double ns;          /* of a pair */
    tide_status status; /* of the first operation that failed */
    tide_error error;
} worker;

static int64_t now_ns(const worker *self) {
    return self->is_by_clock ? tide_clock_now_ns() : tide_clock_thread_ns();
}

/* Returns in all threads at the same time. The threads take many turns first, so the system gives
 * each its own processor; on a shared one they would never wait for each other. */
static void wait_for_others(const worker *self) {
    start *begin = self->begin;
    size_t turn = atomic_load(&begin->n_turns);
    while (turn < N_TURNS * begin->n_threads) {
        if (turn % begin->n_threads == self->number) {
            atomic_store(&begin->n_turns, turn + 1);
        }
        turn = atomic_load(&begin->n_turns);
    }
}

/* Continues until the time of the last thread has been taken, so no thread works alone. */
static void work_beside_others(worker *self) {
    start *begin = self->begin;
    atomic_fetch_add(&begin->n_timed, 1);
    while (self->status == TIDE_OK && atomic_load(&begin->n_timed) < begin->n_threads) {
        self->status = tide_bench_thread_run(self->thread, 1, &self->error);
    }
}

static void *work(void *ctx) {
    worker *self = ctx;
    (void)pthread_mutex_lock(&self->begin->lock);
    bool is_off = self->begin->is_off;
    (void)pthread_mutex_unlock(&self->begin->lock);
    if (is_off) {
        return NULL;
    }
    const tide_bench_workload *workload = self->thread->workload;
    self->status = tide_bench_thread_run(self->thread, 1, &self->error);
    wait_for_others(self);
    int64_t begin_ns = now_ns(self);
    if (self->status == TIDE_OK) {
        self->status = tide_bench_thread_run(self->thread, workload->n_passes, &self->error);
    }
    self->ns = (double)(now_ns(self) - begin_ns) / (double)tide_bench_pairs(workload);
    work_beside_others(self);
    return NULL;
}

tide_status tide_bench_crowd_sample(void *ctx, double *ret_ns, tide_error *error) {
    tide_bench_crowd *crowd = ctx;
    worker workers[TIDE_BENCH_MAX_THREADS];
    pthread_t ids[TIDE_BENCH_MAX_THREADS];
    start begin = {.n_threads = crowd->n_threads};
    size_t n_started = 0;
    double sum_ns = 0.0;
    if (pthread_mutex_init(&begin.lock, NULL) != 0) {
        return tide_fail(error, TIDE_NO_MEMORY, "no memory for a lock");
    }
    (void)pthread_mutex_lock(&begin.lock);
    for (size_t i = 0; i < crowd->n_threads && n_started == i; i++) {
        workers[i] = (worker){.thread = &crowd->threads[i],
                              .begin = &begin,
                              .number = i,
                              .is_by_clock = crowd->is_by_clock};
        n_started += pthread_create(&ids[i], NULL, work, &workers[i]) == 0;
    }
    begin.is_off = n_started < crowd->n_threads;
    (void)pthread_mutex_unlock(&begin.lock);
    tide_status status =
        begin.is_off ? tide_fail(error, TIDE_NO_MEMORY, "a thread cannot be made") : TIDE_OK;
    for (size_t i = 0; i < n_started; i++) {
        (void)pthread_join(ids[i], NULL);
        sum_ns += workers[i].ns;
        if (workers[i].status != TIDE_OK) {
            status = tide_fail(error, workers[i].status, "%s", workers[i].error.message);
        }
    }
    (void)pthread_mutex_destroy(&begin.lock);
    *ret_ns = sum_ns / (double)crowd->n_threads;
    return status;
}

tide_status tide_bench_crowds_measure(tide_bench_crowd *crowds, const char *const *names, size_t n,
                                      tide_bench_group *group, size_t n_rounds, tide_error *error) {
    group->n_variants = n;
    for (size_t i = 0; i < n; i++) {
        group->variants[i] = (tide_bench_variant){
            .name = names[i], .sample = tide_bench_crowd_sample, .ctx = &crowds[i]};
    }
    return tide_bench_measure(group, n_rounds, error);
}
