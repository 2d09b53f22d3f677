/* test_scatter.c - places of runs in the picture of memory against time. */
#define _GNU_SOURCE /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/text_file.h"
#include "common/hostmem.h"
#include "picture/scatter.h"

#define GIB ((int64_t)1 << 30)

/* The picture of these points with a limit of 10 GiB; the caller releases it. */
static char *draw(const tide_scatter_point *points, size_t n) {
    char folder[] = "/tmp/tidemark_scatter_XXXXXX";
    char path[64];
    char *text = NULL;
    tide_error error = {""};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/front.svg", folder);
    const tide_scatter scatter = {.title = "train.py",
                                  .x_title = "reserved",
                                  .y_title = "time",
                                  .limit_name = "room",
                                  .limit_bytes = 10 * GIB,
                                  .points = points,
                                  .n_points = n};
    assert_int_equal(tide_scatter_save(&scatter, path, &error), TIDE_OK);
    assert_int_equal(tide_text_file_read(path, 1 << 20, &text, NULL, &error), TIDE_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    return text;
}

static void has(const char *text, const char *words) {
    if (strstr(text, words) == NULL) {
        fail_msg("no \"%s\" in:\n%s", words, text);
    }
}

static void release(char *text) {
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
}

static void test_runs_are_listed_with_their_figures(void **state) {
    (void)state;
    const tide_scatter_point points[] = {{20 * GIB, 100.0, "unchanged", false},
                                         {8 * GIB, 120.0, "checkpoint:<Block>", true},
                                         {9 * GIB, -1.0, "without a time", true}};
    char *text = draw(points, 3);
    has(text, "room: 10.00 GiB");
    has(text, "20.00 GiB, 100 ms<");
    has(text, "8.00 GiB, 120 ms, fits<");
    has(text, "checkpoint:&lt;Block&gt;");
    assert_null(strstr(text, "without a time"));
    release(text);
}

/* The plot is 730 by 300 pixels, from (90, 56); its axes end at 22 GiB and 115 ms. */
static void test_points_are_at_their_places(void **state) {
    (void)state;
    const tide_scatter_point points[] = {{20 * GIB, 100.0, "unchanged", false},
                                         {10 * GIB, 50.0, "half", true}};
    char *text = draw(points, 2);
    has(text,
        "<rect x=\"748.6\" y=\"90.1\" width=\"10\" height=\"10\" rx=\"5\" fill=\"#d55e00\"/>");
    has(text,
        "<rect x=\"416.8\" y=\"220.6\" width=\"10\" height=\"10\" rx=\"5\" fill=\"#0072b2\"/>");
    release(text);
}

/* The place of the number beside a dot; the number in the list is left of the plot. */
static void place_of(const char *text, const char *number, double *ret_x, double *ret_y) {
    char content[16];
    (void)snprintf(content, sizeof(content), ">%s</text>", number);
    *ret_x = *ret_y = -1.0;
    for (const char *at = strstr(text, "<text "); at != NULL; at = strstr(at + 1, "<text ")) {
        const char *end = strstr(at, "</text>");
        double x = 0.0;
        double y = 0.0;
        assert_int_equal(sscanf(at, "<text x=\"%lf\" y=\"%lf\"", &x, &y), 2);
        if (x > 90.0 && strncmp(end - (strlen(number) + 1), content, strlen(content)) == 0) {
            *ret_x = x;
            *ret_y = y;
        }
    }
    assert_true(*ret_x > 0.0);
}

static void test_numbers_of_near_points_do_not_overlap(void **state) {
    (void)state;
    const tide_scatter_point points[] = {{10 * GIB, 50.0, "a", true},
                                         {10 * GIB, 50.1, "b", true},
                                         {10 * GIB, 50.2, "c", true},
                                         {20 * GIB, 100.0, "d", false}};
    static const char *const NUMBERS[] = {"1", "2", "3"};
    char *text = draw(points, 4);
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = i + 1; k < 3; k++) {
            double x[2];
            double y[2];
            place_of(text, NUMBERS[i], &x[0], &y[0]);
            place_of(text, NUMBERS[k], &x[1], &y[1]);
            assert_true(fabs(x[0] - x[1]) >= 12.0 || fabs(y[0] - y[1]) >= 12.0);
        }
    }
    release(text);
}

static void test_no_run_leaves_axes(void **state) {
    (void)state;
    char *text = draw(NULL, 0);
    has(text, "</svg>");
    release(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_are_listed_with_their_figures),
        cmocka_unit_test(test_points_are_at_their_places),
        cmocka_unit_test(test_numbers_of_near_points_do_not_overlap),
        cmocka_unit_test(test_no_run_leaves_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
