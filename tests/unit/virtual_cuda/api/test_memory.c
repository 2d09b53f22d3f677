/* test_memory.c - device memory of the virtual card: what is charged, where it is, what an address
 * is, and that everything is free again at the end.
 */
#define _DEFAULT_SOURCE /* mincore */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

#define MIB ((size_t)1 << 20)

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, HOST_ALREADY = 712, HOST_NOT = 713 };

static size_t free_bytes(void) {
    size_t n_free = 0;
    size_t n_total = 0;
    assert_int_equal(cudaMemGetInfo(&n_free, &n_total), OK);
    assert_true(n_free <= n_total);
    return n_free;
}

static void what_is_charged_is_given_back(void **state) {
    (void)state;
    const struct {
        size_t asked, charged;
    } CASES[] = {
        {1, 512},       {512, 512},         {513, 1024},          {MIB - 1, MIB},
        {MIB, 2 * MIB}, {2 * MIB, 2 * MIB}, {20 * MIB, 20 * MIB}, {20 * MIB + 1, 22 * MIB}};
    size_t before = free_bytes();
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        void *address = NULL;
        assert_int_equal(cudaMalloc(&address, CASES[i].asked), OK);
        assert_non_null(address);
        assert_int_equal(before - free_bytes(), CASES[i].charged);
        assert_int_equal(cudaFree(address), OK);
        assert_int_equal(free_bytes(), before);
    }
}

static void nothing_is_an_address_too(void **state) {
    (void)state;
    void *address = &address;
    assert_int_equal(cudaMalloc(&address, 0), OK);
    assert_null(address);
    assert_int_equal(cudaFree(NULL), OK);
    assert_int_equal(cudaMalloc(NULL, 1), INVALID_VALUE);
}

static void more_than_the_card_has_is_out_of_memory(void **state) {
    (void)state;
    void *address = NULL;
    size_t n_free = free_bytes();
    assert_int_equal(cudaMalloc(&address, n_free + 2 * MIB), OUT_OF_MEMORY);
    assert_int_equal(cudaMalloc(&address, SIZE_MAX), OUT_OF_MEMORY);
    assert_int_equal(free_bytes(), n_free);
    assert_int_equal(cudaPeekAtLastError(), OUT_OF_MEMORY);
    assert_int_equal(cudaGetLastError(), OUT_OF_MEMORY);
    assert_int_equal(cudaGetLastError(), OK);
    assert_string_equal(cudaGetErrorName(OUT_OF_MEMORY), "cudaErrorMemoryAllocation");
}

static void an_address_is_freed_once(void **state) {
    (void)state;
    void *address = NULL;
    assert_int_equal(cudaMalloc(&address, MIB), OK);
    assert_int_equal(cudaFree((char *)address + 512), INVALID_VALUE);
    assert_int_equal(cudaFree(address), OK);
    assert_int_equal(cudaFree(address), INVALID_VALUE);
    (void)cudaGetLastError();
}

/* Small requests share a chunk, from its lowest address upwards; chunks follow downwards. */
static void addresses_follow_the_rule(void **state) {
    (void)state;
    void *small[2];
    void *large = NULL;
    assert_int_equal(cudaMalloc(&small[0], 2 * MIB), OK);
    assert_int_equal(cudaMalloc(&small[1], 20 * MIB), OK);
    assert_int_equal(cudaMalloc(&large, 200 * MIB), OK);
    assert_true((char *)small[1] - (char *)small[0] == (ptrdiff_t)(2 * MIB));
    assert_true((char *)large < (char *)small[0]);
    assert_int_equal((uintptr_t)large % (128 * MIB), 0);
    assert_int_equal(cudaFree(small[0]), OK);
    assert_int_equal(cudaFree(small[1]), OK);
    assert_int_equal(cudaFree(large), OK);
}

static void an_address_says_what_it_is(void **state) {
    (void)state;
    pointer_attributes of;
    void *device = NULL;
    void *pinned = NULL;
    char own[16];
    assert_int_equal(cudaMalloc(&device, MIB), OK);
    assert_int_equal(cudaHostAlloc(&pinned, 100, 0), OK);
    assert_int_equal(cudaPointerGetAttributes(&of, (char *)device + 700), OK);
    assert_true(of.type == 2 && of.device == 0 && of.host_pointer == NULL);
    assert_int_equal(cudaPointerGetAttributes(&of, pinned), OK);
    assert_true(of.type == 1 && of.host_pointer == pinned && of.device_pointer == pinned);
    assert_int_equal(cudaPointerGetAttributes(&of, own), OK);
    assert_true(of.type == 0 && of.device == -2 && of.device_pointer == NULL);
    assert_int_equal(cudaFree(device), OK);
    assert_int_equal(cudaFreeHost(pinned), OK);
    assert_int_equal(cudaFreeHost(own), INVALID_VALUE);
    (void)cudaGetLastError();
}

static void host_memory_is_registered_once(void **state) {
    (void)state;
    char own[64];
    assert_int_equal(cudaHostRegister(own, sizeof(own), 0), OK);
    assert_int_equal(cudaHostRegister(own, sizeof(own), 0), HOST_ALREADY);
    assert_int_equal(cudaHostUnregister(own), OK);
    assert_int_equal(cudaHostUnregister(own), HOST_NOT);
    (void)cudaGetLastError();
}

