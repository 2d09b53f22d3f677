/* test_left_log.c - a process that left only its log: what is known about it, and which rank names
 * it.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/left/left.h"
#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

static tide_launch launch;

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(launch.folder, sizeof(launch.folder), "/tmp/tidemark-test-XXXXXX");
    return mkdtemp(launch.folder) == NULL;
}

static int remove_folder(void **state) {
    char command[TIDE_LAUNCH_PATH_BYTES + 16];
    (void)state;
    (void)snprintf(command, sizeof(command), "rm -r %s", launch.folder);
    return system(command);
}

static void open_log(made_log *log, int pid, size_t max_events, size_t max_base) {
    char path[TIDE_LAUNCH_PATH_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/%d.log", launch.folder, pid);
    made_log_open_at(log, path, max_events, max_base);
}

static void add(made_log *log, int action, uint8_t device, uint64_t offset, uint64_t n_bytes) {
    tide_live_row row = made_row(action, AT + offset, n_bytes);
    row.event.device = device;
    made_log_add(log, row);
}

static tide_left_list read_left(void) {
    tide_left_list list;
    tide_error error = {""};
    if (tide_left_read(&launch, &list, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return list;
}

static void a_killed_process_is_known_by_its_log(void **state) {
    (void)state;
    made_log log;
    open_log(&log, 41, 64, 0);
    made_log_text(&log, "environment.RANK", "3");
    made_log_text(&log, "software.torch", "2.14.1");
    made_log_text(&log, "run.command", "python train.py --lr 1");
    add(&log, TIDE_ACTION_SEGMENT_ALLOC, 0, 0, 20 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 0, 4 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 4 * MIB, 2 * MIB);
    add(&log, TIDE_ACTION_FREE, 0, 0, 4 * MIB);
    add(&log, TIDE_ACTION_OOM, 0, 0, 900 * MIB);
    made_log_kill(&log);
    char launches[sizeof(launch.folder) + 16];
    (void)snprintf(launches, sizeof(launches), "%s/41.launches", launch.folder);
    FILE *file = fopen(launches, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 1);
    const tide_left *process = &list.processes[0];
    assert_int_equal(process->pid, 41);
    assert_string_equal(process->launches_path, launches);
    assert_int_equal(process->rank, 3);
    assert_true(process->was_cut && !process->is_running);
    assert_string_equal(process->torch, "2.14.1");
    assert_string_equal(process->command, "python train.py --lr 1");
    assert_string_equal(process->python, "");
    assert_int_equal(process->n_devices, 1);
    assert_int_equal(process->peaks[0].allocated_bytes, 6 * MIB);
    assert_int_equal(process->peaks[0].reserved_bytes, 20 * MIB);
    assert_int_equal(process->peaks[0].n_oom, 1);
    assert_true(process->peaks[0].ends_refused);
    assert_true(tide_left_has_history(process));
    tide_left_fini(&list);
}

/* A program that continued with less memory was not ended by the failed request. */
static void a_later_allocation_ends_a_refusal(void **state) {
    (void)state;
    made_log log;
    open_log(&log, 41, 64, 0);
    add(&log, TIDE_ACTION_SEGMENT_ALLOC, 0, 0, 20 * MIB);
    add(&log, TIDE_ACTION_OOM, 0, 0, 900 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 0, 4 * MIB);
    add(&log, TIDE_ACTION_FREE, 0, 0, 4 * MIB);
    made_log_kill(&log);
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 1);
    assert_int_equal(list.processes[0].peaks[0].n_oom, 1);
    assert_false(list.processes[0].peaks[0].ends_refused);
    tide_left_fini(&list);
}

static void processes_come_by_rank_and_then_by_process(void **state) {
    (void)state;
    static const struct {
        int pid;
        const char *rank;
    } PROCESSES[] = {{12, "1"}, {13, "0"}, {11, ""}, {14, "1"}, {10, "node7"}};
    for (size_t i = 0; i < 5; i++) {
        made_log log;
        open_log(&log, PROCESSES[i].pid, 64, 0);
        made_log_text(&log, "environment.RANK", PROCESSES[i].rank);
        add(&log, TIDE_ACTION_SEGMENT_ALLOC, 0, 0, 20 * MIB);
        made_log_close(&log);
    }
    static const int EXPECTED[5][2] = {{10, -1}, {11, -1}, {13, 0}, {12, 1}, {14, 1}};
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(list.processes[i].pid, EXPECTED[i][0]);
        assert_int_equal(list.processes[i].rank, EXPECTED[i][1]);
        assert_false(list.processes[i].was_cut);
    }
    tide_left_fini(&list);
}

