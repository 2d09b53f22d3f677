/* chain.c - sixteen program functions above an operation, each of which is one of two: the call
 * stacks of a program, for benchmarks of capturing them.
 *
 * Compiled without frame pointers, as most programs are: an unwinder must then know the size of
 * each frame. Two functions have a frame of variable size, which only alloca can make: there the
 * frame is found by its base pointer.
 */
#include <alloca.h>

#include "model/bench/workload_internal.h"

#define NOT_INLINED __attribute__((noinline))

typedef void (*link)(tide_bench_call *call);

static const link LINKS[TIDE_BENCH_CHAIN_DEPTH][2];

static void go_on(tide_bench_call *call, int depth);

/* The statement after the call keeps the compiler from making a tail call, which would have no
 * frame. */
#define LINK(depth, side)                                                                          \
    static NOT_INLINED void link_##depth##_##side(tide_bench_call *call) {                         \
        go_on(call, (depth) + 1);                                                                  \
        call->n_passed += 2 * (depth) + (side) + 1;                                                \
    }
#define LINK_OF_VARIABLE_SIZE(depth, side)                                                         \
    static NOT_INLINED void link_##depth##_##side(tide_bench_call *call) {                         \
        volatile char *room = alloca(16 + (call->op->path & 15u));                                 \
        room[0] = (char)(side);                                                                    \
        go_on(call, (depth) + 1);                                                                  \
        call->n_passed += 2 * (depth) + (side) + 1 + (unsigned)room[0];                            \
    }

static inline void operate(tide_bench_call *call) {
    tide_bench_thread *thread = call->thread;
    const tide_bench_op *end = call->op + call->n_ops;
    for (const tide_bench_op *op = call->op; op < end && call->status == TIDE_OK; op++) {
        uint64_t *address = &thread->addresses[op->slot];
        call->status = op->n_bytes > 0
                           ? thread->side->alloc(thread->state, op, address, call->error)
                           : thread->side->release(thread->state, *address, call->error);
    }
}

/* Inlined: the functions of the chain call one another. */
static inline __attribute__((always_inline)) void go_on(tide_bench_call *call, int depth) {
    if (depth == TIDE_BENCH_CHAIN_DEPTH) {
        operate(call);
    } else {
        LINKS[depth][(call->op->path >> depth) & 1](call);
    }
}

#define LINKS_OF(depth) LINK(depth, 0) LINK(depth, 1)
#define LINKS_OF_VARIABLE_SIZE(depth)                                                              \
    LINK_OF_VARIABLE_SIZE(depth, 0) LINK_OF_VARIABLE_SIZE(depth, 1)

LINKS_OF(0)
LINKS_OF(1)
LINKS_OF(2)
LINKS_OF(3)
LINKS_OF(4)
LINKS_OF_VARIABLE_SIZE(5)
LINKS_OF(6)
LINKS_OF(7)
LINKS_OF(8)
LINKS_OF(9)
LINKS_OF(10)
LINKS_OF_VARIABLE_SIZE(11)
LINKS_OF(12)
LINKS_OF(13)
LINKS_OF(14)
LINKS_OF(15)

#define BOTH(depth)                                                                                \
    { link_##depth##_0, link_##depth##_1 }
static const link LINKS[TIDE_BENCH_CHAIN_DEPTH][2] = {
    BOTH(0), BOTH(1), BOTH(2),  BOTH(3),  BOTH(4),  BOTH(5),  BOTH(6),  BOTH(7),
    BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12), BOTH(13), BOTH(14), BOTH(15)};

tide_status tide_bench_chain(tide_bench_thread *thread, const tide_bench_op *op, size_t n_ops,
                             tide_error *error) {
    tide_bench_call call = {.thread = thread, .op = op, .n_ops = n_ops, .error = error};
    go_on(&call, 0);
    return call.status;
}
