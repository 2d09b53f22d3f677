/* test_large.c - a snapshot of 50,000 events: its size, and whether anything is lost.
 * tests/bench/bench_snapshot.c measures how long a million events take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/analysis/summary.h"
#include "support/event_rows.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

enum { N_EVENTS = 50000 };

static void fifty_thousand_events(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    tide_snapshot *read = NULL;
    synthetic_config config = synthetic_default();
    config.n_events = N_EVENTS;
    config.n_layers = 32;
    config.two_streams = true;
    tide_snapshot *made = synthetic_create(&config);
    snapshot_path(path, "large.json.gz");
    if (tide_snapshot_save(made, path, &error) != TIDE_OK ||
        tide_snapshot_load(path, NULL, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(read->n_events, N_EVENTS);
    tide_event *expected = event_rows_of(made);
    tide_event *found = event_rows_of(read);
    assert_memory_equal(found, expected, N_EVENTS * sizeof(tide_event));
    free(expected);
    free(found);
    assert_int_equal(read->n_scopes, made->n_scopes);
    size_t n_bytes = 0;
    char *bytes = snapshot_file_text(path, &n_bytes);
    assert_non_null(bytes);
    free(bytes);
    assert_true(n_bytes < N_EVENTS * 8); /* 8 MB per million events, scopes included */
    tide_summary *summary = NULL;
    assert_int_equal(tide_summary_create(read, &summary, &error), TIDE_OK);
    assert_int_equal(summary->devices[0].n_unmatched, 0);
    assert_true(summary->devices[0].peak.n_blocks > 100);
    tide_summary_destroy(summary);
    snapshot_remove(path);
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifty_thousand_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
