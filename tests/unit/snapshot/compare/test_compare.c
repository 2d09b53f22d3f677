/* test_compare.c - comparisons: figures side by side, and sentences that agree with them.
 * test_compare_workloads.c tests the sentences about runs that cannot be compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/synthetic.h"

#include "compare_fixture.h"

/* The sentence of two runs. */
static void assert_sentence(const made_run *runs, const char *expected) {
    comparison of = compare_runs(runs, 2);
    assert_string_equal(of.compare->sentence, expected);
    compare_finish(&of);
}

static void figures_stand_side_by_side(void **state) {
    (void)state;
    const made_run runs[] = {{"fp32",
                              {[TIDE_PARAMETER] = GIB, [TIDE_ACTIVATION] = 3 * GIB},
                              .scope = 3,
                              .step_ms = 20.0},
                             {"bf16-mixed",
                              {[TIDE_PARAMETER] = 2 * GIB, [TIDE_ACTIVATION] = GIB},
                              .scope = 3,
                              .step_ms = 5.0}};
    comparison of = compare_runs(runs, 2);
    const tide_compare_run *base = &of.compare->runs[0];
    const tide_compare_run *other = &of.compare->runs[1];
    assert_string_equal(base->name, "fp32");
    assert_string_equal(other->name, "bf16-mixed");
    assert_string_equal(other->label, "b.json.gz");
    assert_int_equal(base->allocated_bytes, 4 * GIB);
    assert_int_equal(other->allocated_bytes, 3 * GIB);
    assert_int_equal(base->category_bytes[TIDE_ACTIVATION], 3 * GIB);
    assert_int_equal(base->dominant, TIDE_ACTIVATION);
    assert_int_equal(other->dominant, TIDE_PARAMETER);
    assert_int_equal(of.compare->n_times, 1);
    assert_string_equal(base->times[0].name, "step");
    assert_true(base->times[0].ms.mean == 20.0 && other->times[0].ms.mean == 5.0);
    compare_finish(&of);
}

static void equal_runs_go_by_their_labels(void **state) {
    (void)state;
    const made_run runs[] = {{"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                             {"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                             {"tf32", {[TIDE_PARAMETER] = GIB}, .scope = 1}};
    comparison of = compare_runs(runs, 3);
    assert_string_equal(of.compare->runs[0].name, "a.json.gz");
    assert_string_equal(of.compare->runs[2].name, "c.json.gz");
    assert_true(of.compare->runs[0].times[0].ms.mean == -1.0);
    compare_finish(&of);
}

/* A run's label has no folder unless the runs differ only in their folders. */
static void labels_go_without_folders(void **state) {
    (void)state;
    const made_run run = {"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1};
    tide_snapshot *made = compare_make(&run);
    tide_compare *compare = NULL;
    tide_compare_input inputs[] = {{"/x/a.json.gz", made, NULL}, {"y/b.json.gz", made, NULL}};
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    assert_string_equal(compare->runs[0].name, "a.json.gz");
    assert_string_equal(compare->runs[1].name, "b.json.gz");
    assert_string_equal(compare->runs[1].label, "y/b.json.gz");
    tide_compare_destroy(compare);
    inputs[1].label = "y/a.json.gz";
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    assert_string_equal(compare->runs[0].name, "/x/a.json.gz");
    assert_string_equal(compare->runs[1].name, "y/a.json.gz");
    tide_compare_destroy(compare);
    tide_snapshot_destroy(made);
}

/* Runs that differ in their devices are named by them, but not if only their files are known. */
static void names_have_the_device(void **state) {
    (void)state;
    static const tide_snapshot_device DEVICES[] = {{.kind = "pinned", .name = "pinned memory"},
                                                   {.kind = "virtual", .name = "NVIDIA H200"},
                                                   {.kind = "cpu", .name = "Xeon"}};
    static const char *const NAMES[][2] = {{"fp32 on H200", "tf32 on cpu"}, {"a", "b"}};
    for (size_t i = 0; i < 2; i++) {
        const made_run runs[] = {{i == 0 ? "fp32" : "", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                 {i == 0 ? "tf32" : "", {[TIDE_PARAMETER] = GIB}, .scope = 1}};
        tide_snapshot *made[] = {compare_make(&runs[0]), compare_make(&runs[1])};
        made[0]->devices = DEVICES;
        made[0]->n_devices = 2;
        made[1]->devices = &DEVICES[2];
        made[1]->n_devices = 1;
        made[0]->n_events = 0;
        const tide_compare_input inputs[] = {{"a", made[0], NULL}, {"b", made[1], NULL}};
        tide_compare *compare = NULL;
        assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
        assert_string_equal(compare->runs[0].name, NAMES[i][0]);
        assert_string_equal(compare->runs[1].name, NAMES[i][1]);
        tide_compare_destroy(compare);
        tide_snapshot_destroy(made[0]);
        tide_snapshot_destroy(made[1]);
    }
}

static void a_peak_that_stays(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){
            {"fp32", {[TIDE_PARAMETER] = GIB, [TIDE_OPTIMIZER_STATE] = 2 * GIB}, .scope = 1},
            {"bf16-mixed", {[TIDE_PARAMETER] = GIB, [TIDE_OPTIMIZER_STATE] = 2 * GIB}, .scope = 1}},
        "The peak is set by optimizer state (2.00 GiB of 3.00 GiB) in the optimizer phase in both: "
        "bf16-mixed hardly changes it (3.00 GiB with fp32, 3.00 GiB with bf16-mixed).");
}

/* If two categories are almost equal, the sentence does not mention that one is a page larger, and
 * does not count that as a difference between the runs. */
static void a_tie_is_called_a_tie(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB, [TIDE_GRADIENT] = GIB}, .scope = 1},
                           {"bf16-mixed",
                            {[TIDE_PARAMETER] = GIB, [TIDE_GRADIENT] = GIB + GIB / 256},
                            .scope = 1}},
        "The peak is set by parameters and gradients (1.00 GiB and 1.00 GiB of 2.00 GiB) in the "
        "optimizer phase in both: bf16-mixed hardly changes it (2.00 GiB with fp32, 2.00 GiB with "
        "bf16-mixed). bf16-mixed takes 4.00 MiB more than fp32 although its type is smaller: "
        "4.00 MiB more of gradients, and no category takes less, each at its own peak.");
}

