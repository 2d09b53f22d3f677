/* test_account.c - where a device's memory is: at the beginning, at a peak, at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/live/account.h"
#include "programs/live/driver.h"
#include "unit/live/told_rows.h"

#define MIB ((uint64_t)1 << 20)

static int begin(void **state) {
    (void)state;
    tide_live_driver_forked();
    told_clear();
    told.has_driver = true;
    return 0;
}

/* An allocation of the named owner that costs the device n_used bytes. */
static void take(const char *owner, uint64_t address, uint64_t n_bytes, uint64_t n_used) {
    tide_live_call call;
    told.free_bytes -= n_used;
    tide_live_call_begin(&call, "take", __builtin_return_address(0));
    const tide_live_taken taken = {.action = TIDE_LOG_CALL_DEVICE_ALLOC,
                                   .address = address,
                                   .n_bytes = n_bytes,
                                   .device = TIDE_LIVE_CURRENT};
    tide_live_hold(&call, &taken, tide_live_owner_named(owner));
    tide_live_call_end(&call);
}

static void give(uint64_t address, uint64_t n_used) {
    tide_live_call call;
    tide_live_call_begin(&call, "give", __builtin_return_address(0));
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, address);
    told.free_bytes += n_used;
    (void)tide_live_call_gave(&call, 0);
}

static void test_parts(void **state) {
    (void)state;
    int context = 0;
    tide_live_account account;
    told.free_bytes -= 512 * MIB;
    tide_live_account_begin(0, &context);
    take("PyTorch", 0x1000, 1000 * MIB, 1000 * MIB);
    take("NCCL", 0x2000, 21 * MIB, 22 * MIB);
    take("libfoo", 0x3000, MIB / 2, 2 * MIB);
    take("libbar", 0x4000, MIB / 2, 0);
    give(0x1000, 1000 * MIB);
    tide_live_account_end();
    assert_true(tide_live_get_account(0, TIDE_LIVE_PEAK, &account));
    assert_int_equal(account.context_bytes, 512 * MIB);
    assert_int_equal(account.held_bytes, 1021 * MIB);
    assert_int_equal(account.used_bytes, 1534 * MIB);
    assert_int_equal(account.unexplained_bytes, MIB);
    assert_int_equal(account.by_owner[tide_live_owner_named("NCCL")], 21 * MIB);
    assert_true(tide_live_get_account(0, TIDE_LIVE_END, &account));
    assert_int_equal(account.used_bytes, 536 * MIB);
    assert_int_equal(account.held_bytes, 22 * MIB);
    assert_int_equal(account.unexplained_bytes, 2 * MIB);
    assert_false(tide_live_get_account(1, TIDE_LIVE_BEGIN, &account));
    assert_string_equal(told.described[told.n_described - 2][0], "live.account.0.end");
    assert_string_equal(told.described[told.n_described - 1][0], "live.account.0.end.bytes");
    assert_string_equal(told.described[told.n_described - 2][1],
                        "536 MiB = NCCL 21 + context 512 + smaller owners 1 + unexplained 2");
}

/* Without a context that can be seen, the account begins at the first allocation; the memory it
 * took is not the context's. */
static void test_begin_at_first(void **state) {
    (void)state;
    tide_live_account account;
    told.free_bytes -= 100 * MIB;
    take("PyTorch", 0x1000, 10 * MIB, 10 * MIB);
    assert_true(tide_live_get_account(0, TIDE_LIVE_BEGIN, &account));
    assert_int_equal(account.context_bytes, 100 * MIB);
    assert_int_equal(account.unexplained_bytes, 0);
}

/* The driver is asked for a peak only where it is 1 % above the last one. */
static void test_peaks(void **state) {
    (void)state;
    take("PyTorch", 0x1000, 1000 * MIB, 1000 * MIB);
    unsigned n_asked = told.n_asked;
    take("PyTorch", 0x2000, 9 * MIB, 9 * MIB);
    assert_int_equal(told.n_asked, n_asked);
    take("PyTorch", 0x3000, 2 * MIB, 2 * MIB);
    assert_int_equal(told.n_asked, n_asked + 1);
    give(0x1000, 1000 * MIB);
    take("PyTorch", 0x1000, 1000 * MIB, 1000 * MIB);
    assert_int_equal(told.n_asked, n_asked + 1);
}

/* A stream that is being captured allows the query only to a thread in relaxed mode. */
static void test_capture(void **state) {
    (void)state;
    take("PyTorch", 0x1000, MIB, MIB);
    assert_int_equal(told.mode_when_asked, 2);
    assert_int_equal(told.capture_mode, 0);
}

static void test_several_devices(void **state) {
    (void)state;
    int contexts[2] = {0, 0};
    tide_live_account account;
    tide_live_account_begin(0, &contexts[0]);
    tide_live_account_begin(1, &contexts[1]);
    told.device = 1;
    take("PyTorch", 0x1000, MIB, MIB);
    tide_live_account_end();
    assert_true(tide_live_get_account(1, TIDE_LIVE_PEAK, &account));
    assert_int_equal(account.held_bytes, MIB);
    assert_false(tide_live_get_account(0, TIDE_LIVE_PEAK, &account));
    assert_true(tide_live_get_account(0, TIDE_LIVE_END, &account));
    assert_int_equal(account.held_bytes, 0);
    assert_null(told.context); /* each is popped again */
}

/* Memory that pools keep was freed by the program, and is still used on the device. */
static void test_pools(void **state) {
    (void)state;
    tide_live_account account;
    told.device = 3;
    told.pool_reserved = 32 * MIB;
    told.pool_used = 10 * MIB;
    take("PyTorch", 0x1000, 10 * MIB, 32 * MIB);
    told.graph_reserved = 5 * MIB;
    take("PyTorch", 0x2000, 10 * MIB, 5 * MIB);
    told.pool_used = 20 * MIB;
    tide_live_account_end();
    assert_true(tide_live_get_account(3, TIDE_LIVE_END, &account));
    assert_int_equal(account.pool_bytes, 17 * MIB);
    assert_int_equal(account.used_bytes, 37 * MIB);
    assert_string_equal(told.described[told.n_described - 2][1],
                        "37 MiB = PyTorch 20 + kept by pools 17 + unexplained 0");
}

static void test_short_text(void **state) {
    (void)state;
    char text[24];
    tide_live_account account = {.used_bytes = 700 * MIB, .context_bytes = 600 * MIB};
    tide_live_account_text(&account, text, sizeof(text));
    assert_string_equal(text, "700 MiB = context 600 +");
    tide_live_account_text(&account, text, 4);
    assert_string_equal(text, "700");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_parts, begin),
        cmocka_unit_test_setup(test_begin_at_first, begin),
        cmocka_unit_test_setup(test_peaks, begin),
        cmocka_unit_test_setup(test_capture, begin),
        cmocka_unit_test_setup(test_several_devices, begin),
        cmocka_unit_test_setup(test_pools, begin),
        cmocka_unit_test_setup(test_short_text, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
