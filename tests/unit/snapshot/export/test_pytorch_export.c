/* test_pytorch_export.c - a snapshot that is exported to PyTorch's format and read again is
 * unchanged in everything that the format holds. tests/pytorch/ checks the files by the rules of
 * the tools that read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/format/gzip_file.h"
#include "snapshot/pytorch/export.h"
#include "snapshot/pytorch/pickle.h"
#include "snapshot/pytorch/pickle_writer.h"
#include "snapshot/analysis/summary.h"
#include "support/event_rows.h"
#include "support/hostmem_fault.h"
#include "support/pickle_text.h"
#include "support/pytorch_files.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

enum { PATH_TEXT = 2048 };

static tide_status to_file(void *ctx, const char *bytes, size_t n_bytes) {
    return tide_gzip_writer_write(ctx, bytes, n_bytes);
}

/* Exports as tidemark export does. */
static tide_status export_to(const tide_snapshot *snapshot, tide_pytorch_form form,
                             const char *path, tide_error *error) {
    tide_gzip_writer *file = NULL;
    TIDE_TRY(tide_gzip_writer_open_plain(path, snapshot->arena.mem, &file, error));
    const tide_export_sink sink = {.write = to_file, .ctx = file};
    tide_status status = tide_pytorch_export(snapshot, form, &sink, error);
    if (status != TIDE_OK && status != TIDE_IO) {
        tide_gzip_writer_abandon(file);
        return status;
    }
    return tide_gzip_writer_commit(file, error);
}

static tide_snapshot *export_and_load(const tide_snapshot *snapshot) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *again = NULL;
    tide_error error = {""};
    snapshot_path(path, "export.pickle");
    if (export_to(snapshot, TIDE_PYTORCH_PICKLE, path, &error) != TIDE_OK ||
        tide_snapshot_load(path, NULL, &again, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    snapshot_remove(path);
    return again;
}

static void assert_same_text(const tide_snapshot *a, uint32_t x, const tide_snapshot *b,
                             uint32_t y) {
    assert_string_equal(tide_snapshot_text(a, x), tide_snapshot_text(b, y));
}

/* Compares stacks frame by frame, because the numbers of their nodes may differ. */
static void assert_same_stack(const tide_snapshot *a, uint32_t x, const tide_snapshot *b,
                              uint32_t y) {
    while (x != TIDE_NONE && y != TIDE_NONE) {
        const tide_frame_row *left = &a->frames[a->stacks[x].frame];
        const tide_frame_row *right = &b->frames[b->stacks[y].frame];
        assert_same_text(a, left->function, b, right->function);
        assert_same_text(a, left->file, b, right->file);
        assert_int_equal(left->line, right->line);
        x = a->stacks[x].parent;
        y = b->stacks[y].parent;
    }
    assert_int_equal(x, y);
}

/* Compares names, kinds and times of a scope and of all its parents. */
static void assert_same_scope(const tide_snapshot *a, uint32_t x, const tide_snapshot *b,
                              uint32_t y) {
    while (x != TIDE_NONE && y != TIDE_NONE) {
        const tide_scope_row *left = &a->scopes[x];
        const tide_scope_row *right = &b->scopes[y];
        assert_same_text(a, left->name, b, right->name);
        assert_int_equal(left->kind, right->kind);
        assert_int_equal(left->thread, right->thread);
        assert_int_equal(left->begin_ns, right->begin_ns);
        assert_int_equal(left->duration_ns, right->duration_ns);
        x = left->parent;
        y = right->parent;
    }
    assert_int_equal(x, y);
}

static void assert_same_block(const tide_snapshot *a, const tide_block_row *x,
                              const tide_snapshot *b, const tide_block_row *y) {
    assert_int_equal(x->offset_bytes, y->offset_bytes);
    assert_int_equal(x->block_bytes, y->block_bytes);
    assert_int_equal(x->requested_bytes, y->requested_bytes);
    assert_int_equal(x->state, y->state);
    assert_same_stack(a, x->stack, b, y->stack);
}

static void assert_same_segments(const tide_snapshot *a, bool of_start, const tide_snapshot *b) {
    const tide_segment_row *left = of_start ? a->start_segments : a->end_segments;
    const tide_segment_row *right = of_start ? b->start_segments : b->end_segments;
    size_t n = of_start ? a->n_start_segments : a->n_end_segments;
    assert_int_equal(n, of_start ? b->n_start_segments : b->n_end_segments);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(left[i].device, right[i].device);
        assert_int_equal(left[i].address, right[i].address);
        assert_int_equal(left[i].total_bytes, right[i].total_bytes);
        assert_int_equal(left[i].n_blocks, right[i].n_blocks);
        assert_int_equal(left[i].is_expandable, right[i].is_expandable);
        assert_memory_equal(left[i].pool_id, right[i].pool_id, sizeof(left[i].pool_id));
        assert_same_stack(a, left[i].stack_after != 0 ? left[i].stack_after - 1 : TIDE_NONE, b,
                          right[i].stack_after != 0 ? right[i].stack_after - 1 : TIDE_NONE);
        assert_int_equal(a->streams[left[i].stream].handle, b->streams[right[i].stream].handle);
        for (size_t k = 0; k < left[i].n_blocks; k++) {
            assert_same_block(
                a, &(of_start ? a->start_blocks : a->end_blocks)[left[i].first_block + k], b,
                &(of_start ? b->start_blocks : b->end_blocks)[right[i].first_block + k]);
        }
    }
}

