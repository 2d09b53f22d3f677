/* test_causes_garbage.c - what a collection at the failed request says about the memory: garbage,
 * still referenced, or neither.
 */
#include "causes_fixture.h"

#include <string.h>

#define FIRST (UINT64_C(1) << 40) /* an address */
#define NEXT (UINT64_C(1) << 36)  /* from one segment to the next: 64 GiB */

enum { N_BLOCKS = 23 };

static recording made;
static explained of;

/* A loop of two lines fills 23 of 24 GiB, and the next request fails. */
static void fill_in_loop(int64_t collected_bytes) {
    begin_recording(&made);
    for (uint64_t i = 0; i < N_BLOCKS; i++) {
        alloc_alone(&made, FIRST + i * NEXT, GIB, i % 2 == 0 ? AT_MAIN : AT_EXCEPT);
    }
    fail_request(&made, GIB, GIB / 2, AT_EXCEPT);
    made.at_failure = (tide_snapshot_at_failure){.device = 0,
                                                 .allocated_bytes = N_BLOCKS * (int64_t)GIB,
                                                 .collected_bytes = collected_bytes};
}

static const tide_cause *filled(int64_t collected_bytes) {
    fill_in_loop(collected_bytes);
    explain(&made, &of);
    assert_null(tide_causes_find(&of.causes, "garbage"));
    return cause_of(&of, "never_released");
}

static void assert_words(const char *words, const char *part) {
    if (strstr(words, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, words);
    }
}

