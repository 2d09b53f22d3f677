/* test_peak_tensors.c - the tensors alive at a peak, by name: the layers of a tensor are one group,
 * and categories are separate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snapshot/explain/peak_tensors.h"
#include "support/made_snapshot.h"

#define MIB (UINT64_C(1) << 20)

static const char *const STRINGS[] = {"layers.0.attn.exp", "layers.1.attn.exp", "tokens"};

static tide_event alloc(uint64_t place, uint64_t n_bytes, uint32_t name, tide_category category) {
    tide_event event = made_event(TIDE_ACTION_ALLOC, (UINT64_C(1) << 32) + place, n_bytes, n_bytes);
    event.name = name;
    event.category = (uint8_t)category;
    return event;
}

static void a_name_loses_its_layer_alone(void **state) {
    (void)state;
    assert_string_equal(tide_name_without_layer("layers.12.attn.exp"), "attn.exp");
    assert_string_equal(tide_name_without_layer("layers.attn.exp"), "layers.attn.exp");
    assert_string_equal(tide_name_without_layer("layers.12"), "layers.12");
    assert_string_equal(tide_name_without_layer("tokens"), "tokens");
}

static void layers_are_one_group(void **state) {
    (void)state;
    const tide_event events[] = {
        made_event(TIDE_ACTION_SEGMENT_ALLOC, UINT64_C(1) << 32, 20 * MIB, 20 * MIB),
        alloc(0, 2 * MIB, 0, TIDE_ACTIVATION), alloc(2 * MIB, 2 * MIB, 1, TIDE_ACTIVATION),
        alloc(4 * MIB, 3 * MIB, 2, TIDE_INPUT), alloc(7 * MIB, MIB, 1, TIDE_GRADIENT)};
    const made_tables tables = {.strings = STRINGS, .n_strings = 3, .n_devices = 1};
    tide_snapshot *made = made_snapshot(NULL, &tables, events, 5);
    tide_peak_tensors peak;
    assert_int_equal(tide_peak_tensors_init(&peak, made, NULL), TIDE_OK);
    assert_int_equal(peak.n_groups, 3);
    assert_string_equal(peak.groups[0].name, "attn.exp");
    assert_true(peak.groups[0].bytes == (int64_t)(4 * MIB) && peak.groups[0].n_blocks == 2);
    assert_string_equal(peak.groups[1].name, "tokens");
    assert_true(peak.groups[2].bytes == (int64_t)MIB && peak.groups[2].category == TIDE_GRADIENT);
    tide_peak_tensors_fini(&peak);
    tide_snapshot_destroy(made);
}

static void a_snapshot_without_devices_is_refused(void **state) {
    (void)state;
    tide_snapshot *made = made_snapshot(NULL, &(made_tables){.n_devices = 0}, NULL, 0);
    tide_peak_tensors peak;
    assert_int_equal(tide_peak_tensors_init(&peak, made, NULL), TIDE_INVALID);
    tide_peak_tensors_fini(&peak);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_loses_its_layer_alone),
        cmocka_unit_test(layers_are_one_group),
        cmocka_unit_test(a_snapshot_without_devices_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
