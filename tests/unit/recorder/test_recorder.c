/* test_recorder.c - the event log and its two policies, interning of stacks and names, scopes, and
 * recording when the host has no memory left.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/hostmem.h"
#include "recorder/event_log.h"
#include "recorder/recorder.h"
#include "recorder/recorder_friend.h"
#include "stack/depot.h"
#include "stack/walk_internal.h"
#include "support/hostmem_fault.h"

static tide_recorder *create(size_t n_events, tide_full_policy policy, bool stacks) {
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = n_events * sizeof(tide_event);
    config.full_policy = policy;
    config.capture_stacks = stacks;
    tide_recorder *recorder = NULL;
    assert_int_equal(tide_recorder_create(&config, &recorder, NULL), TIDE_OK);
    return recorder;
}

static tide_recording copy(tide_recorder *recorder) {
    tide_recording recording;
    assert_int_equal(tide_recorder_copy(recorder, NULL, &recording, NULL), TIDE_OK);
    return recording;
}

static void append_n(tide_recorder *recorder, uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++) {
        tide_recorder_append(recorder, (tide_event){.address = i, .stack = TIDE_NONE});
    }
}

static void a_log_that_is_not_full_keeps_all(void **state) {
    (void)state;
    tide_recorder *recorder = create(8, TIDE_FULL_KEEP_NEWEST, false);
    append_n(recorder, 0, 8);
    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_events, 8);
    assert_int_equal(recording.n_dropped, 0);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(recording.events[i].address, i);
        assert_true(recording.events[i].time_ns >= (i == 0 ? 0 : recording.events[i - 1].time_ns));
    }
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void a_ring_keeps_the_newest(void **state) {
    (void)state;
    for (uint64_t n = 9; n <= 25; n++) {
        tide_recorder *recorder = create(8, TIDE_FULL_KEEP_NEWEST, false);
        append_n(recorder, 0, n);
        tide_recording recording = copy(recorder);
        assert_int_equal(recording.n_events, 8);
        assert_int_equal(recording.n_dropped, n - 8);
        for (size_t i = 0; i < 8; i++) {
            assert_int_equal(recording.events[i].address, n - 8 + i);
        }
        tide_recorder_stats stats;
        tide_recorder_get_stats(recorder, &stats);
        assert_int_equal(stats.n_events, n);
        assert_int_equal(stats.n_dropped, n - 8);
        assert_int_equal(stats.max_events, 8);
        tide_recording_fini(&recording);
        tide_recorder_destroy(recorder);
    }
}

static void a_log_that_stops_keeps_the_oldest(void **state) {
    (void)state;
    tide_recorder *recorder = create(8, TIDE_FULL_STOP, false);
    append_n(recorder, 0, 21);
    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_events, 8);
    assert_int_equal(recording.n_dropped, 13);
    assert_int_equal(recording.full_policy, TIDE_FULL_STOP);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(recording.events[i].address, i);
    }
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void invalid_configurations_are_refused(void **state) {
    (void)state;
    tide_recorder_config config;
    tide_recorder *recorder = NULL;
    tide_error error = {""};
    tide_recorder_config_init(&config);
    config.log_bytes = sizeof(tide_event) - 1;
    assert_int_equal(tide_recorder_create(&config, &recorder, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "47 bytes"));
    tide_recorder_config_init(&config);
    config.max_frames = 257;
    assert_int_equal(tide_recorder_create(&config, &recorder, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "257"));
    tide_recorder_config_init(&config);
    config.log_bytes = SIZE_MAX / 2;
    assert_int_equal(tide_recorder_create(&config, &recorder, &error), TIDE_NO_MEMORY);
    assert_null(recorder);
}

static void nothing_happens_without_a_recorder(void **state) {
    (void)state;
    tide_note note = tide_recorder_note(NULL, "name");
    assert_true(note.stack == TIDE_NONE && note.scope == TIDE_NONE && note.name == TIDE_NONE);
    tide_recorder_append(NULL, (tide_event){.address = 1});
    assert_true(tide_scope_begin(NULL, TIDE_SCOPE_STEP, "step", 0) == TIDE_NONE);
    tide_scope_end(NULL, 0);
    tide_recorder_destroy(NULL);
}

static void the_depot_stores_each_stack_once(void **state) {
    (void)state;
    enum { N = 5000 }; /* the table of the depot has to grow several times */
    tide_stack_depot *depot = NULL;
    assert_int_equal(tide_stack_depot_create(tide_hostmem_default(), &depot), TIDE_OK);
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t pcs[] = {i, i / 7, 3};
            assert_int_equal(tide_stack_depot_intern(depot, pcs, 1 + i % 3 / 2 * 2), i);
        }
    }
    assert_int_equal(tide_stack_depot_intern(depot, NULL, 0), TIDE_NONE);
    uint64_t *pcs = NULL;
    size_t *first = NULL;
    size_t n_stacks = 0;
    const tide_hostmem *mem = tide_hostmem_default();
    assert_int_equal(tide_stack_depot_copy(depot, mem, &pcs, &first, &n_stacks), TIDE_OK);
    assert_int_equal(n_stacks, N);
    for (uint64_t i = 0; i < N; i++) {
        size_t n_pcs = 1 + i % 3 / 2 * 2;
        assert_int_equal(first[i + 1] - first[i], n_pcs);
        assert_int_equal(pcs[first[i]], i);
        assert_true(n_pcs == 1 || (pcs[first[i] + 1] == i / 7 && pcs[first[i] + 2] == 3));
    }
    mem->release(mem->ctx, pcs);
    mem->release(mem->ctx, first);
    tide_stack_depot_destroy(depot);
}

