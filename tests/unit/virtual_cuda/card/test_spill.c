/* test_spill.c - a virtual card that allocates more than it has, as Windows' driver does: what
 * cudaMemGetInfo reports, where it ends, and what the run's account contains.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "programs/wire/run_account.h"
#include "unit/virtual_cuda/cuda_names.h"
#include "programs/virtual_cuda/card/account_friend.h"

#define MIB ((size_t)1 << 20)

enum { OK = 0, OUT_OF_MEMORY = 2 };

static size_t free_bytes(void) {
    size_t n_free = 0;
    size_t n_total = 0;
    assert_int_equal(cudaMemGetInfo(&n_free, &n_total), OK);
    assert_int_equal(n_total, 7931 * MIB);
    return n_free;
}

static void a_full_card_gives_out_more(void **state) {
    (void)state;
    void *first = NULL;
    void *second = NULL;
    void *third = NULL;
    assert_int_equal(cudaMalloc(&first, 7800 * MIB), OK);
    assert_int_equal(free_bytes(), 16 * MIB); /* 115 MiB are context and libraries */
    assert_int_equal(cudaMalloc(&second, 40 * MIB), OK);
    assert_int_equal(free_bytes(), 0);
    assert_int_equal(cudaMalloc(&third, 42 * MIB), OUT_OF_MEMORY);
    assert_int_equal(cudaGetLastError(), OUT_OF_MEMORY);
    assert_int_equal(cudaMalloc(&third, 40 * MIB), OK);
    assert_int_equal(free_bytes(), 0);
    tide_run_account *account = tide_vc_account_lock();
    const tide_run_device device = account->devices[0];
    tide_vc_account_unlock();
    assert_int_equal(device.spill_bytes, 64 * MIB);
    assert_int_equal(device.peak_bytes - device.total_bytes, 64 * MIB);
    assert_int_equal(device.n_spilled, 2);
    assert_int_equal(device.n_refused, 1);
    assert_int_equal(cudaFree(first), OK);
    assert_int_equal(free_bytes(), 7931 * MIB - 115 * MIB - 80 * MIB);
    assert_int_equal(cudaFree(second), OK);
    assert_int_equal(cudaFree(third), OK);
    assert_int_equal(free_bytes(), 7931 * MIB - 115 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_card_gives_out_more)};
    setenv("TIDEMARK_VIRTUAL_CARDS", "rtx4060", 1);
    setenv("TIDEMARK_VIRTUAL_SPILL", "67108864", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
