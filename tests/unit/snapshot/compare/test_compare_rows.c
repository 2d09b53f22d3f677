/* test_compare_rows.c - tensors alive at the peaks, aligned by meaning: compared with a second way
 * to count them, on made-up and stored snapshots, and for known differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/compare/compare_rows.h"
#include "snapshot/document/scope_paths.h"
#include "support/hostmem_fault.h"
#include "support/pytorch_files.h"
#include "support/synthetic.h"
#include "compare_rows_fixture.h"

enum { KEY_BYTES = 4096 };

/* ---- counted in a second way ---- */

/* Replaces each run of digits between dots or after a space by a star, as the product folds names
 * and paths. */
static void fold(const char *text, char before, char *folded) {
    char last = before;
    while (*text != '\0') {
        size_t n = strspn(text, "0123456789");
        char next = text[n];
        if (n > 0 && last == before && (next == '\0' || next == '.' || next == ' ')) {
            *folded++ = '*';
            text += n;
        } else {
            *folded++ = *text++;
        }
        last = folded[-1];
    }
    *folded = '\0';
}

static void key_of(const tide_snapshot *snapshot, int category, const char *name, const char *path,
                   uint32_t stack, char key[KEY_BYTES]) {
    size_t n = (size_t)snprintf(key, KEY_BYTES, "%d|%s|%s|", category, name, path);
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[stack].frame];
        const char *file = tide_snapshot_text(snapshot, frame->file);
        const char *slash = strrchr(file, '/');
        assert_true(n < KEY_BYTES);
        n += (size_t)snprintf(key + n, KEY_BYTES - n, "%s %s %d<",
                              tide_snapshot_text(snapshot, frame->function),
                              slash != NULL ? slash + 1 : file, name[0] == '\0' ? frame->line : 0);
    }
    assert_true(n < KEY_BYTES);
}

static void key_of_block(const tide_snapshot *snapshot, const tide_scope_paths *paths,
                         const tide_lifetime *block, tide_arena *arena, char key[KEY_BYTES]) {
    char name[KEY_BYTES / 4];
    char path[KEY_BYTES / 4];
    uint32_t number = block->scope == TIDE_NONE ? TIDE_NONE : paths->of_scope[block->scope];
    const char *text = tide_scope_paths_text(paths, snapshot, number, arena);
    assert_non_null(text);
    fold(tide_snapshot_text(snapshot, block->name), '.', name);
    fold(text, ' ', path);
    key_of(snapshot, block->category, name, path, block->stack, key);
}

/* Each row has the bytes of all blocks of a run with the row's key, and every block belongs to a
 * row. */
static void assert_run_adds_up(const rows_comparison *of, size_t run) {
    const tide_compare_run *from = &of->compare->runs[run];
    const tide_summary_peak *peak = &from->device->peak;
    tide_scope_paths paths;
    tide_arena arena;
    int64_t n_found = 0;
    tide_arena_init(&arena, tide_hostmem_default());
    assert_int_equal(tide_scope_paths_init(&paths, from->snapshot, arena.mem), TIDE_OK);
    char(*keys)[KEY_BYTES] = tide_arena_alloc(&arena, peak->n_blocks + 1, KEY_BYTES);
    assert_non_null(keys);
    for (size_t i = 0; i < peak->n_blocks; i++) {
        key_of_block(from->snapshot, &paths, &peak->blocks[i], &arena, keys[i]);
    }
    for (size_t i = 0; i < of->rows->n_rows; i++) {
        const tide_compare_row *row = &of->rows->rows[i];
        char key[KEY_BYTES];
        int64_t bytes = 0;
        int64_t n_blocks = 0;
        key_of(row->snapshot, row->category, row->name, row->scope_path, row->stack, key);
        for (size_t j = 0; j < peak->n_blocks; j++) {
            if (strcmp(key, keys[j]) == 0) {
                bytes += (int64_t)peak->blocks[j].block_bytes;
                n_blocks++;
            }
        }
        assert_true(row->bytes[run] == bytes);
        assert_true(row->n_blocks[run] == n_blocks);
        n_found += n_blocks;
    }
    assert_true(n_found == peak->totals.n_blocks);
    tide_scope_paths_fini(&paths);
    tide_arena_fini(&arena);
}

