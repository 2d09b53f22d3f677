/* test_compare_join.c - tensors that runs allocated from different callers are one row only if the
 * match is unambiguous. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare_rows_fixture.h"

/* A run whose tensors have other callers, as a captured step has. */
static void other_callers_make_no_other_tensor(void **state) {
    (void)state;
    const tensor moved[] = {{0, 5 * KIB, Q0, 2, 3, TIDE_ACTIVATION},
                            {8 * KIB, 4 * KIB, Q1, 4, 3, TIDE_ACTIVATION},
                            {64 * KIB, 2 * KIB, NAME_B, TIDE_NONE, 1, TIDE_PARAMETER}};
    rows_assert_one_difference(moved, 3, TIDE_ROW_GROWN, 8 * KIB, 9 * KIB, "layers.*.attn.q");
    tide_snapshot *snapshots[] = {rows_make(NULL, ROWS_BASE, 3), rows_make(NULL, moved, 3),
                                  rows_make(NULL, ROWS_BASE, 3)};
    rows_comparison of = rows_compare(snapshots, MAX_RUNS);
    assert_int_equal(of.rows->n_rows, 2);
    for (size_t run = 0; run < MAX_RUNS; run++) {
        assert_true(of.rows->rows[0].bytes[run] == (run == 1 ? 9 : 8) * KIB);
        assert_true(of.rows->rows[1].bytes[run] == 2 * KIB);
        assert_true(of.rows->rows[0].n_blocks[run] == 2 && of.rows->rows[1].n_blocks[run] == 1);
    }
    assert_true(of.rows->rows[0].snapshot == snapshots[0] && of.rows->rows[0].stack == 1);
    rows_finish(&of);
    for (size_t run = 0; run < MAX_RUNS; run++) {
        tide_snapshot_destroy(snapshots[run]);
    }
}

/* Rows stay separate if one run has the name from two callers, and if there is no name. */
static void callers_tell_tensors_of_one_name_apart(void **state) {
    (void)state;
    const tensor two[] = {{0, 4 * KIB, Q0, 2, 1, TIDE_ACTIVATION},
                          {8 * KIB, KIB, Q1, 4, 0, TIDE_ACTIVATION}};
    const tensor one[] = {{0, 4 * KIB, Q0, 2, 3, TIDE_ACTIVATION}};
    tide_snapshot *snapshots[] = {rows_make(NULL, two, 2), rows_make(NULL, one, 1)};
    rows_comparison of = rows_compare(snapshots, 2);
    assert_int_equal(of.rows->n_rows, 3);
    assert_int_equal(tide_compare_row_change(&of.rows->rows[0], 1), TIDE_ROW_GONE);
    assert_int_equal(tide_compare_row_change(&of.rows->rows[1], 1), TIDE_ROW_NEW);
    rows_finish(&of);
    tide_snapshot_destroy(snapshots[0]);
    tide_snapshot_destroy(snapshots[1]);
    const tensor nameless[] = {{0, 4 * KIB, TIDE_NONE, 2, 1, TIDE_ACTIVATION},
                               {0, 4 * KIB, TIDE_NONE, 2, 3, TIDE_ACTIVATION}};
    snapshots[0] = rows_make(NULL, &nameless[0], 1);
    snapshots[1] = rows_make(NULL, &nameless[1], 1);
    of = rows_compare(snapshots, 2);
    assert_int_equal(of.rows->n_rows, 2);
    rows_finish(&of);
    tide_snapshot_destroy(snapshots[0]);
    tide_snapshot_destroy(snapshots[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_callers_make_no_other_tensor),
        cmocka_unit_test(callers_tell_tensors_of_one_name_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