static void streams_get_numbers(void **state) {
    (void)state;
    tide_recorder *recorder = create(8, TIDE_FULL_STOP, false);
    assert_int_equal(tide_recorder_stream(recorder, 0, 0), 0);
    assert_int_equal(tide_recorder_stream(recorder, 0, 77), 1);
    assert_int_equal(tide_recorder_stream(recorder, 1, 77), 2);
    assert_int_equal(tide_recorder_stream(recorder, 0, 77), 1);
    for (uint64_t i = 0; i < 300; i++) {
        uint8_t number = tide_recorder_stream(recorder, 0, 1000 + i);
        assert_int_equal(number, i + 3 < 254 ? i + 3 : 254);
    }
    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_streams, 255);
    assert_int_equal(recording.streams[2].handle, 77);
    assert_int_equal(recording.streams[2].device, 1);
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void scopes_nest(void **state) {
    (void)state;
    tide_recorder *recorder = create(64, TIDE_FULL_STOP, false);
    assert_true(tide_recorder_note(recorder, NULL).scope == TIDE_NONE);
    tide_scope step = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", 3);
    tide_scope phase = tide_scope_begin(recorder, TIDE_SCOPE_PHASE, "forward", -1);
    tide_scope layer = tide_scope_begin(recorder, TIDE_SCOPE_LAYER, "layer", 0);
    assert_true(tide_recorder_note(recorder, NULL).scope == layer);
    tide_scope_end(recorder, layer);
    assert_true(tide_recorder_note(recorder, NULL).scope == phase);
    tide_scope open = tide_scope_begin(recorder, TIDE_SCOPE_LAYER, "layer", 1);
    tide_scope inner = tide_scope_begin(recorder, TIDE_SCOPE_OPERATOR, "ffn", -5);
    tide_scope_end(recorder, layer); /* it is closed already, so nothing happens */
    assert_true(tide_recorder_note(recorder, NULL).scope == inner);
    tide_scope_end(recorder, phase); /* also closes the scopes inside */
    assert_true(tide_recorder_note(recorder, NULL).scope == step);

    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_scopes, 5);
    const tide_scope_row *rows = recording.scopes;
    assert_true(rows[step].parent == TIDE_NONE && rows[phase].parent == step);
    assert_true(rows[layer].parent == phase && rows[open].parent == phase);
    assert_true(rows[inner].parent == open && rows[inner].index == -1);
    assert_int_equal(rows[step].index, 3);
    assert_int_equal(rows[step].kind, TIDE_SCOPE_STEP);
    assert_string_equal(recording.strings[rows[phase].name], "forward");
    assert_true(rows[layer].name == rows[open].name);
    assert_true(rows[step].duration_ns == -1);
    for (size_t i = 1; i < 5; i++) {
        assert_true(rows[i].begin_ns >= rows[i - 1].begin_ns);
        assert_true(rows[i].duration_ns >= 0 && rows[i].device_duration_ns == -1);
        const tide_scope_row *parent = &rows[rows[i].parent];
        assert_true(parent->duration_ns == -1 || rows[i].begin_ns + rows[i].duration_ns <=
                                                     parent->begin_ns + parent->duration_ns);
    }
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void recorders_do_not_mix_up_their_scopes(void **state) {
    (void)state;
    enum { N = 7 }; /* more recorders than a thread remembers */
    tide_recorder *recorders[N];
    tide_scope outer[N], inner[N];
    for (size_t i = 0; i < N; i++) {
        recorders[i] = create(64, TIDE_FULL_STOP, false);
        for (size_t j = 0; j < i; j++) { /* so that numbers differ between the recorders */
            tide_scope_end(recorders[i], tide_scope_begin(recorders[i], TIDE_SCOPE_USER, "x", -1));
        }
        outer[i] = tide_scope_begin(recorders[i], TIDE_SCOPE_STEP, "outer", 0);
    }
    for (size_t i = 0; i < N; i++) {
        inner[i] = tide_scope_begin(recorders[i], TIDE_SCOPE_STEP, "inner", 0);
        assert_true(inner[i] == outer[i] + 1);
    }
    for (size_t i = 0; i < N; i++) {
        assert_true(tide_recorder_note(recorders[i], NULL).scope == inner[i]);
        tide_scope_end(recorders[i], inner[i]);
    }
    for (size_t i = 0; i < N; i++) {
        assert_true(tide_recorder_note(recorders[i], NULL).scope == outer[i]);
        tide_recorder_destroy(recorders[i]);
    }
    /* The heap reuses addresses. A scope left open in a destroyed recorder must not reappear in one
     * at the same address. */
    for (size_t i = 0; i < N; i++) {
        tide_recorder *recorder = create(64, TIDE_FULL_STOP, false);
        assert_true(tide_recorder_note(recorder, NULL).scope == TIDE_NONE);
        assert_true(tide_scope_begin(recorder, TIDE_SCOPE_USER, "left open", -1) == 0);
        tide_recorder_destroy(recorder);
    }
}