static void a_peak_that_falls(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){
            {"fp32", {[TIDE_PARAMETER] = GIB, [TIDE_ACTIVATION] = 3 * GIB}, .scope = 3},
            {"bf16-mixed",
             {[TIDE_PARAMETER] = GIB + GIB / 2, [TIDE_ACTIVATION] = GIB},
             .scope = 3}},
        "bf16-mixed lowers the peak by 37.5 %, from 4.00 GiB to 2.50 GiB: there activations take "
        "2.00 GiB less, parameters 512.00 MiB more; it is set by activations with fp32 and by "
        "parameters with bf16-mixed.");
}

static void a_peak_that_rises_and_moves(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){
            {"fp32", {[TIDE_OPTIMIZER_STATE] = 4 * GIB, [TIDE_GRADIENT] = GIB}, .scope = 1},
            {"tf32", {[TIDE_OPTIMIZER_STATE] = 4 * GIB, [TIDE_ACTIVATION] = 2 * GIB}, .scope = 3}},
        "The peak is set by optimizer state in both, and tf32 raises it by "
        "20.0 %, from 5.00 GiB to 6.00 GiB: there activations take 2.00 GiB more, gradients "
        "1.00 GiB less; it moves from optimizer > adamw to backward > attention.");
}

/* The copies of weights that bf16-mixed needs may outweigh what it saves. The sentence then
 * explains, with figures of both files, why it takes more; the order of the files does not matter.
 */
static void a_narrower_type_that_takes_more(void **state) {
    (void)state;
    const made_run wide = {"fp32",
                           {[TIDE_PARAMETER] = 20 * GIB,
                            [TIDE_ACTIVATION] = 8 * GIB,
                            [TIDE_TEMPORARY] = GIB,
                            [TIDE_INPUT] = 3 * MIB},
                           .scope = 3};
    const made_run narrow = {"bf16-mixed",
                             {[TIDE_PARAMETER] = 20 * GIB,
                              [TIDE_ACTIVATION] = 4 * GIB,
                              [TIDE_TEMPORARY] = GIB / 2,
                              [TIDE_INPUT] = 2 * MIB,
                              [TIDE_WEIGHT_COPY] = 6 * GIB},
                             .scope = 3};
    static const char CAUSE[] =
        " bf16-mixed takes 1.50 GiB more than fp32 although its type is smaller: 6.00 GiB more of "
        "weight copies outweigh 4.50 GiB less of activations and temporaries, each at its own "
        "peak.";
    char expected[1024];
    snprintf(expected, sizeof(expected),
             "The peak is set by parameters in both, and bf16-mixed raises it by "
             "5.2 %%, from 29.00 GiB to 30.50 GiB.%s",
             CAUSE);
    assert_sentence((const made_run[]){wide, narrow}, expected);
    snprintf(expected, sizeof(expected),
             "fp32 lowers the peak by 4.9 %%, from 30.50 GiB to 29.00 GiB; it is set by parameters "
             "in both.%s",
             CAUSE);
    assert_sentence((const made_run[]){narrow, wide}, expected);
}

