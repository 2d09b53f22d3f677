/* test_known_walks.c - the tree of known walks, on an array that represents a stack: each word of a
 * walk counts, walks that branch off from one another are distinguished, and a full tree is
 * emptied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/event.h"
#include "stack/known_walks_internal.h"

enum { N_WORDS = 24, EPOCH = 1 };

static uint64_t stack[N_WORDS]; /* a walk loads its words in the order of the array */

static uint64_t address_of(size_t i) {
    return (uint64_t)(uintptr_t)&stack[i];
}

static uint64_t rsp(void) {
    return address_of(0) + sizeof(stack[0]);
}

/* A walk of the words 0..n_words - 1 as they are now: searches for it, and adds it if unknown.
 * Returns the number found; TIDE_NONE: it was added, or the tree rests. */
static uint32_t walk(tide_known_walks *known, size_t n_words, uint32_t number) {
    tide_known_search search;
    tide_known_walks_find(known, rsp(), EPOCH, &search);
    if (search.run != NULL) {
        return search.run->number;
    }
    tide_walk_word words[N_WORDS];
    for (size_t i = 0; i < n_words; i++) {
        words[i] = (tide_walk_word){address_of(i), stack[i]};
    }
    tide_known_walks_add(known, &search, words, n_words, number, false);
    return TIDE_NONE;
}

static uint32_t find(tide_known_walks *known, uint64_t from, uint32_t epoch) {
    tide_known_search search;
    tide_known_walks_find(known, from, epoch, &search);
    return search.run == NULL ? TIDE_NONE : search.run->number;
}

static int begin(void **state) {
    for (size_t i = 0; i < N_WORDS; i++) {
        stack[i] = 1000 + i;
    }
    tide_known_walks *known = malloc(sizeof(*known));
    if (known != NULL) {
        tide_known_walks_init(known);
    }
    *state = known;
    return known == NULL ? -1 : 0;
}

static int end(void **state) {
    free(*state);
    return 0;
}

static void each_word_counts(void **state) {
    tide_known_walks *known = *state;
    assert_int_equal(walk(known, N_WORDS, 7), TIDE_NONE);
    assert_int_equal(find(known, rsp(), EPOCH), 7);
    for (size_t i = 0; i < N_WORDS; i++) {
        stack[i]++;
        assert_int_equal(find(known, rsp(), EPOCH), TIDE_NONE);
        stack[i]--;
        assert_int_equal(find(known, rsp(), EPOCH), 7);
    }
    assert_int_equal(find(known, rsp() + 8, EPOCH), TIDE_NONE);
}

/* Changes one word after the other, from the innermost to the outermost and back, and keeps each
 * walk. The third round visits them in another order, so the walk that came next before is now
 * wrong. */
static void walks_that_branch_off_are_told_apart(void **state) {
    tide_known_walks *known = *state;
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t step = round < 2 ? 1 : 7;
        for (uint32_t n = 0; n < 2 * N_WORDS; n++) {
            uint32_t i = n * step % N_WORDS;
            uint32_t j = (i + 5) % N_WORDS;
            bool has_two = n >= N_WORDS;
            stack[i] += 100;
            stack[j] += has_two ? 200 : 0;
            uint32_t number = i + (has_two ? N_WORDS : 0);
            assert_int_equal(walk(known, N_WORDS, number), round == 0 ? TIDE_NONE : number);
            stack[i] -= 100;
            stack[j] -= has_two ? 200 : 0;
        }
    }
    assert_int_equal(known->n_runs, 2 * N_WORDS);
    assert_true(known->n_words < 2 * N_WORDS * N_WORDS * 3 / 4); /* what they share is there once */
    assert_int_equal(find(known, rsp(), EPOCH), TIDE_NONE);
}

/* After the search another thread writes to the word at which the walk branches off. */
static void a_word_that_changes_before_the_walk_adds_nothing(void **state) {
    tide_known_walks *known = *state;
    assert_int_equal(walk(known, N_WORDS, 1), TIDE_NONE);
    tide_known_search search;
    stack[9] = 1;
    tide_known_walks_find(known, rsp(), EPOCH, &search);
    assert_null(search.run);
    tide_walk_word words[N_WORDS];
    for (size_t i = 0; i < N_WORDS; i++) {
        words[i] = (tide_walk_word){address_of(i), i == 9 ? 2 : stack[i]};
    }
    tide_known_walks_add(known, &search, words, N_WORDS, 2, false);
    assert_int_equal(find(known, rsp(), EPOCH), TIDE_NONE);
    assert_int_equal(known->n_runs, 1);
}

static void another_epoch_of_the_rules_forgets_all(void **state) {
    tide_known_walks *known = *state;
    assert_int_equal(walk(known, N_WORDS, 7), TIDE_NONE);
    assert_int_equal(find(known, rsp(), EPOCH + 1), TIDE_NONE);
    assert_int_equal(find(known, rsp(), EPOCH + 1), TIDE_NONE);
    assert_int_equal(known->n_runs, 0);
}

/* Walks whose word `place` counts on, each n_times, and no word of another. */
static void fill(tide_known_walks *known, size_t place, uint32_t n_walks, uint32_t n_times) {
    for (uint32_t i = 0; i < n_walks; i++) {
        stack[place] = 5000 + i;
        for (uint32_t n = 0; n < n_times; n++) {
            assert_int_equal(walk(known, N_WORDS, i), n == 0 ? TIDE_NONE : i);
        }
    }
}

static void a_full_tree_is_emptied(void **state) {
    tide_known_walks *known = *state;
    fill(known, N_WORDS - 1, TIDE_KNOWN_RUNS, 2);
    assert_int_equal(known->n_runs, TIDE_KNOWN_RUNS);
    fill(known, N_WORDS - 2, 1, 1); /* no room for this one */
    assert_int_equal(known->n_runs, 0);
    fill(known, N_WORDS - 1, 10, 2);
    assert_int_equal(known->n_runs, 10);
    assert_int_equal(known->n_resting, 0);
}

/* The walks branch off at their first word, so there are too many words before there are too many
 * walks. They do not recur: the tree then rests, and begins again later. */
static void a_tree_that_finds_nothing_rests(void **state) {
    tide_known_walks *known = *state;
    uint32_t n_fitting = TIDE_KNOWN_WORDS / N_WORDS;
    fill(known, 0, n_fitting, 1);
    assert_int_equal(known->n_runs, n_fitting);
    stack[0] = 1;
    assert_int_equal(walk(known, N_WORDS, 7), TIDE_NONE);
    assert_int_equal(known->n_runs, 0);
    uint32_t n_resting = known->n_resting;
    assert_true(n_resting > TIDE_KNOWN_RUNS);
    for (uint32_t i = 0; i < n_resting; i++) {
        assert_int_equal(walk(known, N_WORDS, 7), TIDE_NONE);
    }
    assert_int_equal(walk(known, N_WORDS, 7), TIDE_NONE);
    assert_int_equal(walk(known, N_WORDS, 7), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_word_counts, begin, end),
        cmocka_unit_test_setup_teardown(walks_that_branch_off_are_told_apart, begin, end),
        cmocka_unit_test_setup_teardown(a_word_that_changes_before_the_walk_adds_nothing, begin,
                                        end),
        cmocka_unit_test_setup_teardown(another_epoch_of_the_rules_forgets_all, begin, end),
        cmocka_unit_test_setup_teardown(a_full_tree_is_emptied, begin, end),
        cmocka_unit_test_setup_teardown(a_tree_that_finds_nothing_rests, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
