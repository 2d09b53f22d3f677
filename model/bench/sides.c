/* sides.c - the allocators that benchmarks compare: none, a bare one, and tidemark's. */
#include <pthread.h>

#include "allocator/cache.h"
#include "model/bench/workload_internal.h"
#include "common/map.h"
#include "recorder/recorder_friend.h"

/* ---- none ---- */

static tide_status null_alloc(void *state, const tide_bench_op *op, uint64_t *ret_address,
                              tide_error *error) {
    (void)state;
    (void)error;
    *ret_address = op->n_bytes;
    return TIDE_OK;
}

static tide_status null_release(void *state, uint64_t address, tide_error *error) {
    (void)state;
    (void)address;
    (void)error;
    return TIDE_OK;
}

const tide_bench_side tide_bench_null = {"harness alone", null_alloc, null_release};

/* ---- a bare one ---- */

enum {
    N_CLASSES = 64 * 4,     /* four to a power of two */
    N_TABLE_SLOTS = 1 << 13 /* more than twice the live blocks of any workload */
};

/* A live block, or one that its class keeps for the next request. */
typedef struct bare_block {
    struct bare_block *next; /* kept: in the class's list */
    uint64_t address;        /* made up */
    uint32_t size_class;
} bare_block;

struct tide_bench_floor_state {
    const tide_hostmem *mem; /* borrowed */
    pthread_mutex_t lock;    /* guards everything below */
    bare_block *kept[N_CLASSES];
    bare_block *live[N_TABLE_SLOTS]; /* by address; linear probing */
    bare_block blocks[N_TABLE_SLOTS / 2];
    size_t n_blocks; /* ever made */
};

