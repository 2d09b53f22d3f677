/* test_repeated.c - stacks that recur and are known as a whole. They must be found, and none may be
 * confused with another that differs in a single frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stack/walk_internal.h"
#include "unit/stack/unwinder/unwinder_check.h"

enum { N_STACKS = 400, DEPTH = 20 };

static unwinder_check stacks;
static volatile unsigned n_calls[3]; /* keeps the compiler from making one call of two */

static unsigned random_number(uint64_t *seed, unsigned n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 40) % n;
}

/* `way` is the depth at which the second of two calls is made; frames and their addresses are the
 * same for each way. */
static __attribute__((noinline)) void recurse(unsigned depth, unsigned way) {
    if (depth == 0) {
        (void)unwinder_check_capture(&stacks);
        n_calls[0]++;
    } else if (depth == way) {
        recurse(depth - 1, way);
        n_calls[1]++;
    } else {
        recurse(depth - 1, way);
        n_calls[2]++;
    }
}

static void begin(void) {
    if (!TIDE_HAVE_STACK_WALK || !unwinder_check_begin(&stacks, 128)) {
        skip();
    }
}

/* The unwinder compared each of the captures with libunwind, and unwinder_check with backtrace().
 */
static void end(unsigned n_captures, unsigned n_distinct) {
    size_t n_stacks = 0;
    tide_stack_depot_get_stats(stacks.depot, &n_stacks, NULL);
    tide_unwinder_stats stats;
    assert_true(unwinder_check_end(&stacks, &stats));
    assert_int_equal(n_stacks, n_distinct);
    assert_int_equal(stats.n_captures, n_captures);
    assert_int_equal(stats.n_checked, n_captures);
    assert_int_equal(stats.n_given_up, 0);
    assert_int_equal(stats.n_remembered, n_captures - n_distinct);
}

/* Two stacks differ only in an address DEPTH frames further out, in an order that does not
 * repeat. */
static void stacks_that_differ_in_a_far_frame_alone(void **state) {
    (void)state;
    begin();
    uint64_t seed = 3;
    for (unsigned i = 0; i < N_STACKS; i++) {
        recurse(DEPTH, random_number(&seed, 2) == 0 ? DEPTH : DEPTH + 1);
    }
    end(N_STACKS, 2);
}

/* Each depth at first, then any. Not inlined, because gcc makes a call of recurse() for either
 * case, and their stacks differ. */
static __attribute__((noinline)) unsigned way_in(unsigned i, uint64_t *seed) {
    return i < DEPTH ? i + 1 : 1 + random_number(seed, DEPTH);
}

/* The same, in any one of the frames. */
static void stacks_that_differ_in_one_frame(void **state) {
    (void)state;
    begin();
    uint64_t seed = 5;
    for (unsigned i = 0; i < N_STACKS; i++) {
        recurse(DEPTH, way_in(i, &seed));
    }
    end(N_STACKS, DEPTH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_that_differ_in_a_far_frame_alone),
        cmocka_unit_test(stacks_that_differ_in_one_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
