/* test_glance.c - what a program holds at the end of its recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/event.h"
#include "programs/launch/glance.h"
#include "snapshot/document/snapshot.h"
#include "support/event_rows.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000000)

enum { MAX_EVENTS = 64, PARAMETER = 1, NONE = -1 };

static const char *STRINGS[] = {"step", "forward", "blocks.0", "blocks.1"};
enum { STEP, FORWARD, MODULE_0, MODULE_1, N_STRINGS };

/* Steps 0 to 2, the last unfinished; modules in the first. */
static const tide_scope_row SCOPES[] = {
    {.duration_ns = SECOND, .parent = TIDE_NONE, .name = STEP, .index = 0, .kind = TIDE_SCOPE_STEP},
    {.duration_ns = TIDE_SCOPE_NO_INTERVAL,
     .parent = 0,
     .name = MODULE_0,
     .index = -1,
     .kind = TIDE_SCOPE_LAYER},
    {.duration_ns = TIDE_SCOPE_NO_INTERVAL,
     .parent = 1,
     .name = FORWARD,
     .index = -1,
     .kind = TIDE_SCOPE_OPERATOR},
    {.duration_ns = TIDE_SCOPE_NO_INTERVAL,
     .parent = 0,
     .name = MODULE_1,
     .index = -1,
     .kind = TIDE_SCOPE_LAYER},
    {.begin_ns = SECOND,
     .duration_ns = SECOND,
     .parent = TIDE_NONE,
     .name = STEP,
     .index = 1,
     .kind = TIDE_SCOPE_STEP},
    {.begin_ns = 2 * SECOND,
     .duration_ns = SECOND,
     .parent = TIDE_NONE,
     .name = STEP,
     .index = 2,
     .kind = TIDE_SCOPE_STEP},
    {.begin_ns = 3 * SECOND,
     .duration_ns = TIDE_SCOPE_OPEN,
     .parent = TIDE_NONE,
     .name = STEP,
     .index = 3,
     .kind = TIDE_SCOPE_STEP},
};
enum { STEP_0, IN_MODULE_0, IN_OPERATOR, IN_MODULE_1, STEP_1, STEP_2, STEP_3 };

typedef struct made {
    tide_snapshot *snapshot;
    tide_event events[MAX_EVENTS];
    uint8_t certainty[MAX_EVENTS];
    size_t n;
} made;

static void add(made *to, tide_action action, uint64_t at, uint64_t n_bytes, int scope) {
    to->events[to->n++] = (tide_event){.time_ns = (int64_t)to->n * SECOND / 10,
                                       .address = (at + 1) * 1024 * MIB,
                                       .requested_bytes = n_bytes,
                                       .block_bytes = n_bytes,
                                       .stack = TIDE_NONE,
                                       .scope = scope == NONE ? TIDE_NONE : (uint32_t)scope,
                                       .name = TIDE_NONE,
                                       .action = (uint8_t)action};
}

static void add_block(made *to, uint64_t at, uint64_t n_bytes, int scope) {
    add(to, TIDE_ACTION_SEGMENT_ALLOC, at, n_bytes, scope);
    add(to, TIDE_ACTION_ALLOC, at, n_bytes, scope);
}

static void begin(made *to) {
    *to = (made){.n = 0};
    assert_int_equal(tide_snapshot_create(tide_hostmem_default(), &to->snapshot), TIDE_OK);
}

static void look_with(made *of, const tide_scope_row *scopes, size_t n_scopes, tide_glance *ret) {
    static const tide_snapshot_device DEVICE = {.kind = "cuda", .name = "made", .total_bytes = -1};
    static const tide_stream_row STREAM = {0};
    tide_snapshot *snapshot = of->snapshot;
    snapshot->devices = &DEVICE;
    snapshot->n_devices = 1;
    snapshot->streams = &STREAM;
    snapshot->n_streams = 1;
    snapshot->strings = STRINGS;
    snapshot->n_strings = N_STRINGS;
    snapshot->scopes = scopes;
    snapshot->n_scopes = n_scopes;
    event_rows_set(snapshot, of->events, of->n);
    snapshot->event_certainty = of->certainty;
    assert_int_equal(tide_glance_init(ret, snapshot, NULL), TIDE_OK);
}

static void look(made *of, tide_glance *ret) {
    look_with(of, SCOPES, sizeof(SCOPES) / sizeof(SCOPES[0]), ret);
}

static void end(made *of, tide_glance *glance) {
    tide_glance_fini(glance);
    tide_snapshot_destroy(of->snapshot);
}

