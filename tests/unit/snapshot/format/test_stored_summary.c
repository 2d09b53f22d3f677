/* test_stored_summary.c - the summary that a file stores equals the one computed from its rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <cjson/cJSON.h>

#include "snapshot/analysis/summary.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

static int64_t number_in(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item)) {
        fail_msg("no number '%s'", key);
    }
    return (int64_t)item->valuedouble;
}

static void assert_share_stored(const tide_share *share, const cJSON *stored) {
    assert_true(number_in(stored, "bytes") == share->bytes);
    assert_true(number_in(stored, "requested_bytes") == share->requested_bytes);
    assert_true(number_in(stored, "count") == share->n_blocks);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(stored, "largest")),
                        share->largest_name);
}

static void assert_split_stored(const tide_split *split, const cJSON *stored) {
    assert_int_equal(cJSON_GetArraySize(stored), split->n_shares);
    for (size_t i = 0; i < split->n_shares; i++) {
        const cJSON *item = cJSON_GetArrayItem(stored, (int)i);
        const cJSON *path = cJSON_GetObjectItemCaseSensitive(item, "path");
        assert_share_stored(&split->shares[i], item);
        if (path != NULL) {
            assert_string_equal(cJSON_GetStringValue(path), split->shares[i].label);
        } else {
            assert_true(number_in(item, "stack") ==
                        (split->shares[i].key == TIDE_NONE ? -1 : (int64_t)split->shares[i].key));
        }
    }
}

static void assert_totals_stored(const tide_totals *totals, const cJSON *stored) {
    assert_true(number_in(stored, "requested_bytes") == totals->requested_bytes);
    assert_true(number_in(stored, "allocated_bytes") == totals->allocated_bytes);
    assert_true(number_in(stored, "active_bytes") == totals->active_bytes);
    assert_true(number_in(stored, "reserved_bytes") == totals->reserved_bytes);
    assert_true(number_in(stored, "n_blocks") == totals->n_blocks);
    assert_true(number_in(stored, "n_segments") == totals->n_segments);
}

static void assert_device_stored(const tide_summary_device *device, const cJSON *stored) {
    static const char *const MAX_KEYS[] = {"requested", "allocated", "active", "reserved"};
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(stored, "counts");
    const cJSON *max = cJSON_GetObjectItemCaseSensitive(stored, "max");
    const cJSON *peak = cJSON_GetObjectItemCaseSensitive(stored, "peak");
    const cJSON *by_category = cJSON_GetObjectItemCaseSensitive(peak, "by_category");
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        assert_true(number_in(counts, tide_action_name(i)) == device->counts[i]);
    }
    for (int i = 0; i < TIDE_N_MAX; i++) {
        const cJSON *one = cJSON_GetObjectItemCaseSensitive(max, MAX_KEYS[i]);
        assert_true(number_in(one, "bytes") == device->max[i].bytes);
        assert_true(number_in(one, "event") == device->max[i].event);
    }
    for (int i = 0; i < TIDE_N_CATEGORIES; i++) {
        assert_share_stored(&device->peak.by_category.shares[i],
                            cJSON_GetObjectItemCaseSensitive(by_category, tide_category_name(i)));
    }
    assert_true(number_in(peak, "event") == device->peak.event);
    assert_true(number_in(peak, "time") == device->peak.time_ns);
    assert_totals_stored(&device->peak.totals, peak);
    assert_totals_stored(&device->end, cJSON_GetObjectItemCaseSensitive(stored, "end"));
    assert_split_stored(&device->peak.by_phase, cJSON_GetObjectItemCaseSensitive(peak, "by_phase"));
    assert_split_stored(&device->peak.by_scope, cJSON_GetObjectItemCaseSensitive(peak, "by_scope"));
    assert_split_stored(&device->peak.by_stack, cJSON_GetObjectItemCaseSensitive(peak, "by_stack"));
}

static void the_stored_summary_can_be_derived(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    char *text = NULL;
    size_t n_bytes = 0;
    tide_snapshot *read = NULL;
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    snapshot_path(path, "stored.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, NULL), TIDE_OK);
    assert_int_equal(snapshot_unzip(path, SIZE_MAX / 2, &text, &n_bytes, NULL), TIDE_OK);
    cJSON *document = cJSON_Parse(text);
    assert_non_null(document);
    const cJSON *stored = cJSON_GetObjectItemCaseSensitive(document, "summary");
    tide_summary *summary = NULL;
    assert_int_equal(tide_summary_create(read, &summary, NULL), TIDE_OK);
    assert_int_equal(cJSON_GetArraySize(stored), 1);
    assert_device_stored(&summary->devices[0], cJSON_GetArrayItem(stored, 0));
    tide_summary_destroy(summary);
    cJSON_Delete(document);
    free(text);
    snapshot_remove(path);
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stored_summary_can_be_derived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
