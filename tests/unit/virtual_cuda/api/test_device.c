/* test_device.c - what a virtual card reports about itself: to the runtime in the layouts of two
 * versions of CUDA, to the driver, and to NVML. The cards are an H100 and a T4.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "device/cards.h"
#include "programs/virtual_cuda/api/properties.h"

enum { OK = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, ROOM = 2048 };

int cudaDeviceCanAccessPeer(int *ret_can, int device, int peer);
int cudaDeviceGetP2PAttribute(int *ret_value, int attribute, int device, int peer);
int cuDeviceCanAccessPeer(int *ret_can, int device, int peer);
int cuDeviceGetP2PAttribute(int *ret_value, int attribute, int device, int peer);

static int use_two_cards(void **state) {
    (void)state;
    return setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80+t4-16", 1);
}

static int32_t number_at(const unsigned char *properties, size_t at) {
    int32_t number = 0;
    memcpy(&number, properties + at, sizeof(number));
    return number;
}

static void both_cards_are_there(void **state) {
    (void)state;
    int n = 0;
    int device = -1;
    assert_int_equal(cudaGetDeviceCount(&n), OK);
    assert_int_equal(n, 2);
    assert_int_equal(cudaSetDevice(1), OK);
    assert_int_equal(cudaGetDevice(&device), OK);
    assert_int_equal(device, 1);
    assert_int_equal(cudaSetDevice(2), INVALID_DEVICE);
    assert_int_equal(cudaSetDevice(-1), INVALID_DEVICE);
    assert_int_equal(cudaSetDevice(0), OK);
}

/* The offsets are those of NVIDIA's headers: facts of CUDA 12.8 and 13.0. */
static void properties_have_the_layout_of_each_version(void **state) {
    (void)state;
    unsigned char properties[ROOM];
    for (int device = 0; device < 2; device++) {
        const tide_card *card = tide_card_find(device == 0 ? "h100-80" : "t4-16");
        memset(properties, 0xAA, sizeof(properties));
        tide_vc_properties(properties, device, 12);
        assert_string_equal((const char *)properties, card->title);
        assert_memory_equal(properties + 288, &card->total_bytes, 8);
        assert_int_equal(number_at(properties, 360), card->compute_capability / 10);
        assert_int_equal(number_at(properties, 388), card->board.n_multiprocessors);
        assert_int_equal(number_at(properties, 624), device == 0 ? 2048 : 1024);
        assert_int_equal(properties[TIDE_VC_PROPERTIES_BYTES_12], 0xAA); /* not beyond its end */
        memset(properties, 0xAA, sizeof(properties));
        tide_vc_properties(properties, device, 13);
        assert_int_equal(number_at(properties, 384), card->board.n_multiprocessors);
        assert_int_equal(number_at(properties, 604), device == 0 ? 2048 : 1024);
        assert_int_equal(properties[TIDE_VC_PROPERTIES_BYTES_13], 0xAA);
        memset(properties, 0xAA, sizeof(properties));
        tide_vc_properties(properties, device, 11);
        assert_int_equal(properties[TIDE_VC_PROPERTIES_BYTES_11], 0xAA);
    }
    assert_int_equal(cudaGetDeviceProperties_v2(properties, 2), INVALID_DEVICE);
    assert_int_equal(cudaGetDeviceProperties_v2(NULL, 0), INVALID_VALUE);
}

static void attributes_agree_with_the_properties(void **state) {
    (void)state;
    int value = 0;
    assert_int_equal(cudaDeviceGetAttribute(&value, 75, 1), OK);
    assert_int_equal(value, 7);
    assert_int_equal(cudaDeviceGetAttribute(&value, 76, 1), OK);
    assert_int_equal(value, 5);
    assert_int_equal(cudaDeviceGetAttribute(&value, 120, 0), OK); /* clusters: on 9.0 */
    assert_int_equal(value, 1);
    assert_int_equal(cudaDeviceGetAttribute(&value, 120, 1), OK);
    assert_int_equal(value, 0);
    assert_int_equal(cudaDeviceGetAttribute(&value, 75, 2), INVALID_DEVICE);
}

/* 2048 threads of an H100: 8 blocks of 256; 227 KiB in all: one block of 100 KiB is one of two. */
static void blocks_fit_by_threads_and_shared_memory(void **state) {
    (void)state;
    int n = 0;
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 256, 0), OK);
    assert_int_equal(n, 8);
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 32, 0), OK);
    assert_int_equal(n, 32);
    assert_int_equal(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 256, 100 << 10), OK);
    assert_int_equal(n, 2);
}

/* The runtime and NVML read the same account, card by card. */
static void one_account_serves_all(void **state) {
    (void)state;
    unsigned long long before[3];
    unsigned long long after[3];
    void *handle = NULL;
    void *address = NULL;
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(1, &handle), OK);
    assert_int_equal(nvmlDeviceGetMemoryInfo(handle, before), OK);
    assert_int_equal(before[0], tide_card_find("t4-16")->total_bytes);
    assert_int_equal(cudaSetDevice(1), OK);
    assert_int_equal(cudaMalloc(&address, (size_t)8 << 20), OK);
    assert_int_equal(nvmlDeviceGetMemoryInfo(handle, after), OK);
    assert_int_equal(after[2] - before[2], 8 << 20);
    assert_int_equal(before[1] - after[1], 8 << 20);
    assert_int_equal(cudaSetDevice(0), OK);
    assert_int_equal(cudaFree(address), OK); /* refunds the card that was charged */
    assert_int_equal(nvmlDeviceGetMemoryInfo(handle, after), OK);
    assert_memory_equal(after, before, sizeof(after));
    assert_int_not_equal(nvmlDeviceGetHandleByIndex_v2(2, &handle), OK);
}