/* Rows, kinds and categories add up to the same bytes. */
static void assert_sums(const rows_comparison *of, size_t run) {
    int64_t by_category[TIDE_MAX_CATEGORIES] = {0};
    int64_t by_kind[TIDE_N_LAYER_KINDS] = {0};
    int64_t all = 0;
    for (size_t i = 0; i < of->rows->n_rows; i++) {
        by_category[of->rows->rows[i].category] += of->rows->rows[i].bytes[run];
        by_kind[of->rows->rows[i].kind] += of->rows->rows[i].bytes[run];
        all += of->rows->rows[i].bytes[run];
    }
    assert_true(all == of->compare->runs[run].allocated_bytes);
    for (size_t i = 0; i < of->compare->n_categories; i++) {
        assert_true(by_category[i] == of->compare->runs[run].category_bytes[i]);
        for (int kind = 0; kind < TIDE_N_LAYER_KINDS; kind++) {
            by_category[i] -= of->rows->kinds[run].bytes[kind][i];
            by_kind[kind] -= of->rows->kinds[run].bytes[kind][i];
        }
        assert_true(by_category[i] == 0);
    }
    for (int kind = 0; kind < TIDE_N_LAYER_KINDS; kind++) {
        assert_true(by_kind[kind] == 0);
    }
}

static int64_t difference_of(const tide_compare_row *row, size_t n_runs) {
    int64_t largest = 0;
    for (size_t i = 1; i < n_runs; i++) {
        int64_t change = row->bytes[i] - row->bytes[0];
        change = change < 0 ? -change : change;
        largest = change > largest ? change : largest;
    }
    return largest;
}

static void assert_all_of(tide_snapshot *const *snapshots, size_t n) {
    rows_comparison of = rows_compare(snapshots, n);
    for (size_t i = 0; i < n; i++) {
        assert_run_adds_up(&of, i);
        assert_sums(&of, i);
    }
    for (size_t i = 0; i < of.rows->n_rows; i++) {
        const tide_compare_row *row = &of.rows->rows[i];
        assert_true(row->difference_bytes == difference_of(row, n));
        assert_true(i == 0 || row->difference_bytes <= row[-1].difference_bytes);
    }
    rows_finish(&of);
}

static void made_up_runs_add_up(void **state) {
    (void)state;
    tide_snapshot *snapshots[MAX_RUNS];
    synthetic_config config = synthetic_default();
    snapshots[0] = synthetic_create(&config);
    config.element_bytes = 2;
    config.precision = "bf16-mixed";
    snapshots[1] = synthetic_create(&config);
    config.n_layers += 2;
    config.seed++;
    snapshots[2] = synthetic_create(&config);
    assert_all_of(snapshots, MAX_RUNS);
    for (size_t i = 0; i < MAX_RUNS; i++) {
        tide_snapshot_destroy(snapshots[i]);
    }
}

static void stored_runs_add_up(void **state) {
    (void)state;
    tide_snapshot *snapshots[2] = {NULL, NULL};
    const char *const paths[] = {TIDE_TEST_SNAPSHOTS "/version-1.json.gz",
                                 TIDE_TEST_SNAPSHOTS "/version-1-everything.json.gz"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tide_snapshot_load(paths[i], NULL, &snapshots[i], NULL), TIDE_OK);
    }
    assert_all_of(snapshots, 2);
    for (size_t i = 0; i < 2; i++) {
        tide_snapshot_destroy(snapshots[i]);
    }
}

/* Checks the sums of all PyTorch recordings that are present, each compared with the previous one.
 */
static void pytorch_runs_add_up(void **state) {
    (void)state;
    char path[PYTORCH_PATH_BYTES];
    tide_snapshot *snapshots[2] = {NULL, NULL};
    size_t n_compared = 0;
    for (size_t i = 0; i < PYTORCH_N_FILES && pytorch_file_path(&PYTORCH_FILES[i], path); i++) {
        snapshots[0] = snapshots[1];
        snapshots[1] = pytorch_file_load(&PYTORCH_FILES[i]);
        if (snapshots[0] == NULL) {
            continue;
        }
        rows_comparison of = rows_compare(snapshots, 2);
        assert_sums(&of, 0);
        assert_sums(&of, 1);
        rows_finish(&of);
        tide_snapshot_destroy(snapshots[0]);
        n_compared++;
    }
    tide_snapshot_destroy(snapshots[1]);
    if (n_compared == 0) {
        skip(); /* the files are not part of the project */
    }
}

