/* test_causes_reserved.c - the causes of reserved memory, and those of the process: each fires on
 * its facts, and is silent where one of them is missing.
 */
#include "causes_fixture.h"

#include <string.h>

#include "snapshot/explain/words/reserved_words.h"

#define FIRST (UINT64_C(1) << 40) /* an address */
#define NEXT (UINT64_C(1) << 36)  /* from one segment to the next: 64 GiB */

static recording made;

static int start(void **state) {
    (void)state;
    begin_recording(&made);
    return 0;
}

/* ---- side streams ---- */

static void cache_of_stream(uint64_t main_bytes, uint64_t side_bytes) {
    begin_recording(&made);
    made.stream = 1;
    alloc_alone(&made, FIRST, side_bytes, AT_RUN);
    drop(&made, FIRST, side_bytes);
    made.stream = 0;
    alloc_alone(&made, FIRST + NEXT, main_bytes, AT_MAIN);
}

static void side_stream(void **state) {
    (void)state;
    cache_of_stream(8 * GIB, 4 * GIB);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "side_stream_cache");
    assert_int_equal(cause->bytes, 4 * GIB);
    assert_true(cause->is_of_reserved);
    assert_int_equal(cause->tier, TIDE_TIER_PEAK);
    assert_non_null(strstr(cause->words, "4.00 GiB of the 12.00 GiB reserved was free"));
    assert_non_null(strstr(cause->words, "run (model.py:5)"));
    end_explained(&of);
    cache_of_stream(8 * GIB, GIB); /* 11 % */
    assert_silent(&made, "side_stream_cache");
    cache_of_stream(GIB, 8 * GIB); /* the program works in that stream */
    assert_silent(&made, "side_stream_cache");
}

/* The failed request had room, but only in the other stream's segments. */
static void side_stream_at_failure(void **state) {
    (void)state;
    made.stream = 1;
    buy(&made, FIRST, 3 * GIB, AT_RUN);
    alloc(&made, FIRST, MIB, AT_RUN);
    made.stream = 0;
    alloc_alone(&made, FIRST + NEXT, 20 * GIB, AT_MAIN);
    fail_request(&made, 2 * GIB, GIB, AT_MAIN);
    explained of;
    explain(&made, &of);
    assert_int_equal(cause_of(&of, "side_stream_cache")->tier, TIDE_TIER_GROWTH);
    assert_null(tide_causes_find(&of.causes, "fragmentation"));
    end_explained(&of);
}

/* ---- CUDA graphs ---- */

/* Captures n graphs, each in the next of n_pools pools, and with another size if `varies`. */
static void capture(size_t n, uint16_t n_pools, bool varies) {
    begin_recording(&made);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t n_bytes = (varies ? i + 1 : 1) * 100 * MIB;
        alloc_alone(&made, FIRST + i * NEXT, MIB, AT_MAIN); /* the input */
        made.pool = (uint16_t)(1 + i % n_pools);
        made.stream = 1;
        alloc_alone(&made, FIRST + (100 + 2 * i) * NEXT, n_bytes, AT_RUN);
        alloc_alone(&made, FIRST + (101 + 2 * i) * NEXT, n_bytes / 2, AT_RUN);
        made.pool = 0;
        made.stream = 0;
    }
}

static void graph_pools(void **state) {
    (void)state;
    capture(4, 4, true);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "graph_pools");
    assert_non_null(strstr(cause->words, "in 4 private pools"));
    assert_non_null(strstr(cause->words, "run (model.py:5) was captured for at least 4 sizes"));
    assert_non_null(strstr(cause->cure, "pool=first.pool()"));
    end_explained(&of);
    capture(6, 1, true); /* one pool, many sizes: half sizes are not counted twice */
    explain(&made, &of);
    cause = cause_of(&of, "graph_pools");
    assert_non_null(strstr(cause->words, "in a private pool"));
    assert_non_null(strstr(cause->words, "at least 6 sizes"));
    end_explained(&of);
}

