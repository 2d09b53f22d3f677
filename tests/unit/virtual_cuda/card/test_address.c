/* test_address.c - addresses of 64 large cards, in a process that may have little address space;
 * and a machine without memory for the card's tables, which is not the card's failure.
 */
#define _DEFAULT_SOURCE /* RLIMIT_AS */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/wire/run_account.h"
#include "unit/virtual_cuda/cuda_names.h"
#include "programs/virtual_cuda/card/account_friend.h"
#include "programs/virtual_cuda/card/address.h"
#include "programs/virtual_cuda/values/known.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

enum { N_CARDS = 64, OK = 0, OUT_OF_MEMORY = 2, OPERATING_SYSTEM = 304 };

int cuMemAlloc_v2(uint64_t *ret_address, size_t n_bytes);
int cuMemAddressReserve(uint64_t *ret_address, size_t n_bytes, size_t alignment, uint64_t wanted,
                        unsigned long long flags);
int cuMemAddressFree(uint64_t address, size_t n_bytes);
const char *cudaGetErrorName(int status);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_LIMITED 0 /* a sanitizer needs much address space, and ends the process without it */
#else
#define IS_LIMITED 1
#endif

static void limit_addresses(uint64_t n_bytes) {
    struct rlimit limit;
    if (!IS_LIMITED) {
        return;
    }
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = n_bytes;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static tide_run_device account_of(int card) {
    tide_run_account *account = tide_vc_account_lock();
    tide_run_device device = account->devices[card];
    tide_vc_account_unlock();
    return device;
}

/* Addresses descend, by chunks of 128 MiB for large requests. */
static void sixty_four_cards_are_filled_by_one_process(void **state) {
    uint64_t last = UINT64_MAX;
    void *all[N_CARDS];
    (void)state;
    for (int i = 0; i < N_CARDS; i++) {
        assert_int_equal(cudaSetDevice(i), OK);
        assert_int_equal(cudaMalloc(&all[i], 150 * GIB), OK);
        assert_true((uint64_t)(uintptr_t)all[i] < last);
        assert_int_equal((uint64_t)(uintptr_t)all[i] % (128 * MIB), 0);
        assert_true(tide_vc_is_device(all[i]));
        last = (uint64_t)(uintptr_t)all[i];
    }
    assert_int_equal(cudaMalloc(&all[0], 100 * TIB), OUT_OF_MEMORY);
    assert_int_equal(account_of(N_CARDS - 1).n_refused, 1);
    for (int i = 1; i < N_CARDS; i++) {
        assert_int_equal(cudaFree(all[i]), OK);
    }
}

/* Other values in a kernel's arguments must not be mistaken for an address. */
static void what_was_not_given_out_is_no_address(void **state) {
    void *some = NULL;
    (void)state;
    assert_int_equal(cudaMalloc(&some, 512), OK);
    assert_true(tide_vc_is_device(some));
    assert_false(tide_vc_is_device(&some));
    assert_false(tide_vc_is_device((const void *)(uintptr_t)TIDE_VC_HIGHEST_ADDRESS));
    assert_false(tide_vc_is_device((const void *)(uintptr_t)TIDE_VC_LOWEST_ADDRESS));
    assert_int_equal(cudaFree(some), OK);
}

static void more_addresses_than_there_are_is_not_the_cards_failure(void **state) {
    uint64_t first = 0;
    uint64_t second = 0;
    (void)state;
    assert_int_equal(cuMemAddressReserve(&first, 3072 * TIB, 0, 0, 0), OK);
    assert_int_equal(cuMemAddressReserve(&second, 3072 * TIB, 0, 0, 0), OPERATING_SYSTEM);
    assert_string_equal(cudaGetErrorName(OPERATING_SYSTEM), "cudaErrorOperatingSystem");
    assert_int_equal(cuMemAddressFree(first, 3072 * TIB), OK);
}

/* Runs in its own process, because its heap is full at the end. Returns 0 on success. */
static int fill_tables(void) {
    uint64_t address = 0;
    int status = OK;
    uint64_t n_refused = account_of(0).n_refused;
    limit_addresses(MIB); /* less than the process has: nothing more can be mapped */
    assert_int_equal(cudaSetDevice(0), OK);
    for (size_t i = 0; i < 1000000 && status == OK; i++) {
        status = cuMemAlloc_v2(&address, 512);
    }
    tide_run_device device = account_of(0);
    return status != OPERATING_SYSTEM       ? 1
           : device.n_refused != n_refused  ? 2
           : device.peak_bytes > 160 * GIB  ? 3
           : device.used_bytes % (512) != 0 ? 4
                                            : 0;
}

static void a_full_host_is_not_the_cards_failure(void **state) {
    int result = 0;
    (void)state;
    if (!IS_LIMITED) {
        skip();
    }
    pid_t child = fork();
    if (child == 0) {
        (void)freopen("/dev/null", "w", stderr); /* the line about ulimit -v */
        _exit(fill_tables());
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(WEXITSTATUS(result), 0);
}

int main(void) {
    /* Fork first: a child of a process with a context has none. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_host_is_not_the_cards_failure),
        cmocka_unit_test(sixty_four_cards_are_filled_by_one_process),
        cmocka_unit_test(what_was_not_given_out_is_no_address),
        cmocka_unit_test(more_addresses_than_there_are_is_not_the_cards_failure)};
    char cards[N_CARDS * 8] = "b200";
    for (size_t i = 1, n = 4; i < N_CARDS; i++) {
        n += (size_t)snprintf(cards + n, sizeof(cards) - n, "+b200");
    }
    setenv("TIDEMARK_VIRTUAL_CARDS", cards, 1);
    limit_addresses(2 * GIB); /* a 4 KiB tensor did not fit under less than 256 GiB */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
