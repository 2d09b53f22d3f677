/* test_left_json.c - PID.json, as the package writes it and as damage may leave it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/hostmem.h"
#include "programs/launch/left/left_friend.h"

static tide_left_list list;

static int begin(void **state) {
    (void)state;
    list = (tide_left_list){.n_processes = 0};
    tide_arena_init(&list.arena, tide_hostmem_default());
    return 0;
}

static int end(void **state) {
    (void)state;
    tide_arena_fini(&list.arena);
    return 0;
}

static void test_everything_is_read(void **state) {
    (void)state;
    tide_left left = {.pid = 7};
    tide_error error = {""};
    const char *text =
        "{\"rank\": 3, \"local_rank\": 1, \"world_size\": 8, \"node\": 2, \"ended_unix_us\": 9,"
        " \"groups\": [{\"name\": \"1\", \"description\": \"mesh_tp\", \"size\": 4, \"position\": "
        "3,"
        " \"first\": 0, \"stride\": 1, \"sends\": true}],"
        " \"command\": [\"python\", \"train.py\", \"--n\"], \"torch\": \"2.14.1\","
        " \"cuda\": \"13.0\", \"python\": \"3.11.7\", \"backend\": \"native\","
        " \"exception\": \"OutOfMemoryError: x\", \"failing_line\": \"main (train.py:5)\","
        " \"is_out_of_memory\": true, \"ended_early\": true, \"n_steps\": 2, \"n_calls\": 9,"
        " \"host_peak_bytes\": 5000000000, \"n_rows\": [12, 0],"
        " \"peaks\": [{\"allocated\": 6000000000, \"reserved\": 7, \"retries\": 1,"
        " \"out_of_memory\": 2}, {}], \"marks\": [[\"step begins\", [4, 0]]],"
        " \"names\": [[0, 4, 140737488355328, \"parameter\", \"w\"]],"
        " \"at_failure\": {\"device\": 1, \"allocated\": 9, \"collected\": 0, \"not_asked\": 2,"
        " \"holders\": [{\"name\": \"losses\", \"place\": \"main (a.py:3)\", \"held\": 7, \"own\": "
        "6,"
        " \"tensors\": 5, \"graphs\": 4}], \"processes\": [{\"pid\": 3, \"used\": 2,"
        " \"name\": \"a\"}]}}";
    assert_int_equal(tide_left_parse(text, &list, &left, &error), TIDE_OK);
    assert_int_equal(left.pid, 7);
    assert_int_equal(left.rank, 3);
    assert_int_equal(left.local_rank, 1);
    assert_int_equal(left.world_size, 8);
    assert_int_equal(left.node, 2);
    assert_int_equal(left.ended_unix_us, 9);
    assert_int_equal(left.n_groups, 1);
    assert_string_equal(left.groups[0].description, "mesh_tp");
    assert_int_equal(left.groups[0].size, 4);
    assert_int_equal(left.groups[0].position, 3);
    assert_true(left.groups[0].sends);
    assert_string_equal(left.command, "python train.py --n");
    assert_string_equal(left.torch, "2.14.1");
    assert_string_equal(left.backend, "native");
    assert_string_equal(left.failing_line, "main (train.py:5)");
    assert_true(left.is_out_of_memory && left.ended_early);
    assert_int_equal(left.host_peak_bytes, 5000000000);
    assert_int_equal(left.n_devices, 2);
    assert_int_equal(left.peaks[0].allocated_bytes, 6000000000);
    assert_int_equal(left.peaks[0].n_oom, 2);
    assert_int_equal(left.peaks[0].n_rows, 12);
    assert_int_equal(left.peaks[1].allocated_bytes, -1);
    assert_int_equal(left.n_marks, 1);
    assert_string_equal(left.marks[0].name, "step begins");
    assert_int_equal(left.marks[0].rows[0], 4);
    assert_int_equal(left.n_names, 1);
    assert_int_equal(left.names[0].address, 140737488355328);
    assert_string_equal(left.names[0].category, "parameter");
    const tide_snapshot_at_failure *at = left.at_failure;
    assert_non_null(at);
    assert_true(at->device == 1 && at->allocated_bytes == 9 && at->collected_bytes == 0);
    assert_true(at->n_not_asked == 2 && at->n_holders == 1 && at->n_processes == 1);
    assert_string_equal(at->holders[0].name, "losses");
    assert_string_equal(at->holders[0].place, "main (a.py:3)");
    assert_true(at->holders[0].held_bytes == 7 && at->holders[0].own_bytes == 6);
    assert_true(at->holders[0].n_tensors == 5 && at->holders[0].n_graphs == 4);
    assert_true(at->processes[0].pid == 3 && at->processes[0].used_bytes == 2);
    assert_string_equal(at->processes[0].name, "a");
}

static void test_what_is_missing_is_unknown(void **state) {
    (void)state;
    tide_left left = {.pid = 7};
    tide_error error = {""};
    assert_int_equal(tide_left_parse("{\"rank\": 1e300, \"n_steps\": \"x\"}", &list, &left, &error),
                     TIDE_OK);
    assert_int_equal(left.rank, -1);
    assert_int_equal(left.n_steps, -1);
    assert_int_equal(left.n_devices, 0);
    assert_string_equal(left.torch, "");
    assert_string_equal(left.command, "");
    assert_false(left.is_out_of_memory);
    assert_null(left.at_failure);
    assert_int_equal(tide_left_parse("{\"at_failure\": {\"device\": 0, \"holders\": 7, "
                                     "\"processes\": [7, {}]}}",
                                     &list, &left, &error),
                     TIDE_OK);
    assert_int_equal(left.at_failure->collected_bytes, -1);
    assert_int_equal(left.at_failure->n_holders, 0);
    assert_int_equal(left.at_failure->n_processes, 2);
    assert_int_equal(left.at_failure->processes[0].pid, -1);
}

static void refuse(const char *text, const char *message) {
    tide_left left = {.pid = 7};
    tide_error error = {""};
    assert_int_equal(tide_left_parse(text, &list, &left, &error), TIDE_FORMAT);
    assert_string_equal(error.message, message);
}

#define ONE "\"peaks\": [{}], \"n_rows\": [1], "

static void test_the_part_that_is_wrong_is_named(void **state) {
    (void)state;
    refuse("", "the whole cannot be understood");
    refuse("{\"rank\": 3", "the whole cannot be understood");
    refuse("{\"peaks\": [{}]}", "peaks cannot be understood");
    refuse("{\"peaks\": [{}], \"n_rows\": [\"x\"]}", "peaks cannot be understood");
    refuse("{\"peaks\": [{}], \"n_rows\": [1e300]}", "peaks cannot be understood");
    refuse("{" ONE "\"marks\": [[\"step begins\", []]]}", "marks cannot be understood");
    refuse("{" ONE "\"marks\": [[5, [1]]]}", "marks cannot be understood");
    refuse("{" ONE "\"marks\": [[\"step begins\", [null]]]}", "marks cannot be understood");
    refuse("{" ONE "\"names\": [[0, 1, 512, \"parameter\"]]}", "names cannot be understood");
    refuse("{" ONE "\"names\": [[-1, 1, 512, \"parameter\", \"w\"]]}",
           "names cannot be understood");
    refuse("{" ONE "\"names\": [[0, 1, -512, \"parameter\", \"w\"]]}",
           "names cannot be understood");
    refuse("{" ONE "\"names\": [[0, 1e300, 512, \"parameter\", \"w\"]]}",
           "names cannot be understood");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_is_read, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_missing_is_unknown, begin, end),
        cmocka_unit_test_setup_teardown(test_the_part_that_is_wrong_is_named, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
