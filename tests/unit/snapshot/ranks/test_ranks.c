/* test_ranks.c - many ranks: any order gives the same result, equal ranks, medians that count ranks
 * and not rows, the first rank to run out of memory, and conditions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/ranks/ranks.h"

enum { N_RANKS = 7, MIB = 1 << 20 };

/* Digests of one device with two rows each. */
typedef struct job {
    tide_digest digests[N_RANKS];
    tide_digest_device devices[N_RANKS];
    tide_digest_row rows[N_RANKS][2];
    tide_digest_growth growth[N_RANKS];
    tide_snapshot_group groups[N_RANKS][2];
    const tide_digest *order[N_RANKS];
} job;

static void make(job *of) {
    static const char *const FILES[N_RANKS] = {"a", "b", "c", "d", "e", "f", "g"};
    memset(of, 0, sizeof(*of));
    for (int64_t i = 0; i < N_RANKS; i++) {
        int64_t extra = i == 5 ? 100 * MIB : 0;
        of->rows[i][0] = (tide_digest_row){"f (model.py:1)", "parameter", "", "", 400 * MIB, 4};
        of->rows[i][1] =
            (tide_digest_row){"g (model.py:2)", "activation", "", "", 100 * MIB + extra, 2};
        of->devices[i] = (tide_digest_device){
            .kind = "cuda",
            .name = "x",
            .total_bytes = 1000 * (int64_t)MIB,
            .peak = {.phase = ""},
            .max = {0, 500 * MIB + extra, 0, 600 * MIB + extra},
            .headroom_bytes = 400 * MIB - extra,
            .oom = {.event = -1, .line = ""},
            .explained = {.is_known = true, .growth = &of->growth[i], .n_growth = 1},
            .rows = of->rows[i],
            .n_rows = 2,
            .timeline_begin_unix_us = 1000};
        of->groups[i][0] = (tide_snapshot_group){"dp", "", N_RANKS, i, 0, 1};
        of->digests[i] = (tide_digest){.file = FILES[i],
                                       .node = i < 4 ? "x" : "y",
                                       .rank = {i, i, 16, of->groups[i], 1},
                                       .devices = &of->devices[i],
                                       .n_devices = 1};
        of->order[i] = &of->digests[i];
    }
}

