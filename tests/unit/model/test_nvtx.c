/* test_nvtx.c - an attached tool sees scopes as NVTX ranges, correctly named and nested, and none
 * stays open; with and without a recorder. */
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
    if (recorder == NULL) { /* range ends carry no identity: each ends the innermost range */
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
#define ATTENTION BEGIN("attention") BEGIN("scaled dot product attention") RANGE("flash") END END

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
    (void)snprintf(expected, sizeof(expected), "%s%s%s%s%s%s%s%s", RANGE("setup"), BEGIN("warm-up"),
                   STEP, END, BEGIN("measured"), "+ tidemark:step 0", after, END);
    expect_log(expected);
}

/* The ranges of the parts have the names that the assignment's scripts give them; the scopes keep
 * their own. Without warm-up it has no range. */
static void naive_attention_has_ranges_of_its_parts(void **state) {
    (void)state;
    static const char FORWARD[] =
        BEGIN("attention") BEGIN("scaled dot product attention") RANGE("computing attention scores")
            RANGE("computing softmax") RANGE("final matmul") END END;
    static const char BACKWARD[] =
        BEGIN("attention") BEGIN("scaled dot product attention") RANGE("final matmul")
            RANGE("computing softmax") RANGE("computing attention scores") END END;
    recorded_run run;
    tide_workload_config config;
    char expected[LOG_BYTES / 4];
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.model.n_layers = 1;
    config.attention = TIDE_ATTENTION_NAIVE;
    config.warmup_steps = 0;
    config.steps = 1;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    bool has_scores = false;
    for (size_t i = 0; i < run.state.recording.n_scopes; i++) {
        const char *name = run.state.recording.strings[run.state.recording.scopes[i].name];
        assert_null(strstr(name, "dot product"));
        assert_string_not_equal(name, "measured");
        has_scores = has_scores || strcmp(name, "scores") == 0;
    }
    assert_true(has_scores);
    recorded_run_end(&run);
    (void)snprintf(
        expected, sizeof(expected), "%s%s%s%s%s%s%s%s%s%s", RANGE("setup"), BEGIN("measured"),
        BEGIN("step 0") BEGIN("forward") RANGE("embedding") BEGIN("layer 0") RANGE("ln1"), FORWARD,
        RANGE("ln2") RANGE("ffn") END RANGE("ln_final") RANGE("lm_head") RANGE("loss") END,
        BEGIN("backward") RANGE("lm_head") RANGE("ln_final") BEGIN("layer 0") RANGE("ffn")
            RANGE("ln2"),
        BACKWARD, RANGE("ln1") END RANGE("embedding") END,
        BEGIN("optimizer") RANGE("adamw") END END, END);
    expect_log(expected);
}

/* A range ends what a failed call left open inside it, and nothing around it. */
static void ranges_end_what_is_left_open(void **state) {
    (void)state;
    tide_recorder *recorder = NULL;
    assert_int_equal(tide_recorder_create(NULL, &recorder, NULL), TIDE_OK);
    for (int i = 0; i < 2; i++) {
        tide_recorder *of = i == 0 ? recorder : NULL;
        tide_scope outer = tide_scope_begin(of, TIDE_SCOPE_PHASE, "outer", -1);
        tide_range_begin("group");
        (void)tide_scope_begin(of, TIDE_SCOPE_OPERATOR, "left open", -1);
        tide_range_end();
        expect_log("+ tidemark:outer\n+ tidemark:group\n+ tidemark:left open\n-\n-\n");
        tide_scope_end(of, outer);
        expect_log("-\n");
        tide_range_end();
        expect_log("");
    }
    tide_recorder_destroy(recorder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_scopes_are_ranges),
        cmocka_unit_test(unrecorded_scopes_are_ranges),
        cmocka_unit_test(long_names_are_cut_and_deep_ranges_counted),
        cmocka_unit_test(a_run_has_its_ranges),
        cmocka_unit_test(naive_attention_has_ranges_of_its_parts),
        cmocka_unit_test(ranges_end_what_is_left_open),
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
