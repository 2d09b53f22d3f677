/* test_log.c - launch logs are read whole, or refused with the row that makes no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/made_launches.h"

static made_launches made;
static tide_time_log read_log;
static tide_error error;

static void rows_and_texts_come_back(void **state) {
    (void)state;
    char text[200];
    memset(text, 'k', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    made_launches_begin(&made, "virtual:h100-80");
    uint32_t first = made_launches_text(&made, "one");
    uint32_t again = made_launches_text(&made, "one");
    uint32_t other = made_launches_text(&made, text); /* more than three rows */
    tide_run_launch row = made_kernel(TIDE_RUN_VECTORISED, 4096);
    row.name = first;
    made_launches_add(&made, row, 5);
    row.name = again;
    made_launches_add(&made, row, 5);
    row.name = other;
    made_launches_add(&made, row, 5);
    assert_int_equal(made_launches_read(&made, &read_log, &error), TIDE_OK);
    assert_string_equal(read_log.card, "h100-80");
    assert_int_equal(read_log.n_rows, 3);
    assert_string_equal(tide_time_log_text(&read_log, &read_log.rows[0]), "one");
    assert_int_equal(read_log.rows[0].name, read_log.rows[1].name);
    assert_string_equal(tide_time_log_text(&read_log, &read_log.rows[2]), text);
    assert_int_equal(read_log.rows[2].bytes, 4096);
    assert_int_equal(read_log.rows[2].host_ns, 10000);
    tide_time_log_fini(&read_log);
}

static void the_first_unwritten_row_ends_the_log(void **state) {
    (void)state;
    made_launches_begin(&made, "a100-40");
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    made_launches_add(&made, (tide_run_launch){.kind = TIDE_RUN_LAUNCH_NONE}, 1);
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    assert_int_equal(made_launches_read(&made, &read_log, &error), TIDE_OK);
    assert_int_equal(read_log.n_rows, 1);
    tide_time_log_fini(&read_log);
}

static void refuse(const char *part) {
    error.message[0] = '\0';
    assert_int_equal(made_launches_read(&made, &read_log, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, part));
    tide_time_log_fini(&read_log);
}

static void begin_with(tide_run_launch row) {
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    made_launches_add(&made, row, 1);
}

static void rows_without_sense_are_refused_by_number(void **state) {
    (void)state;
    begin_with((tide_run_launch){.kind = TIDE_RUN_N_LAUNCH_KINDS, .name = UINT32_MAX});
    refuse("row 2 of the launch log: its kind is not known");
    begin_with((tide_run_launch){.kind = TIDE_RUN_KERNEL, .name = 0});
    refuse("names a text that does not come before it");
    begin_with((tide_run_launch){
        .kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_N_FAMILIES, .name = UINT32_MAX});
    refuse("family is not known");
    begin_with(
        (tide_run_launch){.kind = TIDE_RUN_KERNEL, .k = TIDE_RUN_N_VARIANTS, .name = UINT32_MAX});
    refuse("variant is not known");
    begin_with(
        (tide_run_launch){.kind = TIDE_RUN_FILL, .type = TIDE_RUN_N_TYPES, .name = UINT32_MAX});
    refuse("type of numbers is not known");
    begin_with(made_product(TIDE_RUN_FP32, 4, 0, 4));
    refuse("a dimension of 0");
    begin_with((tide_run_launch){.kind = TIDE_RUN_TEXT, .bytes = UINT64_C(1) << 40});
    refuse("more than 65,536 bytes");
    made_launches_begin(&made, "h100-80");
    made.header.magic++;
    refuse("this is no launch log");
    made_launches_begin(&made, "h100-80");
    made.host_ns = INT64_MIN; /* the difference to a later time would not fit */
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    refuse("row 1 of the launch log: its time is before the clock's start");
}

/* Wherever a log ends, it is read up to there or refused. */
static void a_log_may_end_anywhere(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_mark(&made, "step begins");
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    for (size_t n = 0; n <= made_launches_bytes(&made); n++) {
        tide_status status = made_launches_read_cut(&made, n, &read_log, &error);
        assert_true(status == TIDE_OK || status == TIDE_FORMAT);
        assert_true(read_log.n_rows <= 2);
        assert_true(read_log.is_cut == (status == TIDE_OK && n % 64 != 0));
        bool is_told = read_log.is_cut || read_log.n_rows > 0; /* the first row is a mark */
        assert_false(status == TIDE_OK && is_told && tide_time_log_is_whole(&read_log));
        tide_time_log_fini(&read_log);
    }
}

/* A program without marks, such as one without Python, may end anywhere; one with marks states its
 * end.
 */
static void test_a_log_is_whole_up_to_the_end_of_the_program(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        made_launches_begin(&made, "h100-80");
        if (i > 0) {
            made_launches_mark(&made, "step begins");
        }
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
        if (i > 1) {
            made_launches_mark(&made, "program ends");
        }
        assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
        assert_int_equal(tide_time_log_is_whole(&read_log), i != 1);
        tide_time_log_fini(&read_log);
    }
}

/* A list in memory is moved with its texts, and is empty afterwards. */
static void test_take(void **state) {
    (void)state;
    tide_launch_list list;
    tide_time_log log;
    tide_launch_list_init(&list, tide_hostmem_default());
    assert_int_equal(
        tide_launch_list_add(&list, "mine", 5, (tide_run_launch){.kind = TIDE_RUN_KERNEL}),
        TIDE_OK);
    tide_time_log_take(&list, &log);
    assert_int_equal(list.n_rows, 0);
    tide_launch_list_fini(&list);
    assert_int_equal(log.n_rows, 1);
    assert_int_equal(log.rows[0].host_ns, 5);
    assert_string_equal(tide_time_log_text(&log, &log.rows[0]), "mine");
    tide_time_log_fini(&log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(rows_and_texts_come_back),
        cmocka_unit_test(the_first_unwritten_row_ends_the_log),
        cmocka_unit_test(rows_without_sense_are_refused_by_number),
        cmocka_unit_test(a_log_may_end_anywhere),
        cmocka_unit_test(test_a_log_is_whole_up_to_the_end_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
