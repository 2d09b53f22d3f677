/* test_cache_structures.c - the free blocks of a pool and the table of live blocks, compared with
 * plain arrays that are searched linearly. TIDEMARK_SEED=N repeats one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "common/map.h"
#include "support/hostmem_fault.h"

enum { N_BLOCKS = 300, N_STEPS = 12000, N_STREAMS = 3, N_SEEDS = 4 };

static uint64_t random_state;

static uint64_t next_random(void) {
    random_state += 0x9e3779b97f4a7c15u;
    return tide_hash_u64(random_state);
}

static uint64_t seed_of(uint64_t n) {
    const char *text = getenv("TIDEMARK_SEED");
    random_state = text != NULL ? strtoull(text, NULL, 10) : n;
    printf("seed %llu\n", (unsigned long long)random_state);
    return random_state;
}

/* ---- free blocks ---- */

typedef struct forest {
    fixture on; /* the test uses the bins of its large pool directly */
    tide_cache_bins *tree;
    tide_cache_segment segments[N_STREAMS];
    tide_cache_block blocks[N_BLOCKS];
    bool is_in[N_BLOCKS];
} forest;

/* Sizes that share a bin, sizes that differ by one unit, and the largest sizes. */
static uint64_t random_bytes(void) {
    uint64_t random = next_random();
    uint64_t units = random >> 8;
    switch (random % 6) {
    case 0:
        return 512 * (1 + units % 4);
    case 1:
        return 512 * (60 + units % 8);
    case 2:
        return 512 * (4096 + units % 100);
    case 3:
        return 512 * (UINT64_C(1) << (units % 55));
    case 4:
        return UINT64_MAX - 511 - 512 * (units % 3);
    default:
        return 512 * (1 + units % 100000);
    }
}

static int compare(const tide_cache_block *a, tide_stream stream, uint64_t block_bytes,
                   uint64_t address) {
    if (a->segment->stream != stream) {
        return a->segment->stream < stream ? -1 : 1;
    }
    if (a->block_bytes != block_bytes) {
        return a->block_bytes < block_bytes ? -1 : 1;
    }
    return a->address < address ? -1 : a->address > address ? 1 : 0;
}

static bool is_before(const tide_cache_block *a, const tide_cache_block *b) {
    return compare(a, b->segment->stream, b->block_bytes, b->address) < 0;
}

/* Finds the first block at or above the key, or the last one below it. */
static tide_cache_block *find(forest *of, tide_stream stream, uint64_t block_bytes,
                              uint64_t address, bool is_above) {
    tide_cache_block *found = NULL;
    for (size_t i = 0; i < N_BLOCKS; i++) {
        tide_cache_block *block = &of->blocks[i];
        bool fits = of->is_in[i] && (compare(block, stream, block_bytes, address) >= 0) == is_above;
        if (fits && (found == NULL || is_before(block, found) == is_above)) {
            found = block;
        }
    }
    return found;
}

static void compare_searches(forest *of) {
    tide_stream stream = next_random() % (N_STREAMS + 2);
    const tide_cache_block *like = &of->blocks[next_random() % N_BLOCKS];
    uint64_t block_bytes = next_random() % 2 == 0 ? random_bytes() : like->block_bytes;
    uint64_t address = next_random() % 2 == 0 ? 0 : like->address + next_random() % 2;
    tide_cache_block *above = find(of, stream, block_bytes, address, true);
    assert_ptr_equal(tide_cache_bins_at_least(of->tree, stream, block_bytes, address), above);
    assert_ptr_equal(tide_cache_bins_below(of->tree, stream, block_bytes, address),
                     find(of, stream, block_bytes, address, false));
    if (above != NULL) {
        assert_ptr_equal(
            tide_cache_bins_next(of->tree, above),
            find(of, above->segment->stream, above->block_bytes, above->address + 1, true));
    }
    tide_cache_block *best = find(of, stream, block_bytes, 0, true);
    best = best != NULL && best->segment->stream == stream ? best : NULL;
    assert_ptr_equal(tide_cache_bins_best(of->tree, stream, block_bytes), best);
}

static void step(forest *of) {
    size_t i = (size_t)(next_random() % N_BLOCKS);
    tide_cache_block *block = &of->blocks[i];
    if (of->is_in[i]) {
        assert_true(tide_cache_bins_remove(of->tree, block));
        assert_false(tide_cache_bins_remove(of->tree, block));
    } else {
        block->block_bytes = random_bytes();
        block->segment = &of->segments[next_random() % N_STREAMS];
        tide_cache_bins_insert(of->tree, block);
    }
    of->is_in[i] = !of->is_in[i];
}

static void grow_forest(uint64_t seed) {
    static forest of;
    size_t n_in = 0;
    of = (forest){.tree = NULL};
    (void)seed_of(seed);
    fixture_open(&of.on, 0, 0, "");
    of.tree = &of.on.cache->free[TIDE_POOL_LARGE];
    for (size_t i = 0; i < N_STREAMS; i++) {
        static const tide_stream STREAMS[N_STREAMS] = {
            3, 1, 2}; /* not in order: the cache must sort its sets */
        of.segments[i].stream = STREAMS[i];
        assert_int_equal(
            tide_cache_bins_reserve(of.on.cache, TIDE_POOL_LARGE, of.segments[i].stream), TIDE_OK);
    }
    for (size_t i = 0; i < N_BLOCKS; i++) {
        of.blocks[i].address = (1 + i) << 9;
    }
    for (int i = 0; i < N_STEPS; i++) {
        step(&of);
        compare_searches(&of);
    }
    assert_int_equal(tide_cache_bins_check(of.tree, &of.on.error), TIDE_OK);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        n_in += of.is_in[i] ? 1 : 0;
    }
    assert_int_equal(of.tree->n_blocks, n_in);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        assert_int_equal(tide_cache_bins_remove(of.tree, &of.blocks[i]), of.is_in[i]);
    }
    assert_null(tide_cache_bins_at_least(of.tree, 0, 0, 0));
    fixture_close(&of.on);
}