/* A shell between the command and the program. */
static void a_log_without_events_is_of_nobody(void **state) {
    (void)state;
    made_log log;
    open_log(&log, 50, 64, 0);
    made_log_text(&log, "run.command", "sh -c x");
    made_log_close(&log);
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 0);
    tide_left_fini(&list);
}

/* A file of that name may have any content. */
static void what_is_no_log_is_left_out(void **state) {
    (void)state;
    char path[TIDE_LAUNCH_PATH_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/51.log", launch.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("epoch 1: loss 2.5\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 0);
    tide_left_fini(&list);
}

static void what_stood_before_the_rows_counts(void **state) {
    (void)state;
    made_log log;
    open_log(&log, 60, 3, 16);
    add(&log, TIDE_ACTION_SEGMENT_ALLOC, 1, 400 * MIB, 20 * MIB); /* device 1 has been idle since */
    add(&log, TIDE_ACTION_ALLOC, 1, 400 * MIB, 3 * MIB);
    add(&log, TIDE_ACTION_SEGMENT_ALLOC, 0, 0, 40 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 0, 8 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 8 * MIB, 2 * MIB);
    add(&log, TIDE_ACTION_FREE, 0, 0, 8 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 0, 4 * MIB);
    made_log_close(&log);
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 1);
    const tide_left *process = &list.processes[0];
    assert_int_equal(process->n_devices, 2);
    assert_int_equal(process->peaks[0].allocated_bytes, 10 * MIB);
    assert_int_equal(process->peaks[0].reserved_bytes, 40 * MIB);
    assert_int_equal(process->peaks[1].allocated_bytes, 3 * MIB);
    assert_int_equal(process->peaks[1].reserved_bytes, 20 * MIB);
    assert_string_equal(process->peaks[1].name, "");
    tide_left_fini(&list);
}

static void pinned_memory_is_no_card(void **state) {
    (void)state;
    made_log log;
    open_log(&log, 61, 3, 16);
    made_log_call(&log, 2, 4096, 64 * MIB, "cudaHostAlloc", "others");
    add(&log, TIDE_ACTION_SEGMENT_ALLOC, 0, 0, 40 * MIB);
    add(&log, TIDE_ACTION_ALLOC, 0, 0, 8 * MIB);
    made_log_call(&log, 2, 128 * MIB, 64 * MIB, "cudaHostAlloc", "others");
    made_log_close(&log);
    tide_left_list list = read_left();
    assert_int_equal(list.n_processes, 1);
    assert_int_equal(list.processes[0].n_devices, 1);
    assert_int_equal(list.processes[0].peaks[0].reserved_bytes, 40 * MIB);
    tide_left_fini(&list);
}

static void a_running_process_is_told_as_such(void **state) {
    (void)state;
    made_log log;
    tide_left_list list;
    tide_error error = {""};
    open_log(&log, 70, 64, 0);
    add(&log, TIDE_ACTION_SEGMENT_ALLOC, 0, 0, 20 * MIB);
    assert_int_equal(tide_left_read_running(&launch, -1, &list, &error), TIDE_OK);
    assert_int_equal(list.n_processes, 1);
    assert_true(list.processes[0].is_running && !list.processes[0].was_cut);
    tide_left_fini(&list);
    assert_int_equal(tide_left_read_running(&launch, 71, &list, &error), TIDE_OK);
    assert_int_equal(list.n_processes, 0);
    tide_left_fini(&list);
    made_log_kill(&log);
    assert_int_equal(tide_left_read_running(&launch, -1, &list, &error), TIDE_OK);
    assert_int_equal(list.n_processes, 0);
    tide_left_fini(&list);
    assert_int_equal(tide_left_read_running(&launch, 70, &list, &error), TIDE_OK);
    assert_int_equal(list.n_processes, 1); /* also reported when requested by its number */
    assert_false(list.processes[0].is_running);
    tide_left_fini(&list);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_killed_process_is_known_by_its_log),
        IN_FOLDER(a_later_allocation_ends_a_refusal),
        IN_FOLDER(processes_come_by_rank_and_then_by_process),
        IN_FOLDER(a_log_without_events_is_of_nobody),
        IN_FOLDER(what_is_no_log_is_left_out),
        IN_FOLDER(what_stood_before_the_rows_counts),
        IN_FOLDER(pinned_memory_is_no_card),
        IN_FOLDER(a_running_process_is_told_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