static void assert_same_row(const tide_snapshot *a, const tide_event *x, const tide_snapshot *b,
                            const tide_event *y) {
    assert_int_equal(x->action, y->action);
    assert_int_equal(x->device, y->device);
    if (tide_action_has_address(x->action)) {
        assert_int_equal(x->address, y->address);
    }
    assert_int_equal(x->requested_bytes, y->requested_bytes);
    assert_int_equal(x->category, y->category);
    assert_int_equal(a->streams[x->stream].handle, b->streams[y->stream].handle);
    assert_same_stack(a, x->stack, b, y->stack);
    assert_same_text(a, x->name, b, y->name);
}

/* ---- snapshots by PyTorch ---- */

static void assert_same_settings(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_settings, b->n_settings);
    for (size_t i = 0; i < a->n_settings; i++) {
        const tide_snapshot_setting *x = &a->settings[i];
        const tide_snapshot_setting *y = &b->settings[i];
        assert_string_equal(x->name, y->name);
        assert_true(x->number == y->number);
        assert_string_equal(x->text != NULL ? x->text : "", y->text != NULL ? y->text : "");
    }
}

static void assert_all_the_same(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_devices, b->n_devices);
    assert_int_equal(a->n_scopes, b->n_scopes);
    assert_int_equal(a->run.started_unix_us, b->run.started_unix_us);
    assert_int_equal(a->origin.n_events, b->origin.n_events);
    assert_int_equal(a->origin.n_contradictions, b->origin.n_contradictions);
    assert_string_equal(a->clock_source, b->clock_source);
    assert_same_settings(a, b);
    assert_same_segments(a, true, b);
    assert_same_segments(a, false, b);
    assert_int_equal(a->n_events, b->n_events);
    for (size_t i = 0; i < a->n_events; i++) {
        const tide_event x = tide_event_at(a, i);
        const tide_event y = tide_event_at(b, i);
        assert_same_row(a, &x, b, &y);
        assert_int_equal(tide_bytes_at(&a->events.block_bytes, i),
                         tide_bytes_at(&b->events.block_bytes, i));
        assert_int_equal(a->events.time_ns[i], b->events.time_ns[i]);
        assert_same_scope(a, tide_index_at(&a->events.scope, i), b,
                          tide_index_at(&b->events.scope, i));
    }
    for (size_t i = 0; i < a->n_scopes; i++) {
        assert_same_scope(a, (uint32_t)i, b, (uint32_t)i);
    }
}

