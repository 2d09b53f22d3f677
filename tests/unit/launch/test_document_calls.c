/* test_document_calls.c - the history of a process of cudaMallocAsync, from a file made by hand.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include "programs/wire/run_calls.h"
#include "programs/launch/document/document.h"
#include "programs/launch/names.h"
#include "snapshot/analysis/summary.h"

enum { N_STREAMS = 300 };

#define MIB (UINT64_C(1) << 20)

static const tide_run_calls_header HEADER = {.magic = TIDE_RUN_CALLS_MAGIC,
                                             .header_bytes = sizeof(tide_run_calls_header),
                                             .row_bytes = sizeof(tide_run_call)};

/* A document of the rows, read from a file that is then removed. `n_cut` bytes are missing at its
 * end. */
static tide_status make(const tide_run_call *rows, size_t n_rows, size_t n_cut,
                        tide_snapshot **ret_snapshot, tide_error *error) {
    char path[] = "/tmp/tidemark-test-XXXXXX";
    int number = mkstemp(path);
    assert_true(number >= 0);
    FILE *file = fdopen(number, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&HEADER, sizeof(HEADER), 1, file), 1);
    assert_int_equal(fwrite(rows, sizeof(*rows), n_rows, file), n_rows);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)(sizeof(HEADER) + n_rows * sizeof(*rows) - n_cut)), 0);
    const tide_left process = {.pid = 7,
                               .calls_path = path,
                               .command = "p",
                               .torch = "2.14.1",
                               .cuda = "13.0",
                               .python = "3.12",
                               .backend = "cudaMallocAsync",
                               .exception = ""};
    tide_left_assumed assumed[] = {{7, {"loss.py:31", "mask", 1, 2, 8, 3, 4, 24}},
                                   {8, {"other.py:1", "mask", 1, 2, 8, 3, 4, 24}},
                                   {7, {"train.py:12", "truth value", 0, 1, 0, 3, 0, 0}}};
    /* Process 8 has a document of its own, and process 9 has none. */
    char library[] = "vLLM";
    tide_left processes[] = {process, {.pid = 8, .calls_path = path}, {.pid = 9}};
    tide_left_pool pools[] = {{7, {.library = library, .bytes = 70}},
                              {8, {.library = "other", .bytes = 80}},
                              {9, {.library = library, .bytes = 90, .asked_bytes = 99}}};
    tide_left_xla xla[] = {{8, {.place = "other", .peak_bytes = 80}},
                           {7, {.place = library, .peak_bytes = 70, .lacks_graphs = true}},
                           {9, {.place = "engine", .peak_bytes = 90}}};
    const tide_left_list list = {.assumed = assumed,
                                 .n_assumed = 3,
                                 .processes = processes,
                                 .n_processes = 3,
                                 .pools = pools,
                                 .n_pools = 3,
                                 .xla = xla,
                                 .n_xla = 3};
    const tide_launch_config config = {.cards = "h100-80+a100-40"};
    tide_status status = tide_launch_document(&process, &list, &config, ret_snapshot, error);
    (void)unlink(path);
    library[0] = '?'; /* the document has copies */
    return status;
}

