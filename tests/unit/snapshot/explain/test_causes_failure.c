/* test_causes_failure.c - the causes of a failed request: each fires on its facts, and is silent
 * where one of them is missing. The sentences about the failure have their figures.
 */
#include "causes_fixture.h"

#include <string.h>

#include "snapshot/explain/words/failure_words.h"

#define FIRST (UINT64_C(1) << 40) /* an address */
#define NEXT (UINT64_C(1) << 36)  /* from one segment to the next: 64 GiB */

static recording made;

static int start(void **state) {
    (void)state;
    begin_recording(&made);
    return 0;
}

/* 3 segments of 6 GiB, each with a block of 100 MiB that stays: too few for a loop. */
static void split_segments(void) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 3; i++) {
        buy(&made, FIRST + i * NEXT, 6 * GIB, AT_MAIN);
        alloc(&made, FIRST + i * NEXT, 100 * MIB, AT_RUN);
    }
}

/* ---- the card ---- */

static void others(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, 2 * GIB, AT_FORWARD);
    fail_request(&made, 2 * GIB, GIB, AT_FORWARD); /* 21 of 24 GiB are not PyTorch's */
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "other_process");
    assert_int_equal(cause->bytes, 21 * GIB);
    assert_string_equal(of.causes.causes[0].id, "other_process");
    assert_non_null(strstr(cause->words, "21.00 GiB of the card's 24.00 GiB"));
    end_explained(&of);
}

/* The processes that the driver listed, largest first. */
static void others_by_name(void **state) {
    (void)state;
    static const tide_snapshot_process PROCESSES[] = {{4242, 18 * (int64_t)GIB, "/usr/bin/python3"},
                                                      {7, -1, ""},
                                                      {8, (int64_t)MIB, "b"},
                                                      {9, (int64_t)MIB, "c"}};
    alloc_alone(&made, FIRST, 2 * GIB, AT_FORWARD);
    fail_request(&made, 2 * GIB, GIB, AT_FORWARD);
    made.at_failure.device = 0;
    made.at_failure.processes = PROCESSES;
    made.at_failure.n_processes = 4;
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "other_process")->words,
                           " The driver listed process 4242 (/usr/bin/python3) with 18.00 GiB, "
                           "process 7, process 8 (b) with 1.00 MiB and 1 more on this card then."));
    end_explained(&of);
    made.at_failure.device = 1; /* of another card */
    explain(&made, &of);
    assert_null(strstr(cause_of(&of, "other_process")->words, "The driver"));
    end_explained(&of);
}

/* The context and what libraries hold are known, and 10 % of a card are no other program. */
static void no_others(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, 20 * GIB, AT_FORWARD);
    fail_request(&made, 2 * GIB, 2 * GIB - 1, AT_FORWARD);
    assert_silent(&made, "other_process");
    begin_recording(&made);
    alloc_alone(&made, FIRST, 2 * GIB, AT_FORWARD);
    fail_request(&made, 24 * GIB, GIB, AT_FORWARD); /* too much for the whole card */
    assert_silent(&made, "other_process");
    split_segments();
    fail_request(&made, 7 * GIB, 3 * GIB, AT_MAIN); /* 3 GiB are others', 13.71 GiB in pieces */
    assert_silent(&made, "other_process");
}

static void limit(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, 7 * GIB, AT_FORWARD);
    fail_request(&made, GIB, 16 * GIB, AT_FORWARD);
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "process_limit")->words, "16.00 GiB free"));
    assert_null(tide_causes_find(&of.causes, "fragmentation"));
    end_explained(&of);
    begin_recording(&made);
    alloc_alone(&made, FIRST, 22 * GIB, AT_FORWARD);
    fail_request(&made, GIB, GIB + GIB / 8, AT_FORWARD); /* rounding explains it */
    assert_silent(&made, "process_limit");
}

/* A card that fills up under a model's constructor; `other` bytes are no weights. */
static void fill_by_weights(uint64_t other) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 22; i++) {
        alloc_alone(&made, FIRST + i * NEXT, GIB, AT_BUILD);
    }
    if (other > 0) {
        alloc_alone(&made, FIRST + 30 * NEXT, other, AT_RUN);
    }
    fail_request(&made, 2 * GIB, GIB, AT_BUILD);
}