static void a_base_that_does_not_fit(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){
            {"fp32",
             {[TIDE_PARAMETER] = GIB, [TIDE_ACTIVATION] = 4 * GIB},
             .oom_bytes = GIB,
             .scope = 3},
            {"bf16-mixed", {[TIDE_PARAMETER] = GIB, [TIDE_ACTIVATION] = 2 * GIB}, .scope = 3}},
        "fp32 does not fit: it asked for 1.00 GiB with 100.00 MiB free in the backward phase, most "
        "of what it had allocated being activations (4.00 GiB of 5.00 GiB); bf16-mixed peaks at "
        "3.00 GiB, set by activations (2.00 GiB of 3.00 GiB) in the backward phase: 2.00 GiB of "
        "activations against 4.00 GiB when fp32 ran out.");
}

static void another_that_does_not_fit(void **state) {
    (void)state;
    const made_run runs[] = {{"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                             {"tf32", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1},
                             {"bf16-true", {[TIDE_PARAMETER] = GIB / 2}, .scope = 1}};
    comparison of = compare_runs(runs, 3);
    assert_string_equal(
        of.compare->sentence,
        "tf32 does not fit: it asked for 1.00 GiB with 100.00 MiB free in the optimizer phase, "
        "most "
        "of what it had allocated being parameters (1.00 GiB of 1.00 GiB); fp32 peaks at 1.00 GiB, "
        "set by parameters (1.00 GiB of 1.00 GiB) in the optimizer phase. bf16-true lowers the "
        "peak by 50.0 %, from 1.00 GiB to 512.00 MiB: there parameters take 512.00 MiB less; it is "
        "set by parameters in both.");
    compare_finish(&of);
}

static void neither_fits(void **state) {
    (void)state;
    comparison of = compare_runs(
        (const made_run[]){
            {"fp32", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1},
            {"bf16-mixed", {[TIDE_GRADIENT] = GIB}, .oom_bytes = 2 * GIB, .scope = 3}},
        2);
    assert_non_null(strstr(of.compare->sentence, "fp32 does not fit: it asked for 1.00 GiB"));
    assert_non_null(strstr(of.compare->sentence, "; bf16-mixed does not fit: it asked for 2.00"));
    compare_finish(&of);
}

/* The base is described only once, however many runs are compared with it. */
static void the_base_is_described_once(void **state) {
    (void)state;
    comparison of = compare_runs(
        (const made_run[]){{"fp32", {[TIDE_ACTIVATION] = 4 * GIB}, .oom_bytes = GIB, .scope = 3},
                           {"bf16-mixed", {[TIDE_ACTIVATION] = 2 * GIB}, .scope = 3},
                           {"bf16-true", {[TIDE_PARAMETER] = GIB}, .scope = 1}},
        3);
    assert_string_equal(
        of.compare->sentence,
        "fp32 does not fit: it asked for 1.00 GiB with 100.00 MiB free in the backward phase, most "
        "of what it had allocated being activations (4.00 GiB of 4.00 GiB); bf16-mixed peaks at "
        "2.00 GiB, set by activations (2.00 GiB of 2.00 GiB) in the backward phase: 2.00 GiB of "
        "activations against 4.00 GiB when fp32 ran out. bf16-true peaks at 1.00 GiB, set by "
        "parameters (1.00 GiB of 1.00 GiB) in the optimizer phase: 0 B of activations against "
        "4.00 GiB when fp32 ran out.");
    compare_finish(&of);
    of = compare_runs((const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                         {"tf32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                         {"bf16-mixed", {[TIDE_PARAMETER] = GIB}, .scope = 1}},
                      3);
    assert_string_equal(
        of.compare->sentence,
        "The peak is set by parameters (1.00 GiB of 1.00 GiB) in the optimizer phase in both: tf32 "
        "hardly changes it (1.00 GiB with fp32, 1.00 GiB with tf32). bf16-mixed hardly changes the "
        "peak, set by parameters there too (1.00 GiB with fp32, 1.00 GiB with bf16-mixed).");
    compare_finish(&of);
    of = compare_runs(
        (const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1},
                           {"tf32", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1},
                           {"bf16-mixed", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1}},
        3);
    const char *first = strstr(of.compare->sentence, "fp32 does not fit");
    assert_ptr_equal(first, of.compare->sentence);
    assert_null(strstr(first + 1, " fp32 does not fit"));
    assert_non_null(strstr(first, ". bf16-mixed does not fit"));
    compare_finish(&of);
}

/* A request may fail with as many bytes free: its new segment is larger than it. */
static void too_little_for_a_segment(void **state) {
    (void)state;
    const tide_snapshot plain = {.n_settings = 0};
    assert_string_equal(tide_oom_why_not(&plain, 9 * MIB, 8 * MIB), "");
    assert_string_equal(tide_oom_why_not(&plain, 9 * MIB, 19 * MIB),
                        ", too little for a new segment");
    assert_string_equal(tide_oom_why_not(&plain, 9 * MIB, 20 * MIB),
                        ", and yet it gave out no more");
    assert_string_equal(tide_oom_why_not(&plain, 4096, 78 * GIB), ", and yet it gave out no more");
    comparison of = compare_runs(
        &(const made_run){"fp32", {[TIDE_GRADIENT] = GIB}, .oom_bytes = 9 * MIB, .scope = 3}, 1);
    assert_non_null(strstr(of.compare->sentence,
                           "asked for 9.00 MiB with 100.00 MiB free, and yet it gave out no more, "
                           "in the backward phase"));
    compare_finish(&of);
}

static void runs_with_equal_settings(void **state) {
    (void)state;
    assert_sentence((const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                       {"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1}},
                    "The peak is set by parameters (1.00 GiB of 1.00 GiB) in the optimizer phase "
                    "in both (1.00 GiB with a.json.gz, 1.00 GiB with b.json.gz).");
}

static void one_run_alone(void **state) {
    (void)state;
    comparison of = compare_runs(&(const made_run){"fp32", {[TIDE_GRADIENT] = GIB}, .scope = 3}, 1);
    assert_string_equal(of.compare->sentence, "The peak is set by gradients (1.00 GiB of 1.00 GiB) "
                                              "in the backward phase.");
    compare_finish(&of);
}

static void nothing_recorded_is_no_crash(void **state) {
    (void)state;
    tide_snapshot *empty = NULL;
    tide_compare *compare = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &empty), TIDE_OK);
    const tide_compare_input inputs[] = {{"a", empty, NULL}, {"b", empty, NULL}};
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    assert_string_equal(compare->sentence,
                        "a has no recorded allocations; b has no recorded allocations.");
    assert_true(compare->runs[0].allocated_bytes == -1);
    tide_compare_destroy(compare);
    assert_int_equal(tide_compare_create(inputs, 0, &compare, NULL), TIDE_LIMIT);
    tide_snapshot_destroy(empty);
}

/* Two whole runs of the same model: activations of half the size show in the sentence. */
static void whole_runs(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    tide_snapshot *fp32 = synthetic_create(&config);
    config.element_bytes = 2;
    config.precision = "bf16-mixed";
    tide_snapshot *bf16 = synthetic_create(&config);
    tide_compare *compare = NULL;
    const tide_compare_input inputs[] = {{"a", fp32, NULL}, {"b", bf16, NULL}};
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    assert_true(compare->runs[1].allocated_bytes < compare->runs[0].allocated_bytes);
    assert_non_null(strstr(compare->sentence, "bf16-mixed lowers the peak"));
    assert_non_null(strstr(compare->sentence, "activations take"));
    int64_t sum = 0;
    for (int i = 0; i < TIDE_N_CATEGORIES; i++) {
        sum += compare->runs[0].category_bytes[i];
    }
    assert_true(sum == compare->runs[0].allocated_bytes);
    assert_int_equal(compare->n_times, 4);
    assert_true(compare->runs[0].times[0].ms.mean == 1.5);
    tide_compare_destroy(compare);
    tide_snapshot_destroy(fp32);
    tide_snapshot_destroy(bf16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_stand_side_by_side),
        cmocka_unit_test(equal_runs_go_by_their_labels),
        cmocka_unit_test(labels_go_without_folders),
        cmocka_unit_test(names_have_the_device),
        cmocka_unit_test(a_peak_that_stays),
        cmocka_unit_test(a_tie_is_called_a_tie),
        cmocka_unit_test(a_peak_that_falls),
        cmocka_unit_test(a_peak_that_rises_and_moves),
        cmocka_unit_test(a_narrower_type_that_takes_more),
        cmocka_unit_test(a_base_that_does_not_fit),
        cmocka_unit_test(another_that_does_not_fit),
        cmocka_unit_test(neither_fits),
        cmocka_unit_test(the_base_is_described_once),
        cmocka_unit_test(too_little_for_a_segment),
        cmocka_unit_test(runs_with_equal_settings),
        cmocka_unit_test(one_run_alone),
        cmocka_unit_test(nothing_recorded_is_no_crash),
        cmocka_unit_test(whole_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