/* True if the heap refused nothing and everything was recorded. */
static bool record_a_little(const tide_hostmem *mem, bool *ret_created) {
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = 1 << 16;
    config.mem = mem;
    tide_recorder *recorder = NULL;
    *ret_created = tide_recorder_create(&config, &recorder, NULL) == TIDE_OK;
    if (!*ret_created) {
        return false;
    }
    tide_scope scope = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", 0);
    tide_note note = tide_recorder_note(recorder, "name");
    assert_true(note.scope == scope);
    tide_event event = {.stack = note.stack, .scope = note.scope, .name = note.name};
    tide_recorder_append(recorder, event);
    tide_scope_end(recorder, scope);
    tide_recorder_stats stats;
    tide_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.n_events, 1);
    tide_recording recording;
    tide_status copied = tide_recorder_copy(recorder, mem, &recording, NULL);
    bool complete = copied == TIDE_OK && scope != TIDE_NONE && note.name != TIDE_NONE;
    if (copied == TIDE_OK) {
        assert_int_equal(recording.n_events, 1);
        assert_int_equal(recording.n_scopes + recording.n_scopes_dropped, 1);
        complete = complete && recording.n_scopes == 1;
        tide_recording_fini(&recording);
    } else {
        assert_int_equal(copied, TIDE_NO_MEMORY);
    }
    tide_recorder_destroy(recorder);
    return complete;
}

static void no_memory_never_breaks_the_program(void **state) {
    (void)state;
    bool created = false;
    for (size_t n = 0; n < 200; n++) {
        tide_hostmem_fault heap;
        tide_hostmem_fault_init(&heap, n + 1);
        heap.fails_on = true;
        bool complete = record_a_little(&heap.mem, &created);
        assert_int_equal(heap.n_live, 0);
        if (complete) {
            assert_true(n > 8); /* otherwise the heap never refused anything */
            return;
        }
    }
    fail_msg("never enough memory");
}

