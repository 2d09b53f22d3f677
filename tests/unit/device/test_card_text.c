/* test_card_text.c - cards as text: a name of the table, and the values that differ from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/card_text.h"

static bool reads(const char *text, tide_card *ret_card) {
    return tide_card_read(text, strlen(text), ret_card);
}

static void test_a_name_alone_is_the_card_of_the_table(void **state) {
    (void)state;
    tide_card card;
    assert_true(reads("a100-40", &card));
    assert_memory_equal(&card, tide_card_find("a100-40"), sizeof(card));
    assert_true(tide_card_read("a100-40+h100-80", strlen("a100-40"), &card));
    assert_string_equal(card.name, "a100-40");
}

static void test_members_replace_those_of_the_base(void **state) {
    (void)state;
    tide_card card;
    assert_true(reads("h100-80:total_bytes=123456789012:n_multiprocessors=99", &card));
    assert_int_equal(card.total_bytes, INT64_C(123456789012));
    assert_int_equal(card.board.n_multiprocessors, 99);
    assert_int_equal(card.context_bytes, tide_card_find("h100-80")->context_bytes);
}

/* The workspace of cuBLAS follows from the compute capability. */
static void test_a_compute_capability_brings_its_workspace(void **state) {
    (void)state;
    tide_card card;
    assert_true(reads("t4-16:compute_capability=90", &card));
    assert_int_equal(card.workspace_bytes, tide_card_workspace_bytes(90));
    assert_int_not_equal(card.workspace_bytes, tide_card_find("t4-16")->workspace_bytes);
}

static void test_every_member_can_be_set(void **state) {
    (void)state;
    for (size_t i = 0; tide_card_member(i) != NULL; i++) {
        tide_card card = *tide_card_find("h100-80");
        int64_t value = strcmp(tide_card_member(i), "compute_capability") == 0 ? 80 : 77;
        tide_card before = card;
        assert_true(tide_card_set(&card, tide_card_member(i), value));
        assert_memory_not_equal(&card, &before, sizeof(card));
    }
}

static void test_what_makes_no_card_is_refused(void **state) {
    (void)state;
    static const char *const WRONG[] = {"",
                                        "h100",
                                        "h100-80:",
                                        "h100-80:total_bytes",
                                        "h100-80:total_bytes=",
                                        "h100-80:total_bytes=0",
                                        "h100-80:total_bytes=-1",
                                        "h100-80:total_bytes=12x",
                                        "h100-80:total_bytes=99999999999999999999",
                                        "h100-80:bytes=12",
                                        "h100-80:compute_capability=91",
                                        "h100-80:n_multiprocessors=5000"};
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        tide_card card;
        assert_false(reads(WRONG[i], &card));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_alone_is_the_card_of_the_table),
        cmocka_unit_test(test_members_replace_those_of_the_base),
        cmocka_unit_test(test_a_compute_capability_brings_its_workspace),
        cmocka_unit_test(test_every_member_can_be_set),
        cmocka_unit_test(test_what_makes_no_card_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
