/* test_plan_facts.c - the facts for `tidemark plan` in a snapshot file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/snapshot.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

enum { PATHS_BYTES = 12288 }; /* more than texts of other tables may have */

static tide_snapshot *there_and_back(const tide_snapshot *snapshot, bool *ret_has_key) {
    char path[SNAPSHOT_PATH_BYTES];
    char *text = NULL;
    size_t n_bytes = 0;
    tide_error error = {""};
    tide_snapshot *again = NULL;
    snapshot_path(path, "plan.json.gz");
    if (tide_snapshot_save(snapshot, path, &error) != TIDE_OK ||
        tide_snapshot_load(path, NULL, &again, &error) != TIDE_OK ||
        snapshot_unzip(path, SIZE_MAX / 2, &text, &n_bytes, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    *ret_has_key = strstr(text, "\"plan\":") != NULL;
    free(text);
    snapshot_remove(path);
    return again;
}

static void facts_come_back(void **state) {
    (void)state;
    bool has_key = false;
    char paths[PATHS_BYTES];
    memset(paths, 'b', sizeof(paths) - 1);
    paths[sizeof(paths) - 1] = '\0';
    const tide_snapshot_setting facts[] = {{.name = "can.checkpoint:Block", .text = paths},
                                           {.name = "lines.fused", .text = "a\n  \"b\""}};
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    made->plan = facts;
    made->n_plan = 2;
    tide_snapshot *read = there_and_back(made, &has_key);
    assert_true(has_key);
    assert_int_equal(read->n_plan, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(read->plan[i].name, facts[i].name);
        assert_string_equal(read->plan[i].text, facts[i].text);
    }
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

static void a_run_that_did_not_observe_has_none(void **state) {
    (void)state;
    bool has_key = true;
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    tide_snapshot *read = there_and_back(made, &has_key);
    assert_false(has_key);
    assert_int_equal(read->n_plan, 0);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_come_back),
        cmocka_unit_test(a_run_that_did_not_observe_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