/* ---- known differences ---- */

static void a_run_against_itself(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    tide_snapshot *twice[] = {made, made};
    rows_comparison of = rows_compare(twice, 2);
    assert_true(of.rows->n_rows > 10);
    for (size_t i = 0; i < of.rows->n_rows; i++) {
        assert_true(of.rows->rows[i].difference_bytes == 0);
        assert_int_equal(tide_compare_row_change(&of.rows->rows[i], 1), TIDE_ROW_SAME);
    }
    rows_finish(&of);
    tide_snapshot_destroy(made);
}

static void one_tensor_differs(void **state) {
    (void)state;
    const tensor q0 = {80 * KIB, 4 * KIB, Q0, 2, 2, TIDE_ACTIVATION}; /* another line and folder */
    const tensor q1 = {96 * KIB, 4 * KIB, Q1, 4, 1, TIDE_ACTIVATION};
    const tensor b = {0, 2 * KIB, NAME_B, TIDE_NONE, TIDE_NONE, TIDE_PARAMETER};
    const tensor input = {512 * KIB, KIB, NAME_B, TIDE_NONE, TIDE_NONE, TIDE_INPUT};
    tensor larger = q1;
    tensor smaller = b;
    larger.bytes = 5 * KIB;
    smaller.bytes = KIB;
    rows_assert_one_difference((const tensor[]){b, q1, q0, input}, 4, TIDE_ROW_NEW, 0, KIB, "b");
    rows_assert_one_difference((const tensor[]){q1, q0}, 2, TIDE_ROW_GONE, 2 * KIB, 0, "b");
    rows_assert_one_difference((const tensor[]){b, larger, q0}, 3, TIDE_ROW_GROWN, 8 * KIB, 9 * KIB,
                               "layers.*.attn.q");
    rows_assert_one_difference((const tensor[]){smaller, q1, q0}, 3, TIDE_ROW_SHRUNK, 2 * KIB, KIB,
                               "b");
}

/* A tensor in another place of the model, or of another kind, is a row of its own. */
static void rows_differ_by_place_and_kind(void **state) {
    (void)state;
    static const tensor TENSORS[] = {
        {0 * KIB, KIB, Q0, 2, 1, TIDE_ACTIVATION}, {1 * KIB, KIB, Q1, 4, 1, TIDE_ACTIVATION},
        {2 * KIB, KIB, Q1, 4, 1, TIDE_GRADIENT},   {3 * KIB, KIB, Q1, 0, 1, TIDE_ACTIVATION},
        {4 * KIB, KIB, Q1, 4, 0, TIDE_ACTIVATION}, {5 * KIB, KIB, NAME_B, 4, 1, TIDE_ACTIVATION},
        {6 * KIB, KIB, Q1, 4, 3, TIDE_ACTIVATION}};
    tide_snapshot *made = rows_make(NULL, TENSORS, 7);
    rows_comparison of = rows_compare(&made, 1);
    assert_int_equal(of.rows->n_rows, 6);
    assert_true(of.rows->rows[0].bytes[0] == 2 * KIB && of.rows->rows[0].n_blocks[0] == 2);
    assert_string_equal(of.rows->rows[0].name, "layers.*.attn.q");
    assert_string_equal(of.rows->rows[0].scope_path, "forward > layer * > attention");
    assert_int_equal(of.rows->rows[0].kind, TIDE_LAYER_ATTENTION);
    rows_finish(&of);
    tide_snapshot_destroy(made);
}

/* Tensors without names are distinguished by their line; named ones are not. */
static void lines_count_without_a_name(void **state) {
    (void)state;
    tensor tensors[] = {{0, KIB, NAME_B, 0, 1, TIDE_ACTIVATION},
                        {KIB, KIB, NAME_B, 0, 2, TIDE_ACTIVATION}};
    tide_snapshot *named = rows_make(NULL, tensors, 2);
    tensors[0].name = tensors[1].name = TIDE_NONE;
    tide_snapshot *nameless = rows_make(NULL, tensors, 2);
    rows_comparison of = rows_compare(&named, 1);
    assert_int_equal(of.rows->n_rows, 1);
    rows_finish(&of);
    of = rows_compare(&nameless, 1);
    assert_int_equal(of.rows->n_rows, 2);
    rows_finish(&of);
    tide_snapshot_destroy(named);
    tide_snapshot_destroy(nameless);
}

