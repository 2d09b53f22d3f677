/* test_spill.c - a full virtual card, which spills later segments into host memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"

#define MIB ((size_t)1 << 20)

static uint64_t taken(tide_device *device, size_t n_bytes) {
    uint64_t address = 0;
    assert_int_equal(tide_device_alloc(device, n_bytes, &address, NULL), TIDE_OK);
    return address;
}

static tide_device_spill spill_of(tide_device *device) {
    tide_device_spill spill;
    tide_device_get_spill(device, &spill);
    return spill;
}

/* A card of 100 MiB, and 40 MiB of the host's memory. */
static tide_device *open_spilling(void) {
    tide_device *device = NULL;
    const tide_device_options options = {.capacity_bytes = 100 * MIB, .spill_bytes = 40 * MIB};
    assert_int_equal(tide_device_open("virtual", &options, &device, NULL), TIDE_OK);
    return device;
}

static void a_full_card_spills_into_the_host(void **state) {
    (void)state;
    uint64_t address = 0;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    tide_error error = {""};
    tide_device *device = open_spilling();
    uint64_t first = taken(device, 80 * MIB);
    assert_int_equal(spill_of(device).limit_bytes, 40 * MIB);
    assert_int_equal(spill_of(device).n_pieces, 0);
    uint64_t second =
        taken(device, 30 * MIB); /* the card has 20 left: all of it goes to the host */
    assert_int_equal(spill_of(device).now_bytes, 30 * MIB);
    assert_int_equal(tide_device_memory_info(device, &free_bytes, &total_bytes, NULL), TIDE_OK);
    assert_int_equal(free_bytes, 20 * MIB);
    assert_int_equal(total_bytes, 100 * MIB);
    assert_int_equal(tide_device_alloc(device, 24 * MIB, &address, &error), TIDE_DEVICE_OOM);
    assert_non_null(strstr(error.message, "20.00 MiB are free on the card and 10.00 MiB in the"));
    uint64_t third = taken(device, 20 * MIB); /* the card still has room for it */
    assert_int_equal(spill_of(device).now_bytes, 30 * MIB);
    assert_int_equal(tide_device_memory_info(device, &free_bytes, &total_bytes, NULL), TIDE_OK);
    assert_int_equal(free_bytes, 0);
    assert_int_equal(tide_device_alloc(device, 12 * MIB, &address, &error), TIDE_DEVICE_OOM);
    assert_int_equal(taken(device, 10 * MIB) > third, true);
    /* Memory freed on the card brings no piece back from the host. */
    assert_int_equal(tide_device_release(device, first, NULL), TIDE_OK);
    assert_int_equal(spill_of(device).now_bytes, 40 * MIB);
    assert_int_equal(tide_device_release(device, second, NULL), TIDE_OK);
    assert_int_equal(spill_of(device).now_bytes, 10 * MIB);
    assert_int_equal(spill_of(device).peak_bytes, 40 * MIB);
    assert_int_equal(spill_of(device).n_pieces, 2);
    assert_int_equal(taken(device, 80 * MIB), first);
    assert_int_equal(spill_of(device).now_bytes, 10 * MIB);
    tide_device_close(device);
}

static void mapped_granules_spill_one_by_one(void **state) {
    (void)state;
    uint64_t address = 0;
    tide_device *device = open_spilling();
    assert_int_equal(tide_device_reserve(device, 160 * MIB, &address, NULL), TIDE_OK);
    assert_int_equal(tide_device_map(device, address, 120 * MIB, 20 * MIB, NULL), TIDE_OK);
    assert_int_equal(spill_of(device).now_bytes, 20 * MIB);
    /* All or nothing: one granule fits, two do not. */
    assert_int_equal(tide_device_map(device, address + 120 * MIB, 40 * MIB, 20 * MIB, NULL),
                     TIDE_DEVICE_OOM);
    assert_int_equal(spill_of(device).now_bytes, 20 * MIB);
    assert_int_equal(tide_device_unmap(device, address + 100 * MIB, 20 * MIB, NULL), TIDE_OK);
    assert_int_equal(spill_of(device).now_bytes, 0);
    assert_int_equal(tide_device_unmap(device, address, 20 * MIB, NULL), TIDE_OK);
    assert_int_equal(tide_device_map(device, address, 20 * MIB, 20 * MIB, NULL), TIDE_OK);
    assert_int_equal(spill_of(device).now_bytes, 0);
    tide_device_close(device);
}

static void only_virtual_cards_spill(void **state) {
    (void)state;
    static const char *const SPECS[] = {"cpu", "cuda:0", "virtual"};
    for (size_t i = 0; i < sizeof(SPECS) / sizeof(SPECS[0]); i++) {
        tide_device *device = NULL;
        tide_error error = {""};
        const tide_device_options options = {.spill_bytes = MIB};
        assert_int_equal(tide_device_open(SPECS[i], &options, &device, &error), TIDE_INVALID);
        assert_non_null(strstr(error.message, SPECS[i]));
        assert_null(device);
    }
    tide_device *device = NULL;
    assert_int_equal(tide_device_open("virtual:h100-80", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(spill_of(device).limit_bytes, 0);
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_card_spills_into_the_host),
        cmocka_unit_test(mapped_granules_spill_one_by_one),
        cmocka_unit_test(only_virtual_cards_spill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
