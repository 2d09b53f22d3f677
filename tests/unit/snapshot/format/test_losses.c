/* test_losses.c - a file keeps every bit of the losses of a run's steps, including those that are
 * not finite. The reader refuses a value that is not a loss and names its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/snapshot.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

static tide_snapshot *made(const double *losses, size_t n) {
    const synthetic_config config = synthetic_default();
    tide_snapshot *snapshot = synthetic_create(&config);
    snapshot->timing.losses = losses;
    snapshot->timing.n_losses = n;
    return snapshot;
}

/* The text of a written snapshot, from malloc. */
static char *written(const double *losses, size_t n, size_t *ret_bytes) {
    char path[SNAPSHOT_PATH_BYTES];
    char *text = NULL;
    tide_snapshot *snapshot = made(losses, n);
    snapshot_path(path, "losses.json.gz");
    assert_int_equal(tide_snapshot_save(snapshot, path, NULL), TIDE_OK);
    assert_int_equal(snapshot_unzip(path, SIZE_MAX / 2, &text, ret_bytes, NULL), TIDE_OK);
    tide_snapshot_destroy(snapshot);
    snapshot_remove(path);
    return text;
}

static void release(char *text) {
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
}

static const double LOSSES[] = {9.2103404998779297, 0.1,  -0.25, (double)NAN,
                                (double)INFINITY,   3e-30};
enum { N_LOSSES = sizeof(LOSSES) / sizeof(LOSSES[0]) };

static void losses_are_kept(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *snapshot = made(LOSSES, N_LOSSES);
    tide_snapshot *read = NULL;
    snapshot_path(path, "losses.json.gz");
    snapshot->timing.scales_loss = true;
    snapshot->timing.loss_scale = 0x1p-9;
    snapshot->timing.n_skipped_steps = 25;
    assert_int_equal(tide_snapshot_strip_private(snapshot), TIDE_OK);
    assert_int_equal(tide_snapshot_save(snapshot, path, NULL), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, NULL), TIDE_OK);
    assert_int_equal(read->timing.n_losses, N_LOSSES);
    assert_true(read->timing.scales_loss);
    assert_true(fabs(read->timing.loss_scale - 0x1p-9) <= 0);
    assert_int_equal(read->timing.n_skipped_steps, 25);
    for (size_t i = 0; i < N_LOSSES; i++) {
        assert_true(read->timing.losses[i] == LOSSES[i] ||
                    (isnan(read->timing.losses[i]) && isnan(LOSSES[i])));
    }
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
    snapshot_remove(path);
}

static void they_stand_as_documented(void **state) {
    (void)state;
    size_t n_bytes = 0;
    const double few[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 2.5};
    char *text = written(few, 4, &n_bytes);
    assert_non_null(strstr(text, "\"loss\":[\"nan\",\"inf\",\"-inf\",2.5]"));
    release(text);
    text = written(NULL, 0, &n_bytes);
    assert_null(strstr(text, "\"loss\":[")); /* unknown */
    assert_null(strstr(text, "loss_scaling"));
    release(text);
}

static void what_is_no_loss_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *values;
        const char *message;
    } CASES[] = {{"[1,\"NaN\"]", "loss[1]: a number was expected, or \"nan\", \"inf\" or \"-inf\""},
                 {"[null]", "loss[0]: a number was expected"},
                 {"[1e999]", "loss[0]: a number beyond the range"},
                 {"3", "loss: an array was expected"}};
    char path[SNAPSHOT_PATH_BYTES];
    size_t n_bytes = 0;
    const double one = 7.0;
    char *text = written(&one, 1, &n_bytes);
    const char *at = strstr(text, "\"loss\":[7]");
    assert_non_null(at);
    snapshot_path(path, "odd.json");
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_error error = {""};
        tide_snapshot *read = NULL;
        char *changed = malloc(n_bytes + 32);
        assert_non_null(changed);
        int n = snprintf(changed, n_bytes + 32, "%.*s\"loss\":%s%s", (int)(at - text), text,
                         CASES[i].values, at + strlen("\"loss\":[7]"));
        snapshot_write_file(path, changed, (size_t)n);
        assert_int_not_equal(tide_snapshot_load(path, NULL, &read, &error), TIDE_OK);
        if (strstr(error.message, CASES[i].message) == NULL) {
            fail_msg("%s: %s", CASES[i].values, error.message);
        }
        free(changed);
    }
    snapshot_remove(path);
    release(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_kept),
        cmocka_unit_test(they_stand_as_documented),
        cmocka_unit_test(what_is_no_loss_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