static void each_block_is_a_segment(void **state) {
    (void)state;
    static const uint8_t ACTIONS[] = {TIDE_ACTION_SEGMENT_ALLOC,
                                      TIDE_ACTION_ALLOC,
                                      TIDE_ACTION_SEGMENT_ALLOC,
                                      TIDE_ACTION_ALLOC,
                                      TIDE_ACTION_FREE,
                                      TIDE_ACTION_SEGMENT_FREE,
                                      TIDE_ACTION_OOM};
    const tide_run_call rows[] = {
        {.time_ns = 50, .n_bytes = 32 * MIB, .reserved_bytes = 32 * MIB, .action = TIDE_RUN_GROW},
        {.time_ns = 60,
         .address = 4096,
         .n_bytes = 3 * MIB,
         .reserved_bytes = 32 * MIB,
         .action = TIDE_RUN_ALLOC},
        {.time_ns = 70,
         .address = 8192,
         .n_bytes = 5 * MIB,
         .stream = 9,
         .reserved_bytes = 40 * MIB,
         .device = 1,
         .action = TIDE_RUN_ALLOC},
        {.time_ns = 80,
         .address = 4096,
         .n_bytes = 3 * MIB,
         .reserved_bytes = 32 * MIB,
         .action = TIDE_RUN_FREE},
        {.time_ns = 90, .n_bytes = 99 * MIB, .reserved_bytes = 32 * MIB, .action = TIDE_RUN_OOM},
    };
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_error error = {""};
    assert_int_equal(make(rows, sizeof(rows) / sizeof(rows[0]), 0, &snapshot, &error), TIDE_OK);
    assert_int_equal(snapshot->n_events, sizeof(ACTIONS));
    for (size_t i = 0; i < sizeof(ACTIONS); i++) {
        assert_int_equal(snapshot->events.action[i], ACTIONS[i]);
    }
    assert_int_equal(snapshot->events.time_ns[0], 10); /* since the first row */
    assert_int_equal(tide_bytes_at(&snapshot->events.block_bytes, 1), 3 * MIB);
    assert_int_equal(tide_index_at(&snapshot->events.stack, 1), TIDE_NONE);
    assert_int_equal(tide_bytes_at(&snapshot->events.requested_bytes, 6), 99 * MIB);
    assert_int_equal(tide_bytes_at(&snapshot->events.block_bytes, 6), 0);
    assert_int_equal(snapshot->n_devices, 2);
    assert_string_equal(snapshot->devices[1].kind, "virtual");
    assert_int_equal(snapshot->n_streams, 2);
    assert_int_equal(snapshot->streams[snapshot->events.stream[3]].handle, 9);
    assert_int_equal(snapshot->streams[snapshot->events.stream[3]].device, 1);
    assert_int_equal(snapshot->n_inexact, 1);
    assert_string_equal(snapshot->inexact[0].call, "cudaMallocAsync");
    assert_int_equal(snapshot->inexact[0].bound_bytes, 35 * MIB); /* device 1: 40 - 5; 0: 32 - 3 */
    assert_int_equal(tide_summary_create(snapshot, &summary, &error), TIDE_OK);
    assert_int_equal(summary->devices[0].max[TIDE_MAX_ALLOCATED].bytes, 3 * MIB);
    assert_int_equal(summary->devices[1].max[TIDE_MAX_ALLOCATED].bytes, 5 * MIB);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
}

/* Those of the process itself, with copies of their texts. */
static void assumed_values_are_rows(void **state) {
    (void)state;
    const tide_run_call row = {.time_ns = 60, .address = 4096, .n_bytes = 3, .action = 1};
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_int_equal(make(&row, 1, 0, &snapshot, &error), TIDE_OK);
    assert_int_equal(snapshot->n_assumed, 2);
    assert_string_equal(snapshot->assumed[0].place, "loss.py:31");
    assert_string_equal(snapshot->assumed[0].what, "mask");
    assert_int_equal(snapshot->assumed[0].all_bytes, 24);
    assert_string_equal(snapshot->assumed[1].place, "train.py:12");
    assert_int_equal(snapshot->assumed[1].given_most, 1);
    tide_snapshot_destroy(snapshot);
}

/* Those of the process itself, and of a process without a document. */
static void what_servers_report_are_rows(void **state) {
    (void)state;
    const tide_run_call row = {.time_ns = 60, .address = 4096, .n_bytes = 3, .action = 1};
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_int_equal(make(&row, 1, 0, &snapshot, &error), TIDE_OK);
    assert_int_equal(snapshot->n_kv_pools, 2);
    assert_string_equal(snapshot->kv_pools[0].library, "vLLM");
    assert_int_equal(snapshot->kv_pools[0].bytes, 70);
    assert_int_equal(snapshot->kv_pools[1].bytes, 90);
    assert_int_equal(snapshot->kv_pools[1].asked_bytes, 99);
    assert_int_equal(snapshot->n_xla, 2);
    assert_string_equal(snapshot->xla[0].place, "vLLM");
    assert_int_equal(snapshot->xla[0].peak_bytes, 70);
    assert_true(snapshot->xla[0].lacks_graphs);
    assert_string_equal(snapshot->xla[1].place, "engine");
    tide_snapshot_destroy(snapshot);
}