static tide_ranks *report(const job *of, const char *group_by, tide_arena *arena) {
    tide_ranks *ranks = NULL;
    tide_error error = {""};
    if (tide_ranks_make(of->order, N_RANKS, group_by, arena, &ranks, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return ranks;
}

static void equal_ranks_are_one_row_in_any_order(void **state) {
    (void)state;
    job of;
    tide_arena arena;
    make(&of);
    tide_arena_init(&arena, tide_hostmem_default());
    for (size_t turn = 0; turn < N_RANKS; turn++) {
        for (size_t i = 0; i < N_RANKS; i++) {
            of.order[i] = &of.digests[(i * 3 + turn) % N_RANKS];
        }
        const tide_ranks *ranks = report(&of, "role", &arena);
        assert_int_equal(ranks->n_folds, 2);
        assert_string_equal(ranks->folds[0].ranks, "0-4, 6");
        assert_string_equal(ranks->folds[1].ranks, "5");
        assert_false(ranks->folds[0].is_outlier);
        assert_true(ranks->folds[1].is_outlier);
        assert_int_equal(ranks->n_groups, 1);
        assert_int_equal(ranks->groups[0].median_bytes, 500 * MIB);
        assert_int_equal(ranks->groups[0].high_bytes, 600 * MIB);
        assert_int_equal(ranks->n_missing, 9);
        assert_int_equal(ranks->n_differences, 1);
        assert_string_equal(ranks->differences[0].line, "g (model.py:2)");
        assert_int_equal(ranks->differences[0].bytes - ranks->differences[0].median_bytes,
                         100 * MIB);
        assert_int_equal(ranks->least_headroom, 5);
        assert_true(ranks->first_out == SIZE_MAX);
    }
    tide_arena_fini(&arena);
}

static void one_different_figure_parts_them(void **state) {
    (void)state;
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    for (int figure = 0; figure < 9; figure++) {
        job of;
        make(&of);
        tide_digest_device *device = &of.devices[2];
        int64_t *const FIGURES[] = {&device->max.requested_bytes, &device->end.reserved_bytes,
                                    &device->total_bytes,         &of.growth[2].bytes_per_pass,
                                    &of.rows[2][0].n_blocks,      &device->rest.bytes,
                                    &device->high_bytes,          &device->reserved_low_bytes,
                                    &device->reserved_high_bytes};
        *FIGURES[figure] += 1;
        const tide_ranks *ranks = report(&of, "none", &arena);
        assert_int_equal(ranks->n_folds, 3);
        assert_string_equal(ranks->folds[0].ranks, "0-1, 3-4, 6");
    }
    tide_arena_fini(&arena);
}

/* A whole job: equal ranks are one row, written as spans; a rank without equal neighbours is
 * written alone. */
static void folds_are_told_as_spans(void **state) {
    (void)state;
    enum { MOST = 64 };
    static const struct {
        size_t n, odd; /* the odd rank has another peak; n: none has */
        const char *first, *second;
    } CASES[] = {{64, 63, "0-62", "63"},  {64, 64, "0-63", NULL}, {64, 0, "0", "1-63"},
                 {64, 1, "0, 2-63", "1"}, {3, 1, "0, 2", "1"},    {2, 2, "0-1", NULL},
                 {1, 1, "0", NULL}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        job of;
        tide_digest digests[MOST];
        tide_digest_device other;
        const tide_digest *order[MOST];
        tide_arena arena;
        tide_ranks *ranks = NULL;
        tide_error error = {""};
        make(&of);
        tide_arena_init(&arena, tide_hostmem_default());
        other = of.devices[0];
        other.max.allocated_bytes += 1;
        for (size_t rank = 0; rank < CASES[i].n; rank++) {
            digests[rank] = of.digests[0];
            digests[rank].rank = (tide_snapshot_rank){(int64_t)rank, -1, -1, NULL, 0};
            digests[rank].devices = rank == CASES[i].odd ? &other : &of.devices[0];
            order[CASES[i].n - 1 - rank] = &digests[rank];
        }
        assert_int_equal(tide_ranks_make(order, CASES[i].n, "none", &arena, &ranks, &error),
                         TIDE_OK);
        assert_int_equal(ranks->n_folds, CASES[i].second != NULL ? 2 : 1);
        assert_string_equal(ranks->folds[0].ranks, CASES[i].first);
        if (CASES[i].second != NULL) {
            assert_string_equal(ranks->folds[1].ranks, CASES[i].second);
        }
        tide_arena_fini(&arena);
    }
}

static void groups_are_told_apart(void **state) {
    (void)state;
    job of;
    tide_arena arena;
    tide_ranks *none = NULL;
    tide_error error = {""};
    make(&of);
    tide_arena_init(&arena, tide_hostmem_default());
    for (int64_t i = 0; i < N_RANKS; i++) {
        of.groups[i][1] = (tide_snapshot_group){"mesh_pp", "", 12, i < 3 ? 2 : 10, 0, 1};
        of.digests[i].rank.n_groups = 2;
    }
    const tide_ranks *ranks = report(&of, "role", &arena);
    assert_int_equal(ranks->n_groups, 2);
    assert_string_equal(ranks->groups[0].name, "stage 2 of 12");
    assert_string_equal(ranks->groups[1].name, "stage 10 of 12");
    assert_string_equal(ranks->groups[1].ranks, "3-6");
    ranks = report(&of, "host", &arena);
    assert_string_equal(ranks->groups[1].name, "y");
    ranks = report(&of, "dp", &arena);
    assert_int_equal(ranks->n_groups, N_RANKS);
    assert_string_equal(ranks->folds[6].place, "dp last");
    assert_int_equal(tide_ranks_make(of.order, N_RANKS, "tp", &arena, &none, &error), TIDE_INVALID);
    of.digests[1].rank.rank = 0;
    assert_int_equal(tide_ranks_make(of.order, N_RANKS, "role", &arena, &none, &error),
                     TIDE_INVALID);
    assert_non_null(strstr(error.message, "rank 0 comes twice"));
    tide_arena_fini(&arena);
}

static void the_first_is_by_one_clock(void **state) {
    (void)state;
    job of;
    tide_arena arena;
    make(&of);
    tide_arena_init(&arena, tide_hostmem_default());
    of.devices[1].oom.event = 3;
    of.devices[1].oom.time_ns = 9000000;
    of.devices[4].oom.event = 3;
    of.devices[4].oom.time_ns = 1000000;
    assert_int_equal(report(&of, "none", &arena)->first_out, 4);
    of.devices[4].timeline_begin_unix_us = 100000;
    assert_int_equal(report(&of, "none", &arena)->first_out, 1);
    assert_true(report(&of, "none", &arena)->is_clock_known);
    of.devices[4].timeline_begin_unix_us = -1;
    assert_false(report(&of, "none", &arena)->is_clock_known);
    tide_arena_fini(&arena);
}

/* The growth of the facts of `tidemark explain`; a rank whose digest has none of them is unknown.
 */
static void growth_is_that_of_the_facts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool first_is_explained, is_known, holds;
    } CASES[] = {{"growth>4MiB", true, true, true},
                 {"growth>5MiB", true, true, false},
                 {"growth>4MiB", false, false, true},
                 {"growth>5MiB", false, false, false}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        job of;
        tide_arena arena;
        tide_error error = {""};
        tide_ranks_verdict verdict;
        make(&of);
        of.growth[3].bytes_per_pass = 5 * MIB;
        of.devices[0].explained.is_known = CASES[i].first_is_explained;
        tide_arena_init(&arena, tide_hostmem_default());
        const tide_ranks *ranks = report(&of, "none", &arena);
        assert_int_equal(tide_ranks_judge(ranks, CASES[i].text, &verdict, &error), TIDE_OK);
        if (verdict.is_known != CASES[i].is_known || verdict.holds != CASES[i].holds) {
            fail_msg("%s: %s", CASES[i].text, verdict.words);
        }
        tide_arena_fini(&arena);
    }
}