/* test_known.c tests which bytes the card knows. */
static void copies_between_host_addresses(void **state) {
    (void)state;
    void *device = NULL;
    char from[8] = "1234567";
    char to[8] = "abcdefg";
    assert_int_equal(cudaMalloc(&device, 8), OK);
    assert_int_equal(cudaMemcpy(to, from, 8, 0), OK);
    assert_string_equal(to, "1234567");
    assert_int_equal(cudaMemcpy(to, device, 8, 2), OK);
    assert_memory_equal(to, "\0\0\0\0\0\0\0\0", 8);
    assert_int_equal(cudaMemset(device, 1, 8), OK);
    assert_int_equal(cudaMemset(from, 'x', 7), OK);
    assert_string_equal(from, "xxxxxxx");
    assert_int_equal(cudaFree(device), OK);
}

static size_t count_resident(void *address, size_t n_bytes) {
    enum { PAGES = 2048 };
    unsigned char is_resident[PAGES];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n = 0;
    assert_true(n_bytes / page <= PAGES);
    assert_int_equal(mincore(address, n_bytes, is_resident), 0);
    for (size_t i = 0; i < n_bytes / page; i++) {
        n += is_resident[i] & 1;
    }
    return n;
}

/* Bytes that the card does not know become zero in page-locked memory, and take none of it. Those
 * around them stay. */
static void unknown_bytes_take_no_host_memory(void **state) {
    (void)state;
    enum { BYTES = 4 << 20, BEGIN = 100, LENGTH = (3 << 20) + 17 };
    void *device = NULL;
    void *pinned = NULL;
    assert_int_equal(cudaMalloc(&device, BYTES), OK);
    assert_int_equal(cudaHostAlloc(&pinned, BYTES, 0), OK);
    unsigned char *bytes = pinned;
    memset(bytes, 7, BYTES);
    size_t n_before = count_resident(bytes, BYTES);
    assert_int_equal(cudaMemcpy(bytes + BEGIN, device, LENGTH, 2), OK);
    assert_true(count_resident(bytes, BYTES) < n_before / 2);
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(bytes[i], i < BEGIN || i >= BEGIN + LENGTH ? 7 : 0);
    }
    assert_int_equal(cudaFreeHost(pinned), OK);
    assert_int_equal(cudaFree(device), OK);
}

/* Physical memory is refunded after its handle is released and all its mappings end. */
static void mapped_memory_is_charged_once(void **state) {
    (void)state;
    size_t before = free_bytes();
    uint64_t address = 0;
    unsigned long long handle = 0;
    const int on_device_0[8] = {1, 0, 1, 0};
    assert_int_equal(cuMemAddressReserve(&address, 64 * MIB, 0, 0, 0), OK);
    assert_int_equal(free_bytes(), before);
    assert_int_equal(cuMemCreate(&handle, 20 * MIB, on_device_0, 0), OK);
    assert_int_equal(before - free_bytes(), 20 * MIB);
    assert_int_equal(cuMemMap(address, 20 * MIB, 0, handle, 0), OK);
    assert_int_equal(cuMemRelease(handle), OK);
    assert_int_equal(before - free_bytes(), 20 * MIB);
    assert_int_equal(cuMemUnmap(address, 20 * MIB), OK);
    assert_int_equal(free_bytes(), before);
    assert_int_equal(cuMemUnmap(address, 20 * MIB), INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(address, 64 * MIB), OK);
    assert_int_equal(cuMemCreate(&handle, 20 * MIB + 1, on_device_0, 0), INVALID_VALUE);
    assert_int_equal(cuMemCreate(&handle, before / (2 * MIB) * (2 * MIB) + 2 * MIB, on_device_0, 0),
                     OUT_OF_MEMORY);
}

/* Many blocks in a random order: nothing overlaps, and all bytes are freed. The seed is fixed. */
static void random_blocks_never_overlap(void **state) {
    (void)state;
    enum { N = 400, ROUNDS = 4000 };
    static struct {
        char *address;
        size_t n_bytes;
    } blocks[N];
    size_t before = free_bytes();
    srand(7);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t i = (size_t)rand() % N;
        if (blocks[i].address != NULL) {
            assert_int_equal(cudaFree(blocks[i].address), OK);
            blocks[i].address = NULL;
            continue;
        }
        void *address = NULL;
        size_t n_bytes =
            (size_t)rand() % 3 == 0 ? (size_t)rand() % (80 * MIB) + 1 : (size_t)rand() % 5000 + 1;
        assert_int_equal(cudaMalloc(&address, n_bytes), OK);
        for (size_t k = 0; k < N; k++) {
            assert_true(blocks[k].address == NULL ||
                        (char *)address + n_bytes <= blocks[k].address ||
                        blocks[k].address + blocks[k].n_bytes <= (char *)address);
        }
        blocks[i].address = address;
        blocks[i].n_bytes = n_bytes;
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(cudaFree(blocks[i].address), OK);
    }
    assert_int_equal(free_bytes(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_charged_is_given_back),
        cmocka_unit_test(nothing_is_an_address_too),
        cmocka_unit_test(more_than_the_card_has_is_out_of_memory),
        cmocka_unit_test(an_address_is_freed_once),
        cmocka_unit_test(addresses_follow_the_rule),
        cmocka_unit_test(an_address_says_what_it_is),
        cmocka_unit_test(host_memory_is_registered_once),
        cmocka_unit_test(copies_between_host_addresses),
        cmocka_unit_test(unknown_bytes_take_no_host_memory),
        cmocka_unit_test(mapped_memory_is_charged_once),
        cmocka_unit_test(random_blocks_never_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
