/* test_rank_words.c - sentences about many ranks: each once, with the ranks that it holds for, the
 * figures of the fullest, and in the order of an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/ranks/rank_words.h"

enum { TEXT = 1024, MOST = 8 };

static void figures_are_folded_and_lines_are_not(void **state) {
    (void)state;
    static const struct {
        const char *left, *right;
        bool is_same;
    } CASES[] = {
        {"f (a.py:12) keeps 1.29 GiB in 6 so far.", "f (a.py:12) keeps 980.00 MiB in 7 so far.",
         true},
        {"f (a.py:12) keeps 1.29 GiB.", "f (a.py:13) keeps 1.29 GiB.", false},
        {"The loop at f (a.py:3-5).", "The loop at f (a.py:3-7).", false},
        {"layer2 holds 5 bytes (99 % of it).", "layer2 holds 1,024 bytes (7 % of it).", true},
        {"layer2 holds it.", "layer3 holds it.", false},
        {"It is 4.00 MiB, of 8.", "It is 4.50 GiB, of 9.", true},
        {"It is 4.", "It is 4", false},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char folds[2][TEXT];
        tide_text left = tide_text_in(folds[0], TEXT);
        tide_text right = tide_text_in(folds[1], TEXT);
        tide_rank_sentence_add_fold(CASES[i].left, &left);
        tide_rank_sentence_add_fold(CASES[i].right, &right);
        if ((strcmp(folds[0], folds[1]) == 0) != CASES[i].is_same) {
            fail_msg("'%s', '%s'", folds[0], folds[1]);
        }
    }
}

/* Answers of ranks 0 to n - 1. */
typedef struct job {
    tide_arena arena;
    tide_rank_answer answers[MOST];
    tide_digest_sentence sentences[MOST][3];
} job;

static void begin(job *of) {
    memset(of, 0, sizeof(*of));
    tide_arena_init(&of->arena, tide_hostmem_default());
    for (int64_t i = 0; i < MOST; i++) {
        of->answers[i] = (tide_rank_answer){.rank = i, .name = "a.json", .peak_bytes = 100};
        of->answers[i].sentences = of->sentences[i];
    }
}

static void say(job *of, size_t rank, const char *key, const char *text) {
    of->sentences[rank][of->answers[rank].n_sentences++] = (tide_digest_sentence){key, text};
}

static void expect(job *of, size_t n, size_t n_all, const char *const *rows, size_t n_rows) {
    tide_rank_sentences made;
    assert_int_equal(tide_rank_sentences_make(of->answers, n, n_all, &of->arena, &made), TIDE_OK);
    for (size_t i = 0; i < made.n_rows && i < n_rows; i++) {
        char words[TEXT];
        tide_text to = tide_text_in(words, sizeof(words));
        tide_rank_sentence_add(&made.rows[i], &to);
        assert_string_equal(words, rows[i]);
    }
    assert_int_equal(made.n_rows, n_rows);
    tide_arena_fini(&of->arena);
}

static void ranks_are_named_if_few_and_counted_otherwise(void **state) {
    (void)state;
    job of;
    begin(&of);
    for (size_t i = 0; i < 8; i++) {
        say(&of, i, "filled", "The peak is at f (a.py:1).");
        if (i % 2 == 0) {
            say(&of, i, "cause", "Half of them.");
        }
        if (i == 1 || i == 5 || i == 7) {
            say(&of, i, "cause", "Three of them.");
        }
        if (i == 3) {
            say(&of, i, "oom", "Out of memory.");
        }
    }
    static const char *const ROWS[] = {"rank 3: Out of memory.", "4 of 8 ranks: Half of them.",
                                       "ranks 1, 5 and 7: Three of them.",
                                       "all 8 ranks: The peak is at f (a.py:1)."};
    expect(&of, 8, 8, ROWS, 4);
    begin(&of); /* two of eight ranks are known, and one has no number */
    of.answers[1].rank = -1;
    say(&of, 0, "cause", "Both.");
    say(&of, 1, "cause", "Both.");
    static const char *const UNKNOWN[] = {"ranks 0 and a.json: Both."};
    expect(&of, 2, 8, UNKNOWN, 1);
}

static void figures_are_those_of_the_fullest(void **state) {
    (void)state;
    job of;
    begin(&of);
    of.answers[2].peak_bytes = 900;
    for (size_t i = 0; i < 3; i++) {
        static const char *const TEXTS[] = {"It holds 1.00 GiB.", "It holds 2.00 GiB.",
                                            "It holds 990.00 MiB."};
        say(&of, i, "cause", TEXTS[i]);
    }
    static const char *const ROWS[] = {
        "ranks 0, 1 and 2 (figures of rank 2): It holds 990.00 MiB."};
    expect(&of, 3, 3, ROWS, 1);
}

/* As many ranks have both: the first cause of an answer is the more important one. */
static void causes_stay_in_the_order_of_the_answer(void **state) {
    (void)state;
    static const tide_digest_cause CAUSES[] = {{"z", 7, "Zeta."}, {"a", 5, "Alpha."}};
    static const tide_digest_sentence SENTENCES[] = {
        {"cause", "Zeta."}, {"cause", "Also: Alpha."}, {"filled", "Peak."}};
    const tide_digest_explained explained = {.is_known = true,
                                             .causes = CAUSES,
                                             .n_causes = 2,
                                             .sentences = SENTENCES,
                                             .n_sentences = 3};
    static const char *const ROWS[] = {"ranks 0 and 1: Zeta.", "ranks 0 and 1: Alpha.",
                                       "ranks 0 and 1: Peak."};
    job of;
    begin(&of);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tide_rank_answer_make(&explained, &of.arena, &of.answers[i]), TIDE_OK);
    }
    expect(&of, 2, 2, ROWS, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_folded_and_lines_are_not),
        cmocka_unit_test(ranks_are_named_if_few_and_counted_otherwise),
        cmocka_unit_test(figures_are_those_of_the_fullest),
        cmocka_unit_test(causes_stay_in_the_order_of_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