/* The type is named if it is that of all weights, and half precision is no cure for half. */
static void types_of_weights(void **state) {
    (void)state;
    static const tide_snapshot_type TYPES[] = {{"float32", 22 * (int64_t)GIB, 30},
                                               {"int64", 4096, 1},
                                               {"bfloat16", 11 * (int64_t)GIB, 30}};
    static const struct {
        size_t first, n;
        const char *words, *cure;
    } CASES[] = {{0, 2, "are weights, in float32.", "build the model in half precision"},
                 {2, 1, "are weights, in bfloat16.", "quantize the model, or shard"},
                 {0, 3, "are weights.", "build the model in half precision"},
                 {0, 0, "are weights.", "build the model in half precision"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        explained of;
        fill_by_weights(0);
        made.types = &TYPES[CASES[i].first];
        made.n_types = CASES[i].n;
        explain(&made, &of);
        const tide_cause *cause = cause_of(&of, "weights_alone");
        if (strstr(cause->words, CASES[i].words) == NULL ||
            strncmp(cause->cure, CASES[i].cure, strlen(CASES[i].cure)) != 0) {
            fail_msg("case %zu: %s Cure: %s", i, cause->words, cause->cure);
        }
        end_explained(&of);
    }
}

static void weights(void **state) {
    (void)state;
    fill_by_weights(0);
    explained of;
    explain(&made, &of);
    assert_int_equal(cause_of(&of, "weights_alone")->bytes, 22 * GIB);
    end_explained(&of);
    fill_by_weights(3 * GIB); /* 12 % */
    assert_silent(&made, "weights_alone");
    fill_by_weights(0);
    made.rows[made.n - 1].stack = made.rows[0].stack + AT_FORWARD - AT_BUILD;
    assert_silent(&made, "weights_alone"); /* the model is complete: the request is not its */
}

static void too_large(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, 400 * MIB, AT_RUN);
    fail_request(&made, 40 * GIB, 22 * GIB, AT_RUN);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "too_large_request");
    assert_non_null(strstr(cause->words, "40.00 GiB, 102 times"));
    assert_non_null(strstr(cause->cure, "chunks"));
    end_explained(&of);
    made.rows[made.n - 1].requested_bytes = 3 * GIB; /* not half of the card */
    assert_silent(&made, "too_large_request");
    begin_recording(&made);
    alloc_alone(&made, FIRST, GIB, AT_RUN); /* in one piece, it would have fitted */
    buy(&made, FIRST + NEXT, 11 * GIB, AT_RUN);
    fail_request(&made, 14 * GIB, 12 * GIB, AT_RUN);
    assert_silent(&made, "too_large_request");
    begin_recording(&made);
    alloc_alone(&made, FIRST, 6 * GIB, AT_MAIN); /* others are as large */
    fail_request(&made, 40 * GIB, 17 * GIB, AT_RUN);
    assert_silent(&made, "too_large_request");
}

/* The function that asks already made tensors of that size: of others, none is near it. */
static void one_more_too_large(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, 100 * MIB, AT_MAIN);
    alloc_alone(&made, FIRST + NEXT, 16 * GIB, AT_RUN);
    fail_request(&made, 16 * GIB, 7 * GIB, AT_RUN);
    explained of;
    explain(&made, &of);
    assert_string_equal(
        cause_of(&of, "too_large_request")->words,
        "One request is for 16.00 GiB, 163 times as much as the largest tensor that other code "
        "made (100.00 MiB), and 1 tensor of the same function already holds 16.00 GiB.");
    end_explained(&of);
    begin_recording(&made); /* small tensors that fill the card are no such result */
    alloc_alone(&made, FIRST, 100 * MIB, AT_MAIN);
    for (uint64_t i = 1; i <= 11; i++) {
        alloc_alone(&made, FIRST + i * NEXT, 2 * GIB, AT_RUN);
    }
    fail_request(&made, 2 * GIB, GIB, AT_RUN);
    assert_silent(&made, "too_large_request");
    begin_recording(&made); /* other code made one as large */
    alloc_alone(&made, FIRST, 10 * GIB, AT_MAIN);
    alloc_alone(&made, FIRST + NEXT, 10 * GIB, AT_RUN);
    fail_request(&made, 10 * GIB, 3 * GIB, AT_RUN);
    assert_silent(&made, "too_large_request");
    begin_recording(&made); /* and freed it: the line only converts it */
    alloc_alone(&made, FIRST, 8 * GIB, AT_MAIN);
    drop(&made, FIRST, 8 * GIB);
    fail_request(&made, 16 * GIB, 15 * GIB, AT_RUN);
    assert_silent(&made, "too_large_request");
}