/* It can be saved and read like any other. */
static void it_is_a_snapshot(void **state) {
    (void)state;
    const tide_run_call row = {.address = 4096, .n_bytes = MIB, .action = TIDE_RUN_ALLOC};
    char folder[] = "/tmp/tidemark-test-XXXXXX";
    char path[64];
    tide_snapshot *snapshot = NULL;
    tide_snapshot *back = NULL;
    tide_error error = {""};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/a.json.gz", folder);
    assert_int_equal(make(&row, 1, 0, &snapshot, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_save(snapshot, path, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &back, &error), TIDE_OK);
    assert_int_equal(back->n_events, 2);
    assert_string_equal(back->run.implementation, "pytorch");
    tide_snapshot_destroy(back);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void more_streams_than_a_row_can_number(void **state) {
    (void)state;
    static tide_run_call rows[N_STREAMS];
    tide_snapshot *snapshot = NULL;
    for (size_t i = 0; i < N_STREAMS; i++) {
        rows[i] = (tide_run_call){
            .address = i + 1, .n_bytes = 1, .stream = i + 1, .action = TIDE_RUN_ALLOC};
    }
    assert_int_equal(make(rows, N_STREAMS, 0, &snapshot, NULL), TIDE_OK);
    assert_int_equal(snapshot->n_events, 2 * N_STREAMS);
    assert_int_equal(snapshot->n_streams, 256);
    assert_int_equal(snapshot->events.stream[2 * 254 + 1], 255);
    assert_int_equal(snapshot->events.stream[2 * 255 + 1], 0);
    tide_snapshot_destroy(snapshot);
}

static void a_file_without_rows_or_with_half_a_row_is_read(void **state) {
    (void)state;
    const tide_run_call rows[] = {{.address = 1, .n_bytes = 1, .action = TIDE_RUN_ALLOC},
                                  {.address = 2, .n_bytes = 1, .action = TIDE_RUN_ALLOC}};
    tide_snapshot *snapshot = NULL;
    assert_int_equal(make(rows, 0, 0, &snapshot, NULL), TIDE_OK);
    assert_int_equal(snapshot->n_events, 0);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(make(rows, 2, 1, &snapshot, NULL), TIDE_OK);
    assert_int_equal(snapshot->n_events, 2);
    tide_snapshot_destroy(snapshot);
}

/* The rows before the bad one are released; the build with sanitizers sees it if not. */
static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    const tide_run_call bad[][2] = {
        {{.address = 1, .n_bytes = 1, .action = TIDE_RUN_ALLOC}, {.action = 17}},
        {{.address = 1, .n_bytes = 1, .action = TIDE_RUN_ALLOC},
         {.address = 1, .n_bytes = 2, .action = TIDE_RUN_FREE}},
        {{.address = 1, .n_bytes = 1, .action = TIDE_RUN_ALLOC},
         {.address = 2, .n_bytes = 1, .device = 64, .action = TIDE_RUN_ALLOC}},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tide_snapshot *snapshot = NULL;
        tide_error error = {""};
        assert_int_equal(make(bad[i], 2, 0, &snapshot, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, "row 2 makes no sense"));
        assert_null(snapshot);
    }
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    assert_int_equal(make(bad[0], 0, 1, &snapshot, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "no recording of calls"));
}

static void files_are_named_by_rank_or_process(void **state) {
    (void)state;
    tide_left processes[] = {{.pid = 70, .rank = 1}, {.pid = 71, .rank = -1}};
    tide_left_list list = {.processes = processes, .n_processes = 2};
    char path[32];
    assert_int_equal(tide_launch_name_snapshot("a/b.json.gz", &list, 0, path, sizeof(path), NULL),
                     TIDE_OK);
    assert_string_equal(path, "a/b-rank1.json.gz");
    assert_int_equal(tide_launch_name_snapshot("a/b.json.gz", &list, 1, path, sizeof(path), NULL),
                     TIDE_OK);
    assert_string_equal(path, "a/b-process71.json.gz");
    assert_int_equal(tide_launch_name_snapshot("a/b.json.gz", &list, 1, path, 21, NULL),
                     TIDE_LIMIT);
    list.n_processes = 1;
    assert_int_equal(tide_launch_name_snapshot("a/b.json", &list, 0, path, sizeof(path), NULL),
                     TIDE_OK);
    assert_string_equal(path, "a/b.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_is_a_segment),
        cmocka_unit_test(assumed_values_are_rows),
        cmocka_unit_test(what_servers_report_are_rows),
        cmocka_unit_test(it_is_a_snapshot),
        cmocka_unit_test(more_streams_than_a_row_can_number),
        cmocka_unit_test(a_file_without_rows_or_with_half_a_row_is_read),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(files_are_named_by_rank_or_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