static void no_graph_pools(void **state) {
    (void)state;
    capture(6, 1, false);              /* one size */
    for (uint64_t i = 0; i < 6; i++) { /* the program's own pool has many */
        made.pool = 0;
        alloc_alone(&made, FIRST + (200 + i) * NEXT, MIB, AT_MAIN);
        made.pool = 5;
        alloc_alone(&made, FIRST + (210 + i) * NEXT, (i + 1) * MIB, AT_RUN);
    }
    assert_silent(&made, "graph_pools");
    capture(4, 4, true);
    alloc_alone(&made, FIRST + 50 * NEXT, 20 * GIB, AT_MAIN); /* they are 7 % */
    assert_silent(&made, "graph_pools");
    begin_recording(&made); /* a pool that the program made, in the main stream */
    for (uint64_t i = 0; i < 6; i++) {
        made.pool = 0;
        alloc_alone(&made, FIRST + i * NEXT, MIB, AT_MAIN);
        made.pool = 5;
        alloc_alone(&made, FIRST + (10 + i) * NEXT, (i + 1) * 100 * MIB, AT_RUN);
    }
    assert_silent(&made, "graph_pools");
}

/* ---- an emptied cache ---- */

static void empty_at(uint32_t stack) {
    begin_recording(&made);
    alloc_alone(&made, FIRST, GIB, AT_RUN);
    drop(&made, FIRST, GIB);
    give_back(&made, FIRST, GIB, stack);
}

static void all_returned(void **state) {
    (void)state;
    empty_at(AT_EMPTY_CACHE);
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "all_returned")->cure, "CUDA context"));
    end_explained(&of);
    alloc_alone(&made, FIRST, GIB, AT_RUN);
    assert_silent(&made, "all_returned");
    empty_at(AT_TEARDOWN); /* a library's call is not the program's question */
    assert_silent(&made, "all_returned");
    empty_at(AT_RUN);
    assert_silent(&made, "all_returned");
}

/* ---- the process ---- */

static void worker(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, GIB, AT_WORKER);
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "dataloader_worker")->words, "run (model.py:5)"));
    end_explained(&of);
    alloc_alone(&made, FIRST + NEXT, 3 * GIB, AT_RUN);
    assert_silent(&made, "dataloader_worker");
}

/* Blocks on device 0 and, more of them, on device 1. */
static void use_two(uint64_t n_bytes, int64_t local_rank) {
    begin_recording(&made);
    made.rank.local_rank = local_rank;
    alloc_alone(&made, FIRST, n_bytes, AT_RUN);
    made.device = 1;
    alloc_alone(&made, FIRST + NEXT, 2 * GIB, AT_FORWARD);
}

static void rank(void **state) {
    (void)state;
    use_two(200 * MIB, 1);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "rank_on_device_0");
    assert_int_equal(cause->bytes, 200 * MIB);
    assert_non_null(strstr(cause->words, "allocated at run (model.py:5)"));
    end_explained(&of);
    use_two(200 * MIB, 0);
    assert_silent(&made, "rank_on_device_0");
    use_two(200 * MIB, -1);
    assert_silent(&made, "rank_on_device_0");
    use_two(8 * MIB, 1);
    assert_silent(&made, "rank_on_device_0");
}

/* ---- an old model beside the new one ---- */

/* Makes n blocks at a line; each but the last is freed, before or after the next is made. */
static void rebuild(size_t n, bool frees_first, uint32_t stack) {
    begin_recording(&made);
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0 && frees_first) {
            drop(&made, FIRST + (i - 1) * NEXT, GIB);
        }
        alloc_alone(&made, FIRST + i * NEXT, GIB, stack);
        if (i > 0 && !frees_first) {
            drop(&made, FIRST + (i - 1) * NEXT, GIB);
        }
    }
}

static void old_and_new(void **state) {
    (void)state;
    rebuild(4, false, AT_BUILD);
    explained of;
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "old_kept_while_new")->words, "Two blocks of 1.00 GiB"));
    end_explained(&of);
    rebuild(4, true, AT_BUILD);
    assert_silent(&made, "old_kept_while_new");
    rebuild(2, false, AT_BUILD); /* once proves nothing */
    assert_silent(&made, "old_kept_while_new");
    rebuild(4, false, AT_RUN); /* the new tensor may be computed from the old one */
    assert_silent(&made, "old_kept_while_new");
}