tide_status tide_bench_floor_create(const tide_hostmem *mem, tide_bench_floor_state **ret_state) {
    tide_bench_floor_state *state = tide_hostmem_zeroed(mem, 1, sizeof(*state));
    if (state == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (pthread_mutex_init(&state->lock, NULL) != 0) {
        mem->release(mem->ctx, state);
        return TIDE_NO_MEMORY;
    }
    state->mem = mem;
    *ret_state = state;
    return TIDE_OK;
}

void tide_bench_floor_destroy(tide_bench_floor_state *state) {
    if (state != NULL) {
        pthread_mutex_destroy(&state->lock);
        state->mem->release(state->mem->ctx, state);
    }
}

static uint32_t class_of(size_t n_bytes) {
    uint32_t power = 63 - (uint32_t)__builtin_clzll(n_bytes | 512);
    return power * 4 + (uint32_t)(n_bytes >> (power - 2) & 3);
}

static size_t table_slot(uint64_t address) {
    return (size_t)tide_hash_u64(address) & (N_TABLE_SLOTS - 1);
}

static tide_status floor_alloc(void *ctx, const tide_bench_op *op, uint64_t *ret_address,
                               tide_error *error) {
    tide_bench_floor_state *state = ctx;
    uint32_t size_class = class_of(op->n_bytes);
    pthread_mutex_lock(&state->lock);
    bare_block *block = state->kept[size_class];
    if (block != NULL) {
        state->kept[size_class] = block->next;
    } else if (state->n_blocks < N_TABLE_SLOTS / 2) {
        block = &state->blocks[state->n_blocks++];
        *block = (bare_block){.address = (uint64_t)state->n_blocks << 26, .size_class = size_class};
    } else {
        pthread_mutex_unlock(&state->lock);
        return tide_fail(error, TIDE_LIMIT, "the bare allocator has no blocks left");
    }
    size_t i = table_slot(block->address);
    while (state->live[i] != NULL) {
        i = (i + 1) & (N_TABLE_SLOTS - 1);
    }
    state->live[i] = block;
    *ret_address = block->address;
    pthread_mutex_unlock(&state->lock);
    return TIDE_OK;
}

/* Empties slot i and moves back the entries that a search would no longer reach. */
static void take_out(tide_bench_floor_state *state, size_t i) {
    size_t mask = N_TABLE_SLOTS - 1;
    for (size_t j = (i + 1) & mask; state->live[j] != NULL; j = (j + 1) & mask) {
        size_t home = table_slot(state->live[j]->address);
        if (((j - home) & mask) >= ((j - i) & mask)) {
            state->live[i] = state->live[j];
            i = j;
        }
    }
    state->live[i] = NULL;
}

static tide_status floor_release(void *ctx, uint64_t address, tide_error *error) {
    (void)error;
    tide_bench_floor_state *state = ctx;
    pthread_mutex_lock(&state->lock);
    size_t i = table_slot(address);
    while (state->live[i]->address != address) {
        i = (i + 1) & (N_TABLE_SLOTS - 1);
    }
    bare_block *block = state->live[i];
    take_out(state, i);
    block->next = state->kept[block->size_class];
    state->kept[block->size_class] = block;
    pthread_mutex_unlock(&state->lock);
    return TIDE_OK;
}

const tide_bench_side tide_bench_floor = {"floor", floor_alloc, floor_release};

/* ---- tidemark's ---- */

tide_status tide_bench_cache_init(tide_bench_cache_state *state, tide_bench_recording recording,
                                  tide_error *error) {
    *state = (tide_bench_cache_state){.device = NULL};
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.capture_stacks = recording == TIDE_BENCH_WITH_STACKS;
    tide_status status = tide_device_open("virtual", NULL, &state->device, error);
    if (status == TIDE_OK && recording != TIDE_BENCH_UNRECORDED) {
        status = tide_recorder_create(&config, &state->recorder, error);
    }
    if (status == TIDE_OK) {
        status = tide_cache_create(state->device, state->recorder, NULL, &state->cache, error);
    }
    if (status == TIDE_OK && recording == TIDE_BENCH_WITH_STACKS &&
        tide_recorder_stacks_missing(state->recorder) != NULL) {
        status =
            tide_fail(error, TIDE_UNSUPPORTED, "%s", tide_recorder_stacks_missing(state->recorder));
    }
    if (status != TIDE_OK) {
        tide_bench_cache_fini(state);
    }
    return status;
}

void tide_bench_cache_fini(tide_bench_cache_state *state) {
    tide_cache_destroy(state->cache);
    tide_recorder_destroy(state->recorder);
    tide_device_close(state->device);
    *state = (tide_bench_cache_state){.device = NULL};
}

static tide_status cache_alloc(void *ctx, const tide_bench_op *op, uint64_t *ret_address,
                               tide_error *error) {
    const tide_bench_cache_state *state = ctx;
    return tide_cache_alloc(state->cache, op->n_bytes, 0,
                            &(tide_tag){(tide_category)op->category, op->name}, ret_address, error);
}

static tide_status cache_release(void *ctx, uint64_t address, tide_error *error) {
    const tide_bench_cache_state *state = ctx;
    return tide_cache_release(state->cache, address, error);
}

const tide_bench_side tide_bench_cache = {"tidemark", cache_alloc, cache_release};

/* ---- tidemark's recorder without an allocator ---- */

/* An address that no allocator made: the slot's number plus 1, which is never 0. */
static tide_status notes_alloc(void *ctx, const tide_bench_op *op, uint64_t *ret_address,
                               tide_error *error) {
    (void)error;
    const tide_bench_cache_state *state = ctx;
    (void)tide_recorder_note(state->recorder, op->name);
    *ret_address = (uint64_t)op->slot + 1;
    return TIDE_OK;
}

static tide_status notes_release(void *ctx, uint64_t address, tide_error *error) {
    (void)address;
    (void)error;
    const tide_bench_cache_state *state = ctx;
    (void)tide_recorder_note(state->recorder, NULL);
    return TIDE_OK;
}

const tide_bench_side tide_bench_notes = {"notes alone", notes_alloc, notes_release};
