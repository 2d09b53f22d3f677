/* test_link.c - times of collectives and copies, compared with figures computed by hand: 78 % of a
 * link's stated rate, 5 us a step, 2.18 us a kernel, 4 us a copy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/cards.h"
#include "programs/step_time/work.h"

static tide_time_card card_of(const char *name) {
    tide_time_card card;
    tide_error error = {0};
    assert_int_equal(tide_time_card_of(tide_card_find(name), &card, &error), TIDE_OK);
    return card;
}

static tide_work_time time_of(const char *card_name, uint8_t kind, uint8_t family, uint32_t n_ranks,
                              double bytes) {
    tide_time_card card = card_of(card_name);
    tide_run_launch row = {
        .kind = kind, .family = family, .count = n_ranks, .bytes = (uint64_t)bytes};
    tide_work_time time = tide_work_time_of(&TIDE_TIME_CONSTANTS, &card, &row);
    return time;
}

/* The figures have four digits. */
static void is(tide_work_time time, double us) {
    if (fabs(time.us - us) > 1e-4 * us) {
        fail_msg("%f us, and not %f", time.us, us);
    }
    assert_int_equal(time.bound, TIDE_TIME_BY_LINK);
    assert_int_equal(time.basis, TIDE_TIME_UNCOMPARED);
}

static void test_rings(void **state) {
    (void)state;
    /* 1 GB over 8 H100: 351 GB/s; 14 steps; each rank sends 7/8 twice: 1.75e9 / 351e3 = 4985.8 us
     */
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 8, 1e9), 2.18 + 70 + 4985.755);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_GATHER, 8, 1e9), 2.18 + 35 + 2492.877);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_REDUCE_SCATTER, 8, 1e9),
       2.18 + 35 + 2492.877);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_GATHER, 8, 1e9), 2.18 + 35 + 2492.877);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_BROADCAST, 8, 1e9), 2.18 + 35 + 2849.003);
    /* 4 A100: 234 GB/s, 1.5e9 / 234e3 */
    is(time_of("a100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 4, 1e9), 2.18 + 30 + 6410.256);
}

/* 1 KB over 8 H100: 3 levels up and 3 down, 6 x (5 + 0.00285) us; a ring takes 70 us. */
static void test_trees(void **state) {
    (void)state;
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 8, 1e3), 2.18 + 30 + 0.017094);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_BROADCAST, 8, 1e3), 2.18 + 15 + 0.008547);
}

/* One step between two ranks, however many the communicator has. */
static void test_pairs(void **state) {
    (void)state;
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_SEND, 8, 1e9), 2.18 + 5 + 2849.003);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_RECEIVE, 2, 1e9), 2.18 + 5 + 2849.003);
}

/* Beyond 8 ranks: 8 network cards of 400 Gb/s are 400 GB/s, less than NVLink's 450, and 78 % of
 * them 312 GB/s; of 200 Gb/s, 156; of one of 400 Gb/s, 39. */
static void test_nodes(void **state) {
    (void)state;
    /* 16 ranks: a double tree has 8 steps and 2 passes (6410.256), fewer than a ring's 30 steps and
     * 15/8 passes (6009.615) */
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 16, 1e9),
       2.18 + 150 + 6009.615);
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 16, 1e6), 2.18 + 40 + 6.410256);
    is(time_of("h200", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_GATHER, 16, 1e9), 2.18 + 75 + 3004.808);
    is(time_of("a100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_REDUCE_SCATTER, 16, 1e9),
       2.18 + 75 + 6009.615);
    /* of 16 parts 8 leave the node, by one network card */
    is(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_TO_ALL, 16, 1e9),
       2.18 + 75 + 12820.513);
    assert_int_equal(time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_GATHER, 16, 1e9).basis,
                     TIDE_TIME_GUESSED);
    tide_time_card card = card_of("rtx4090");
    assert_null(tide_time_network_source(&card));
    assert_int_equal(time_of("rtx4090", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 16, 1e9).basis,
                     TIDE_TIME_GUESSED);
    card = card_of("h100-80");
    assert_non_null(strstr(tide_time_network_source(&card), "400 Gb/s"));
    tide_work_time alone = time_of("h100-80", TIDE_RUN_COLLECTIVE, TIDE_RUN_ALL_REDUCE, 1, 1e9);
    assert_float_equal(alone.us, 2.18, 1e-9);
    assert_int_equal(alone.bound, TIDE_TIME_BY_LAUNCH);
}