/* ---- sentences ---- */

static void assert_words(const char *expected) {
    explained of;
    char words[512];
    tide_text text = tide_text_in(words, sizeof(words));
    explain(&made, &of);
    tide_reserved_words_add(&of.facts, &of.causes, &text);
    assert_string_equal(words, expected);
    end_explained(&of);
}

/* Folds of a cross validation: each builds a model, trains it, and frees all but the `n_kept` last
 * ones. */
static void folds(size_t n_folds, size_t n_kept, uint32_t trained_at) {
    begin_recording(&made);
    for (uint64_t i = 0; i < n_folds; i++) {
        alloc_alone(&made, FIRST + 2 * i * NEXT, GIB, AT_BUILD);
        alloc_alone(&made, FIRST + (2 * i + 1) * NEXT, GIB, trained_at);
        made.rows[made.n - 1].category = TIDE_GRADIENT;
        if (i + 1 > n_kept) {
            drop(&made, FIRST + 2 * (i - n_kept) * NEXT, GIB);
            drop(&made, FIRST + (2 * (i - n_kept) + 1) * NEXT, GIB);
        }
    }
}

/* A result of a forward pass, which is freed. */
static void release_one(uint64_t i) {
    alloc_alone(&made, FIRST + (20 + i) * NEXT, MIB, AT_FORWARD);
    drop(&made, FIRST + (20 + i) * NEXT, MIB);
}

/* Trials that build a model and run it, and a collection after the fourth of them, or none. */
static void trials(bool is_collected, bool goes_on) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 5; i++) {
        alloc_alone(&made, FIRST + i * NEXT, GIB, AT_BUILD);
        release_one(i);
    }
    for (uint64_t i = 0; i < 4; i++) {
        drop(&made, FIRST + i * NEXT, GIB);
        if (!is_collected) {
            release_one(i);
        }
    }
    if (goes_on) {
        release_one(0);
    }
}

static void models_that_wait_for_the_collector(void **state) {
    (void)state;
    trials(true, true);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "models_kept");
    assert_non_null(strstr(cause->words, "Weights of earlier models make up 4.00 GiB"));
    assert_non_null(strstr(cause->words, "anew after each forward pass, and 4 of the earlier"));
    assert_non_null(strstr(cause->words, "freed several at a time"));
    end_explained(&of);
    trials(false, true); /* layers that are built one by one */
    assert_silent(&made, "models_kept");
    trials(true, false); /* the end of the program */
    assert_silent(&made, "models_kept");
}

static void models_of_earlier_folds(void **state) {
    (void)state;
    folds(6, 5, AT_BACKWARD);
    explained of;
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "models_kept");
    assert_string_equal(cause->words,
                        "Weights, gradients and optimizer state of earlier models make up 10.00 "
                        "GiB of the peak (83 %): main (train.py:10) makes a model anew after "
                        "each training, and 5 of the earlier ones are still allocated.");
    end_explained(&of);
    for (size_t i = 0; i < made.n; i++) { /* members of an ensemble, without gradients */
        made.rows[i].category =
            made.rows[i].category == TIDE_GRADIENT ? TIDE_TEMPORARY : made.rows[i].category;
    }
    explain(&made, &of);
    cause = cause_of(&of, "models_kept");
    assert_non_null(strstr(cause->words, "Weights of earlier models make up 5.00 GiB"));
    assert_non_null(strstr(cause->cure, "unless you use them all later"));
    end_explained(&of);
    folds(6, 0, AT_BACKWARD); /* each fold frees its model */
    assert_silent(&made, "models_kept");
    folds(2, 2, AT_BACKWARD); /* a first stage and a second */
    assert_silent(&made, "models_kept");
    folds(6, 5, AT_MAIN); /* layers of one model */
    assert_silent(&made, "models_kept");
}

