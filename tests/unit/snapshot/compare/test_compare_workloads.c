/* test_compare_workloads.c - runs that cannot be compared: of different workloads, of workloads
 * that the file does not state, or without recorded allocations. Sentences name the difference and
 * do not compare their figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compare_fixture.h"

static void other_workloads_are_not_compared(void **state) {
    (void)state;
    comparison of = compare_runs(
        (const made_run[]){{"fp32", {[TIDE_ACTIVATION] = 4 * GIB}, .scope = 3},
                           {"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1, .context = 9}},
        2);
    assert_string_equal(
        of.compare->sentence,
        "The runs are different workloads (context differs): context 0 peaks at 4.00 GiB, set by "
        "activations (4.00 GiB of 4.00 GiB) in the backward phase; context 9 peaks at 1.00 GiB, "
        "set by parameters (1.00 GiB of 1.00 GiB) in the optimizer phase.");
    compare_finish(&of);
    of = compare_runs((const made_run[]){{"fp32", {[TIDE_ACTIVATION] = 4 * GIB}, .scope = 3},
                                         {"fp32",
                                          {[TIDE_PARAMETER] = GIB},
                                          .oom_bytes = GIB,
                                          .scope = 1,
                                          .context = 9,
                                          .d_model = 8},
                                         {"tf32", {[TIDE_ACTIVATION] = 2 * GIB}, .scope = 3}},
                      3);
    assert_string_equal(
        of.compare->sentence,
        "tf32 context 0 lowers the peak by 50.0 %, from 4.00 GiB to 2.00 GiB: there activations "
        "take 2.00 GiB less; it is set by activations in both. Not compared, as the workload is "
        "another (model, context): fp32 context 9 does not fit: it asked for 1.00 GiB with "
        "100.00 MiB free in the optimizer phase, most of what it had allocated being parameters "
        "(1.00 GiB of 1.00 GiB).");
    compare_finish(&of);
}

/* A file that does not record its run has no settings in its label, and does not count as another
 * workload. */
static void workloads_that_are_not_stated(void **state) {
    (void)state;
    made_run pickle = {"", {[TIDE_PARAMETER] = GIB}, .scope = 1, .context = -1};
    comparison of = compare_runs(
        (const made_run[]){pickle, {"fp32", {[TIDE_ACTIVATION] = 4 * GIB}, .scope = 3}}, 2);
    assert_string_equal(
        of.compare->sentence,
        "The runs may be different workloads, as not every file states its own: "
        "a.json.gz peaks at 1.00 GiB, set by parameters (1.00 GiB of 1.00 GiB) in the "
        "optimizer phase; b.json.gz peaks at 4.00 GiB, set by activations (4.00 GiB of "
        "4.00 GiB) in the backward phase.");
    compare_finish(&of);
    of = compare_runs((const made_run[]){{"fp32", {[TIDE_ACTIVATION] = 4 * GIB}, .scope = 3},
                                         {"tf32", {[TIDE_ACTIVATION] = 2 * GIB}, .scope = 3},
                                         pickle},
                      3);
    assert_non_null(strstr(of.compare->sentence,
                           "activations in both. Not compared, as not every file states its "
                           "workload: c.json.gz peaks at 1.00 GiB"));
    compare_finish(&of);
    of = compare_runs((const made_run[]){pickle, pickle}, 2);
    assert_string_equal(of.compare->sentence,
                        "The peak is set by parameters (1.00 GiB of 1.00 GiB) in the optimizer "
                        "phase in both (1.00 GiB with a.json.gz, 1.00 GiB with b.json.gz).");
    compare_finish(&of);
}

/* A run that was timed without recording, compared with a run of another context. */
static void a_run_without_recording(void **state) {
    (void)state;
    comparison of =
        compare_runs((const made_run[]){{"fp32", {0}, .scope = 1},
                                        {"tf32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                        {"tf32", {[TIDE_PARAMETER] = GIB}, .context = 9}},
                     3);
    assert_true(of.compare->runs[0].device == NULL && of.compare->runs[0].category_bytes[0] == -1);
    assert_non_null(strstr(
        of.compare->sentence,
        "fp32 context 0 has no recorded allocations; tf32 context 0 peaks at 1.00 GiB, set by"));
    compare_finish(&of);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_workloads_are_not_compared),
        cmocka_unit_test(workloads_that_are_not_stated),
        cmocka_unit_test(a_run_without_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
