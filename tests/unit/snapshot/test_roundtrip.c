/* test_roundtrip.c - what is written is read back, field by field; and how a file is written. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/snapshot_files.h"
#include "support/synthetic.h"

static tide_snapshot *there_and_back(const tide_snapshot *snapshot) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    tide_snapshot *again = NULL;
    snapshot_path(path, "roundtrip.json.gz");
    if (tide_snapshot_save(snapshot, path, &error) != TIDE_OK ||
        tide_snapshot_load(path, NULL, &again, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    snapshot_remove(path);
    return again;
}

static void events_come_back(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.two_streams = true;
    tide_snapshot *made = synthetic_create(&config);
    tide_snapshot *read = there_and_back(made);
    assert_int_equal(read->n_events, config.n_events);
    for (size_t i = 0; i < made->n_events; i++) {
        assert_memory_equal(&made->events[i], &read->events[i], sizeof(tide_event));
    }
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
