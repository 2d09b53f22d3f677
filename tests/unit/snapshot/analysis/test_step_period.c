/* test_step_period.c - steps of recordings without scopes for them: by the period of their
 * allocations and by annotations of PyTorch; repetitions that are not steps; and no host memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/analysis/steps.h"
#include "support/event_rows.h"
#include "support/hostmem_fault.h"

enum { MAX_ROWS = 512, MAX_LIVE = 64, N_SITES = 8, FORWARD = N_SITES, N_FRAMES };

static const tide_snapshot_device DEVICES[] = {{"virtual", "a", -1, -1, -1, -1, -1, -1}};
static const tide_stream_row STREAMS[] = {{0, 0}};
/* Frames 0 to 7 are lines of train.py; the last is a line of a module's forward. */
static const char *const STRINGS[] = {"train",
                                      "/home/me/train.py",
                                      "forward",
                                      "/home/me/model.py",
                                      "ProfilerStep#7",
                                      "ProfilerStep#8",
                                      "Optimizer.step#AdamW.step",
                                      "Optimizer.step#SGD.step"};
enum { PROFILER_7 = 4, PROFILER_8, ADAMW, SGD, N_STRINGS };

/* A recording that grows event by event. Each stack is one frame below `outer`. */
typedef struct recording {
    tide_snapshot *snapshot;
    tide_event events[MAX_ROWS];
    tide_scope_row scopes[16];
    tide_frame_row frames[N_FRAMES];
    tide_stack_row stacks[2 * N_FRAMES]; /* those below the forward follow */
    uint64_t next;                       /* address */
    uint32_t scope;
    bool has_stacks, is_in_forward;
} recording;

static recording *make(bool has_stacks) {
    recording *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    made->has_stacks = has_stacks;
    made->scope = TIDE_NONE;
    made->next = 4096;
    for (uint32_t i = 0; i < N_FRAMES; i++) {
        bool is_forward = i == FORWARD;
        made->frames[i] = (tide_frame_row){
            .function = is_forward ? 2 : 0, .file = is_forward ? 3 : 1, .line = (int32_t)i + 1};
        made->stacks[i] = (tide_stack_row){.parent = TIDE_NONE, .frame = i};
        made->stacks[N_FRAMES + i] = (tide_stack_row){.parent = FORWARD, .frame = i};
    }
    assert_int_equal(tide_snapshot_create(NULL, &made->snapshot), TIDE_OK);
    tide_snapshot *snapshot = made->snapshot;
    snapshot->devices = DEVICES;
    snapshot->n_devices = 1;
    snapshot->streams = STREAMS;
    snapshot->n_streams = 1;
    snapshot->strings = STRINGS;
    snapshot->n_strings = N_STRINGS;
    snapshot->frames = made->frames;
    snapshot->n_frames = N_FRAMES;
    snapshot->stacks = made->stacks;
    snapshot->n_stacks = (size_t)2 * N_FRAMES;
    snapshot->scopes = made->scopes;
    return made;
}

static void destroy(recording *made) {
    tide_snapshot_destroy(made->snapshot);
    free(made);
}

static uint64_t add(recording *made, tide_action action, uint64_t address, uint64_t n_bytes,
                    uint32_t site) {
    assert_true(made->snapshot->n_events < MAX_ROWS);
    made->events[made->snapshot->n_events++] = (tide_event){
        .address = address,
        .requested_bytes = n_bytes,
        .block_bytes = n_bytes,
        .stack = made->has_stacks ? site + (made->is_in_forward ? N_FRAMES : 0) : TIDE_NONE,
        .scope = made->scope,
        .name = TIDE_NONE,
        .action = (uint8_t)action};
    return address;
}

static uint64_t take(recording *made, uint32_t site, uint64_t n_bytes) {
    made->next += 1U << 20;
    return add(made, TIDE_ACTION_ALLOC, made->next, n_bytes, site);
}

static void drop(recording *made, uint64_t address, uint64_t n_bytes) {
    add(made, TIDE_ACTION_FREE, address, n_bytes, 0);
}

/* Four allocations from four sites; the second is released only by `next`'s step. */
static uint64_t step(recording *made, uint64_t kept, uint64_t varied_bytes) {
    uint64_t a = take(made, 1, 4096);
    uint64_t b = take(made, 2, 8192);
    if (kept != 0) {
        drop(made, kept, 8192);
    }
    uint64_t c = take(made, 3, varied_bytes);
    uint64_t d = take(made, 4, 512);
    drop(made, a, 4096);
    drop(made, d, 512);
    drop(made, c, varied_bytes);
    return b;
}