static void real_files_come_back_equal(void **state) {
    (void)state;
    char path[PYTORCH_PATH_BYTES];
    for (size_t i = 0; i < PYTORCH_N_FILES; i++) {
        if (!pytorch_file_path(&PYTORCH_FILES[i], path)) {
            print_message("no folder pytorch-snapshots in TIDEMARK_SHARED\n");
            skip();
        }
        tide_snapshot *first = pytorch_file_load(&PYTORCH_FILES[i]);
        tide_snapshot *second = export_and_load(first);
        assert_all_the_same(first, second);
        tide_snapshot_destroy(first);
        tide_snapshot_destroy(second);
    }
}

/* ---- our own snapshots ---- */

/* "step 0 > forward > layer 3", as in an event's metadata. */
static void write_path(const tide_snapshot *s, uint32_t scope, char path[PATH_TEXT]) {
    path[0] = '\0';
    if (scope == TIDE_NONE) {
        return;
    }
    write_path(s, s->scopes[scope].parent, path);
    size_t n = strlen(path);
    const char *name = tide_snapshot_text(s, s->scopes[scope].name);
    n += (size_t)snprintf(path + n, PATH_TEXT - n, "%s%s", n > 0 ? " > " : "", name);
    if (s->scopes[scope].index >= 0) {
        snprintf(path + n, PATH_TEXT - n, " %d", (int)s->scopes[scope].index);
    }
}

static void assert_same_path(const tide_snapshot *a, uint32_t x, const tide_snapshot *b,
                             uint32_t y) {
    char path[PATH_TEXT];
    write_path(a, x, path);
    const char *text = y == TIDE_NONE ? "" : tide_snapshot_text(b, b->scopes[y].name);
    if (y != TIDE_NONE) {
        assert_true(strncmp(text, "metadata: ", 10) == 0);
        text += 10;
    }
    assert_string_equal(path, text);
}

static void our_own_come_back_in_all_the_format_holds(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.n_events = 5000;
    config.two_streams = true;
    config.capacity_bytes = UINT64_C(3) << 30;
    tide_snapshot *first = synthetic_create(&config);
    assert_non_null(first);
    tide_snapshot *second = export_and_load(first);
    assert_int_equal(first->n_events, second->n_events);
    assert_same_segments(first, true, second);
    assert_same_segments(first, false, second);
    int64_t first_us = first->events.time_ns[0] / 1000;
    for (size_t i = 0; i < first->n_events; i++) {
        const tide_event x = tide_event_at(first, i);
        const tide_event y = tide_event_at(second, i);
        assert_same_row(first, &x, second, &y);
        assert_same_path(first, x.scope, second, y.scope);
        assert_int_equal(x.time_ns / 1000 - first_us, y.time_ns / 1000);
    }
    tide_snapshot_destroy(first);
    tide_snapshot_destroy(second);
}

/* ---- what cannot be written ---- */

static void assert_file_is(const char *path, const char *expected) {
    size_t n_bytes = 0;
    char *text = snapshot_file_text(path, &n_bytes);
    assert_string_equal(text, expected);
    free(text);
}

static void numbers_beyond_doubles_are_refused(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.n_events = 50;
    tide_snapshot *snapshot = synthetic_create(&config);
    assert_non_null(snapshot);
    tide_event *events = event_rows_of(snapshot);
    events[7].address = UINT64_C(1) << 53;
    events[7].action = TIDE_ACTION_ALLOC;
    event_rows_set(snapshot, events, snapshot->n_events);
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    snapshot_path(path, "never.pickle");
    snapshot_write_file(path, "old", 3);
    assert_int_equal(export_to(snapshot, TIDE_PYTORCH_PICKLE, path, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "address of event 7: 9007199254740992 is 2^53 or more"));
    assert_file_is(path, "old");
    snapshot_remove(path);
    free(events);
    tide_snapshot_destroy(snapshot);
}