static void garbage_is_certain(void **state) {
    (void)state;
    const tide_cause *cause = filled(N_BLOCKS * (int64_t)GIB);
    assert_words(cause->words, "They are garbage in reference cycles: when the request failed, ");
    assert_words(cause->words, "freed 23.00 GiB of the 23.00 GiB allocated.");
    assert_words(cause->cure, "break the cycle");
    assert_null(strstr(cause->cure, "if "));
    assert_false(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
    cause = filled(15 * (int64_t)GIB);
    assert_words(cause->words, "Most of their bytes are garbage in reference cycles");
    end_explained(&of);
}

static void what_is_referenced_is_no_cycle(void **state) {
    (void)state;
    const tide_cause *cause = filled(0);
    assert_words(cause->words, "still referenced");
    assert_words(cause->words, "freed nothing of the 23.00 GiB allocated.");
    assert_null(strstr(cause->words, "cycle"));
    assert_null(strstr(cause->cure, "cycle"));
    end_explained(&of);
    cause = filled(100 * (int64_t)MIB);
    assert_words(cause->words, "freed 100.00 MiB of the 23.00 GiB allocated.");
    assert_null(strstr(cause->cure, "cycle"));
    end_explained(&of);
}

/* Without the fact, of another device, or with figures that contradict each other. */
static void without_the_fact_it_is_a_question(void **state) {
    (void)state;
    const tide_cause *cause = filled(-1);
    assert_words(cause->cure, "if the program no longer uses them");
    assert_null(strstr(cause->words, "garbage"));
    end_explained(&of);
    cause = filled(4 * (int64_t)GIB); /* neither all nor nothing */
    assert_words(cause->cure, "if the program no longer uses them");
    end_explained(&of);
    fill_in_loop(N_BLOCKS * (int64_t)GIB);
    made.at_failure.device = 1;
    explain(&made, &of);
    assert_words(cause_of(&of, "never_released")->cure, "if the program no longer uses them");
    end_explained(&of);
    fill_in_loop(N_BLOCKS * (int64_t)GIB);
    made.at_failure.allocated_bytes = GIB;
    explain(&made, &of);
    assert_words(cause_of(&of, "never_released")->cure, "if the program no longer uses them");
    end_explained(&of);
}

/* 20 GiB that no loop made; a request for 4 GiB fails. */
static void fill_without_loop(int64_t collected_bytes) {
    begin_recording(&made);
    for (uint64_t i = 0; i < 2; i++) {
        alloc_alone(&made, FIRST + i * NEXT, 10 * GIB, AT_RUN);
    }
    fail_request(&made, 4 * GIB, 2 * GIB, AT_RUN);
    made.at_failure = (tide_snapshot_at_failure){
        .device = 0, .allocated_bytes = 20 * (int64_t)GIB, .collected_bytes = collected_bytes};
}

static void garbage_without_a_loop(void **state) {
    (void)state;
    fill_without_loop(10 * (int64_t)GIB);
    explain(&made, &of);
    const tide_cause *cause = cause_of(&of, "garbage");
    assert_words(cause->words, "freed 10.00 GiB of the 20.00 GiB allocated.");
    assert_int_equal(cause->tier, TIDE_TIER_ALL);
    assert_int_equal(cause->bytes, 10 * GIB);
    end_explained(&of);
    fill_without_loop(3 * (int64_t)GIB);
    explain(&made, &of);
    assert_int_equal(cause_of(&of, "garbage")->tier, TIDE_TIER_GROWTH);
    end_explained(&of);
}

static void little_garbage_is_no_cause(void **state) {
    (void)state;
    fill_without_loop(2 * (int64_t)GIB - (int64_t)MIB); /* not 10 %, and it would not fit */
    assert_silent(&made, "garbage");
    fill_without_loop(GIB);
    assert_silent(&made, "garbage");
    fill_without_loop(2 * (int64_t)GIB - (int64_t)MIB);
    made.rows[made.n - 1].requested_bytes = GIB; /* it would fit: the share decides */
    assert_silent(&made, "garbage");
    fill_without_loop(3 * (int64_t)GIB);
    made.rows[made.n - 1].requested_bytes = 6 * GIB; /* 10 %, and it would not fit */
    assert_silent(&made, "garbage");
    fill_without_loop(-1);
    assert_silent(&made, "garbage");
}

/* ---- who holds it ---- */

static tide_snapshot_holder holder;

/* The loop's 23 GiB of 23 allocated ones, and a holder of so many. */
static const tide_cause *held(int64_t held_bytes, int64_t n_tensors, int64_t n_graphs) {
    fill_in_loop(0);
    holder = (tide_snapshot_holder){.name = "losses",
                                    .place = "validate (train.py:12)",
                                    .held_bytes = held_bytes,
                                    .own_bytes = held_bytes,
                                    .n_tensors = n_tensors,
                                    .n_graphs = n_graphs};
    made.at_failure.holders = &holder;
    made.at_failure.n_holders = 1;
    explain(&made, &of);
    return cause_of(&of, "never_released");
}

static void holders_are_named(void **state) {
    (void)state;
    assert_words(held(23 * (int64_t)GIB, 40, 0)->words,
                 " `losses` in validate (train.py:12) holds nearly all of it: when the request "
                 "failed, 23.00 GiB through 40 tensors.");
    end_explained(&of);
    assert_words(held(15 * (int64_t)GIB, 1, 1)->words,
                 " holds most of it: when the request failed, 15.00 GiB through 1 tensor with a "
                 "graph of autograd.");
    end_explained(&of);
    assert_words(held(15 * (int64_t)GIB, 2, 2)->words,
                 "through 2 tensors with graphs of autograd.");
    end_explained(&of);
}

static void names_of_modules_and_objects(void **state) {
    (void)state;
    (void)held(23 * (int64_t)GIB, 2, 0);
    end_explained(&of);
    holder.place = "train.py";
    holder.own_bytes = (int64_t)MIB;
    explain(&made, &of);
    assert_words(cause_of(&of, "never_released")->words,
                 " `losses` (train.py) holds nearly all of it: when the request failed, 23.00 GiB "
                 "through 2 tensors, which are slices: 1.00 MiB are theirs, the rest is what they "
                 "were cut from.");
    end_explained(&of);
    holder.place = "";
    explain(&made, &of);
    assert_words(cause_of(&of, "never_released")->words, " `losses` holds nearly all of it");
    end_explained(&of);
}

/* Its bytes may be others than those of the loop. */
static void an_uncertain_holder_is_not_named(void **state) {
    (void)state;
    assert_null(strstr(held(11 * (int64_t)GIB, 40, 0)->words, "losses"));
    end_explained(&of);
    (void)held(15 * (int64_t)GIB, 40, 0);
    end_explained(&of);
    made.at_failure.allocated_bytes += 4 * (int64_t)GIB; /* which it may hold */
    explain(&made, &of);
    assert_null(strstr(cause_of(&of, "never_released")->words, "losses"));
    end_explained(&of);
    (void)held(23 * (int64_t)GIB, 40, 0);
    end_explained(&of);
    made.at_failure.device = 1;
    explain(&made, &of);
    assert_null(strstr(cause_of(&of, "never_released")->words, "losses"));
    end_explained(&of);
    assert_null(strstr(held(24 * (int64_t)GIB, 40, 0)->words, "losses")); /* more than existed */
    end_explained(&of);
}

/* ---- models that pile up ---- */

/* Models of `n` weights, which one function builds, each run once and kept; the last one does not
 * fit. */
static void pile_up(uint64_t n_models, uint64_t n_weights, bool grows) {
    uint64_t address = FIRST;
    begin_recording(&made);
    for (uint64_t i = 0; i < n_models; i++) {
        for (uint64_t j = 0; j < n_weights + (grows ? i : 0); j++, address += NEXT) {
            alloc_alone(&made, address, 64 * MIB, AT_BUILD)->category = TIDE_PARAMETER;
        }
        alloc_alone(&made, address, MIB, AT_FORWARD);
        drop(&made, address, MIB);
        address += NEXT;
    }
    alloc_alone(&made, address, 64 * MIB, AT_BUILD)->category = TIDE_PARAMETER;
    fail_request(&made, 2 * GIB, GIB, AT_BUILD);
}

static void models_that_pile_up(void **state) {
    (void)state;
    pile_up(8, 20, false);
    explain(&made, &of);
    assert_non_null(strstr(cause_of(&of, "models_kept")->words,
                           "Weights of earlier models make up 10.00 GiB of the peak"));
    end_explained(&of);
    assert_silent(&made, "weights_alone");
    pile_up(8, 4, false); /* layers that are built one by one */
    assert_silent(&made, "models_kept");
    pile_up(8, 20, true); /* and such that differ */
    assert_silent(&made, "models_kept");
}

/* ---- growth beside free memory in pieces ---- */

/* A card in pieces, and a loop of which each pass keeps 100 MiB, or frees them: 0.8 GiB of 9. The
 * request lacks half a GiB. */
static void grow_in_pieces(bool keeps) {
    begin_recording(&made);
    alloc_alone(&made, FIRST + 90 * NEXT, 8 * GIB, AT_RUN);
    for (uint64_t i = 0; i < 3; i++) {
        buy(&made, FIRST + (80 + i) * NEXT, 4 * GIB, AT_MAIN);
        alloc(&made, FIRST + (80 + i) * NEXT, 100 * MIB, AT_RUN);
    }
    for (uint64_t i = 0; i < 9; i++) {
        alloc_alone(&made, FIRST + 2 * i * NEXT, 100 * MIB, AT_FORWARD);
        alloc_alone(&made, FIRST + (2 * i + 1) * NEXT, MIB, AT_EXCEPT);
        drop(&made, FIRST + (2 * i + 1) * NEXT, MIB);
        if (!keeps) {
            drop(&made, FIRST + 2 * i * NEXT, 100 * MIB);
        }
    }
    fail_request(&made, 3 * GIB + 512 * MIB, 3 * GIB, AT_MAIN);
}

/* Without the growth, the device would have had room as it was. */
static void growth_is_no_fragmentation(void **state) {
    (void)state;
    grow_in_pieces(true);
    explain(&made, &of);
    assert_true(of.facts.growth.n_facts > 0);
    assert_null(tide_causes_find(&of.causes, "fragmentation"));
    assert_false(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
    grow_in_pieces(false);
    explain(&made, &of);
    (void)cause_of(&of, "fragmentation");
    assert_true(tide_causes_admit_setting(&of.facts, &of.causes));
    end_explained(&of);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(growth_is_no_fragmentation),
                                       cmocka_unit_test(models_that_pile_up),
                                       cmocka_unit_test(garbage_is_certain),
                                       cmocka_unit_test(what_is_referenced_is_no_cycle),
                                       cmocka_unit_test(without_the_fact_it_is_a_question),
                                       cmocka_unit_test(garbage_without_a_loop),
                                       cmocka_unit_test(little_garbage_is_no_cause),
                                       cmocka_unit_test(holders_are_named),
                                       cmocka_unit_test(names_of_modules_and_objects),
                                       cmocka_unit_test(an_uncertain_holder_is_not_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
