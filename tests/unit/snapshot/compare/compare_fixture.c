#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare_fixture.h"
#include "support/event_rows.h"
#include "support/made_snapshot.h"

static const char *const STRINGS[] = {"optimizer", "adamw", "backward", "attention"};
static const tide_scope_row SCOPES[] = {
    {0, 1, -1, -1, TIDE_NONE, 0, -1, 0, TIDE_SCOPE_PHASE},
    {0, 1, -1, -1, 0, 1, -1, 0, TIDE_SCOPE_OPERATOR},
    {0, 1, -1, -1, TIDE_NONE, 2, -1, 0, TIDE_SCOPE_PHASE},
    {0, 1, -1, -1, 2, 3, -1, 0, TIDE_SCOPE_OPERATOR},
};
tide_snapshot *compare_make(const made_run *of) {
    static const made_tables TABLES = {.strings = STRINGS,
                                       .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                       .scopes = SCOPES,
                                       .n_scopes = sizeof(SCOPES) / sizeof(SCOPES[0]),
                                       .n_devices = 1};
    tide_snapshot *made = made_snapshot(NULL, &TABLES, NULL, 0);
    tide_event *events = tide_arena_alloc(&made->arena, TIDE_N_CATEGORIES + 1, sizeof(*events));
    tide_snapshot_phase *phase = tide_arena_alloc(&made->arena, 1, sizeof(*phase));
    double *ms = tide_arena_alloc(&made->arena, 2, sizeof(*ms));
    assert_true(events != NULL && phase != NULL && ms != NULL);
    size_t n = 0;
    for (uint8_t i = 0; i < TIDE_N_CATEGORIES; i++) {
        if (of->bytes[i] > 0) {
            events[n++] = (tide_event){.address = (uint64_t)i << 40,
                                       .requested_bytes = of->bytes[i],
                                       .block_bytes = of->bytes[i],
                                       .stack = TIDE_NONE,
                                       .scope = of->scope,
                                       .name = TIDE_NONE,
                                       .category = i};
        }
    }
    if (of->oom_bytes > 0) {
        events[n++] = (tide_event){.requested_bytes = of->oom_bytes,
                                   .block_bytes = 100 * MIB,
                                   .stack = TIDE_NONE,
                                   .scope = of->scope,
                                   .name = TIDE_NONE,
                                   .action = TIDE_ACTION_OOM};
    }
    ms[0] = of->step_ms;
    ms[1] = -1.0;
    *phase = (tide_snapshot_phase){"step", of->step_ms > 0.0 ? 1 : 0, ms, ms + 1};
    made->timing.phases = phase;
    made->timing.n_phases = 1;
    event_rows_set(made, events, n);
    made->run.precision = of->precision;
    made->run.context_length = of->context;
    made->run.model.d_model = of->d_model;
    made->run.outcome = of->oom_bytes > 0 ? "oom" : "completed";
    return made;
}

comparison compare_runs(const made_run *runs, size_t n_runs) {
    static const char *const LABELS[] = {"a.json.gz", "b.json.gz", "c.json.gz"};
    comparison of = {.n_runs = n_runs};
    tide_compare_input inputs[COMPARE_MAX_RUNS];
    tide_error error = {""};
    for (size_t i = 0; i < n_runs; i++) {
        of.snapshots[i] = compare_make(&runs[i]);
        inputs[i] = (tide_compare_input){LABELS[i], of.snapshots[i], NULL};
    }
    if (tide_compare_create(inputs, n_runs, &of.compare, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return of;
}

void compare_finish(comparison *of) {
    tide_compare_destroy(of->compare);
    for (size_t i = 0; i < of->n_runs; i++) {
        tide_snapshot_destroy(of->snapshots[i]);
    }
}
