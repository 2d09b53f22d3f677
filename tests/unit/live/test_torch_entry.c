/* What is read from PyTorch's entries, and which ones cannot be entries. */
#include "programs/live/torch/torch_entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/event.h"

/* The part of a TraceEntry that all versions share, and the pool of the later ones. */
typedef struct made_entry {
    int action;
    int8_t device;
    uint64_t address;
    void *context[2];
    uint64_t stream;
    int64_t n_bytes;
    uint64_t pool[2];
} made_entry;

static const made_entry ALLOC = {.action = 0,
                                 .device = 1,
                                 .address = 0x7f0000000200,
                                 .stream = 5,
                                 .n_bytes = 1000,
                                 .pool = {3, 4}};

static void test_read(void **state) {
    (void)state;
    tide_live_entry found;
    made_entry entry = ALLOC;
    tide_torch_entry_read(&entry, offsetof(made_entry, pool), &found);
    assert_int_equal(found.action, TIDE_ACTION_ALLOC);
    assert_int_equal(found.device, 1);
    assert_true(found.address == 0x7f0000000200 && found.n_bytes == 1000 && found.stream == 5);
    assert_true(found.pool[0] == 3 && found.pool[1] == 4);
    entry.action = 8;
    tide_torch_entry_read(&entry, 0, &found);
    assert_int_equal(found.action, TIDE_ACTION_OOM);
    assert_true(found.free_bytes == 0x7f0000000200 && found.address == 0 && found.pool[0] == 0);
    entry.action = 7;
    tide_torch_entry_read(&entry, 0, &found);
    assert_int_equal(found.action, TIDE_ACTION_MARK);
    assert_string_equal(found.name, "snapshot");
    entry.action = 9; /* a later version's */
    tide_torch_entry_read(&entry, 0, &found);
    assert_int_equal(found.action, TIDE_ACTION_MARK);
    assert_string_equal(found.name, "annotate");
}

static void test_sound(void **state) {
    (void)state;
    made_entry entry = ALLOC;
    assert_true(tide_torch_entry_is_sound(&entry));
    const made_entry bad[] = {
        {.action = 9, .device = 0, .address = 512, .n_bytes = 1},
        {.action = -1, .device = 0, .address = 512, .n_bytes = 1},
        {.action = 0, .device = 64, .address = 512, .n_bytes = 1},
        {.action = 0, .device = -1, .address = 512, .n_bytes = 1},
        {.action = 0, .device = 0, .address = 0, .n_bytes = 1},
        {.action = 0, .device = 0, .address = 513, .n_bytes = 1},
        {.action = 0, .device = 0, .address = UINT64_C(1) << 57, .n_bytes = 1},
        {.action = 0, .device = 0, .address = 512, .n_bytes = 0},
        {.action = 0, .device = 0, .address = 512, .n_bytes = -1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(tide_torch_entry_is_sound(&bad[i]));
    }
    entry = (made_entry){.action = 8}; /* a device with no free memory */
    assert_true(tide_torch_entry_is_sound(&entry));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
