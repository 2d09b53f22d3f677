/* test_steps.c - steps that repeat and steps that do not, growth, leaks, and trees of live blocks;
 * also without host memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/analysis/alive_tree.h"
#include "snapshot/analysis/steps.h"
#include "snapshot/analysis/summary.h"
#include "support/event_rows.h"
#include "support/hostmem_fault.h"
#include "support/synthetic.h"

enum { N_STEPS = 5, ROWS_OF_STEP = 6, N_ROWS = N_STEPS * ROWS_OF_STEP };

static const tide_snapshot_device DEVICES[] = {{"virtual", "a", -1, -1, -1, -1, -1, -1}};
static const tide_stream_row STREAMS[] = {{0, 0}};
static const char *const STRINGS[] = {"warmup", "step", "forward", "kept", "x"};
enum { WARMUP = 0, STEP, FORWARD, KEPT, NAME_X };

/* warmup 0 and steps 0 to 3, each: x, y allocated in forward, a new segment, both freed, and
 * `kept`, which replaces `kept` of the previous step. */
typedef struct run {
    tide_event events[N_ROWS];
    tide_scope_row scopes[2 * N_STEPS];
    tide_snapshot *snapshot;
} run;

static tide_event row(tide_action action, uint64_t address, uint64_t n_bytes, uint32_t name,
                      uint32_t scope) {
    return (tide_event){.address = address,
                        .requested_bytes = n_bytes,
                        .block_bytes = n_bytes,
                        .stack = TIDE_NONE,
                        .scope = scope,
                        .name = name,
                        .action = (uint8_t)action};
}

/* Step 0 is the warm-up. `leaks`: `kept` is not released by the next step. */
static run *make(bool leaks) {
    run *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    for (uint32_t s = 0; s < N_STEPS; s++) {
        made->scopes[2 * s] = (tide_scope_row){.duration_ns = 1,
                                               .parent = TIDE_NONE,
                                               .name = s == 0 ? WARMUP : STEP,
                                               .index = s == 0 ? 0 : (int32_t)s - 1,
                                               .kind = TIDE_SCOPE_STEP};
        made->scopes[2 * s + 1] = (tide_scope_row){.duration_ns = 1,
                                                   .parent = 2 * s,
                                                   .name = FORWARD,
                                                   .index = -1,
                                                   .kind = TIDE_SCOPE_PHASE};
        tide_event *rows = &made->events[s * ROWS_OF_STEP];
        uint64_t kept = 65536 + 4096 * (uint64_t)s;
        rows[0] = row(TIDE_ACTION_ALLOC, 0, 1024, NAME_X, 2 * s + 1);
        rows[1] = row(TIDE_ACTION_ALLOC, 4096, 512, TIDE_NONE, 2 * s + 1);
        rows[2] = row(TIDE_ACTION_FREE, 0, 1024, NAME_X, 2 * s);
        rows[3] = row(TIDE_ACTION_FREE, 4096, 512, TIDE_NONE, TIDE_NONE); /* another thread's */
        rows[4] = s > 0 && !leaks ? row(TIDE_ACTION_FREE, kept - 4096, 2048, KEPT, 2 * s)
                                  : row(TIDE_ACTION_MARK, 0, 0, TIDE_NONE, 2 * s);
        rows[5] = row(TIDE_ACTION_ALLOC, kept, 2048, KEPT, 2 * s);
    }
    assert_int_equal(tide_snapshot_create(NULL, &made->snapshot), TIDE_OK);
    made->snapshot->devices = DEVICES;
    made->snapshot->n_devices = 1;
    made->snapshot->streams = STREAMS;
    made->snapshot->n_streams = 1;
    made->snapshot->strings = STRINGS;
    made->snapshot->n_strings = 5;
    made->snapshot->scopes = made->scopes;
    made->snapshot->n_scopes = 2 * N_STEPS;
    event_rows_set(made->snapshot, made->events, N_ROWS);
    return made;
}

