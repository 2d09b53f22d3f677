/* test_calibration.c - calibrations: the untrusted file, and the arithmetic on its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/step_time/calibration_log.h"
#include "programs/step_time/work.h"
#include "support/made_launches.h"

#define PATH "test_calibration.json"

static const tide_calibration PLAIN = {
    .made = "2026-11-27", .cpu = "made", .torch = "2.14.1", .forward_us = 8.0, .backward_us = 12.0};

static tide_calibration with_gpu(const char *name) {
    tide_calibration of = PLAIN;
    of.has_gpu = true;
    of.gpu = (tide_calibration_gpu){.forward_us = 5.0,
                                    .backward_us = 10.0,
                                    .rows = 8192.0,
                                    .product_us = {25000.0, 2800.0, 1700.0, 1800.0},
                                    .contiguous = {2e9, 2.5e8, 800.0},
                                    .strided = {1e9, 1.25e8, 500.0}};
    snprintf(of.gpu.name, sizeof(of.gpu.name), "%s", name);
    return of;
}

static tide_time_card card_of(const char *name) {
    tide_time_card card;
    assert_int_equal(tide_time_card_of(tide_card_find(name), &card, NULL), TIDE_OK);
    return card;
}

static void what_is_written_is_read(void **state) {
    (void)state;
    tide_calibration made = with_gpu("NVIDIA made");
    tide_calibration read;
    made.gpu.product_us[TIDE_RUN_TF32] = -1.0;
    assert_int_equal(tide_calibration_write(&made, PATH, NULL), TIDE_OK);
    assert_int_equal(tide_calibration_read(PATH, &read, NULL), TIDE_OK);
    assert_string_equal(read.cpu, "made");
    assert_string_equal(read.gpu.name, "NVIDIA made");
    assert_float_equal(read.backward_us, 12.0, 0.0);
    assert_float_equal(read.gpu.product_us[TIDE_RUN_TF32], -1.0, 0.0);
    assert_float_equal(read.gpu.strided.us, 500.0, 0.0);
    assert_int_equal(unlink(PATH), 0);
}

static void bad_files_are_refused_with_the_place(void **state) {
    (void)state;
#define HEAD "{\"format\":\"tidemark calibration\",\"version\":1,\"made\":\"d\",\"torch\":\"t\""
    static const char *const BAD[][2] = {
        {"[1", "no JSON object"},
        {"{}", "format is not"},
        {"{\"format\":\"tidemark calibration\",\"version\":2}", "version is not 1"},
        {HEAD "}", "cpu is missing"},
        {HEAD ",\"cpu\":\"c\"}", "host is missing"},
        {HEAD ",\"cpu\":\"c\",\"host\":{\"forward_us\":0}}", "host.forward_us is missing"},
        {HEAD ",\"cpu\":\"c\",\"host\":{\"forward_us\":1,\"backward_us\":1e300}}",
         "host.backward_us is missing"},
        {HEAD ",\"cpu\":\"c\",\"host\":{\"forward_us\":1,\"backward_us\":1},\"gpu\":3}",
         "gpu is missing, or no object"},
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        tide_error error = {""};
        tide_calibration read;
        FILE *file = fopen(PATH, "wb");
        assert_non_null(file);
        assert_true(fputs(BAD[i][0], file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(tide_calibration_read(PATH, &read, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, BAD[i][1]));
        assert_non_null(strstr(error.message, PATH));
    }
    assert_int_equal(unlink(PATH), 0);
}

static void the_hosts_factor_follows_from_launches(void **state) {
    (void)state;
    const tide_time_constants constants = {
        .launch_us = 15.0, .reference_us = 35.0, .host_factor = 0.5};
    const tide_calibration target = with_gpu("NVIDIA made");
    tide_time_host host;
    assert_int_equal(tide_time_host_of(&constants, NULL, NULL, 0.0, &host, NULL), TIDE_OK);
    assert_int_equal(host.basis, TIDE_TIME_HOST_PUBLISHED);
    assert_float_equal(host.factor, 0.5, 0.0);
    /* This machine takes 10 + 15 us, that of the constants 35 + 15: twice the factor. */
    assert_int_equal(tide_time_host_of(&constants, &PLAIN, NULL, 0.0, &host, NULL), TIDE_OK);
    assert_int_equal(host.basis, TIDE_TIME_HOST_SCALED);
    assert_float_equal(host.factor, 1.0, 1e-9);
    assert_float_equal(host.least, 0.38, 1e-9);
    assert_float_equal(host.most, 1.98, 1e-9);
    /* 7.5 us there. */
    assert_int_equal(tide_time_host_of(&constants, &PLAIN, &target, 0.0, &host, NULL), TIDE_OK);
    assert_int_equal(host.basis, TIDE_TIME_HOST_MEASURED);
    assert_float_equal(host.factor, 0.3, 1e-9);
    assert_float_equal(host.least, 0.2625, 1e-9);
    /* A machine with a GPU is the one to forecast for, unless another is named. */
    assert_int_equal(tide_time_host_of(&constants, &target, NULL, 0.0, &host, NULL), TIDE_OK);
    assert_ptr_equal(host.target, &target);
    assert_int_equal(tide_time_host_of(&constants, &PLAIN, NULL, 0.7, &host, NULL), TIDE_OK);
    assert_int_equal(host.basis, TIDE_TIME_HOST_GIVEN);
    assert_float_equal(host.factor, 0.7, 1e-9);
}