static void scopes_beyond_the_bound_are_counted(void **state) {
    (void)state;
    tide_recorder *recorder = create(8, TIDE_FULL_STOP, false);
    size_t max_scopes = 8 * sizeof(tide_event) / sizeof(tide_scope_row) + 1;
    tide_scope last = TIDE_NONE;
    for (size_t i = 0; i < max_scopes; i++) {
        last = tide_scope_begin(recorder, TIDE_SCOPE_USER, "scope", -1);
        assert_true(last == i);
    }
    tide_scope lost = tide_scope_begin(recorder, TIDE_SCOPE_USER, "scope", -1);
    assert_true(lost == TIDE_NONE);
    assert_true(tide_recorder_note(recorder, NULL).scope == last);
    tide_scope_end(recorder, lost); /* must close nothing */
    assert_true(tide_recorder_note(recorder, NULL).scope == last);
    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_scopes, max_scopes);
    assert_int_equal(recording.n_scopes_dropped, 1);
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void a_missing_libunwind_is_reported(void **state) {
    (void)state;
    assert_int_equal(setenv("TIDEMARK_UNWINDER", "libunwind", 1), 0);
    assert_int_equal(setenv("TIDEMARK_LIBUNWIND", "/no/such/file.so", 1), 0);
    tide_recorder *recorder = create(8, TIDE_FULL_STOP, true);
    const char *reason = tide_recorder_stacks_missing(recorder);
    assert_non_null(reason);
    assert_ptr_equal(reason, tide_recorder_stacks_limited(recorder));
    assert_non_null(strstr(reason, "call stacks are off"));
    assert_non_null(strstr(reason, "/no/such/file.so"));
    assert_non_null(strstr(reason, "libunwind8"));
    assert_true(tide_recorder_note(recorder, "x").stack == TIDE_NONE);
    tide_recorder_destroy(recorder);
    /* libm exists, but lacks the function that is looked up. */
    assert_int_equal(setenv("TIDEMARK_LIBUNWIND", "libm.so.6", 1), 0);
    recorder = create(8, TIDE_FULL_STOP, true);
    assert_non_null(strstr(tide_recorder_stacks_missing(recorder), "unw_backtrace"));
    tide_recorder_destroy(recorder);
    assert_int_equal(unsetenv("TIDEMARK_LIBUNWIND"), 0);
    assert_int_equal(unsetenv("TIDEMARK_UNWINDER"), 0);
    recorder = create(8, TIDE_FULL_STOP, false);
    assert_non_null(tide_recorder_stacks_missing(recorder));
    assert_non_null(tide_recorder_stacks_limited(recorder));
    tide_recorder_destroy(recorder);
}

static void stacks_are_walked_without_libunwind(void **state) {
    (void)state;
    if (!TIDE_HAVE_STACK_WALK) {
        skip();
    }
    assert_int_equal(setenv("TIDEMARK_LIBUNWIND", "/no/such/file.so", 1), 0);
    tide_recorder *recorder = create(8, TIDE_FULL_STOP, true);
    assert_null(tide_recorder_stacks_missing(recorder));
    assert_non_null(strstr(tide_recorder_stacks_limited(recorder), "end too early"));
    assert_non_null(strstr(tide_recorder_stacks_limited(recorder), "/no/such/file.so"));
    assert_true(tide_recorder_note(recorder, "x").stack == 0);
    tide_recorder_destroy(recorder);
    assert_int_equal(unsetenv("TIDEMARK_LIBUNWIND"), 0);
}

static void an_unknown_unwinder_is_refused(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    tide_error error = {""};
    assert_int_equal(setenv("TIDEMARK_UNWINDER", "frames", 1), 0);
    assert_int_equal(tide_recorder_create(NULL, &recorder, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "\"frames\""));
    assert_non_null(strstr(error.message, "memo, libunwind or check"));
    assert_int_equal(unsetenv("TIDEMARK_UNWINDER"), 0);
}

static void a_pause_leaves_nothing_behind(void **state) {
    (void)state;
    tide_recorder *recorder = create(8, TIDE_FULL_KEEP_NEWEST, true);
    append_n(recorder, 0, 2);
    tide_recorder_set_paused(recorder, true);
    append_n(recorder, 2, 2);
    tide_note note = tide_recorder_note(recorder, "not recorded");
    assert_true(note.stack == TIDE_NONE && note.scope == TIDE_NONE && note.name == TIDE_NONE);
    tide_scope scope = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "not recorded either", 0);
    assert_true(scope == TIDE_NONE);
    tide_scope_end(recorder, scope);
    tide_recorder_set_paused(recorder, false);
    append_n(recorder, 4, 1);
    scope = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "recorded", 0);
    assert_true(tide_recorder_note(recorder, NULL).scope == scope);
    tide_scope_end(recorder, scope);
    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_events, 3);
    assert_int_equal(recording.events[2].address, 4);
    assert_int_equal(recording.n_dropped, 0);
    assert_int_equal(recording.n_scopes, 1);
    assert_int_equal(recording.n_scopes_dropped, 0);
    assert_int_equal(recording.n_strings, 1);
    assert_int_equal(recording.n_stacks, 1);
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

