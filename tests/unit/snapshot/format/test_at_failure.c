/* test_at_failure.c - what a process found out at its first failed request: written, read, damaged,
 * and without what is private.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/snapshot.h"
#include "support/snapshot_files.h"

static const tide_snapshot_holder HOLDERS[] = {
    {"losses", "validate (c01.py:12)", 4 << 20, 400, 100, 100},
    {"Trainer.history", "", 2 << 20, 2 << 20, 1, 0}};
static const tide_snapshot_process PROCESSES[] = {{4242, 7 << 20, "/usr/bin/python3"},
                                                  {4243, -1, ""}};

static tide_snapshot *create(void) {
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    return made;
}

static tide_snapshot *load(const char *path) {
    tide_error error = {""};
    tide_snapshot *read = NULL;
    if (tide_snapshot_load(path, NULL, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return read;
}

static tide_snapshot *there_and_back(const tide_snapshot *snapshot) {
    char path[SNAPSHOT_PATH_BYTES];
    snapshot_path(path, "failure.json.gz");
    assert_int_equal(tide_snapshot_save(snapshot, path, NULL), TIDE_OK);
    tide_snapshot *again = load(path);
    snapshot_remove(path);
    return again;
}

static tide_snapshot *create_full(void) {
    tide_snapshot *made = create();
    made->at_failure = (tide_snapshot_at_failure){.device = 1,
                                                  .allocated_bytes = 100,
                                                  .collected_bytes = 30,
                                                  .holders = HOLDERS,
                                                  .n_holders = 2,
                                                  .n_not_asked = 5,
                                                  .processes = PROCESSES,
                                                  .n_processes = 2};
    return made;
}

static void everything_returns(void **state) {
    (void)state;
    tide_snapshot *made = create_full();
    tide_snapshot *again = there_and_back(made);
    const tide_snapshot_at_failure *at = &again->at_failure;
    assert_int_equal(at->device, 1);
    assert_int_equal(at->allocated_bytes, 100);
    assert_int_equal(at->collected_bytes, 30);
    assert_int_equal(at->n_not_asked, 5);
    assert_int_equal(at->n_holders, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(at->holders[i].name, HOLDERS[i].name);
        assert_string_equal(at->holders[i].place, HOLDERS[i].place);
        assert_int_equal(at->holders[i].held_bytes, HOLDERS[i].held_bytes);
        assert_int_equal(at->holders[i].own_bytes, HOLDERS[i].own_bytes);
        assert_int_equal(at->holders[i].n_tensors, HOLDERS[i].n_tensors);
        assert_int_equal(at->holders[i].n_graphs, HOLDERS[i].n_graphs);
    }
    assert_int_equal(at->n_processes, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(at->processes[i].pid, PROCESSES[i].pid);
        assert_int_equal(at->processes[i].used_bytes, PROCESSES[i].used_bytes);
        assert_string_equal(at->processes[i].name, PROCESSES[i].name);
    }
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(made);
}

static void an_unknown_collection_stays_unknown(void **state) {
    (void)state;
    tide_snapshot *made = create();
    made->at_failure.device = 0;
    tide_snapshot *again = there_and_back(made);
    assert_int_equal(again->at_failure.device, 0);
    assert_int_equal(again->at_failure.collected_bytes, -1);
    assert_int_equal(again->at_failure.n_not_asked, -1);
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(made);
}

/* A document with this text as its member. Writes its number of odd values. */
static tide_snapshot_at_failure read_text(const char *value, uint64_t *ret_n_odd) {
    char path[SNAPSHOT_PATH_BYTES];
    char *text = NULL;
    size_t n_bytes = 0;
    tide_snapshot *made = create();
    snapshot_path(path, "failure.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    tide_snapshot_destroy(made);
    assert_int_equal(snapshot_unzip(path, 1 << 20, &text, &n_bytes, NULL), TIDE_OK);
    assert_null(strstr(text, "at_failure"));
    char *at = strstr(text, "\"log\":");
    assert_non_null(at);
    size_t n_room = n_bytes + strlen(value) + 32;
    char *changed = malloc(n_room);
    assert_non_null(changed);
    int n =
        snprintf(changed, n_room, "%.*s\"at_failure\":%s,%s", (int)(at - text), text, value, at);
    snapshot_write_file(path, changed, (size_t)n);
    tide_snapshot *read = load(path);
    tide_snapshot_at_failure found = read->at_failure;
    *ret_n_odd = read->n_odd;
    assert_true(found.n_holders == 0 || found.holders[0].name != NULL);
    free(changed);
    free(text);
    tide_snapshot_destroy(read);
    snapshot_remove(path);
    found.holders = NULL;
    found.processes = NULL;
    return found;
}

static void odd_values_are_unknown(void **state) {
    (void)state;
    uint64_t n_odd = 0;
    tide_snapshot_at_failure found = read_text("{\"device\":0,\"collected_bytes\":7}", &n_odd);
    assert_true(found.device == 0 && found.collected_bytes == 7 && n_odd == 0);
    found = read_text("7", &n_odd);
    assert_true(found.device == -1 && n_odd == 1);
    found = read_text("{\"device\":\"x\",\"collected_bytes\":-2,\"unheard_of\":[1]}", &n_odd);
    assert_true(found.device == -1 && found.collected_bytes == -1 && n_odd == 2);
    found = read_text("{\"device\":0,\"holders\":[7,{\"name\":7}],\"processes\":[{\"pid\":\"x\"}]}",
                      &n_odd);
    assert_true(found.n_holders == 2 && found.n_processes == 1 && n_odd == 3);
}

static void names_of_processes_are_private(void **state) {
    (void)state;
    tide_snapshot *made = create_full();
    assert_int_equal(tide_snapshot_strip_private(made), TIDE_OK);
    assert_int_equal(made->at_failure.n_processes, 2);
    assert_int_equal(made->at_failure.processes[0].pid, 4242);
    assert_string_equal(made->at_failure.processes[0].name, "");
    assert_string_equal(made->at_failure.holders[0].place, "validate (c01.py:12)");
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_returns), cmocka_unit_test(an_unknown_collection_stays_unknown),
        cmocka_unit_test(odd_values_are_unknown), cmocka_unit_test(names_of_processes_are_private)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
