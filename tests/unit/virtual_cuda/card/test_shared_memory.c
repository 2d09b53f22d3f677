/* test_shared_memory.c - a virtual card whose memory is the host's, too: what it says of itself,
 * and that the free bytes are less what the process takes of the host's.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "device/cards.h"
#include "programs/virtual_cuda/api/properties.h"
#include "programs/virtual_cuda/process/processes.h"

#define MIB ((size_t)1 << 20)

enum { OK = 0, NOT_SUPPORTED = 3, INTEGRATED = 18, READS_PAGEABLE = 88, ROOM = 2048 };

static size_t free_bytes(void) {
    size_t n_free = 0;
    size_t n_total = 0;
    assert_int_equal(cudaMemGetInfo(&n_free, &n_total), OK);
    assert_int_equal(n_total, tide_card_find("gb10")->total_bytes);
    return n_free;
}

static void is_near(size_t n_bytes, size_t expected) {
    size_t difference = n_bytes > expected ? n_bytes - expected : expected - n_bytes;
    assert_true(difference < 8 * MIB); /* of the process' other pages */
}

static void the_hosts_bytes_are_missing(void **state) {
    (void)state;
    enum { HOST = 96 };
    size_t before = free_bytes();
    is_near(before, (size_t)tide_card_find("gb10")->total_bytes - tide_vc_host_bytes());
    char *host = malloc(HOST * MIB);
    assert_non_null(host);
    memset(host, 1, HOST * MIB);
    is_near(before - free_bytes(), HOST * MIB);
    void *address = NULL;
    assert_int_equal(cudaMalloc(&address, 64 * MIB), OK);
    is_near(before - free_bytes(), (HOST + 64) * MIB);
    assert_int_equal(cudaFree(address), OK);
    assert_int_equal(host[5 * MIB], 1); /* no compiler may leave the writes out */
    free(host);
}

static void it_is_integrated(void **state) {
    (void)state;
    int value = 0;
    void *handle = NULL;
    unsigned long long bytes[3];
    unsigned char properties[ROOM];
    assert_int_equal(cudaDeviceGetAttribute(&value, INTEGRATED, 0), OK);
    assert_int_equal(value, 1);
    assert_int_equal(cudaDeviceGetAttribute(&value, READS_PAGEABLE, 0), OK);
    assert_int_equal(value, 1);
    tide_vc_properties(properties, 0, 13);
    assert_int_equal(properties[388], 1);
    tide_vc_properties(properties, 0, 12);
    assert_int_equal(properties[396], 1);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &handle), OK);
    assert_int_equal(nvmlDeviceGetMemoryInfo(handle, bytes), NOT_SUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_hosts_bytes_are_missing),
                                       cmocka_unit_test(it_is_integrated)};
    setenv("TIDEMARK_VIRTUAL_CARDS", "gb10", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