/* The runtime and the driver share a context's limits, each card has its own, and an unknown limit
 * is refused. */
static void limits_are_what_the_program_set(void **state) {
    (void)state;
    enum { PRINTF = 1, NONE = 8 };
    size_t value = 0;
    assert_int_equal(cudaDeviceGetLimit(&value, PRINTF), OK);
    assert_int_equal(value, 1 << 20);
    assert_int_equal(cuCtxSetLimit(PRINTF, 4096), OK);
    assert_int_equal(cudaDeviceGetLimit(&value, PRINTF), OK);
    assert_int_equal(value, 4096);
    assert_int_equal(cudaSetDevice(1), OK);
    assert_int_equal(cudaDeviceGetLimit(&value, PRINTF), OK);
    assert_int_equal(value, 1 << 20);
    assert_int_equal(cudaSetDevice(0), OK);
    assert_int_equal(cudaDeviceSetLimit(NONE, 1), INVALID_VALUE);
    assert_int_equal(cuCtxSetLimit(PRINTF, (size_t)1 << 20), OK);
}

/* Two functions with one answer, under the names of the runtime and of the driver. */
static void peers_have_one_answer(void **state) {
    (void)state;
    enum { RANK = 1, ACCESS = 2, NATIVE_ATOMICS = 3, ARRAYS = 4, UNKNOWN = 9 };
    int can = 77, value = 77;
    (void)cudaGetLastError();
    assert_int_equal(cudaDeviceCanAccessPeer(&can, 0, 1), OK);
    assert_int_equal(can, 1);
    assert_int_equal(cudaDeviceGetP2PAttribute(&value, ACCESS, 0, 1), OK);
    assert_int_equal(value, can);
    value = 77;
    assert_int_equal(cuDeviceGetP2PAttribute(&value, ACCESS, 1, 0), OK);
    assert_int_equal(value, can);
    assert_int_equal(cudaDeviceGetP2PAttribute(&value, NATIVE_ATOMICS, 0, 1), OK);
    assert_int_equal(value, can);
    assert_int_equal(cudaDeviceGetP2PAttribute(&value, ARRAYS, 0, 1), OK);
    assert_int_equal(value, 0);
    assert_int_equal(cudaDeviceGetP2PAttribute(&value, RANK, 0, 1), OK);
    assert_int_equal(value, 0);
    assert_int_equal(cuDeviceCanAccessPeer(&can, 1, 1), OK);
    assert_int_equal(can, 0);
    assert_int_equal(cuDeviceGetP2PAttribute(&value, ACCESS, 1, 1), INVALID_DEVICE);
    assert_int_equal(cuDeviceGetP2PAttribute(&value, UNKNOWN, 0, 1), INVALID_VALUE);
    assert_int_equal(cuDeviceCanAccessPeer(&can, 0, 2), INVALID_DEVICE);
    assert_int_equal(cudaGetLastError(), OK);
    assert_int_equal(cudaDeviceCanAccessPeer(&can, 0, 2), INVALID_DEVICE);
    assert_int_equal(cudaGetLastError(), INVALID_DEVICE);
}

/* NVML: an H100 and a T4 have no NVLink between them. test_nccl_communicators.c has two H100. */
static void links_are_those_of_the_cards(void **state) {
    (void)state;
    enum { WRITES = 1, BY_NVLINK, UNKNOWN = 5, NOT_SUPPORTED = 5 };
    void *one = NULL, *two = NULL;
    int found = -1;
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &one), OK);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(1, &two), OK);
    assert_int_equal(nvmlDeviceGetP2PStatus(one, two, BY_NVLINK, &found), OK);
    assert_int_equal(found, NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetP2PStatus(one, two, WRITES, &found), OK);
    assert_int_equal(found, 0);
    assert_int_equal(nvmlDeviceGetP2PStatus(two, two, WRITES, &found), OK);
    assert_int_equal(found, NOT_SUPPORTED);
    assert_int_not_equal(nvmlDeviceGetP2PStatus(one, NULL, WRITES, &found), OK);
    assert_int_not_equal(nvmlDeviceGetP2PStatus(one, two, UNKNOWN, &found), OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_cards_are_there),
        cmocka_unit_test(properties_have_the_layout_of_each_version),
        cmocka_unit_test(attributes_agree_with_the_properties),
        cmocka_unit_test(blocks_fit_by_threads_and_shared_memory),
        cmocka_unit_test(one_account_serves_all),
        cmocka_unit_test(limits_are_what_the_program_set),
        cmocka_unit_test(peers_have_one_answer),
        cmocka_unit_test(links_are_those_of_the_cards),
    };
    return cmocka_run_group_tests(tests, use_two_cards, NULL);
}
