/* test_nvtx.c - a tool that listens sees scopes as NVTX ranges, correctly named and nested, and
 * none stays open; with and without a recorder. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorded_run.h"

enum { LOG_BYTES = 1 << 16 };

static char log_path[] = "/tmp/tidemark-nvtx-XXXXXX";

static void clear_log(void) {
    assert_int_equal(truncate(log_path, 0), 0);
}

static void expect_log(const char *expected) {
    static char text[LOG_BYTES];
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    assert_string_equal(text, expected);
    clear_log();
}

static void scopes_are_ranges(tide_recorder *recorder) {
    tide_scope step = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", 0);
    tide_scope layer = tide_scope_begin(recorder, TIDE_SCOPE_LAYER, "layer", 2147483647);
    expect_log("+ tidemark:step 0\n+ tidemark:layer 2147483647\n");
    tide_scope_end(recorder, layer);
    tide_scope_end(recorder, layer); /* ended already */
    expect_log(recorder != NULL ? "-\n" : "-\n-\n");
    if (recorder == NULL) { /* its ends carry no identity: each one ends the innermost range */
        return;
    }
    (void)tide_scope_begin(recorder, TIDE_SCOPE_OPERATOR, "left open", -1);
    (void)tide_scope_begin(recorder, TIDE_SCOPE_OPERATOR, NULL, 7);
    tide_scope_end(recorder, step);
    expect_log("+ tidemark:left open\n+ tidemark: 7\n-\n-\n-\n");
    tide_scope_end(recorder, step);
    expect_log("");
}

static void recorded_scopes_are_ranges(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    scopes_are_ranges(recorder);
    tide_recorder_destroy(recorder);
}

static void unrecorded_scopes_are_ranges(void **state) {
    (void)state;
    scopes_are_ranges(NULL);
}

static void long_names_are_cut_and_deep_ranges_counted(void **state) {
    (void)state;
    char name[300];
    char expected[LOG_BYTES / 4] = "";
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    tide_scope scope = tide_scope_begin(NULL, TIDE_SCOPE_USER, name, 5);
    tide_scope_end(NULL, scope);
    (void)snprintf(expected, sizeof(expected), "+ tidemark:%.114s 5\n-\n", name);
    expect_log(expected);
    for (int i = 0; i < 100; i++) {
        (void)tide_scope_begin(NULL, TIDE_SCOPE_USER, "deep", -1);
    }
    clear_log();
    for (int i = 0; i < 100; i++) {
        tide_scope_end(NULL, TIDE_NONE);
    }
    expected[0] = '\0';
    for (int i = 0; i < 100; i++) {
        (void)strcat(expected, "-\n");
    }
    expect_log(expected);
}

#define RANGE(name) "+ tidemark:" name "\n-\n"
#define BEGIN(name) "+ tidemark:" name "\n"
#define END "-\n"
#define ATTENTION BEGIN("attention") RANGE("flash") END

/* One measured step of a model with one layer. */
static const char STEP[] = BEGIN("warmup 0") BEGIN("forward") RANGE("embedding") BEGIN("layer 0")
    RANGE("ln1") ATTENTION RANGE("ln2") RANGE("ffn") END RANGE("ln_final") RANGE("lm_head")
        RANGE("loss") END BEGIN("backward") RANGE("lm_head") RANGE("ln_final") BEGIN("layer 0")
            RANGE("ffn") RANGE("ln2") ATTENTION RANGE("ln1") END RANGE("embedding")
                END BEGIN("optimizer") RANGE("adamw") END END;

static void a_run_has_its_ranges(void **state) {
    (void)state;
    recorded_run run;
    tide_workload_config config;
    char expected[LOG_BYTES / 4];
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.model.n_layers = 1;
    config.warmup_steps = 1;
    config.steps = 1;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    recorded_run_end(&run);
    const char *after = strchr(STEP, '\n'); /* the measured step differs only in its name */
    assert_non_null(after);
    (void)snprintf(expected, sizeof(expected), "%s%s%s%s", RANGE("setup"), STEP,
                   "+ tidemark:step 0", after);
    expect_log(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_scopes_are_ranges),
        cmocka_unit_test(unrecorded_scopes_are_ranges),
        cmocka_unit_test(long_names_are_cut_and_deep_ranges_counted),
        cmocka_unit_test(a_run_has_its_ranges),
    };
    int log_file = mkstemp(log_path);
    if (log_file < 0 || setenv("NVTX_INJECTION64_PATH", TIDE_FAKE_NVTX, 1) != 0 ||
        setenv("TIDEMARK_FAKE_NVTX_LOG", log_path, 1) != 0) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)close(log_file);
    (void)unlink(log_path);
    return failed;
}
