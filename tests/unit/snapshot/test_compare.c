/* test_compare.c - figures side by side, and sentences that say what the figures say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/compare.h"
#include "support/synthetic.h"

enum { MAX_RUNS = 3 };
#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* A run with given bytes per category, all alive at the peak, then, with `oom_bytes`, an oom row.
 */
typedef struct made_run {
    const char *precision;
    uint64_t bytes[TIDE_N_CATEGORIES];
    uint64_t oom_bytes; /* asked for; 0: the run completes */
    uint32_t scope;     /* of the last event: 1 optimizer > adamw, 3 backward > attention */
    double step_ms;     /* 0: not computed */
    int64_t context;    /* tokens of a sequence */
    int64_t d_model;
} made_run;

static const char *const STRINGS[] = {"optimizer", "adamw", "backward", "attention"};
static const tide_scope_row SCOPES[] = {
    {0, 1, -1, -1, TIDE_NONE, 0, -1, 0, TIDE_SCOPE_PHASE},
    {0, 1, -1, -1, 0, 1, -1, 0, TIDE_SCOPE_OPERATOR},
    {0, 1, -1, -1, TIDE_NONE, 2, -1, 0, TIDE_SCOPE_PHASE},
    {0, 1, -1, -1, 2, 3, -1, 0, TIDE_SCOPE_OPERATOR},
};
static const tide_snapshot_device DEVICE = {"virtual", "v", -1, -1, -1, -1, -1, -1};
static const tide_stream_row STREAM = {0, 0};

static tide_snapshot *make(const made_run *of) {
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    tide_event *events = tide_arena_alloc(&made->arena, TIDE_N_CATEGORIES + 1, sizeof(*events));
    tide_snapshot_phase *phase = tide_arena_alloc(&made->arena, 1, sizeof(*phase));
    double *ms = tide_arena_alloc(&made->arena, 2, sizeof(*ms));
    assert_true(events != NULL && phase != NULL && ms != NULL);
    size_t n = 0;
    for (uint8_t i = 0; i < TIDE_N_CATEGORIES; i++) {
        if (of->bytes[i] > 0) {
            events[n++] = (tide_event){.address = (uint64_t)i << 40,
                                       .requested_bytes = of->bytes[i],
                                       .block_bytes = of->bytes[i],
                                       .stack = TIDE_NONE,
                                       .scope = of->scope,
                                       .name = TIDE_NONE,
                                       .category = i};
        }
    }
    if (of->oom_bytes > 0) {
        events[n++] = (tide_event){.requested_bytes = of->oom_bytes,
                                   .block_bytes = 100 * MIB,
                                   .stack = TIDE_NONE,
                                   .scope = of->scope,
                                   .name = TIDE_NONE,
                                   .action = TIDE_ACTION_OOM};
    }
    ms[0] = of->step_ms;
    ms[1] = -1.0;
    *phase = (tide_snapshot_phase){"step", of->step_ms > 0.0 ? 1 : 0, ms, ms + 1};
    made->timing.phases = phase;
    made->timing.n_phases = 1;
    made->devices = &DEVICE;
    made->n_devices = 1;
    made->streams = &STREAM;
    made->n_streams = 1;
    made->strings = STRINGS;
    made->n_strings = 4;
    made->scopes = SCOPES;
    made->n_scopes = 4;
    made->events = events;
    made->n_events = n;
    made->run.precision = of->precision;
    made->run.context_length = of->context;
    made->run.model.d_model = of->d_model;
    made->run.outcome = of->oom_bytes > 0 ? "oom" : "completed";
    return made;
}

typedef struct comparison {
    tide_snapshot *snapshots[MAX_RUNS];
    size_t n_runs;
    tide_compare *compare;
} comparison;

static comparison compare_runs(const made_run *runs, size_t n_runs) {
    static const char *const LABELS[] = {"a.json.gz", "b.json.gz", "c.json.gz"};
    comparison of = {.n_runs = n_runs};
    tide_compare_input inputs[MAX_RUNS];
    tide_error error = {""};
    for (size_t i = 0; i < n_runs; i++) {
        of.snapshots[i] = make(&runs[i]);
        inputs[i] = (tide_compare_input){LABELS[i], of.snapshots[i], NULL};
    }
    if (tide_compare_create(inputs, n_runs, &of.compare, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return of;
}

static void finish(comparison *of) {
    tide_compare_destroy(of->compare);
    for (size_t i = 0; i < of->n_runs; i++) {
        tide_snapshot_destroy(of->snapshots[i]);
    }
}

/* The sentence of two runs. */
static void assert_sentence(const made_run *runs, const char *expected) {
    comparison of = compare_runs(runs, 2);
    assert_string_equal(of.compare->sentence, expected);
    finish(&of);
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
    finish(&of);
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
    finish(&of);
}

/* Without folders, unless these alone tell the runs apart. */
static void labels_go_without_folders(void **state) {
    (void)state;
    const made_run run = {"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1};
    tide_snapshot *made = make(&run);
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

static void a_peak_that_stays(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){
            {"fp32", {[TIDE_PARAMETER] = GIB, [TIDE_OPTIMIZER_STATE] = 2 * GIB}, .scope = 1},
            {"bf16-mixed", {[TIDE_PARAMETER] = GIB, [TIDE_OPTIMIZER_STATE] = 2 * GIB}, .scope = 1}},
        "The peak is set by optimizer state (2.00 GiB of 3.00 GiB) in the optimizer phase in both: "
        "bf16-mixed hardly changes it (3.00 GiB with fp32, 3.00 GiB with bf16-mixed).");
}

/* Which of two equal categories is ahead by a page is no news, and no difference of the runs. */
static void a_tie_is_told_as_a_tie(void **state) {
    (void)state;
    assert_sentence(
        (const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB, [TIDE_GRADIENT] = GIB}, .scope = 1},
                           {"bf16-mixed",
                            {[TIDE_PARAMETER] = GIB, [TIDE_GRADIENT] = GIB + GIB / 256},
                            .scope = 1}},
        "The peak is set by parameters and gradients (1.00 GiB and 1.00 GiB of 2.00 GiB) in the "
        "optimizer phase in both: bf16-mixed hardly changes it (2.00 GiB with fp32, 2.00 GiB with "
        "bf16-mixed). bf16-mixed takes 4.00 MiB more than fp32 although its type is smaller: "
        "4.00 MiB more of gradients, and less of nothing, each at its own peak.");
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
        "The peak is set by optimizer state in both: tf32 cannot lower it and raises it by "
        "20.0 %, from 5.00 GiB to 6.00 GiB: there activations take 2.00 GiB more, gradients "
        "1.00 GiB less; it moves from optimizer > adamw to backward > attention.");
}