static void a_target_needs_a_gpu_and_something_to_compare_it_with(void **state) {
    (void)state;
    const tide_calibration target = with_gpu("NVIDIA made");
    tide_error error = {""};
    tide_time_host host;
    assert_int_equal(tide_time_host_of(&TIDE_TIME_CONSTANTS, &PLAIN, &PLAIN, 0.0, &host, &error),
                     TIDE_INVALID);
    assert_non_null(strstr(error.message, "without a GPU"));
    assert_int_equal(tide_time_host_of(&TIDE_TIME_CONSTANTS, NULL, &target, 0.0, &host, &error),
                     TIDE_INVALID);
    assert_non_null(strstr(error.message, "no calibration of this machine"));
}

/* With the corrected shares the model must give the times that were measured. */
static void the_model_gives_what_was_measured_on_the_same_card(void **state) {
    (void)state;
    const tide_time_card card = card_of("h100-80");
    tide_calibration own = with_gpu(card.card->title);
    tide_time_host host;
    own.gpu.product_us[TIDE_RUN_FP16] = -1.0; /* bf16 alone decides */
    assert_int_equal(tide_time_host_of(&TIDE_TIME_CONSTANTS, &own, NULL, 0.0, &host, NULL),
                     TIDE_OK);
    assert_true(tide_time_host_has_card(&host, &card));
    const tide_time_constants to = tide_time_constants_for(&TIDE_TIME_CONSTANTS, &host, &card);
    for (int type = TIDE_RUN_FP32; type <= TIDE_RUN_BF16; type++) {
        tide_run_launch row = made_product((tide_run_type)type, 8192, 8192, 8192);
        row.flags = TIDE_RUN_TRANSPOSED_A;
        assert_float_equal(tide_work_time_of(&to, &card, &row).us, own.gpu.product_us[type],
                           1e-3F * (float)own.gpu.product_us[type]);
    }
    tide_run_launch copy = made_kernel(TIDE_RUN_VECTORISED, 2000000000);
    assert_float_equal(tide_work_time_of(&to, &card, &copy).us, 800.0, 0.1);
    copy = made_kernel(TIDE_RUN_STRIDED, 1000000000);
    assert_float_equal(tide_work_time_of(&to, &card, &copy).us, 500.0, 0.1);
    const tide_time_card other = card_of("a100-80");
    assert_false(tide_time_host_has_card(&host, &other));
    const tide_time_constants same = tide_time_constants_for(&TIDE_TIME_CONSTANTS, &host, &other);
    assert_float_equal(same.vectorised_share, TIDE_TIME_CONSTANTS.vectorised_share, 0.0);
}

/* Five bursts are not counted; of the next four the lower quartile is the smallest. */
static void the_log_gives_the_hosts_time(void **state) {
    (void)state;
    static made_launches made;
    static const int64_t US[] = {900, 900, 900, 900, 900, 40, 20, 30, 50};
    tide_time_log log;
    tide_calibration to = PLAIN;
    size_t n[2] = {0, 0};
    made_launches_begin(&made, "h100-80");
    for (size_t i = 0; i < sizeof(US) / sizeof(US[0]); i++) {
        made_launches_mark(&made, "calibrate forward begins");
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 10), US[i]);
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 10), 0);
        made_launches_mark(&made, "calibrate forward ends");
        made_launches_mark(&made, "calibrate backward begins");
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 10), 2 * US[i]);
        made_launches_mark(&made, "calibrate backward ends");
    }
    assert_int_equal(made_launches_read(&made, &log, NULL), TIDE_OK);
    assert_int_equal(tide_calibration_take_host(&log, &to, n, NULL), TIDE_OK);
    assert_int_equal(n[0], 2);
    assert_int_equal(n[1], 1);
    assert_float_equal(to.forward_us, 10.0, 1e-9);
    assert_float_equal(to.backward_us, 40.0, 1e-9);
    tide_time_log_fini(&log);
}

/* For our own model: the log's value, and around it the range of published hosts, 0.19 to 0.99,
 * whose middle is 0.54. */
static void test_stated(void **state) {
    (void)state;
    tide_time_host host = tide_time_host_stated(&TIDE_TIME_CONSTANTS);
    assert_true(host.factor == 1.0);
    assert_true(host.least == 0.19 / 0.54);
    assert_true(host.most == 0.99 / 0.54);
    assert_int_equal(host.basis, TIDE_TIME_HOST_STATED);
    assert_null(host.own);
    assert_null(host.target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stated),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(bad_files_are_refused_with_the_place),
        cmocka_unit_test(the_hosts_factor_follows_from_launches),
        cmocka_unit_test(a_target_needs_a_gpu_and_something_to_compare_it_with),
        cmocka_unit_test(the_model_gives_what_was_measured_on_the_same_card),
        cmocka_unit_test(the_log_gives_the_hosts_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
