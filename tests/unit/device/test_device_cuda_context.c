/* test_device_cuda_context.c - the memory that a context takes, as the driver's management library
 * sees it before and after; -1 if it is unknown.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cuda_friend.h"
#include "fake_cudart/fake_cudart.h"

static int64_t context_of(const char *spec, const char *fails) {
    tide_device *device = NULL;
    tide_fake_cudart_reset();
    tide_fake_cudart_state()->n_devices = 2;
    assert_int_equal(setenv("TIDE_FAKE_NVML_FAILS", fails, 1), 0);
    assert_int_equal(tide_device_open(spec, NULL, &device, NULL), TIDE_OK);
    int64_t context_bytes = tide_device_get_info(device)->context_bytes;
    tide_device_close(device);
    return context_bytes;
}

static void the_difference_is_the_context(void **state) {
    (void)state;
    assert_true(context_of("cuda:0", "") == INT64_C(512) << 20);
}

static void what_cannot_be_told_is_not(void **state) {
    (void)state;
    assert_true(context_of("cuda:0", "init") == -1);
    assert_true(context_of("cuda:0", "find") == -1);
    assert_true(context_of("cuda:0", "memory") == -1);
    assert_true(context_of("cuda:0", "shutdown") ==
                INT64_C(512) << 20);             /* the answer came before shutdown failed */
    assert_true(context_of("cuda:1", "") == -1); /* a GPU unknown to the library */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_difference_is_the_context),
        cmocka_unit_test(what_cannot_be_told_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
