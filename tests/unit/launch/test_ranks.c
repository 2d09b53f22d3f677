/* test_ranks.c - lists of ranks, and which ranks are worth running.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/ranks.h"
#include "programs/launch/roles.h"

static void expect_list(const char *text, const char *written, const char *said) {
    char bytes[256];
    tide_ranks ranks;
    tide_error error = {""};
    assert_int_equal(tide_ranks_parse(text, 1024, &ranks, &error), TIDE_OK);
    tide_text to = tide_text_in(bytes, sizeof(bytes));
    tide_ranks_write(ranks.ranks, ranks.n, &to);
    assert_string_equal(bytes, written);
    to = tide_text_in(bytes, sizeof(bytes));
    tide_ranks_say(ranks.ranks, ranks.n, &to);
    assert_string_equal(bytes, said);
}

static void test_lists_are_sorted_and_each_rank_is_once(void **state) {
    (void)state;
    expect_list("0", "0", "0");
    expect_list("7,0", "0,7", "0, 7");
    expect_list("0,7,500-503", "0,7,500,501,502,503", "0, 7, 500-503");
    expect_list("3-4,4-5,4,1023", "3,4,5,1023", "3-5, 1023");
    expect_list("8,9", "8,9", "8, 9");
}

static void expect_refused(const char *text, tide_status status, const char *why) {
    tide_ranks ranks = {.n = 77};
    tide_error error = {""};
    assert_int_equal(tide_ranks_parse(text, 1024, &ranks, &error), status);
    if (strstr(error.message, why) == NULL) {
        fail_msg("\"%s\": %s", text, error.message);
    }
    assert_int_equal(ranks.n, 77); /* written only on success */
}

static void test_what_is_no_list_is_refused(void **state) {
    (void)state;
    expect_refused("", TIDE_INVALID, "is no list of ranks");
    expect_refused("a", TIDE_INVALID, "\"a\" is no list");
    expect_refused("1,", TIDE_INVALID, "is no list");
    expect_refused("1 2", TIDE_INVALID, "is no list");
    expect_refused("-1", TIDE_INVALID, "is no list");
    expect_refused("1-", TIDE_INVALID, "is no list");
    expect_refused("5-3", TIDE_INVALID, "5-3 goes down");
    expect_refused("1024", TIDE_INVALID, "the last one is 1023");
    expect_refused("0-9999999999999999999999", TIDE_INVALID, "there is no rank");
    expect_refused("0-256", TIDE_LIMIT, "more than 256");
}

/* ---- roles ---- */

static void expect_role(const tide_roles *roles, int64_t rank, const char *why) {
    for (size_t i = 0; i < roles->n; i++) {
        if (roles->roles[i].rank == rank) {
            assert_string_equal(roles->roles[i].why, why);
            return;
        }
    }
    fail_msg("rank %lld was not chosen", (long long)rank);
}

static tide_left_group group_of(const char *description, int64_t size, int64_t stride) {
    return (tide_left_group){
        .name = "17", .description = description, .size = size, .position = 0, .stride = stride};
}

static void test_stages_experts_and_last_ones_are_chosen(void **state) {
    (void)state;
    tide_roles roles;
    const tide_left_group groups[] = {group_of("default_pg", 64, 1), group_of("mesh_tp", 4, 1),
                                      group_of("mesh_pp", 2, 4), group_of("mesh_dp", 8, 8)};
    tide_roles_choose(groups, 4, 64, &roles);
    assert_int_equal(roles.n, 5);
    expect_role(&roles, 0, "the first, stage 1 of 2 of pp");
    expect_role(&roles, 3, "the last of tp");
    expect_role(&roles, 4, "stage 2 of 2 of pp");
    expect_role(&roles, 56, "the last of dp");
    expect_role(&roles, 63, "the last");
    const tide_left_group experts[] = {group_of("EXPERT_MODEL_PARALLEL", 2, 1),
                                       group_of("happy", 2, 2)};
    tide_roles_choose(experts, 2, 64, &roles);
    assert_int_equal(roles.n, 4);
    expect_role(&roles, 1, "part 2 of 2 of EXPERT_MODEL_PARALLEL");
    expect_role(&roles, 2, "the last of happy"); /* it is no "pp" */
}

static void test_large_and_irregular_groups_are_told(void **state) {
    (void)state;
    tide_roles roles;
    tide_left_group groups[] = {group_of("ring", 16, 2), group_of("some", 3, 0)};
    groups[0].sends = true;
    tide_roles_choose(groups, 2, 64, &roles);
    assert_int_equal(roles.n, 5);
    expect_role(&roles, 2, "stage 2 of 16 of ring");
    expect_role(&roles, 16, "stage 9 of 16 of ring");
    expect_role(&roles, 30, "stage 16 of 16 of ring");
    assert_int_equal(roles.n_left_out, 12);
    assert_int_equal(roles.n_irregular, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_sorted_and_each_rank_is_once),
        cmocka_unit_test(test_what_is_no_list_is_refused),
        cmocka_unit_test(test_stages_experts_and_last_ones_are_chosen),
        cmocka_unit_test(test_large_and_irregular_groups_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