static void destroy(run *made) {
    tide_snapshot_destroy(made->snapshot);
    free(made);
}

static tide_lifetimes lifetimes_of(const tide_snapshot *snapshot) {
    tide_lifetimes lifetimes;
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    return lifetimes;
}

static void steps_that_repeat(void **state) {
    (void)state;
    run *made = make(false);
    tide_lifetimes lifetimes = lifetimes_of(made->snapshot);
    tide_steps steps;
    tide_kept_list list;
    assert_int_equal(tide_steps_init(&steps, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(steps.n_steps, N_STEPS);
    assert_int_equal(steps.first_measured, 1);
    for (size_t i = 0; i < N_STEPS; i++) {
        const tide_step *step = &steps.steps[i];
        assert_true(step->is_warmup == (i == 0) && step->is_compared == (i > 1));
        assert_true(step->repeats == (i > 1) && step->differs == -1 && step->differs_from == -1);
        assert_int_equal(step->first, ROWS_OF_STEP * i);
        assert_int_equal(step->last, ROWS_OF_STEP * i + 5);
        assert_int_equal(step->n_rows, i == 0 ? 5 : 6);
        assert_int_equal(step->end_bytes, 2048);
        assert_int_equal(step->end_blocks, 1);
        assert_int_equal(step->peak_bytes, i == 0 ? 2048 : 2048 + 1536);
    }
    assert_int_equal(tide_steps_warm(&steps), 5);
    /* A block that only the last step made does not indicate a leak, but it is listed. */
    assert_int_equal(tide_steps_leaks(&steps, &lifetimes, 5, &list), TIDE_OK);
    assert_int_equal(list.n_items, 1);
    assert_int_equal(list.items[0].blocks, 1);
    assert_int_equal(list.items[0].n_steps, 1);
    assert_int_equal(list.items[0].first_born, N_ROWS - 1);
    tide_kept_list_fini(&list);
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    destroy(made);
}

static void a_leak_is_named(void **state) {
    (void)state;
    run *made = make(true);
    tide_lifetimes lifetimes = lifetimes_of(made->snapshot);
    tide_steps steps;
    tide_kept_list list;
    assert_int_equal(tide_steps_init(&steps, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_true(steps.steps[N_STEPS - 1].repeats); /* the same rows, but the memory grows */
    assert_int_equal(steps.steps[N_STEPS - 1].end_bytes, 2048 * N_STEPS);
    assert_int_equal(tide_steps_leaks(&steps, &lifetimes, tide_steps_warm(&steps), &list), TIDE_OK);
    assert_int_equal(list.n_items, 1);
    assert_int_equal(list.items[0].name, KEPT);
    assert_int_equal(list.items[0].blocks, N_STEPS - 1); /* not the warm-up's */
    assert_int_equal(list.items[0].n_steps, N_STEPS - 1);
    assert_int_equal(list.items[0].first_born, ROWS_OF_STEP + 5);
    assert_int_equal(list.items[0].bytes, 2048 * (N_STEPS - 1));
    tide_kept_list_fini(&list);
    assert_int_equal(tide_steps_growth(&steps, &lifetimes, (int64_t)steps.steps[1].last,
                                       (int64_t)steps.steps[4].last, &list),
                     TIDE_OK);
    assert_int_equal(list.n_items, 1);
    assert_int_equal(list.items[0].before_bytes, 2 * 2048);
    assert_int_equal(list.items[0].bytes, 5 * 2048);
    assert_int_equal(list.items[0].before_blocks, 2);
    assert_int_equal(list.items[0].blocks, 5);
    tide_kept_list_fini(&list);
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    destroy(made);
}

/* Two blocks of one step count as one step. */
static void births_of_a_step_are_one_step(void **state) {
    (void)state;
    run *made = make(true);
    made->events[2 * ROWS_OF_STEP + 4] = row(TIDE_ACTION_ALLOC, 1 << 20, 512, KEPT, 4);
    event_rows_set(made->snapshot, made->events, N_ROWS);
    tide_lifetimes lifetimes = lifetimes_of(made->snapshot);
    tide_steps steps;
    tide_kept_list list;
    assert_int_equal(tide_steps_init(&steps, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(tide_steps_leaks(&steps, &lifetimes, tide_steps_warm(&steps), &list), TIDE_OK);
    assert_int_equal(list.items[0].blocks, N_STEPS);
    assert_int_equal(list.items[0].n_steps, N_STEPS - 1);
    tide_kept_list_fini(&list);
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    destroy(made);
}

/* Each kind of difference between steps names the rows that differ. */
static void differences_are_found(void **state) {
    (void)state;
    enum { THIRD = 3 * ROWS_OF_STEP, SECOND = 2 * ROWS_OF_STEP };
    for (int kind = 0; kind < 3; kind++) {
        run *made = make(false);
        int64_t differs = THIRD + 1;
        int64_t differs_from = SECOND + 1;
        tide_event *second = &made->events[THIRD + 1];
        if (kind == 0) {
            second->requested_bytes--;
        } else if (kind == 1) { /* allocated and pending instead of freed: the action */
            made->events[THIRD + 2].action = TIDE_ACTION_FREE_REQUESTED;
            differs = THIRD + 2;
            differs_from = SECOND + 2;
        } else { /* one row less, at the end */
            made->events[THIRD + 5].action = TIDE_ACTION_MARK;
            differs = -1;
            differs_from = SECOND + 5;
        }
        event_rows_set(made->snapshot, made->events, N_ROWS);
        tide_lifetimes lifetimes = lifetimes_of(made->snapshot);
        tide_steps steps;
        assert_int_equal(tide_steps_init(&steps, made->snapshot, &lifetimes, 0), TIDE_OK);
        assert_true(steps.steps[2].repeats && !steps.steps[3].repeats && !steps.steps[4].repeats);
        assert_int_equal(steps.steps[3].differs, differs);
        assert_int_equal(steps.steps[3].differs_from, differs_from);
        tide_steps_fini(&steps);
        tide_lifetimes_fini(&lifetimes);
        destroy(made);
    }
}

/* The step in which the recording ends is not compared. */
static void an_open_step_is_left_out(void **state) {
    (void)state;
    run *made = make(false);
    made->scopes[2 * (N_STEPS - 1)].duration_ns = -1;
    made->snapshot->n_events -= 2;
    tide_lifetimes lifetimes = lifetimes_of(made->snapshot);
    tide_steps steps;
    assert_int_equal(tide_steps_init(&steps, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(steps.n_steps, N_STEPS);
    assert_true(steps.steps[N_STEPS - 2].repeats && !steps.steps[N_STEPS - 2].is_open);
    assert_true(steps.steps[N_STEPS - 1].is_open && !steps.steps[N_STEPS - 1].is_compared);
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    destroy(made);
}

static void without_steps(void **state) {
    (void)state;
    run *made = make(true);
    made->snapshot->n_scopes = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        made->events[i].scope = TIDE_NONE;
    }
    event_rows_set(made->snapshot, made->events, N_ROWS);
    tide_lifetimes lifetimes = lifetimes_of(made->snapshot);
    tide_steps steps;
    tide_kept_list list;
    assert_int_equal(tide_steps_init(&steps, made->snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(steps.n_steps, 0);
    assert_int_equal(tide_steps_warm(&steps), -1);
    assert_int_equal(tide_steps_leaks(&steps, &lifetimes, -1, &list), TIDE_OK);
    assert_int_equal(list.items[0].blocks, N_STEPS);
    assert_int_equal(list.items[0].n_steps, 0);
    tide_kept_list_fini(&list);
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    destroy(made);
}

/* Growth and the bytes at the ends of steps agree with a count of all rows. */
static void made_up_steps_add_up(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.two_streams = true;
    tide_snapshot *made = synthetic_create(&config);
    tide_lifetimes lifetimes = lifetimes_of(made);
    tide_steps steps;
    assert_int_equal(tide_steps_init(&steps, made, &lifetimes, 0), TIDE_OK);
    assert_true(steps.n_steps > 2);
    for (size_t s = 0; s < steps.n_steps; s++) {
        int64_t now = 0, highest = 0;
        for (size_t i = 0; i <= steps.steps[s].last; i++) {
            const tide_event e = tide_event_at(made, i);
            now += e.action == TIDE_ACTION_ALLOC ? (int64_t)e.block_bytes : 0;
            now -= e.action == TIDE_ACTION_FREE || e.action == TIDE_ACTION_FREE_REQUESTED
                       ? (int64_t)e.block_bytes
                       : 0;
            highest = i >= steps.steps[s].first && now > highest ? now : highest;
        }
        assert_int_equal(steps.steps[s].end_bytes, now);
        assert_int_equal(steps.steps[s].peak_bytes, highest);
    }
    for (size_t s = 1; s < steps.n_steps; s++) {
        tide_kept_list list;
        int64_t before = 0, after = 0, blocks = 0;
        assert_int_equal(tide_steps_growth(&steps, &lifetimes, (int64_t)steps.steps[s - 1].last,
                                           (int64_t)steps.steps[s].last, &list),
                         TIDE_OK);
        for (size_t i = 0; i < list.n_items; i++) {
            before += list.items[i].before_bytes;
            after += list.items[i].bytes;
            blocks += list.items[i].blocks;
        }
        assert_int_equal(before, steps.steps[s - 1].end_bytes);
        assert_int_equal(after, steps.steps[s].end_bytes);
        assert_int_equal(blocks, steps.steps[s].end_blocks);
        tide_kept_list_fini(&list);
    }
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(made);
}

/* ---- the tree ---- */

/* Children add up to their node, for every order of keys and any number of rows. */
static void assert_tree_adds_up(const tide_alive_tree *tree, const tide_summary_peak *peak,
                                const tide_tree_plan *plan) {
    for (size_t i = SIZE_MAX; i == SIZE_MAX || i < tree->n_nodes; i++) {
        int64_t bytes = 0, requested = 0, blocks = 0;
        size_t n_children = 0;
        for (size_t j = i + 1; j < tree->n_nodes; j++) {
            const tide_tree_node *child = &tree->nodes[j];
            if (child->parent == i) {
                bytes += child->bytes;
                requested += child->requested_bytes;
                blocks += child->n_blocks;
                n_children++;
                assert_int_equal(child->level, i == SIZE_MAX ? 0 : tree->nodes[i].level + 1);
            }
        }
        assert_true(n_children <= plan->top + 1);
        if (i == SIZE_MAX) {
            assert_int_equal(bytes, peak->totals.allocated_bytes);
            assert_int_equal(blocks, peak->totals.n_blocks);
        } else if (n_children > 0) {
            assert_int_equal(bytes, tree->nodes[i].bytes);
            assert_int_equal(requested, tree->nodes[i].requested_bytes);
            assert_int_equal(blocks, tree->nodes[i].n_blocks);
        } else {
            assert_true(tree->nodes[i].n_merged > 1 || tree->nodes[i].level + 1 == plan->n_keys);
        }
    }
}

static void trees_add_up(void **state) {
    (void)state;
    static const tide_tree_plan PLANS[] = {
        {{TIDE_TREE_CATEGORY, TIDE_TREE_SCOPE, TIDE_TREE_NAME, TIDE_TREE_STACK}, 4, 3},
        {{TIDE_TREE_STACK}, 1, 1},
        {{TIDE_TREE_NAME, TIDE_TREE_PHASE}, 2, 1000},
        {{TIDE_TREE_PHASE, TIDE_TREE_CATEGORY, TIDE_TREE_STACK, TIDE_TREE_NAME, TIDE_TREE_SCOPE},
         5,
         2},
    };
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    tide_summary *summary = NULL;
    tide_scope_paths paths;
    assert_int_equal(tide_summary_create(made, &summary, NULL), TIDE_OK);
    assert_int_equal(tide_scope_paths_init(&paths, made, made->arena.mem), TIDE_OK);
    const tide_summary_peak *peak = &summary->devices[0].peak;
    for (size_t i = 0; i < sizeof(PLANS) / sizeof(PLANS[0]); i++) {
        tide_alive_tree tree;
        assert_int_equal(tide_alive_tree_init(&tree, made->arena.mem, peak->blocks, peak->n_blocks,
                                              &paths, &PLANS[i]),
                         TIDE_OK);
        assert_tree_adds_up(&tree, peak, &PLANS[i]);
        if (PLANS[i].keys[0] == TIDE_TREE_CATEGORY) {
            int64_t largest = 0;
            for (size_t c = 0; c < TIDE_N_CATEGORIES; c++) {
                int64_t bytes = peak->by_category.shares[c].bytes;
                largest = bytes > largest ? bytes : largest;
            }
            assert_int_equal(tree.nodes[0].bytes, largest);
        }
        tide_alive_tree_fini(&tree);
    }
    tide_scope_paths_fini(&paths);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(made);
}

/* ---- host memory ---- */

static tide_status all_of_it(const tide_snapshot *snapshot, const tide_hostmem *mem) {
    static const tide_tree_plan PLAN = {{TIDE_TREE_NAME, TIDE_TREE_STACK}, 2, 2};
    tide_lifetimes lifetimes;
    tide_steps steps;
    tide_kept_list list;
    tide_layout layout;
    tide_alive_tree tree;
    tide_scope_paths paths;
    const tide_instant at = {0, 20};
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, mem, NULL));
    tide_status status = tide_layout_init(&layout, snapshot, &lifetimes, &at, NULL);
    if (status == TIDE_OK) {
        tide_layout_fini(&layout);
        status = tide_scope_paths_init(&paths, snapshot, mem);
    }
    if (status == TIDE_OK) {
        status = tide_alive_tree_init(&tree, mem, lifetimes.lifetimes, lifetimes.n_lifetimes,
                                      &paths, &PLAN);
        if (status == TIDE_OK) {
            tide_alive_tree_fini(&tree);
        }
        tide_scope_paths_fini(&paths);
    }
    if (status == TIDE_OK) {
        status = tide_steps_init(&steps, snapshot, &lifetimes, 0);
        if (status == TIDE_OK) {
            status = tide_steps_leaks(&steps, &lifetimes, 5, &list);
            if (status == TIDE_OK) {
                tide_kept_list_fini(&list);
            }
            tide_steps_fini(&steps);
        }
    }
    tide_lifetimes_fini(&lifetimes);
    return status;
}

static void no_host_memory(void **state) {
    (void)state;
    run *made = make(true);
    size_t n_failed = 0;
    for (size_t call = 1;; call++) {
        tide_hostmem_fault fault;
        tide_hostmem_fault_init(&fault, call);
        tide_status status = all_of_it(made->snapshot, &fault.mem);
        assert_int_equal(fault.n_live, 0);
        if (status == TIDE_OK) {
            assert_true(fault.n_calls < call);
            break;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        n_failed++;
    }
    assert_true(n_failed > 10);
    destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_repeat),
        cmocka_unit_test(a_leak_is_named),
        cmocka_unit_test(births_of_a_step_are_one_step),
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(an_open_step_is_left_out),
        cmocka_unit_test(without_steps),
        cmocka_unit_test(made_up_steps_add_up),
        cmocka_unit_test(trees_add_up),
        cmocka_unit_test(no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
