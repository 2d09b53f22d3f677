/* test_cards.c - the cards that --device names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/cards.h"

static void expect(const char *spec, const char *cards) {
    char text[TIDE_LAUNCH_CARDS_BYTES];
    tide_error error = {""};
    assert_int_equal(tide_launch_cards(spec, text, &error), TIDE_OK);
    assert_string_equal(text, cards);
}

static void refuse_with(tide_status status, const char *spec, const char *words) {
    char text[TIDE_LAUNCH_CARDS_BYTES];
    tide_error error = {""};
    assert_int_equal(tide_launch_cards(spec, text, &error), status);
    if (strstr(error.message, words) == NULL) {
        fail_msg("'%s' does not say '%s'", error.message, words);
    }
}

static void refuse(const char *spec, const char *words) {
    refuse_with(TIDE_INVALID, spec, words);
}

static void test_one_several_and_different_cards(void **state) {
    (void)state;
    expect("virtual:h100-80", "h100-80");
    expect("virtual:h100-80x1", "h100-80");
    expect("virtual:h100-80x3", "h100-80+h100-80+h100-80");
    expect("virtual:h100-80+a100-40", "h100-80+a100-40");
    expect("virtual:h100-80x2+a100-40", "h100-80+h100-80+a100-40");
}

/* Many names of cards contain an x. */
static void test_a_name_may_be_short(void **state) {
    (void)state;
    expect("virtual:t4", "t4-16");
    expect("virtual:rtx3090", "rtx3090-24");
    expect("virtual:rtx3090x2", "rtx3090-24+rtx3090-24");
    expect("virtual:RTX3060x2+T4", "rtx3060-12+rtx3060-12+t4-16");
    expect("virtual:l40s", "l40s-48");
    expect("virtual:l4", "l4");
    expect("virtual:h100-80GB", "h100-80");
    expect("virtual:a100-40gx2", "a100-40+a100-40");
    refuse("virtual:v100", "'v100' is not one card: write v100-32 or v100-16");
    refuse("virtual:h100x8", "'h100' is not one card: write h100-80, h100-pcie or h100-nvl");
    refuse("virtual:a100", "write a100-80, a100-80-pcie, a100-40 or a100-40-pcie");
    refuse("virtual:gtx1080", "there is no card 'gtx1080'");
    refuse("virtual:gtx1080x2", "there is no card 'gtx1080");
    refuse("virtual:rtx3091x2", "there is no card 'rtx3091': did you mean rtx");
    refuse("virtual:a6000", "there is no card 'a6000': did you mean rtxa6000?");
    refuse("virtual:rtx3090x65", "a machine has 1 to 64 cards");
}

static void test_a_machine_has_up_to_64(void **state) {
    (void)state;
    char text[TIDE_LAUNCH_CARDS_BYTES];
    tide_error error = {""};
    tide_card card;
    assert_int_equal(tide_launch_cards("virtual:h100-80x63+a100-40", text, &error), TIDE_OK);
    assert_int_equal(tide_launch_n_cards(text), 64);
    assert_true(tide_launch_card(text, 62, &card));
    assert_string_equal(card.name, "h100-80");
    assert_true(tide_launch_card(text, 63, &card));
    assert_string_equal(card.name, "a100-40");
    assert_false(tide_launch_card(text, 64, &card));
    assert_int_equal(tide_launch_n_cards(""), 0);
    refuse("virtual:h100-80x65", "a machine has 1 to 64 cards");
    refuse("virtual:h100-80x64+a100-40", "a machine has at most 64 cards");
    refuse("virtual:h100-80x0", "a machine has 1 to 64 cards");
    refuse("virtual:h100-80x99999999999999999999", "a machine has 1 to 64 cards");
}

static void test_what_is_no_card_is_named(void **state) {
    (void)state;
    refuse("auto", "name a virtual card, such as --device virtual:h100-80");
    refuse("rtx4060", "name a virtual card, such as --device virtual:rtx4060");
    refuse("a100", "name a virtual card, such as --device virtual:a100-80");
    refuse("cuda", "name a virtual card");
    refuse("virtual:h100-8", "there is no card 'h100-8': did you mean h100-80?");
    refuse("virtual:h100-80+", "there is no card ''");
    refuse("virtual:", "there is no card ''");
    refuse("virtual:h100-80x2x", "there is no card 'h100-80x2x'");
    refuse_with(TIDE_IO, "virtual:/no/such/card.json", "/no/such/card.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_several_and_different_cards),
        cmocka_unit_test(test_a_name_may_be_short),
        cmocka_unit_test(test_a_machine_has_up_to_64),
        cmocka_unit_test(test_what_is_no_card_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
