/* test_text.c - a text grows piece by piece, and reports when it has no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/text/list.h"
#include "common/text/milliseconds.h"
#include "common/text/sentences.h"
#include "common/text/text.h"

static void pieces_are_joined(void **state) {
    (void)state;
    char storage[64] = "what was there before";
    tide_text text = tide_text_in(storage, sizeof(storage));
    assert_string_equal(storage, "");
    tide_text_add(&text, "%s has %d block%s", "cpu", 2, "s");
    tide_text_add(&text, "%s", "");
    tide_text_add(&text, ", no stack");
    assert_string_equal(storage, "cpu has 2 blocks, no stack");
    assert_int_equal(text.n_used, strlen(storage));
    assert_false(text.is_cut);
}

static void items_are_separated(void **state) {
    (void)state;
    char storage[32];
    tide_text text = tide_text_in(storage, sizeof(storage));
    tide_text_add_item(&text, ", ", "%s", "small");
    tide_text_add_item(&text, ", ", "batch %d", 4);
    assert_string_equal(storage, "small, batch 4");
}

static void text_may_fill_its_room(void **state) {
    (void)state;
    char storage[8];
    tide_text text = tide_text_in(storage, sizeof(storage));
    tide_text_add(&text, "abc");
    tide_text_add(&text, "defg");
    assert_string_equal(storage, "abcdefg");
    assert_false(text.is_cut);
    tide_text_add(&text, "%s", "");
    assert_false(text.is_cut);
    tide_text_add(&text, "h");
    assert_string_equal(storage, "abcd...");
    assert_true(text.is_cut);
}

/* Text appended after a cut would read as if nothing were missing. */
static void cut_text_takes_no_more(void **state) {
    (void)state;
    char storage[12];
    tide_text text = tide_text_in(storage, sizeof(storage));
    tide_text_add(&text, "%s", "activations and gradients");
    assert_string_equal(storage, "activati...");
    assert_int_equal(text.n_used, strlen(storage));
    tide_text_add(&text, "x");
    tide_text_add_item(&text, ",", "y");
    assert_string_equal(storage, "activati...");
}

/* U+2026 has 3 bytes, U+00B1 2: wherever the end falls, no partial character remains. */
static void characters_stay_whole(void **state) {
    (void)state;
    static const char *const WANTED[] = {"a\u2026\u00b1\u2026...",
                                         "a\u2026\u00b1...",
                                         "a\u2026\u00b1...",
                                         "a\u2026\u00b1...",
                                         "a\u2026...",
                                         "a\u2026...",
                                         "a...",
                                         "a...",
                                         "a..."};
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
        char storage[13];
        tide_text text = tide_text_in(storage, sizeof(storage) - i);
        tide_text_add(&text, "%s", "a\u2026\u00b1\u2026\u00b1\u2026\u00b1");
        assert_string_equal(storage, WANTED[i]);
        assert_int_equal(text.n_used, strlen(storage));
    }
}

static void small_rooms_are_kept(void **state) {
    (void)state;
    static const char *const WANTED[] = {"keep", "", ".", "..", "...", "a..."};
    for (size_t n_room = 0; n_room < sizeof(WANTED) / sizeof(WANTED[0]); n_room++) {
        char storage[16] = "keep";
        storage[15] = 'x';
        tide_text text = tide_text_in(storage, n_room);
        tide_text_add(&text, "abcdefghijklmnop");
        tide_text_add(&text, "q");
        assert_string_equal(storage, WANTED[n_room]);
        assert_true(text.is_cut);
        assert_int_equal(storage[15], 'x');
    }
}

static void times_have_three_digits(void **state) {
    (void)state;
    static const struct {
        double ms;
        const char *text;
    } TIMES[] = {{0.00049, "0.000"}, {0.48251, "0.483"}, {0.9995, "1.00"}, {4.8251, "4.83"},
                 {9.996, "10.0"},    {48.251, "48.3"},   {99.96, "100"},   {1234.4, "1234"}};
    for (size_t i = 0; i < sizeof(TIMES) / sizeof(TIMES[0]); i++) {
        char text[TIDE_MS_TEXT];
        assert_string_equal(tide_ms_format(TIMES[i].ms, text), TIMES[i].text);
    }
}

static void sentences_are_counted(void **state) {
    (void)state;
    assert_int_equal(tide_count_sentences(""), 0);
    assert_int_equal(tide_count_sentences("The peak is 1.5 GiB at train.py:3."), 1);
    assert_int_equal(tide_count_sentences("note: the run was stopped"), 1);
    assert_int_equal(tide_count_sentences("One. Two? `x = f(a). B`, and so on. not exact: three"),
                     3);
    assert_int_equal(tide_count_sentences("Cure: `x.cpu()`. Also: 3 tensors (..) remain."), 2);
}

static void words_of_a_list_follow_each_other(void **state) {
    (void)state;
    const char *rest = "checkpoint:Block,,fused,";
    tide_list_word word;
    assert_true(tide_list_next(&rest, &word));
    assert_true(tide_list_word_is(word, "checkpoint:Block"));
    assert_false(tide_list_word_is(word, "checkpoint"));
    assert_true(tide_list_next(&rest, &word));
    assert_int_equal(word.n_bytes, 0);
    assert_true(tide_list_next(&rest, &word));
    assert_true(tide_list_word_is(word, "fused"));
    assert_false(tide_list_next(&rest, &word)); /* nothing follows the last comma */
    rest = NULL;
    assert_false(tide_list_next(&rest, &word));
    assert_true(tide_list_has("precision,optimizer", "optimizer"));
    assert_false(tide_list_has("precision,optimizer", "optimize"));
    assert_false(tide_list_has("precision,optimizer", "precision,optimizer"));
    assert_false(tide_list_has(NULL, "optimizer"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_are_joined),
                                       cmocka_unit_test(items_are_separated),
                                       cmocka_unit_test(text_may_fill_its_room),
                                       cmocka_unit_test(cut_text_takes_no_more),
                                       cmocka_unit_test(characters_stay_whole),
                                       cmocka_unit_test(small_rooms_are_kept),
                                       cmocka_unit_test(times_have_three_digits),
                                       cmocka_unit_test(sentences_are_counted),
                                       cmocka_unit_test(words_of_a_list_follow_each_other)};
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
