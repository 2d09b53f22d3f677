/* workload.c - the lists of requests. */
#include "model/bench/workload_internal.h"

#include <math.h>
#include <stdio.h>

#include "common/map.h"

enum {
    HIT_PAIRS = 64,
    LIVE_BLOCKS = 2000,
    LIVE_PAIRS = 8000,
    LIVE_NAMES = 64,
    LAYERS = 12,
    /* Blocks of a layer, 177 in all: those kept for backward, gradients, and temporaries of the
     * three phases. */
    KEPT = 20,
    GRADIENTS = 12,
    FORWARD = 41,
    BACKWARD = 78,
    OPTIMIZER = 26,
    STEP_PAIRS = LAYERS * (KEPT + GRADIENTS + FORWARD + BACKWARD + OPTIMIZER),
    STEP_NAMES = LAYERS * (KEPT + GRADIENTS) + FORWARD + BACKWARD + OPTIMIZER,
    HIT_PASSES = 320,
    LIVE_PASSES = 1,
    STEP_PASSES = 6
};

/* Bytes of a layer's tensors with 4 x 128 tokens of 768 numbers, and of its parameters. */
static const size_t SHAPES[] = {1572864, 1572864, 4718592, 1572864, 2048,  6291456,
                                1572864, 6291456, 3072,    1572864, 49152, 196608};
static const size_t PARAMETERS[] = {2359296, 2359296, 2359296, 2359296, 7077888, 7077888,
                                    7077888, 3072,    3072,    768,     3072,    12288};
enum {
    N_SHAPES = sizeof(SHAPES) / sizeof(SHAPES[0]),
    N_PARAMETERS = sizeof(PARAMETERS) / sizeof(PARAMETERS[0])
};

/* The list while it is written. */
typedef struct writing {
    tide_bench_workload *to;
    size_t n_ops;
    uint64_t random;
} writing;

static uint64_t next_random(writing *list) {
    list->random += 0x9e3779b97f4a7c15u;
    return tide_hash_u64(list->random);
}

static void put(writing *list, tide_bench_op op) {
    list->to->ops[list->n_ops++] = op;
}

static void put_alloc(writing *list, size_t slot, size_t n_bytes, size_t name, uint64_t path,
                      tide_category category) {
    put(list, (tide_bench_op){.n_bytes = n_bytes,
                              .name = list->to->names[name],
                              .slot = (uint32_t)slot,
                              .path = (uint16_t)path,
                              .category = (uint8_t)category});
}

static void put_release(writing *list, size_t slot, uint64_t path) {
    put(list, (tide_bench_op){.slot = (uint32_t)slot, .path = (uint16_t)path});
}

/* Makes room for this many operations, slots and names. */
static tide_status reserve(tide_bench_workload *workload, size_t n_ops, size_t n_names,
                           tide_error *error) {
    workload->ops = tide_hostmem_zeroed(workload->mem, n_ops, sizeof(*workload->ops));
    workload->names = tide_hostmem_zeroed(workload->mem, n_names, sizeof(*workload->names));
    workload->n_names = n_names;
    if (workload->ops == NULL || workload->names == NULL) {
        tide_bench_workload_fini(workload);
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the requests of a benchmark");
    }
    return TIDE_OK;
}

static tide_status make_hit(tide_bench_workload *workload, size_t n_bytes, tide_error *error) {
    TIDE_TRY(reserve(workload, (size_t)2 * HIT_PAIRS, 1, error));
    writing list = {.to = workload};
    (void)snprintf(workload->names[0], sizeof(workload->names[0]), "logits");
    for (size_t i = 0; i < HIT_PAIRS; i++) {
        put_alloc(&list, 0, n_bytes, 0, 0, TIDE_ACTIVATION);
        put_release(&list, 0, 0);
    }
    workload->n_ops = list.n_ops;
    workload->n_slots = 1;
    workload->n_at_once = list.n_ops;
    workload->n_passes = HIT_PASSES;
    return TIDE_OK;
}

/* A size from 64 bytes to 16 MiB; every power of two is equally likely. */
static size_t mixed_bytes(uint64_t random) {
    return (size_t)exp2(6.0 + 18.0 * (double)(random >> 11) / (double)(UINT64_C(1) << 53));
}

static tide_status make_live(tide_bench_workload *workload, tide_error *error) {
    TIDE_TRY(reserve(workload, LIVE_BLOCKS + 2 * LIVE_PAIRS, LIVE_NAMES, error));
    writing list = {.to = workload};
    for (size_t i = 0; i < LIVE_NAMES; i++) {
        (void)snprintf(workload->names[i], sizeof(workload->names[i]), "block.%zu", i);
    }
    for (size_t i = 0; i < LIVE_BLOCKS; i++) {
        put_alloc(&list, i, mixed_bytes(next_random(&list)), i % LIVE_NAMES, next_random(&list),
                  TIDE_ACTIVATION);
    }
    workload->n_first = list.n_ops;
    for (size_t i = 0; i < LIVE_PAIRS; i++) {
        size_t slot = (size_t)(next_random(&list) % LIVE_BLOCKS);
        put_release(&list, slot, next_random(&list));
        put_alloc(&list, slot, mixed_bytes(next_random(&list)), slot % LIVE_NAMES,
                  next_random(&list), TIDE_ACTIVATION);
    }
    workload->n_ops = list.n_ops - workload->n_first;
    workload->n_slots = LIVE_BLOCKS;
    workload->n_at_once = 1;
    workload->n_passes = LIVE_PASSES;
    return TIDE_OK;
}

