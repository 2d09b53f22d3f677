/* layout_fixture.h - shared by the tests of layouts and of instants: recordings of two devices with
 * scopes, and the sum of an account of the reserved bytes.
 */
#ifndef TIDE_TESTS_UNIT_SNAPSHOT_LAYOUT_FIXTURE_H
#define TIDE_TESTS_UNIT_SNAPSHOT_LAYOUT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snapshot/analysis/layout.h"
#include "support/made_snapshot.h"

static inline tide_snapshot *recording(const tide_event *events, size_t n_events) {
    static const char *const STRINGS[] = {"step", "backward", "layer"};
    /* step 1 > backward > layer 3, and step 2 > backward. */
    static const tide_scope_row SCOPES[] = {
        {0, -1, -1, -1, TIDE_NONE, 0, 1, 0, TIDE_SCOPE_STEP},
        {0, -1, -1, -1, 0, 1, -1, 0, TIDE_SCOPE_PHASE},
        {0, -1, -1, -1, 1, 2, 3, 0, TIDE_SCOPE_LAYER},
        {0, -1, -1, -1, TIDE_NONE, 0, 2, 0, TIDE_SCOPE_STEP},
        {0, -1, -1, -1, 3, 1, -1, 0, TIDE_SCOPE_PHASE},
    };
    static const made_tables TABLES = {.strings = STRINGS,
                                       .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                       .scopes = SCOPES,
                                       .n_scopes = sizeof(SCOPES) / sizeof(SCOPES[0]),
                                       .n_devices = 2};
    return made_snapshot(NULL, &TABLES, events, n_events);
}

static inline tide_lifetimes lifetimes_of(const tide_snapshot *snapshot) {
    tide_lifetimes lifetimes;
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    return lifetimes;
}

static inline int64_t sum_of(const tide_account *account) {
    return account->asked_bytes + account->rounding_bytes + account->unsplit_bytes +
           account->pending_bytes + account->splittable_bytes + account->releasable_bytes +
           account->unexplained_bytes;
}

#endif
