/* test_instants.c - an instant is found by its event, its time or its scope, and the summary of any
 * instant adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/analysis/instant.h"
#include "snapshot/analysis/summary.h"
#include "support/synthetic.h"

#include "layout_fixture.h"

static tide_snapshot *with_scopes(void) {
    static tide_event events[7];
    events[0] = made_event(TIDE_ACTION_ALLOC, 0, 512, 512);
    events[1] = made_event(TIDE_ACTION_ALLOC, 4096, 1024, 1024); /* step 1 > backward */
    events[2] = made_event(TIDE_ACTION_FREE, 4096, 1024, 1024);  /* in its layer 3 */
    events[3] = made_event(TIDE_ACTION_ALLOC, 8192, 4096, 4096); /* outside: the peak */
    events[4] = made_event(TIDE_ACTION_FREE, 8192, 4096, 4096);  /* step 2 > backward */
    events[5] = made_event(TIDE_ACTION_ALLOC, 4096, 512, 512);   /* the same */
    events[6] = made_event(TIDE_ACTION_OOM, 0, 99, 99);
    events[1].scope = 1;
    events[2].scope = 2;
    events[4].scope = 4;
    events[5].scope = 4;
    for (size_t i = 0; i < 7; i++) {
        events[i].time_ns = 1000 * (int64_t)(i + 1);
    }
    return recording(events, 7);
}

static void instants_are_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t event;
    } CASES[] = {
        {"0", 0},
        {"6", 6},
        {"start", -1},
        {"end", 6},
        {"peak", 3},
        {"oom", 6},
        {"2us", 1},
        {"2.5 us", 1},
        {"0.004ms", 3},
        {"500ns", -1},
        {"step[1]", 1},
        {"step[1] > backward", 1},
        {"step[1]>layer", 1}, /* right before its first row */
        {"layer[3]", 1},
        {" backward > layer[3] ", 1},
        {"step[2] > backward", 3}, /* begins with a free, so highest before its first row */
        {"backward", 3},
    };
    tide_snapshot *made = with_scopes();
    tide_lifetimes lifetimes = lifetimes_of(made);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int64_t event = -2;
        tide_error error = {""};
        tide_status status = tide_instant_find(made, &lifetimes, 0, CASES[i].text, &event, &error);
        if (status != TIDE_OK || event != CASES[i].event) {
            fail_msg("%s: %s, event %d", CASES[i].text, error.message, (int)event);
        }
    }
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

static void bad_instants_are_refused(void **state) {
    (void)state;
    static const char *const CASES[][2] = {
        {"7", "0 to 6"},
        {"99999999999999999999", "0 to 6"},
        {"1.5", "unit"},
        {"12 parsecs", "unit"},
        {"1s", "0.007000 ms"},
        {"forward", "step, backward, layer"},
        {"step[3]", "it has"},
        {"layer > backward", "it has"}, /* the wrong way round */
        {"step[x]", "is no instant"},
        {"step >", "is no instant"},
        {"", "is no instant"},
    };
    tide_snapshot *made = with_scopes();
    tide_lifetimes lifetimes = lifetimes_of(made);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int64_t event = -2;
        tide_error error = {""};
        assert_int_equal(tide_instant_find(made, &lifetimes, 0, CASES[i][0], &event, &error),
                         TIDE_INVALID);
        if (strstr(error.message, CASES[i][1]) == NULL) {
            fail_msg("'%s': %s", CASES[i][0], error.message);
        }
        assert_int_equal(event, -2);
    }
    int64_t event = -2;
    assert_int_equal(tide_instant_find(made, &lifetimes, 1, "backward", &event, NULL),
                     TIDE_INVALID);
    assert_int_equal(tide_instant_find(made, &lifetimes, 1, "oom", &event, NULL), TIDE_INVALID);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

/* The summary of any instant adds up, and its totals at the peak are those found while indexing. */
static void summaries_of_instants_add_up(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.two_streams = true;
    tide_snapshot *made = synthetic_create(&config);
    tide_lifetimes lifetimes = lifetimes_of(made);
    for (int64_t i = -1; i < (int64_t)made->n_events; i += 97) {
        tide_summary *summary = NULL;
        const tide_instant at = {0, i};
        assert_int_equal(tide_summary_create_from(made, &lifetimes, &at, &summary, NULL), TIDE_OK);
        const tide_summary_peak *peak = &summary->devices[0].peak;
        int64_t bytes = 0;
        for (size_t j = 0; j < peak->by_stack.n_shares; j++) {
            bytes += peak->by_stack.shares[j].bytes;
        }
        assert_int_equal(bytes, peak->totals.allocated_bytes);
        assert_int_equal(peak->n_blocks, peak->totals.n_blocks);
        assert_int_equal(peak->account.asked_bytes + peak->account.rounding_bytes +
                             peak->account.unsplit_bytes,
                         bytes);
        assert_int_equal(peak->account.pending_bytes, peak->totals.active_bytes - bytes);
        assert_int_equal(sum_of(&peak->account), peak->totals.reserved_bytes);
        tide_summary_destroy(summary);
    }
    tide_summary *summary = NULL;
    const tide_instant at = {0, lifetimes.devices[0].max[TIDE_MAX_ALLOCATED].event};
    assert_int_equal(tide_summary_create_from(made, &lifetimes, &at, &summary, NULL), TIDE_OK);
    assert_memory_equal(&summary->devices[0].peak.totals, &lifetimes.devices[0].at_peak,
                        sizeof(tide_totals));
    tide_summary_destroy(summary);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_are_found),
        cmocka_unit_test(bad_instants_are_refused),
        cmocka_unit_test(summaries_of_instants_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
