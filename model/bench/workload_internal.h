/* workload_internal.h - the allocator workloads of the benchmarks: lists of requests and releases,
 * each made below a chain of program functions, as in a program.
 *
 *   hit-4k     one block of 4 KiB, allocated and released
 *   hit-20m    the same with 20 MiB
 *   live       2,000 blocks of mixed sizes are alive; a random one is released, another allocated
 *   step       a training step of a small transformer: 2,124 blocks, allocated and released in the
 *              order in which layers keep activations, make gradients and use temporaries
 */
#ifndef TIDE_MODEL_BENCH_WORKLOAD_INTERNAL_H
#define TIDE_MODEL_BENCH_WORKLOAD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/bench/run_internal.h"
#include "common/event.h"
#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_BENCH_N_WORKLOADS = 4, TIDE_BENCH_CHAIN_DEPTH = 16 };

/* A request or a release. */
typedef struct tide_bench_op {
    size_t n_bytes;   /* requested; 0: a release */
    const char *name; /* of the tensor; owned by the workload; NULL: a release */
    uint32_t slot;    /* where the address is kept between the two */
    uint16_t path;    /* bit i: which of two functions is called at depth i of the chain */
    uint8_t category; /* tide_category */
} tide_bench_op;

typedef struct tide_bench_workload {
    const char *name;
    const tide_hostmem *mem; /* borrowed */
    tide_bench_op *ops;      /* owned; n_first operations that run once, then n_ops that run
                                repeatedly */
    size_t n_first;
    size_t n_ops;      /* half of them requests */
    size_t n_slots;    /* of addresses; blocks alive at most */
    size_t n_at_once;  /* operations per walk down the chain, along the path of the first
                          operation */
    size_t n_passes;   /* over the n_ops in one sample */
    char (*names)[24]; /* owned */
    size_t n_names;
} tide_bench_workload;

/* Workload 0..TIDE_BENCH_N_WORKLOADS - 1. `is_brief`: one short pass a sample. */
TIDE_NODISCARD tide_status tide_bench_workload_init(tide_bench_workload *workload, size_t which,
                                                    bool is_brief, const tide_hostmem *mem,
                                                    tide_error *error);
void tide_bench_workload_fini(tide_bench_workload *workload);

/* An allocator as the workloads see it. */
typedef struct tide_bench_side {
    const char *name;
    tide_status (*alloc)(void *state, const tide_bench_op *op, uint64_t *ret_address,
                         tide_error *error);
    tide_status (*release)(void *state, uint64_t address, tide_error *error);
} tide_bench_side;

/* A workload on an allocator, for one thread. */
typedef struct tide_bench_thread {
    const tide_bench_workload *workload; /* borrowed */
    const tide_bench_side *side;         /* borrowed */
    void *state;                         /* of the side; borrowed */
    uint64_t *addresses;                 /* owned; per slot, 0: none */
} tide_bench_thread;

/* Makes room for the addresses and does the first operations. */
TIDE_NODISCARD tide_status tide_bench_thread_init(tide_bench_thread *thread,
                                                  const tide_bench_workload *workload,
                                                  const tide_bench_side *side, void *state,
                                                  tide_error *error);
/* Live blocks are released together with their allocator. */
void tide_bench_thread_fini(tide_bench_thread *thread);

/* n_passes passes. */
TIDE_NODISCARD tide_status tide_bench_thread_run(tide_bench_thread *thread, size_t n_passes,
                                                 tide_error *error);
/* Pairs in one sample. */
size_t tide_bench_pairs(const tide_bench_workload *workload);

enum { TIDE_BENCH_MAX_THREADS = 2 };

/* Threads that work on one allocator at the same time, each through its own list. The program's
 * first thread only waits: in a process with one thread, the C library's locks are cheaper than in
 * any program that computes. */
typedef struct tide_bench_crowd {
    tide_bench_thread threads[TIDE_BENCH_MAX_THREADS];
    size_t n_threads;
    bool is_by_clock; /* wall time instead of the threads' own, because waiting on a lock counts */
} tide_bench_crowd;

/* One thread, timed by its own time. */
TIDE_NODISCARD tide_status tide_bench_crowd_init(tide_bench_crowd *crowd,
                                                 const tide_bench_workload *workload,
                                                 const tide_bench_side *side, void *state,
                                                 tide_error *error);

/* A sample for tide_bench_variant, `ctx` is a tide_bench_crowd: ns of a pair, the mean of the
 * threads. Each makes one pass before it reads the clock. */
TIDE_NODISCARD tide_status tide_bench_crowd_sample(void *ctx, double *ret_ns, tide_error *error);

/* Measures n crowds in turn as variants of the group. */
TIDE_NODISCARD tide_status tide_bench_crowds_measure(tide_bench_crowd *crowds,
                                                     const char *const *names, size_t n,
                                                     tide_bench_group *group, size_t n_rounds,
                                                     tide_error *error);

/* Only the harness: an allocator that does nothing. Has no state. */
extern const tide_bench_side tide_bench_null;

/* About the minimum for an allocator with a lock: size classes, a list of free blocks for each, a
 * hash table of live blocks and a mutex. */
extern const tide_bench_side tide_bench_floor;
typedef struct tide_bench_floor_state tide_bench_floor_state;
TIDE_NODISCARD tide_status tide_bench_floor_create(const tide_hostmem *mem,
                                                   tide_bench_floor_state **ret_state);
void tide_bench_floor_destroy(tide_bench_floor_state *state);

/* tidemark's caching allocator on the virtual device. */
extern const tide_bench_side tide_bench_cache;
/* Only the part of a recorded request before the lock: call stack, scope and name. Its state is a
 * tide_bench_cache_state with a recorder, whose cache stays empty. */
extern const tide_bench_side tide_bench_notes;
typedef struct tide_bench_cache_state {
    struct tide_device *device;     /* owned */
    struct tide_recorder *recorder; /* owned; NULL: nothing is recorded */
    struct tide_cache *cache;       /* owned */
} tide_bench_cache_state;
typedef enum tide_bench_recording {
    TIDE_BENCH_UNRECORDED = 0,
    TIDE_BENCH_WITHOUT_STACKS,
    TIDE_BENCH_WITH_STACKS
} tide_bench_recording;
TIDE_NODISCARD tide_status tide_bench_cache_init(tide_bench_cache_state *state,
                                                 tide_bench_recording recording, tide_error *error);
void tide_bench_cache_fini(tide_bench_cache_state *state);

/* chain.c. Operations below 16 functions. */
typedef struct tide_bench_call {
    tide_bench_thread *thread;
    const tide_bench_op *op;
    size_t n_ops; /* from `op` on */
    tide_error *error;
    tide_status status; /* of the first operation that failed; the others are skipped */
    unsigned
        n_passed; /* functions on the way back; keeps the compiler from merging equal functions */
} tide_bench_call;
TIDE_NODISCARD tide_status tide_bench_chain(tide_bench_thread *thread, const tide_bench_op *op,
                                            size_t n_ops, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
