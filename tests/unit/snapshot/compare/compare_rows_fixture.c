#include "compare_rows_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/event_rows.h"
#include "support/made_snapshot.h"

enum { MAX_EVENTS = 8 };

static const char *const STRINGS[] = {
    "forward", "layer", "attention", "work",   "a.c", "layers.0.attn.q", "layers.1.attn.q",
    "b",       "main",  "/x/a.c",    "net.py", "mul", "mul_bf16"};
/* The strings that do not name tensors. */
enum {
    FORWARD = 0,
    LAYER,
    ATTENTION,
    WORK,
    FILE_A,
    MAIN = NAME_B + 1,
    FILE_XA,
    FILE_NET,
    MUL,
    MUL_BF16
};
static const tide_scope_row SCOPES[] = {
    {0, 1, -1, -1, TIDE_NONE, FORWARD, -1, 0, TIDE_SCOPE_PHASE},
    {0, 1, -1, -1, 0, LAYER, 0, 0, TIDE_SCOPE_LAYER},
    {0, 1, -1, -1, 1, ATTENTION, -1, 0, TIDE_SCOPE_OPERATOR},
    {0, 1, -1, -1, 0, LAYER, 1, 0, TIDE_SCOPE_LAYER},
    {0, 1, -1, -1, 3, ATTENTION, -1, 0, TIDE_SCOPE_OPERATOR},
};
static const tide_frame_row FRAMES[] = {{MAIN, FILE_A, 1, false},   {WORK, FILE_A, 10, false},
                                        {WORK, FILE_XA, 20, false}, {FORWARD, FILE_NET, 7, false},
                                        {MUL, FILE_A, 1, false},    {MUL_BF16, FILE_A, 1, false}};
/* main < work at line 10; main < work at line 20, in a file of another folder; work alone;
 * net.py < mul; net.py < mul_bf16; mul alone; mul_bf16 alone. */
static const tide_stack_row STACKS[] = {{TIDE_NONE, 0}, {0, 1},         {0, 2},
                                        {TIDE_NONE, 1}, {TIDE_NONE, 3}, {4, 4},
                                        {4, 5},         {TIDE_NONE, 4}, {TIDE_NONE, 5}};

tide_snapshot *rows_make(const tide_hostmem *mem, const tensor *tensors, size_t n) {
    static const made_tables TABLES = {.strings = STRINGS,
                                       .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                       .scopes = SCOPES,
                                       .n_scopes = sizeof(SCOPES) / sizeof(SCOPES[0]),
                                       .frames = FRAMES,
                                       .n_frames = sizeof(FRAMES) / sizeof(FRAMES[0]),
                                       .stacks = STACKS,
                                       .n_stacks = sizeof(STACKS) / sizeof(STACKS[0]),
                                       .n_devices = 1};
    tide_snapshot *made = made_snapshot(mem, &TABLES, NULL, 0);
    tide_event *events = tide_arena_alloc(&made->arena, MAX_EVENTS, sizeof(*events));
    assert_non_null(events);
    for (size_t i = 0; i < n; i++) {
        events[i] = (tide_event){.address = tensors[i].address,
                                 .requested_bytes = tensors[i].bytes,
                                 .block_bytes = tensors[i].bytes,
                                 .stack = tensors[i].stack,
                                 .scope = tensors[i].scope,
                                 .name = tensors[i].name,
                                 .category = tensors[i].category};
    }
    event_rows_set(made, events, n);
    return made;
}

rows_comparison rows_compare(tide_snapshot *const *snapshots, size_t n) {
    static const char *const LABELS[MAX_RUNS] = {"a", "b", "c"};
    tide_compare_input inputs[MAX_RUNS];
    rows_comparison of = {NULL, NULL};
    for (size_t i = 0; i < n; i++) {
        inputs[i] = (tide_compare_input){LABELS[i], snapshots[i], NULL};
    }
    assert_int_equal(tide_compare_create(inputs, n, &of.compare, NULL), TIDE_OK);
    assert_int_equal(tide_compare_rows_create(of.compare, &of.rows), TIDE_OK);
    return of;
}

void rows_finish(rows_comparison *of) {
    tide_compare_rows_destroy(of->rows);
    tide_compare_destroy(of->compare);
}

const tensor ROWS_BASE[ROWS_N_BASE] = {
    {0 * KIB, 4 * KIB, Q0, 2, 1, TIDE_ACTIVATION},
    {8 * KIB, 4 * KIB, Q1, 4, 1, TIDE_ACTIVATION},
    {64 * KIB, 2 * KIB, NAME_B, TIDE_NONE, TIDE_NONE, TIDE_PARAMETER},
};

void rows_assert_one_difference(const tensor *others, size_t n, tide_row_change change,
                                int64_t base_bytes, int64_t bytes, const char *name) {
    tide_snapshot *snapshots[] = {rows_make(NULL, ROWS_BASE, 3), rows_make(NULL, others, n)};
    rows_comparison of = rows_compare(snapshots, 2);
    const tide_compare_row *row = &of.rows->rows[0];
    assert_true(row->difference_bytes > 0);
    assert_int_equal(tide_compare_row_change(row, 1), change);
    assert_true(row->bytes[0] == base_bytes && row->bytes[1] == bytes);
    assert_string_equal(row->name, name);
    for (size_t i = 1; i < of.rows->n_rows; i++) {
        assert_int_equal(tide_compare_row_change(&row[i], 1), TIDE_ROW_SAME);
    }
    rows_finish(&of);
    tide_snapshot_destroy(snapshots[0]);
    tide_snapshot_destroy(snapshots[1]);
}