static void expect_name(tide_recorder *recorder, const char *name) {
    tide_note note;
    tide_recorder_take_note(recorder, name, &note);
    assert_string_equal(tide_recorder_text(recorder, note.name), name);
}

/* A thread caches names by their address. Here it sees more names than it caches, and the text at
 * an address changes. */
static void names_are_read_where_they_lie(void **state) {
    (void)state;
    enum { N_NAMES = 6000 };
    static char names[N_NAMES][8];
    tide_recorder *recorder = create(8, TIDE_FULL_KEEP_NEWEST, false);
    for (unsigned i = 0; i < 4 * N_NAMES; i++) {
        char *name = names[i % N_NAMES];
        for (unsigned n = 0; n < 3; n++) {
            (void)snprintf(name, sizeof(names[0]), "%u", n == 1 ? i / 7 : i % N_NAMES);
            expect_name(recorder, name);
            expect_name(recorder, name);
        }
    }
    tide_recording recording = copy(recorder);
    assert_int_equal(recording.n_strings, N_NAMES);
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
}

/* The same names at the same addresses have other numbers in another recorder. */
static void recorders_do_not_mix_up_their_names(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    tide_recorder *first = create(8, TIDE_FULL_KEEP_NEWEST, false);
    tide_recorder *second = create(8, TIDE_FULL_KEEP_NEWEST, false);
    for (unsigned i = 0; i < 9; i++) {
        expect_name(first, names[i % 3]);
        expect_name(second, names[2 - i % 3]);
    }
    tide_recorder_destroy(first);
    tide_recorder_destroy(second);
    for (unsigned i = 0; i < 3; i++) { /* each perhaps at the address of the one before */
        tide_recorder *next = create(8, TIDE_FULL_KEEP_NEWEST, false);
        expect_name(next, names[i]);
        expect_name(next, names[(i + 1) % 3]);
        tide_recorder_destroy(next);
    }
}

/* The log is full, and its oldest row does not fit into the base: it stops at its beginning. */
static void a_stopped_log_still_has_its_last_row(void **state) {
    (void)state;
    tide_event rows[2], base[1];
    const tide_event_log_memory memory = {sizeof(tide_event), rows, 2, base, 0, NULL};
    tide_event_log log;
    tide_event_log_init_in(&log, tide_hostmem_default(), &memory, true);
    assert_null(tide_event_log_last(&log));
    for (uint64_t i = 1; i <= 3; i++) {
        tide_event *row = tide_event_log_row_begin(&log);
        assert_true((row != NULL) == (i <= 2));
        if (row != NULL) {
            *row = (tide_event){.address = i << 9, .action = TIDE_ACTION_ALLOC};
            tide_event_log_row_end(&log);
        }
    }
    assert_false(tide_event_log_has_newest(&log));
    assert_ptr_equal(tide_event_log_last(&log), &rows[1]);
    tide_event_log_fini(&log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_is_not_full_keeps_all),
        cmocka_unit_test(a_ring_keeps_the_newest),
        cmocka_unit_test(a_log_that_stops_keeps_the_oldest),
        cmocka_unit_test(invalid_configurations_are_refused),
        cmocka_unit_test(nothing_happens_without_a_recorder),
        cmocka_unit_test(the_depot_stores_each_stack_once),
        cmocka_unit_test(streams_get_numbers),
        cmocka_unit_test(scopes_nest),
        cmocka_unit_test(recorders_do_not_mix_up_their_scopes),
        cmocka_unit_test(no_memory_never_breaks_the_program),
        cmocka_unit_test(scopes_beyond_the_bound_are_counted),
        cmocka_unit_test(a_missing_libunwind_is_reported),
        cmocka_unit_test(stacks_are_walked_without_libunwind),
        cmocka_unit_test(an_unknown_unwinder_is_refused),
        cmocka_unit_test(a_pause_leaves_nothing_behind),
        cmocka_unit_test(names_are_read_where_they_lie),
        cmocka_unit_test(recorders_do_not_mix_up_their_names),
        cmocka_unit_test(a_stopped_log_still_has_its_last_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