static void shares_are_what_is_allocated_now(void **state) {
    (void)state;
    made of;
    tide_glance glance;
    begin(&of);
    add_block(&of, 0, 32 * MIB, NONE);
    of.events[1].category = PARAMETER;
    of.certainty[1] = TIDE_CERTAINTY_NAMED;
    add_block(&of, 1, 4 * MIB, IN_MODULE_0);
    add_block(&of, 2, 6 * MIB, IN_OPERATOR); /* the module around it */
    add_block(&of, 3, 8 * MIB, IN_MODULE_1);
    of.certainty[7] = TIDE_CERTAINTY_RULE;
    add_block(&of, 4, 64 * MIB, IN_MODULE_1); /* goes again */
    add(&of, TIDE_ACTION_FREE, 4, 64 * MIB, IN_MODULE_1);
    add(&of, TIDE_ACTION_OOM, 0, 999 * MIB, IN_MODULE_1);
    look(&of, &glance);
    const tide_glance_device *device = glance.devices;
    assert_int_equal(glance.n_devices, 1);
    assert_int_equal(device->now.allocated_bytes, 50 * MIB);
    assert_int_equal(device->allocated_peak_bytes, 114 * MIB);
    assert_int_equal(device->now.reserved_bytes, 114 * MIB);
    assert_int_equal(device->n_failures, 1);
    assert_int_equal(device->n_categories, 3);
    assert_string_equal(device->categories[0].name, "parameter");
    assert_int_equal(device->categories[0].certainty, TIDE_CERTAINTY_NAMED);
    assert_int_equal(device->categories[1].bytes, 10 * MIB); /* not known how */
    assert_int_equal(device->categories[1].n_blocks, 2);
    assert_int_equal(device->categories[2].certainty, TIDE_CERTAINTY_RULE);
    assert_int_equal(device->n_modules, 3);
    assert_string_equal(device->modules[0].name, ""); /* outside */
    assert_string_equal(device->modules[1].name, "blocks.0");
    assert_int_equal(device->modules[1].bytes, 10 * MIB);
    assert_string_equal(device->modules[2].name, "blocks.1");
    end(&of, &glance);
}

/* Six steps keep 22 MiB each; the seventh is unfinished, and must not hide the growth of the
 * others. */
static void growth_is_that_of_whole_steps(void **state) {
    (void)state;
    static const tide_frame_row FRAME = {.function = FORWARD, .file = TIDE_NONE, .line = 1};
    static const tide_stack_row STACK = {.parent = TIDE_NONE, .frame = 0};
    enum { N_WHOLE = 6 };
    tide_scope_row scopes[N_WHOLE + 1];
    made of;
    tide_glance glance;
    begin(&of);
    for (size_t i = 0; i <= N_WHOLE; i++) {
        scopes[i] = SCOPES[STEP_0];
        scopes[i].begin_ns = (int64_t)i * SECOND;
        scopes[i].index = (int32_t)i;
        scopes[i].duration_ns = i < N_WHOLE ? SECOND : TIDE_SCOPE_OPEN;
        add_block(&of, 2 * i, i < N_WHOLE ? 22 * MIB : MIB, (int)i);
        add(&of, TIDE_ACTION_ALLOC, 2 * i + 1, 20 * MIB, (int)i);
        add(&of, TIDE_ACTION_FREE, 2 * i + 1, 20 * MIB, (int)i);
    }
    for (size_t i = 0; i < of.n; i++) {
        of.events[i].stack = 0;
    }
    of.snapshot->frames = &FRAME;
    of.snapshot->n_frames = 1;
    of.snapshot->stacks = &STACK;
    of.snapshot->n_stacks = 1;
    look_with(&of, scopes, N_WHOLE + 1, &glance);
    assert_int_equal(glance.n_steps, N_WHOLE + 1);
    assert_int_equal(glance.devices[0].growth_bytes, 22 * MIB);
    end(&of, &glance);
}

static void the_rate_is_of_the_last_ten_seconds(void **state) {
    (void)state;
    made of;
    tide_glance glance;
    begin(&of);
    add_block(&of, 0, 10 * MIB, NONE);
    for (int i = 0; i < 11; i++) {
        add(&of, TIDE_ACTION_OOM, 0, 1, NONE);
        of.events[of.n - 1].time_ns = (i < 1 ? 20 : 25 + i / 2) * SECOND;
    }
    of.snapshot->n_dropped = 5;
    look(&of, &glance);
    assert_int_equal(glance.n_events, 18);
    assert_int_equal(glance.last_ns, 30 * SECOND);
    /* Ten after 20 s, which is not within the window. */
    assert_int_equal((int64_t)(glance.events_per_second * 1000), 1000);
    end(&of, &glance);
}

static void nothing_yet_is_told_as_such(void **state) {
    (void)state;
    made of;
    tide_glance glance;
    begin(&of);
    look(&of, &glance);
    assert_int_equal(glance.n_events, 0);
    assert_int_equal(glance.last_ns, -1);
    assert_true(glance.events_per_second < 0);
    assert_int_equal(glance.devices[0].n_modules, 0);
    end(&of, &glance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_what_is_allocated_now),
        cmocka_unit_test(growth_is_that_of_whole_steps),
        cmocka_unit_test(the_rate_is_of_the_last_ten_seconds),
        cmocka_unit_test(nothing_yet_is_told_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