/* In PyTorch's stacks the frames below the user's are ignored, if there are user's frames. */
static void foreign_stacks_are_named_by_the_users_frames(void **state) {
    (void)state;
    static const tensor TENSORS[] = {{0 * KIB, KIB, TIDE_NONE, 0, 5, TIDE_UNKNOWN},
                                     {1 * KIB, KIB, TIDE_NONE, 0, 6, TIDE_UNKNOWN},
                                     {2 * KIB, KIB, TIDE_NONE, 0, 7, TIDE_UNKNOWN},
                                     {3 * KIB, KIB, TIDE_NONE, 0, 8, TIDE_UNKNOWN}};
    tide_snapshot *made = rows_make(NULL, TENSORS, 4);
    rows_comparison of = rows_compare(&made, 1);
    assert_int_equal(of.rows->n_rows, 4);
    rows_finish(&of);
    made->origin.format = "pytorch";
    of = rows_compare(&made, 1);
    assert_int_equal(of.rows->n_rows, 3);
    assert_true(of.rows->rows[0].n_blocks[0] == 2 && of.rows->rows[1].n_blocks[0] == 1);
    rows_finish(&of);
    tide_snapshot_destroy(made);
}

static void a_run_without_recording(void **state) {
    (void)state;
    tide_snapshot *snapshots[] = {rows_make(NULL, ROWS_BASE, 3), rows_make(NULL, NULL, 0)};
    rows_comparison of = rows_compare(snapshots, 2);
    assert_int_equal(of.rows->n_rows, 2);
    assert_true(of.rows->rows[0].bytes[1] == -1 && of.rows->rows[0].difference_bytes == 0);
    assert_int_equal(tide_compare_row_change(&of.rows->rows[0], 1), TIDE_ROW_ABSENT);
    assert_true(of.rows->kinds[1].bytes[TIDE_LAYER_OTHER][TIDE_INPUT] == -1);
    rows_finish(&of);
    tide_snapshot_destroy(snapshots[0]);
    tide_snapshot_destroy(snapshots[1]);
}

static void changes_have_names(void **state) {
    (void)state;
    assert_string_equal(tide_row_change_name(TIDE_ROW_SHRUNK), "shrunk");
    assert_string_equal(tide_row_change_name(-1), "?");
}

/* Each allocation fails in turn: the status is clear, and nothing leaks. */
static void no_memory(void **state) {
    (void)state;
    tide_hostmem_fault fault;
    tide_hostmem_fault_init(&fault, 0);
    tide_snapshot *made = rows_make(&fault.mem, ROWS_BASE, 3);
    tide_compare_input inputs[] = {{"a", made, NULL}, {"b", made, NULL}};
    tide_compare *compare = NULL;
    assert_int_equal(tide_compare_create(inputs, 2, &compare, NULL), TIDE_OK);
    size_t n_live = fault.n_live;
    tide_status status = TIDE_NO_MEMORY;
    size_t n = 0;
    while (status == TIDE_NO_MEMORY) {
        tide_compare_rows *rows = NULL;
        fault.n_calls = 0;
        fault.fail_call = ++n;
        status = tide_compare_rows_create(compare, &rows);
        assert_true((status == TIDE_OK) == (rows != NULL));
        tide_compare_rows_destroy(rows);
        assert_int_equal(fault.n_live, n_live);
    }
    assert_int_equal(status, TIDE_OK);
    assert_true(n > 10);
    tide_compare_destroy(compare);
    tide_snapshot_destroy(made);
    assert_int_equal(fault.n_live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_up_runs_add_up),
        cmocka_unit_test(stored_runs_add_up),
        cmocka_unit_test(pytorch_runs_add_up),
        cmocka_unit_test(a_run_against_itself),
        cmocka_unit_test(one_tensor_differs),
        cmocka_unit_test(rows_differ_by_place_and_kind),
        cmocka_unit_test(lines_count_without_a_name),
        cmocka_unit_test(foreign_stacks_are_named_by_the_users_frames),
        cmocka_unit_test(a_run_without_recording),
        cmocka_unit_test(changes_have_names),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