static void conditions_hold_or_not(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_known, holds;
    } CASES[] = {
        {"spread>19%", true, true},       {"spread > 20%", true, false},
        {"spread>=20%", true, true},      {"spread>99MiB", true, true},
        {"headroom<301MiB", true, true},  {"headroom < 300MiB", true, false},
        {"headroom<31%", true, true},     {"peak>599MiB", true, true},
        {"reserved>=700MiB", true, true}, {"reserved > 700MiB", true, false},
        {"growth>0", true, false},        {" spread <= 20 % ", true, true},
        {"spread<20%", true, false},
    };
    job of;
    tide_arena arena;
    tide_error error = {""};
    tide_ranks_verdict verdict;
    make(&of);
    tide_arena_init(&arena, tide_hostmem_default());
    const tide_ranks *ranks = report(&of, "none", &arena);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_ranks_judge(ranks, CASES[i].text, &verdict, &error), TIDE_OK);
        if (verdict.is_known != CASES[i].is_known || verdict.holds != CASES[i].holds) {
            fail_msg("%s: %s", CASES[i].text, verdict.words);
        }
    }
    static const char *const WRONG[] = {"",           "spread",        "spread>",    "peak>5%",
                                        "size>5%",    "spread>5%%",    "peak=5",     "headroom<x",
                                        "spread>.%",  "spread>1.2.3%", "spread=>5%", "spread>>5%",
                                        "spread!=5%", "spread>+5%"};
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        assert_int_equal(tide_ranks_judge(ranks, WRONG[i], &verdict, &error), TIDE_INVALID);
    }
    tide_arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ranks_are_one_row_in_any_order),
        cmocka_unit_test(one_different_figure_parts_them),
        cmocka_unit_test(folds_are_told_as_spans),
        cmocka_unit_test(groups_are_told_apart),
        cmocka_unit_test(the_first_is_by_one_clock),
        cmocka_unit_test(growth_is_that_of_the_facts),
        cmocka_unit_test(conditions_hold_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