/* The copies of weights that bf16-mixed needs may outweigh what it saves. Whoever reads that it
 * takes more is told why, in figures of the two files; the order of the files changes nothing. */
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
        "copies of weights outweigh 4.50 GiB less of activations and temporaries, each at its own "
        "peak.";
    char expected[1024];
    snprintf(expected, sizeof(expected),
             "The peak is set by parameters in both: bf16-mixed cannot lower it and raises it by "
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
    finish(&of);
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
    finish(&of);
}

/* The base is described once, however many runs stand beside it. */
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
    finish(&of);
    of = compare_runs((const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                         {"tf32", {[TIDE_PARAMETER] = GIB}, .scope = 1},
                                         {"bf16-mixed", {[TIDE_PARAMETER] = GIB}, .scope = 1}},
                      3);
    assert_string_equal(
        of.compare->sentence,
        "The peak is set by parameters (1.00 GiB of 1.00 GiB) in the optimizer phase in both: tf32 "
        "hardly changes it (1.00 GiB with fp32, 1.00 GiB with tf32). bf16-mixed hardly changes the "
        "peak, set by parameters there too (1.00 GiB with fp32, 1.00 GiB with bf16-mixed).");
    finish(&of);
    of = compare_runs(
        (const made_run[]){{"fp32", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1},
                           {"tf32", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1},
                           {"bf16-mixed", {[TIDE_PARAMETER] = GIB}, .oom_bytes = GIB, .scope = 1}},
        3);
    const char *first = strstr(of.compare->sentence, "fp32 does not fit");
    assert_ptr_equal(first, of.compare->sentence);
    assert_null(strstr(first + 1, " fp32 does not fit"));
    assert_non_null(strstr(first, ". bf16-mixed does not fit"));
    finish(&of);
}

/* Runs of different models or contexts are told apart and not measured against each other. */
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
    finish(&of);
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
    finish(&of);
}

/* A file that does not say what was run has no settings in its name, and is called no other
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
    finish(&of);
    of = compare_runs((const made_run[]){{"fp32", {[TIDE_ACTIVATION] = 4 * GIB}, .scope = 3},
                                         {"tf32", {[TIDE_ACTIVATION] = 2 * GIB}, .scope = 3},
                                         pickle},
                      3);
    assert_non_null(strstr(of.compare->sentence,
                           "activations in both. Not compared, as not every file states its "
                           "workload: c.json.gz peaks at 1.00 GiB"));
    finish(&of);
    of = compare_runs((const made_run[]){pickle, pickle}, 2);
    assert_string_equal(of.compare->sentence,
                        "The peak is set by parameters (1.00 GiB of 1.00 GiB) in the optimizer "
                        "phase in both (1.00 GiB with a.json.gz, 1.00 GiB with b.json.gz).");
    finish(&of);
}

/* A run timed with recording off, beside one of another context. */
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
    finish(&of);
}

/* A request may fail with as many bytes free: its new segment is larger than it. */
static void too_little_for_a_segment(void **state) {
    (void)state;
    comparison of = compare_runs(
        &(const made_run){"fp32", {[TIDE_GRADIENT] = GIB}, .oom_bytes = 9 * MIB, .scope = 3}, 1);
    assert_non_null(strstr(of.compare->sentence,
                           "asked for 9.00 MiB with 100.00 MiB free, too little for a new segment, "
                           "in the backward phase"));
    finish(&of);
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
    finish(&of);
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

/* Two whole runs of the same model: half the bytes of an activation show. */
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
        cmocka_unit_test(a_peak_that_stays),
        cmocka_unit_test(a_tie_is_told_as_a_tie),
        cmocka_unit_test(a_peak_that_falls),
        cmocka_unit_test(a_peak_that_rises_and_moves),
        cmocka_unit_test(a_narrower_type_that_takes_more),
        cmocka_unit_test(a_base_that_does_not_fit),
        cmocka_unit_test(another_that_does_not_fit),
        cmocka_unit_test(neither_fits),
        cmocka_unit_test(the_base_is_described_once),
        cmocka_unit_test(other_workloads_are_not_compared),
        cmocka_unit_test(workloads_that_are_not_stated),
        cmocka_unit_test(a_run_without_recording),
        cmocka_unit_test(too_little_for_a_segment),
        cmocka_unit_test(runs_with_equal_settings),
        cmocka_unit_test(one_run_alone),
        cmocka_unit_test(nothing_recorded_is_no_crash),
        cmocka_unit_test(whole_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