/* The card as its driver accounts for it: beside 1 GiB of PyTorch and a context of 0.5 GiB. */
static void use_card(uint64_t others_bytes) {
    begin_recording(&made);
    alloc_alone(&made, FIRST, GIB, AT_RUN);
    made.account = (tide_snapshot_driver_account){.total_bytes = 24 * (int64_t)GIB,
                                                  .used_at_peak_bytes =
                                                      (int64_t)(GIB + GIB / 2 + others_bytes),
                                                  .context_bytes = (int64_t)(GIB / 2)};
    made.owner = (tide_snapshot_owner){.name = "PyTorch", .peak_bytes = (int64_t)GIB};
}

static void other_processes(void **state) {
    (void)state;
    use_card(GIB);
    explained of;
    explain(&made, &of);
    assert_string_equal(cause_of(&of, "others_on_card")->words,
                        "When most of the card was in use, 2.50 GiB, at least 1.00 GiB of it "
                        "belonged to other processes.");
    end_explained(&of);
    use_card(200 * MIB);
    assert_silent(&made, "others_on_card");
    use_card(GIB);
    made.devices[0].kind = "cuda"; /* whose libraries are not all known */
    assert_silent(&made, "others_on_card");
    use_card(GIB);
    fail_request(&made, 24 * GIB, GIB, AT_RUN);
    assert_silent(&made, "others_on_card");
}

static void sentences(void **state) {
    (void)state;
    alloc_alone(&made, FIRST, GIB, AT_MAIN);
    alloc_alone(&made, FIRST + NEXT, GIB, AT_RUN);
    drop(&made, FIRST + NEXT, GIB);
    buy(&made, FIRST + 2 * NEXT, 20 * MIB, AT_MAIN);
    assert_words("When most was reserved, 2.02 GiB, 1.02 GiB of it held no tensor: it was in the "
                 "main stream's cache. The largest piece was 1.00 GiB, and run (model.py:5) "
                 "requested most of this memory.");
    made.stream = 1;
    buy(&made, FIRST + 3 * NEXT, 300 * MIB, AT_MAIN);
    assert_words("When most was reserved, 2.31 GiB, 1.31 GiB of it held no tensor: 1.02 GiB in the "
                 "main stream's cache and 300.00 MiB in the caches of other streams. The largest "
                 "piece was 1.00 GiB, and run (model.py:5) requested most of this memory.");
    alloc_alone(&made, FIRST + 4 * NEXT, 10 * GIB, AT_MAIN); /* 11 % are free */
    assert_words("");
    cache_of_stream(8 * GIB, 4 * GIB); /* a cause says it */
    assert_words("");
    begin_recording(&made);
    made.pool = 5; /* made by the program, in the main stream */
    buy(&made, FIRST, GIB, AT_MAIN);
    made.pool = 0;
    alloc_alone(&made, FIRST + NEXT, GIB, AT_MAIN);
    assert_words("When most was reserved, 2.00 GiB, 1.00 GiB of it held no tensor: it was in "
                 "private pools of the program. The largest piece was 1.00 GiB, and main "
                 "(train.py:10) requested most of this memory.");
    begin_recording(&made);
    buy(&made, FIRST, 200 * MIB, AT_MAIN);
    alloc(&made, FIRST, 100 * MIB, AT_MAIN);
    assert_words("");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(side_stream, start),
        cmocka_unit_test_setup(side_stream_at_failure, start),
        cmocka_unit_test_setup(graph_pools, start),
        cmocka_unit_test_setup(no_graph_pools, start),
        cmocka_unit_test_setup(all_returned, start),
        cmocka_unit_test_setup(worker, start),
        cmocka_unit_test_setup(rank, start),
        cmocka_unit_test_setup(other_processes, start),
        cmocka_unit_test_setup(models_of_earlier_folds, start),
        cmocka_unit_test_setup(models_that_wait_for_the_collector, start),
        cmocka_unit_test_setup(old_and_new, start),
        cmocka_unit_test_setup(sentences, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