/* The functions that lead to a tensor. The phase chooses the outer ones, the operator those below,
 * the tensor itself the innermost. Layers run the same code. */
static uint64_t path_of(unsigned phase, size_t tensor) {
    uint64_t operation = tide_hash_u64((uint64_t)64 * phase + tensor / 4 + 1) & 0x1f;
    uint64_t own = tide_hash_u64((uint64_t)1024 * phase + tensor + 1) & 0x1f;
    return phase | operation << 6 | own << 11;
}

/* Slots and names: kept blocks of layers, their gradients, then one for each temporary. */
enum {
    FIRST_GRADIENT = LAYERS * KEPT,
    FIRST_FORWARD = FIRST_GRADIENT + LAYERS * GRADIENTS,
    FIRST_BACKWARD = FIRST_FORWARD + FORWARD,
    FIRST_OPTIMIZER = FIRST_BACKWARD + BACKWARD,
    STEP_SLOTS = FIRST_OPTIMIZER + OPTIMIZER
};

/* Makes temporary i of a phase, which lives until the one after the next is made. */
static void put_temporary(writing *list, unsigned phase, size_t first, size_t n, size_t i,
                          size_t n_bytes) {
    put_alloc(list, first + i, n_bytes, first + i, path_of(phase, i), TIDE_TEMPORARY);
    if (i >= 2) {
        put_release(list, first + i - 2, path_of(phase, i - 2) ^ 0x8000);
    }
    for (size_t last = n - 2; i + 1 == n && last < n; last++) {
        put_release(list, first + last, path_of(phase, last) ^ 0x8000);
    }
}

static void put_forward(writing *list, size_t layer) {
    for (size_t i = 0; i < FORWARD; i++) {
        put_temporary(list, 1, FIRST_FORWARD, FORWARD, i, SHAPES[(5 * i + 2) % N_SHAPES]);
        if (i % 2 == 0 && i / 2 < KEPT) {
            size_t kept = layer * KEPT + i / 2;
            put_alloc(list, kept, SHAPES[(i / 2) % N_SHAPES], kept, path_of(1, 100 + i / 2),
                      TIDE_ACTIVATION);
        }
    }
}

static void put_backward(writing *list, size_t layer) {
    for (size_t i = 0; i < BACKWARD; i++) {
        put_temporary(list, 2, FIRST_BACKWARD, BACKWARD, i, SHAPES[(7 * i + 1) % N_SHAPES]);
        if (i % 6 == 0 && i / 6 < GRADIENTS) {
            size_t gradient = FIRST_GRADIENT + layer * GRADIENTS + i / 6;
            put_alloc(list, gradient, PARAMETERS[i / 6], gradient, path_of(2, 100 + i / 6),
                      TIDE_GRADIENT);
        }
        if (i % 3 == 2 && i / 3 < KEPT) {
            put_release(list, layer * KEPT + KEPT - 1 - i / 3, path_of(2, 140 + i / 3));
        }
    }
}

static void put_optimizer(writing *list, size_t layer) {
    for (size_t i = 0; i < OPTIMIZER; i++) {
        put_temporary(list, 3, FIRST_OPTIMIZER, OPTIMIZER, i, PARAMETERS[(i / 2) % N_PARAMETERS]);
    }
    for (size_t i = 0; i < GRADIENTS; i++) {
        put_release(list, FIRST_GRADIENT + layer * GRADIENTS + i, path_of(3, 100 + i));
    }
}

static tide_status make_step(tide_bench_workload *workload, tide_error *error) {
    _Static_assert(STEP_PAIRS == 2124 && (int)STEP_NAMES == (int)STEP_SLOTS,
                   "a step has 2,124 pairs");
    TIDE_TRY(reserve(workload, (size_t)2 * STEP_PAIRS, STEP_NAMES, error));
    writing list = {.to = workload};
    for (size_t i = 0; i < STEP_NAMES; i++) {
        (void)snprintf(workload->names[i], sizeof(workload->names[i]), "layers.%zu.tensor.%zu",
                       i / 32, i % 32);
    }
    for (size_t layer = 0; layer < LAYERS; layer++) {
        put_forward(&list, layer);
    }
    for (size_t layer = LAYERS; layer > 0; layer--) {
        put_backward(&list, layer - 1);
    }
    for (size_t layer = 0; layer < LAYERS; layer++) {
        put_optimizer(&list, layer);
    }
    workload->n_ops = list.n_ops;
    workload->n_slots = STEP_SLOTS;
    workload->n_at_once = 1;
    workload->n_passes = STEP_PASSES;
    return TIDE_OK;
}

tide_status tide_bench_workload_init(tide_bench_workload *workload, size_t which, bool is_brief,
                                     const tide_hostmem *mem, tide_error *error) {
    static const char *const NAMES[TIDE_BENCH_N_WORKLOADS] = {"hit-4k", "hit-20m", "live", "step"};
    *workload = (tide_bench_workload){.name = NAMES[which], .mem = mem};
    tide_status status = which == 0   ? make_hit(workload, (size_t)4 << 10, error)
                         : which == 1 ? make_hit(workload, (size_t)20 << 20, error)
                         : which == 2 ? make_live(workload, error)
                                      : make_step(workload, error);
    if (is_brief) {
        workload->n_passes = 1;
    }
    return status;
}

void tide_bench_workload_fini(tide_bench_workload *workload) {
    if (workload->mem != NULL) {
        workload->mem->release(workload->mem->ctx, workload->ops);
        workload->mem->release(workload->mem->ctx, workload->names);
    }
    *workload = (tide_bench_workload){.mem = NULL};
}