/* Also checks that only named steps are found if only these are requested. */
static void steps_of(const recording *made, tide_steps *steps) {
    tide_lifetimes lifetimes;
    tide_steps named;
    event_rows_set(made->snapshot, made->events, made->snapshot->n_events);
    assert_int_equal(
        tide_lifetimes_init(&lifetimes, made->snapshot, made->snapshot->arena.mem, NULL), TIDE_OK);
    assert_int_equal(tide_steps_init(steps, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(tide_steps_init_named(&named, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(named.n_steps, steps->source == TIDE_STEPS_INFERRED ? 0 : steps->n_steps);
    tide_steps_fini(&named);
    tide_lifetimes_fini(&lifetimes);
}

static void assert_no_steps(recording *made) {
    tide_steps steps;
    steps_of(made, &steps);
    assert_int_equal(steps.n_steps, 0);
    tide_steps_fini(&steps);
    destroy(made);
}

/* The sizes differ from step to step; the sites do not. */
static void the_period_of_the_sites(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    char name[32];
    tide_steps steps;
    take(made, 6, 1024);
    take(made, 5, 1024);
    for (uint64_t i = 0; i < 6; i++) {
        kept = step(made, kept, 1024 + 512 * i);
    }
    steps_of(made, &steps);
    assert_int_equal(steps.source, TIDE_STEPS_INFERRED);
    assert_int_equal(steps.n_steps, 6);
    assert_int_equal(steps.n_period_allocs, 4);
    assert_true(steps.period_share > 0.92 && steps.period_share < 0.93); /* 24 of 26 */
    assert_int_equal(steps.steps[0].first, 2);
    for (size_t i = 0; i < 6; i++) {
        const tide_step *at = &steps.steps[i];
        assert_int_equal(at->number, i);
        assert_int_equal(at->scope, TIDE_NONE);
        assert_int_equal(at->end_bytes, 2048 + 8192);
        assert_false(at->is_open || at->is_warmup);
        assert_true(i == 0 || at->first == steps.steps[i - 1].last + 1);
    }
    assert_int_equal(steps.steps[5].last, made->snapshot->n_events - 1);
    tide_step_name(made->snapshot, &steps.steps[3], name, sizeof(name));
    assert_string_equal(name, "step 3");
    tide_steps_fini(&steps);
    destroy(made);
}

/* The last step lacks its releases, so the blocks alive at its end cannot be compared. */
static void a_step_that_is_cut_is_open(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    tide_steps steps;
    for (uint64_t i = 0; i < 5; i++) {
        kept = step(made, kept, 1024);
    }
    made->snapshot->n_events -= 2;
    steps_of(made, &steps);
    assert_int_equal(steps.n_steps, 5);
    assert_true(steps.steps[4].is_open);
    assert_false(steps.steps[3].is_open);
    tide_steps_fini(&steps);
    destroy(made);
}

static void too_few_periods_are_none(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = step(made, 0, 1024);
    step(made, kept, 1024);
    assert_no_steps(made);
}

static void less_than_half_is_none(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    /* 12 allocations that repeat, and 14 in an order without a period. */
    static const uint32_t OTHERS[] = {5, 6, 7, 7, 5, 5, 5, 6, 5, 7, 6, 6, 7, 6};
    for (uint64_t i = 0; i < 3; i++) {
        kept = step(made, kept, 1024);
    }
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        take(made, OTHERS[i], 512);
    }
    assert_no_steps(made);
}

static void layers_are_no_steps(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    take(made, 5, 512);
    made->is_in_forward = true;
    for (uint64_t i = 0; i < 8; i++) {
        kept = step(made, kept, 1024);
    }
    made->is_in_forward = false;
    assert_no_steps(made);
}

/* The threads of autograd have no Python frame. */
static void a_backward_pass_has_no_steps(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    for (size_t i = 0; i < N_FRAMES; i++) {
        made->frames[i].file = ADAMW; /* "Optimizer.step#AdamW.step" is not a Python file */
    }
    for (uint64_t i = 0; i < 8; i++) {
        kept = step(made, kept, 1024);
    }
    assert_no_steps(made);
}

static void without_stacks_by_sizes(void **state) {
    (void)state;
    recording *made = make(false);
    uint64_t kept = 0;
    tide_steps steps;
    for (uint64_t i = 0; i < 5; i++) {
        kept = step(made, kept, 1024);
    }
    steps_of(made, &steps);
    assert_int_equal(steps.source, TIDE_STEPS_INFERRED);
    assert_int_equal(steps.n_steps, 5);
    tide_steps_fini(&steps);
    destroy(made);
    /* A run that keeps all its allocations is a forward pass, layer by layer. */
    made = make(false);
    for (uint64_t i = 0; i < 6 * 4; i++) {
        take(made, 0, 512 << (i % 4));
    }
    assert_no_steps(made);
}

static void open_scope(recording *made, uint32_t name) {
    made->scope = (uint32_t)made->snapshot->n_scopes++;
    made->scopes[made->scope] = (tide_scope_row){
        .duration_ns = 1, .parent = TIDE_NONE, .name = name, .index = -1, .kind = TIDE_SCOPE_USER};
}

static void annotations_of_the_profiler(void **state) {
    (void)state;
    recording *made = make(true);
    tide_steps steps;
    open_scope(made, PROFILER_7);
    uint64_t kept = step(made, 0, 1024);
    open_scope(made, PROFILER_8);
    step(made, kept, 1024);
    steps_of(made, &steps);
    assert_int_equal(steps.source, TIDE_STEPS_PROFILER);
    assert_int_equal(steps.n_steps, 2);
    assert_int_equal(steps.steps[0].number, 7);
    assert_int_equal(steps.steps[1].number, 8);
    assert_true(steps.steps[1].repeats == false && steps.first_measured == 0);
    tide_steps_fini(&steps);
    destroy(made);
}

/* Each annotation of the first optimizer ends a step; those of a second one do not. */
static void annotations_of_the_optimizer(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    tide_steps steps;
    for (uint64_t i = 0; i < 3; i++) {
        made->scope = TIDE_NONE;
        kept = step(made, kept, 1024);
        open_scope(made, ADAMW);
        drop(made, take(made, 6, 512), 512);
        open_scope(made, SGD);
        drop(made, take(made, 7, 512), 512);
    }
    steps_of(made, &steps);
    assert_int_equal(steps.source, TIDE_STEPS_OPTIMIZER);
    assert_int_equal(steps.n_steps, 3);
    assert_true(steps.steps[0].is_warmup); /* includes the program's preparations */
    assert_int_equal(steps.steps[0].first, 0);
    assert_int_equal(steps.steps[1].first, steps.steps[0].last + 1);
    assert_int_equal(steps.steps[2].number, 2);
    tide_steps_fini(&steps);
    destroy(made);
}

static tide_status find_all(const recording *made, const tide_hostmem *mem) {
    tide_lifetimes lifetimes;
    tide_steps steps;
    event_rows_set(made->snapshot, made->events, made->snapshot->n_events);
    TIDE_TRY(tide_lifetimes_init(&lifetimes, made->snapshot, mem, NULL));
    tide_status status = tide_steps_init(&steps, made->snapshot, &lifetimes, 0);
    if (status == TIDE_OK) {
        tide_steps_fini(&steps);
    }
    tide_lifetimes_fini(&lifetimes);
    return status;
}

static void no_host_memory(void **state) {
    (void)state;
    recording *made = make(true);
    uint64_t kept = 0;
    size_t n_failed = 0;
    for (uint64_t i = 0; i < 5; i++) {
        kept = step(made, kept, 1024);
    }
    for (size_t call = 1;; call++) {
        tide_hostmem_fault fault;
        tide_hostmem_fault_init(&fault, call);
        tide_status status = find_all(made, &fault.mem);
        assert_int_equal(fault.n_live, 0);
        if (status == TIDE_OK) {
            break;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        n_failed++;
    }
    assert_true(n_failed > 8);
    destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_period_of_the_sites),
        cmocka_unit_test(a_step_that_is_cut_is_open),
        cmocka_unit_test(too_few_periods_are_none),
        cmocka_unit_test(less_than_half_is_none),
        cmocka_unit_test(layers_are_no_steps),
        cmocka_unit_test(a_backward_pass_has_no_steps),
        cmocka_unit_test(without_stacks_by_sizes),
        cmocka_unit_test(annotations_of_the_profiler),
        cmocka_unit_test(annotations_of_the_optimizer),
        cmocka_unit_test(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
