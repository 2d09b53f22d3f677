/* test_usual_gaps.c - the host's usual time between two calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/usual_gaps.h"

static void a_pair_needs_four_gaps(void **state) {
    (void)state;
    assert_int_equal(tide_vc_usual_gap(1, 100), 100);
    assert_int_equal(tide_vc_usual_gap(1, 900), 900);
    assert_int_equal(tide_vc_usual_gap(1, 300), 300);
    assert_int_equal(tide_vc_usual_gap(1, 500), 100); /* of 100 300 500 900 */
    assert_int_equal(tide_vc_usual_gap(1, 700), 300); /* of 100 300 500 700 900 */
    assert_int_equal(tide_vc_usual_gap(2, 700), 700); /* another pair */
}

/* The program became slower: after sixteen gaps the old ones no longer count. */
static void old_gaps_are_forgotten(void **state) {
    (void)state;
    for (int i = 0; i < 16; i++) {
        (void)tide_vc_usual_gap(3, 10);
    }
    for (int i = 0; i < 12; i++) {
        assert_int_equal(tide_vc_usual_gap(3, 50), 10);
    }
    assert_int_equal(tide_vc_usual_gap(3, 50), 50); /* 3 of 10 and 13 of 50 */
}

static void a_gap_is_never_lengthened(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        (void)tide_vc_usual_gap(4, 200);
    }
    assert_int_equal(tide_vc_usual_gap(4, 7), 7);
}

static void the_programs_own_work_counts_in_full(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        (void)tide_vc_usual_gap(5, 10);
    }
    assert_int_equal(tide_vc_usual_gap(5, TIDE_VC_LONGEST_GAP_NS - 1), 10);
    assert_int_equal(tide_vc_usual_gap(5, TIDE_VC_LONGEST_GAP_NS), TIDE_VC_LONGEST_GAP_NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_needs_four_gaps),
        cmocka_unit_test(old_gaps_are_forgotten),
        cmocka_unit_test(a_gap_is_never_lengthened),
        cmocka_unit_test(the_programs_own_work_counts_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
