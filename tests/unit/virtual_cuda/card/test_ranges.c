/* test_ranges.c - address ranges compared with a plain list: every answer is the same in a long
 * random walk, and many ranges make a flat tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "programs/virtual_cuda/card/ranges.h"

enum { UNIT = 512, N_PLACES = 200, N_STEPS = 20000 };

/* The range that begins at each place; n_bytes 0: none. */
static tide_vc_range at_place[N_PLACES];

static uint64_t next_number(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static const tide_vc_range *search(size_t from, bool is_down, uint64_t least_bytes) {
    for (size_t i = from; i < N_PLACES; i += is_down ? (size_t)-1 : 1) {
        if (at_place[i].n_bytes > 0 && at_place[i].n_bytes >= least_bytes) {
            return &at_place[i];
        }
    }
    return NULL;
}

static void expect(bool is_found, const tide_vc_range *found, const tide_vc_range *wanted) {
    assert_int_equal(is_found, wanted != NULL);
    if (wanted != NULL) {
        assert_int_equal(found->address, wanted->address);
        assert_int_equal(found->n_bytes, wanted->n_bytes);
        assert_int_equal(found->kind, wanted->kind);
    }
}

static void ask(const tide_vc_ranges *ranges, size_t place, uint64_t n_bytes) {
    uint64_t address = (place + 1) * UNIT;
    tide_vc_range found = {.address = 0};
    bool is_found = tide_vc_ranges_at_or_below(ranges, address + UNIT / 2, &found);
    expect(is_found, &found, search(place, true, 0));
    is_found = tide_vc_ranges_at_or_above(ranges, address, &found);
    expect(is_found, &found, search(place, false, 0));
    is_found = tide_vc_ranges_fit(ranges, n_bytes, &found);
    expect(is_found, &found, search(0, false, n_bytes));
    const tide_vc_range *below = search(place, true, 0);
    below = below != NULL && address - below->address < below->n_bytes ? below : NULL;
    is_found = tide_vc_ranges_find(ranges, address, &found);
    expect(is_found, &found, below);
}

static void answers_are_those_of_a_list(void **state) {
    tide_vc_ranges ranges = {.root = 0};
    uint64_t seed = 42;
    (void)state;
    for (size_t step = 0; step < N_STEPS; step++) {
        size_t place = next_number(&seed) % N_PLACES;
        uint64_t address = (place + 1) * UNIT;
        tide_vc_range gone = {.address = 0};
        if (at_place[place].n_bytes > 0) {
            assert_true(tide_vc_ranges_remove(&ranges, address, &gone));
            expect(true, &gone, &at_place[place]);
            at_place[place].n_bytes = 0;
        } else {
            assert_false(tide_vc_ranges_remove(&ranges, address, NULL));
            at_place[place] = (tide_vc_range){
                .address = address, .n_bytes = 1 + next_number(&seed) % UNIT, .kind = (int)step};
            assert_true(tide_vc_ranges_add(&ranges, at_place[place]));
        }
        ask(&ranges, next_number(&seed) % N_PLACES, 1 + next_number(&seed) % UNIT);
    }
    free(ranges.nodes);
}

/* A random tree of n nodes is some 2 ln n = 26 high on average for 400,000, and its longest branch
 * some 4.3 ln n = 56. In a list, or in a degenerate tree, a branch would have as many nodes as
 * there are ranges. */
static void many_ranges_make_a_flat_tree(void **state) {
    enum { N = 400000, HIGHEST = 2 * 56 };
    (void)state;
    tide_vc_ranges ranges = {.root = 0};
    for (size_t i = N; i > 0; i--) {
        assert_true(tide_vc_ranges_add(
            &ranges, (tide_vc_range){.address = i * UNIT, .n_bytes = i % 2 == 0 ? 1 : UNIT}));
    }
    assert_in_range(tide_vc_ranges_height(&ranges), 19, HIGHEST); /* log2 of N is 18.6 */
    for (size_t i = 1; i <= N; i += 2) {
        assert_true(tide_vc_ranges_remove(&ranges, i * UNIT, NULL));
    }
    assert_in_range(tide_vc_ranges_height(&ranges), 18, HIGHEST);
    free(ranges.nodes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_a_list),
                                       cmocka_unit_test(many_ranges_make_a_flat_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