static void distances(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, MIB, AT_RUN);
    fail_request(&made, 40 * GIB, 22 * GIB, AT_CDIST);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "too_large_request");
    assert_non_null(strstr(cause->words, "over 1000 times"));
    assert_non_null(strstr(cause->words, "every pair of rows"));
    end_explained(&of);
}

/* ---- fragmentation ---- */

static void fragmentation(void **state) {
    (void)state;
    split_segments();
    fail_request(&made, 7 * GIB, 6 * GIB, AT_MAIN);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "fragmentation");
    assert_non_null(strstr(cause->words, "17.71 GiB of the reserved memory was free"));
    assert_non_null(strstr(cause->words, "at most 5.90 GiB"));
    assert_non_null(strstr(cause->words, "3 blocks from run (model.py:5) stay"));
    assert_int_equal(of.causes.n_causes, 1);
    end_explained(&of);
}

/* A setting of the allocator can be a cure of fragmentation, and of nothing else that failed. */
static void settings(void **state) {
    (void)state;
    explained of;
    split_segments();
    fail_request(&made, 7 * GIB, 6 * GIB, AT_MAIN);
    explain(&made, &of);
    assert_true(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
    fill_by_weights(0);
    explain(&made, &of);
    assert_false(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
    split_segments(); /* nothing failed, and most of what is reserved is free */
    explain(&made, &of);
    assert_true(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
    begin_recording(&made);
    alloc_alone(&made, FIRST, 20 * GIB, AT_RUN);
    explain(&made, &of);
    assert_false(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
}

static void varying_sizes(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 8; i++) {
        alloc_alone(&made, FIRST + i * NEXT, (i + 1) * 100 * MIB, AT_FORWARD);
        drop(&made, FIRST + i * NEXT, (i + 1) * 100 * MIB);
    }
    for (uint64_t i = 10; i < 13; i++) {
        buy(&made, FIRST + i * NEXT, 5 * GIB, AT_MAIN);
        alloc(&made, FIRST + i * NEXT, 100 * MIB, AT_RUN);
    }
    fail_request(&made, 7 * GIB, 6 * GIB, AT_MAIN);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "fragmentation");
    assert_non_null(strstr(cause->words, "change from pass to pass"));
    assert_non_null(strstr(cause->cure, "pad"));
    end_explained(&of);
}

static void no_fragmentation(void **state) {
    (void)state;
    split_segments(); /* 23.71 GiB would be free in one piece */
    fail_request(&made, 23 * GIB + 256 * MIB, 6 * GIB, AT_MAIN);
    assert_silent(&made, "fragmentation");
    begin_recording(&made);
    made.stream = 1; /* of another stream, whose cache the request cannot use */
    for (uint64_t i = 0; i < 3; i++) {
        buy(&made, FIRST + i * NEXT, 6 * GIB, AT_MAIN);
        alloc(&made, FIRST + i * NEXT, 100 * MIB, AT_RUN);
    }
    made.stream = 0;
    fail_request(&made, 7 * GIB, 6 * GIB, AT_MAIN);
    assert_silent(&made, "fragmentation");
}

/* Blocks that wait for another stream are free only later. */
static void pending(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20; i++) {
        alloc_alone(&made, FIRST + i * NEXT, GIB, AT_RUN);
    }
    for (uint64_t i = 0; i < 10; i++) {
        drop(&made, FIRST + i * NEXT, GIB);
        made.rows[made.n - 1].action = TIDE_ACTION_FREE_REQUESTED;
    }
    fail_request(&made, 5 * GIB, 3 * GIB, AT_MAIN);
    explained of;
    explain(&made, &of);
    assert_int_equal(of.facts.failure.reserved.pending_bytes, 10 * GIB);
    assert_int_equal(of.facts.failure.margin_bytes, 8 * GIB);
    assert_int_equal(of.facts.failure.usable_margin_bytes, -2 * (int64_t)GIB);
    assert_null(tide_causes_find(&of.causes, "fragmentation"));
    end_explained(&of);
}

/* ---- an exception ---- */

/* A call allocates 20 GiB and fails; `frees`: the exception releases them. Then the program
 * continues at a line. Another line holds 1 GiB all the time. */
static void fail_and_continue(bool frees, uint32_t failed, uint32_t stack) {
    begin_recording(&made);
    alloc_alone(&made, FIRST + 100 * NEXT, GIB, AT_WORKER);
    for (uint64_t i = 0; i < 20; i++) {
        alloc_alone(&made, FIRST + i * NEXT, GIB, failed);
    }
    fail_request(&made, 5 * GIB, 4 * GIB, failed);
    for (uint64_t i = 0; i < 20 && frees; i++) {
        drop(&made, FIRST + i * NEXT, GIB);
    }
    for (uint64_t i = 20; i < 44; i++) {
        alloc_alone(&made, FIRST + i * NEXT, 16 * MIB, stack);
    }
}

static void exception(void **state) {
    (void)state;
    fail_and_continue(false, AT_FORWARD, AT_RETRY);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "exception_holds");
    assert_int_equal(cause->bytes, 20 * GIB);
    assert_non_null(strstr(cause->words, "main (train.py:10)"));
    assert_non_null(strstr(cause->words, "continued at main (train.py:14)"));
    end_explained(&of);
    fail_and_continue(true, AT_FORWARD, AT_RETRY);
    assert_silent(&made, "exception_holds");
    fail_and_continue(false, AT_FORWARD, AT_RUN); /* the loop begins anew: the exception is over */
    assert_silent(&made, "exception_holds");
    fail_and_continue(false, AT_RETRY, AT_RUN); /* an earlier line */
    assert_silent(&made, "exception_holds");
    fail_and_continue(false, AT_FORWARD, AT_WORKER); /* another function */
    assert_silent(&made, "exception_holds");
}