/* An older file is unchanged, and no temporary file remains. */
static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    static const tide_pytorch_form FORMS[] = {TIDE_PYTORCH_PICKLE, TIDE_PYTORCH_JSON};
    char path[SNAPSHOT_PATH_BYTES];
    synthetic_config config = synthetic_default();
    config.n_events = 100;
    tide_snapshot *snapshot = synthetic_create(&config);
    assert_non_null(snapshot);
    const tide_hostmem *mem = snapshot->arena.mem;
    snapshot_path(path, "fault.pickle");
    snapshot_write_file(path, "old", 3);
    for (size_t f = 0; f < 2; f++) {
        tide_status status = TIDE_NO_MEMORY;
        for (size_t call = 1; status != TIDE_OK; call++) {
            tide_hostmem_fault heap;
            tide_error error = {""};
            tide_hostmem_fault_init(&heap, call);
            snapshot->arena.mem = &heap.mem;
            status = export_to(snapshot, FORMS[f], path, &error);
            snapshot->arena.mem = mem;
            assert_int_equal(heap.n_live, 0);
            assert_int_equal(snapshot_count_files(), 1);
            if (status != TIDE_OK) {
                assert_int_equal(status, TIDE_NO_MEMORY);
                assert_file_is(path, "old");
            }
        }
        snapshot_write_file(path, "old", 3);
    }
    snapshot_remove(path);
    tide_snapshot_destroy(snapshot);
}

static tide_status keep_all(void *ctx, const char *data, size_t n_bytes) {
    FILE *file = ctx;
    return fwrite(data, 1, n_bytes, file) == n_bytes ? TIDE_OK : TIDE_IO;
}

/* Each integer is written in its shortest form and read back. */
static void integers_of_every_length_come_back(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    snapshot_path(path, "integers.pickle");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    tide_pickle_writer *writer = malloc(sizeof(*writer));
    assert_non_null(writer);
    tide_pickle_writer_init(writer, tide_hostmem_default(), keep_all, file);
    tide_pickle_begin_list(writer);
    for (int bit = 0; bit < 63; bit++) {
        for (int64_t more = -1; more <= 1; more++) {
            tide_pickle_write_integer(writer, (INT64_C(1) << bit) + more);
            tide_pickle_write_integer(writer, -(INT64_C(1) << bit) + more);
        }
    }
    tide_pickle_end_list(writer);
    assert_int_equal(tide_pickle_writer_finish(writer), TIDE_OK);
    assert_int_equal(fclose(file), 0);
    free(writer);
    size_t n_bytes = 0;
    char *data = snapshot_file_text(path, &n_bytes);
    tide_pickle pickle;
    assert_int_equal(pickle_read_bytes(&pickle, data, n_bytes, tide_hostmem_default(), NULL),
                     TIDE_OK);
    const tide_pickle_container *list = tide_pickle_items(&pickle, pickle.root);
    assert_int_equal(list->n_items, 63 * 6);
    size_t i = 0;
    for (int bit = 0; bit < 63; bit++) {
        for (int64_t more = -1; more <= 1; more++) {
            assert_int_equal(tide_pickle_integer(&pickle, list->items[i++]),
                             (INT64_C(1) << bit) + more);
            assert_int_equal(tide_pickle_integer(&pickle, list->items[i++]),
                             -(INT64_C(1) << bit) + more);
        }
    }
    tide_pickle_fini(&pickle);
    free(data);
    snapshot_remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files_come_back_equal),
        cmocka_unit_test(our_own_come_back_in_all_the_format_holds),
        cmocka_unit_test(numbers_beyond_doubles_are_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(integers_of_every_length_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