static void free_blocks_are_found_in_order(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        grow_forest(seed);
    }
}

/* Thousands of one size, released in rising order: with a list or an unbalanced tree this takes
 * seconds. */
static void many_of_one_size_stay_quick(void **state) {
    (void)state;
    enum { N_EQUAL = 100000 };
    fixture on;
    fixture_open(&on, 0, 0, "");
    tide_cache_bins *tree = &on.cache->free[TIDE_POOL_SMALL];
    tide_cache_segment segment = {.stream = 0};
    tide_cache_block *blocks = calloc(N_EQUAL, sizeof(*blocks));
    assert_non_null(blocks);
    assert_int_equal(tide_cache_bins_reserve(on.cache, TIDE_POOL_SMALL, 0), TIDE_OK);
    for (size_t i = 0; i < N_EQUAL; i++) {
        blocks[i] =
            (tide_cache_block){.address = (i + 1) * 1024, .block_bytes = 512, .segment = &segment};
        tide_cache_bins_insert(tree, &blocks[i]);
    }
    for (size_t i = 0; i < N_EQUAL; i++) {
        assert_ptr_equal(tide_cache_bins_best(tree, 0, 512), &blocks[i]);
        assert_true(tide_cache_bins_remove(tree, &blocks[i]));
    }
    free(blocks);
    fixture_close(&on);
}

/* ---- live blocks ---- */

/* Addresses that hash to the last slots of a table of this size, so that probe runs wrap around. */
static uint64_t crowded_address(const tide_cache_table *table) {
    for (;;) {
        uint64_t address = (next_random() >> 20) << 9;
        if (tide_cache_table_home(table, address) >= table->n_slots - 6) {
            return address;
        }
    }
}

static void fill_and_empty(const tide_hostmem *mem, tide_cache_block *blocks, size_t n_blocks) {
    bool is_in[N_BLOCKS] = {false};
    tide_cache_table table;
    tide_error error = {""};
    assert_int_equal(tide_cache_table_init(&table, mem), TIDE_OK);
    for (size_t i = 0; i < n_blocks; i++) {
        blocks[i].address = i % 2 == 0 ? (i + 1) << 21 : crowded_address(&table);
    }
    for (int n = 0; n < N_STEPS; n++) {
        size_t i = (size_t)(next_random() % n_blocks);
        assert_ptr_equal(tide_cache_table_find(&table, blocks[i].address),
                         is_in[i] ? &blocks[i] : NULL);
        assert_null(tide_cache_table_find(&table, blocks[i].address + 1));
        if (is_in[i]) {
            tide_cache_table_remove(&table, &blocks[i]);
        } else {
            assert_int_equal(tide_cache_table_reserve(&table, mem, 1), TIDE_OK);
            tide_cache_table_put(&table, &blocks[i]);
        }
        is_in[i] = !is_in[i];
        if (n % 64 == 0 && tide_cache_table_check(&table, &error) != TIDE_OK) {
            fail_msg("%s", error.message);
        }
    }
    tide_cache_table_fini(&table, mem);
}

static void live_blocks_are_found_by_address(void **state) {
    (void)state;
    static tide_cache_block blocks[N_BLOCKS];
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        (void)seed_of(seed);
        fill_and_empty(tide_hostmem_default(), blocks,
                       120); /* too few to make the table grow, so it stays crowded */
        fill_and_empty(tide_hostmem_default(), blocks, N_BLOCKS);
    }
}

/* Without memory the table fills beyond its usual limit instead of growing, but keeps empty slots,
 * where searches end. */
static void a_table_without_memory_refuses_in_time(void **state) {
    (void)state;
    static tide_cache_block blocks[1024];
    tide_hostmem_fault heap;
    tide_cache_table table;
    tide_hostmem_fault_init(&heap, 0);
    assert_int_equal(tide_cache_table_init(&table, &heap.mem), TIDE_OK);
    size_t n_slots = table.n_slots;
    heap.fail_call = heap.n_calls + 1;
    heap.fails_on = true;
    size_t n = 0;
    while (tide_cache_table_reserve(&table, &heap.mem, 1) == TIDE_OK) {
        blocks[n].address = (uint64_t)(n + 1) << 12;
        tide_cache_table_put(&table, &blocks[n++]);
        assert_true(n < n_slots);
    }
    assert_true(n > n_slots / 2);
    assert_int_equal(table.n_slots, n_slots);
    assert_null(tide_cache_table_find(&table, 1));
    heap.fail_call = 0;
    heap.fails_on = false;
    assert_int_equal(tide_cache_table_reserve(&table, &heap.mem, n), TIDE_OK);
    assert_true(table.n_slots >= 4 * n);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(tide_cache_table_find(&table, blocks[i].address), &blocks[i]);
    }
    tide_cache_table_fini(&table, &heap.mem);
    assert_int_equal(heap.n_live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_blocks_are_found_in_order),
        cmocka_unit_test(many_of_one_size_stay_quick),
        cmocka_unit_test(live_blocks_are_found_by_address),
        cmocka_unit_test(a_table_without_memory_refuses_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