/* ---- quoted lines ---- */

/* Lines whose text was recorded are quoted; long ones end in "...", and no other line is quoted. */
static void quotes(void **state) {
    (void)state;
    char text[201];
    memset(text, 'x', sizeof(text));
    memcpy(text, "out = net(", 10);
    text[200] = '\0';
    const tide_source_row lines[] = {{FIXTURE_TRAIN, 10, "out = net(x)", false},
                                     {FIXTURE_TRAIN, 11, "another line", false},
                                     {FIXTURE_MODEL, 10, "another file", false}};
    const tide_source_row long_line = {FIXTURE_TRAIN, 10, text, true};
    explained of;
    fail_and_continue(false, AT_FORWARD, AT_RETRY);
    made.source = lines;
    made.n_source = 3;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "exception_holds")->words,
                           "main (train.py:10), `out = net(x)`, were still allocated when the "
                           "program continued at main (train.py:14). Inside"));
    end_explained(&of);
    made.source = &long_line;
    made.n_source = 1;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "exception_holds")->words, "`out = net(xxx"));
    assert_non_null(strstr(cause_of(&of, "exception_holds")->words, "xxx...`, were still"));
    end_explained(&of);
}

/* ---- sentences ---- */

static void assert_words(const char *headline, const char *margin) {
    explained of;
    char words[512];
    tide_text text = tide_text_in(words, sizeof(words));
    explain(&made, &of);
    tide_failure_words_add(&of.facts, &text);
    assert_string_equal(words, headline);
    text = tide_text_in(words, sizeof(words));
    tide_failure_words_add_margin(&of.facts, &of.causes, &text);
    assert_string_equal(words, margin);
    end_explained(&of);
}