/* Rank 7 and rank 8 are in two nodes, and one network card is between them: 1e9 / 39e3. */
static void test_pairs_between_nodes(void **state) {
    (void)state;
    tide_time_card card = card_of("h100-80");
    tide_run_launch row = {.kind = TIDE_RUN_COLLECTIVE,
                           .family = TIDE_RUN_SEND,
                           .m = 7,
                           .n = 8,
                           .count = 16,
                           .bytes = 1000000000};
    is(tide_work_time_of(&TIDE_TIME_CONSTANTS, &card, &row), 2.18 + 5 + 25641.026);
    row.n = 6;
    is(tide_work_time_of(&TIDE_TIME_CONSTANTS, &card, &row), 2.18 + 5 + 2849.003);
}

static void test_copies(void **state) {
    (void)state;
    /* 63 GB/s x 0.78 = 49.14; 31.5 x 0.78 = 24.57; 15.75 x 0.78 = 12.285 */
    is(time_of("h100-80", TIDE_RUN_COPY, TIDE_RUN_COPY_TO_CARD, 0, 1e9), 6.18 + 20350.02);
    is(time_of("a100-80", TIDE_RUN_COPY, TIDE_RUN_COPY_FROM_CARD, 0, 1e9), 6.18 + 40700.04);
    is(time_of("rtx4090", TIDE_RUN_COPY, TIDE_RUN_COPY_FROM_CARD, 0, 1e9), 6.18 + 40700.04);
    is(time_of("a30", TIDE_RUN_COPY, TIDE_RUN_COPY_BETWEEN_CARDS, 0, 1e9), 6.18 + 40700.04);
    /* 8 lanes: 12.285; NVLink-C2C: 450 and 225 GB/s, 351 and 175.5 */
    is(time_of("rtx4060", TIDE_RUN_COPY, TIDE_RUN_COPY_TO_CARD, 0, 1e9), 6.18 + 81400.08);
    is(time_of("gh200-96", TIDE_RUN_COPY, TIDE_RUN_COPY_TO_CARD, 0, 1e9), 6.18 + 2849.003);
    is(time_of("gb200", TIDE_RUN_COPY, TIDE_RUN_COPY_TO_CARD, 0, 1e9), 6.18 + 5698.006);
    is(time_of("h100-80", TIDE_RUN_COPY, TIDE_RUN_COPY_BETWEEN_CARDS, 0, 1e9), 6.18 + 2849.003);
}

/* Cards without a row of links: published tables state PCIe 4.0 with 16 lanes for each. For a new
 * card, look up its links, and list it here or there. */
static bool is_of_the_others(const char *card) {
    static const char *const NAMES[] = {"a40",        "a10",        "l40s-48", "rtx6000ada",
                                        "l4",         "rtx4090",    "rtx4080", "rtx4070",
                                        "rtx3090-24", "rtx3080-10", "rtx3070", "rtx3060-12"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strcmp(NAMES[i], card) == 0) {
            return true;
        }
    }
    return false;
}

/* Each card whose time is forecast has links with a meaningful source. */
static void test_sources(void **state) {
    (void)state;
    size_t n = 0;
    const tide_card *cards = tide_cards(&n);
    for (size_t i = 0; i < n; i++) {
        tide_time_card card;
        tide_error error = {0};
        if (tide_time_card_of(&cards[i], &card, &error) == TIDE_OK) {
            const char *source = tide_time_link_source(&card);
            assert_true(strlen(source) > 20);
            if ((strstr(source, "but those above") != NULL) != is_of_the_others(cards[i].name)) {
                fail_msg("%s: its links are \"%s\"", cards[i].name, source);
            }
        }
    }
    tide_time_card card = card_of("h100-80");
    assert_non_null(strstr(tide_time_link_source(&card), "H100"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rings),
                                       cmocka_unit_test(test_trees),
                                       cmocka_unit_test(test_pairs),
                                       cmocka_unit_test(test_nodes),
                                       cmocka_unit_test(test_pairs_between_nodes),
                                       cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