static void sentences(void **state) {
    (void)state;
    assert_words("", "");
    for (uint64_t i = 0; i < 7; i++) { /* state of the program, of which no line has much */
        alloc_alone(&made, FIRST + i * NEXT, 3 * GIB, AT_FORWARD)->category = TIDE_OPTIMIZER_STATE;
    }
    fail_request(&made, 4 * GIB, 2 * GIB, AT_FORWARD);
    assert_words("Out of memory at run (model.py:5): 4.00 GiB asked for, 2.00 GiB free beside the "
                 "21.00 GiB that PyTorch had reserved of 24.00 GiB.",
                 "The card is too small: 21.00 GiB were allocated and 4.00 GiB "
                 "asked for, and PyTorch could have at most 23.00 GiB.");
    fill_by_weights(0);
    assert_words("Out of memory at main (train.py:10): 2.00 GiB asked for, 1.00 GiB free beside "
                 "the 22.00 GiB that PyTorch had reserved of 24.00 GiB.",
                 "Fragmentation plays no part: even in one piece, 1.00 GiB would be missing.");
    buy(&made, FIRST + 50 * NEXT, GIB + 256 * MIB, AT_MAIN);
    fail_request(&made, 2 * GIB, 0, AT_BUILD);
    made.rows[made.n - 3] = made.rows[made.n - 2]; /* the segment precedes the first failure */
    made.rows[made.n - 2] = made.rows[made.n - 1];
    assert_words("Out of memory 2 times, first at main (train.py:10): 2.00 GiB asked for, 0 B "
                 "free beside the 23.25 GiB that PyTorch had reserved of 24.00 GiB.",
                 "Fragmentation plays no part: even in one piece, 768.00 MiB would be missing.");
}

/* With fragmentation or another stream's cache as the cause, the margin is no news. */
static void no_margin(void **state) {
    (void)state;
    split_segments();
    fail_request(&made, 7 * GIB, 6 * GIB, AT_MAIN);
    assert_words("Out of memory at main (train.py:10): 7.00 GiB asked for, 6.00 GiB free beside "
                 "the 18.00 GiB that PyTorch had reserved of 24.00 GiB.",
                 "");
    begin_recording(&made);
    made.stream = 1;
    buy(&made, FIRST, 3 * GIB, AT_RUN);
    alloc(&made, FIRST, MIB, AT_RUN);
    made.stream = 0;
    alloc_alone(&made, FIRST + NEXT, 20 * GIB, AT_MAIN);
    fail_request(&made, 2 * GIB, GIB, AT_MAIN);
    assert_words("Out of memory at main (train.py:10): 2.00 GiB asked for, 1.00 GiB free beside "
                 "the 23.00 GiB that PyTorch had reserved of 24.00 GiB.",
                 "");
}

static void margins(void **state) {
    (void)state;
    fill_by_weights(0);
    made.rows[made.n - 1].block_bytes = 2 * GIB + 128 * MIB; /* free */
    explained of;
    char words[256];
    tide_text text = tide_text_in(words, sizeof(words));
    explain(&made, &of);
    tide_failure_words_add_margin(&of.facts, &of.causes, &text);
    assert_string_equal(words, "Fragmentation is not the cause: even with all free memory in one "
                               "piece, only 128.00 MiB would have been left after the request.");
    end_explained(&of);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes),
        cmocka_unit_test_setup(others, start),
        cmocka_unit_test_setup(others_by_name, start),
        cmocka_unit_test_setup(no_others, start),
        cmocka_unit_test_setup(limit, start),
        cmocka_unit_test_setup(weights, start),
        cmocka_unit_test_setup(types_of_weights, start),
        cmocka_unit_test_setup(too_large, start),
        cmocka_unit_test_setup(one_more_too_large, start),
        cmocka_unit_test_setup(distances, start),
        cmocka_unit_test_setup(fragmentation, start),
        cmocka_unit_test_setup(settings, start),
        cmocka_unit_test_setup(varying_sizes, start),
        cmocka_unit_test_setup(no_fragmentation, start),
        cmocka_unit_test_setup(pending, start),
        cmocka_unit_test_setup(exception, start),
        cmocka_unit_test_setup(sentences, start),
        cmocka_unit_test_setup(no_margin, start),
        cmocka_unit_test_setup(margins, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
