/* test_workload.c - the words of outcomes, the names and labels of workloads, and configurations
 * passed to a subprocess: reading restores what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/run/model.h"
#include "programs/runs/run_friend.h"

static void the_words_of_outcomes_are_those_of_files(void **state) {
    (void)state;
    /* These words are in files of sweeps and in snapshots, so they must never change. */
    static const char *const NAMES[TIDE_N_OUTCOMES] = {
        "completed", "out of memory", "host too small", "not supported",
        "failed",    "crashed",       "stopped"};
    for (int i = 0; i < TIDE_N_OUTCOMES; i++) {
        assert_string_equal(tide_outcome_name(i), NAMES[i]);
        assert_int_equal(tide_outcome_from_name(NAMES[i]), i);
        assert_string_not_equal(tide_outcome_in_snapshot(i), "?");
        assert_string_not_equal(tide_outcome_answer(i), "?");
        tide_outcome outcome = (tide_outcome)i;
        if (outcome != TIDE_OUTCOME_NO_HOST && outcome != TIDE_OUTCOME_CRASHED &&
            outcome != TIDE_OUTCOME_STOPPED) {
            assert_int_equal(tide_outcome_of_status(tide_outcome_status(outcome)), outcome);
        }
    }
    assert_int_equal(tide_outcome_from_name("oom"), -1);
    assert_string_equal(tide_outcome_name(-1), "?");
    assert_string_equal(tide_outcome_name(TIDE_N_OUTCOMES), "?");
    assert_string_equal(tide_outcome_in_snapshot(TIDE_OUTCOME_OOM), "oom");
    assert_string_equal(tide_outcome_in_snapshot(TIDE_OUTCOME_STOPPED), "stopped");
    assert_string_equal(tide_outcome_answer(TIDE_OUTCOME_COMPLETED), "fits");
}

static void a_workload_has_name_and_labels(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_labels labels;
    char name[TIDE_RUN_NAME_BYTES];
    tide_run_model_init(&config);
    tide_run_workload_name(&config.workload, name);
    assert_string_equal(name, "small-train-c128-b4-fp32");
    tide_run_workload_labels(&config.workload, &labels);
    assert_string_equal(labels.attention, "flash");
    assert_int_equal(labels.context_length, 128);
    assert_int_equal(tide_run_workload_n_tokens(&config.workload), 512);
    tide_run_model_of(&config.workload)->architecture = TIDE_MLP;
    tide_run_workload_labels(&config.workload, &labels);
    assert_string_equal(labels.attention, "");
    assert_int_equal(labels.context_length, 0);
    assert_int_equal(tide_run_workload_n_tokens(&config.workload), 4);
    tide_run_workload_init(&config.workload, &tide_run_model_kind);
    assert_int_equal(tide_run_model_set(&config.workload, TIDE_RUN_QUANTITY_LAYERS, 3, NULL),
                     TIDE_OK);
    tide_run_workload_name(&config.workload, name);
    assert_string_equal(name, "custom-train-c128-b4-fp32");
    assert_int_equal(tide_run_model_set(&config.workload, TIDE_RUN_QUANTITY_PRESET, 99, NULL),
                     TIDE_LIMIT);
    tide_run_workload_init(&config.workload, &tide_run_program_kind);
    assert_null(tide_run_workload_model(&config.workload));
}

static void a_configuration_survives_the_handover(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_config back;
    tide_run_model_init(&config);
    tide_workload_config *model = tide_run_model_of(&config.workload);
    model->mode = TIDE_FORWARD;
    model->keep_graph = true;
    model->precision = TIDE_PRECISION_BF16_TRUE;
    model->attention = TIDE_ATTENTION_NAIVE;
    model->recompute = TIDE_RECOMPUTE_BLOCK;
    model->seed = UINT64_MAX - 1; /* beyond what a number of JSON can hold */
    model->clip_grad_norm = 1.0 / 3.0;
    model->model.n_layers = 7;
    model->steps = 3;
    config.limits.device = "virtual:h100-80";
    config.limits.memory_limit_bytes = (UINT64_C(1) << 53) + 1;
    config.limits.spill_bytes = (UINT64_C(1) << 53) + 3;
    config.limits.alloc_conf = "max_split_size_mb:64";
    config.recording.is_on = true;
    config.recording.recorder.capture_stacks = false;
    config.recording.recorder.full_policy = TIDE_FULL_STOP;
    config.recording.snapshot_path = "a \"path\"";
    config.recording.snapshot_every = 5;
    cJSON *json = tide_run_config_to_json(&config);
    assert_non_null(json);
    assert_int_equal(tide_run_config_from_json(json, &tide_run_model_kind, &back, NULL), TIDE_OK);
    assert_string_equal(back.limits.device, config.limits.device);
    assert_string_equal(back.limits.alloc_conf, config.limits.alloc_conf);
    assert_true(back.limits.memory_limit_bytes == config.limits.memory_limit_bytes);
    assert_true(back.limits.spill_bytes == config.limits.spill_bytes);
    assert_string_equal(back.recording.snapshot_path, config.recording.snapshot_path);
    assert_null(back.recording.command);
    assert_true(back.recording.is_on && !back.recording.recorder.capture_stacks);
    assert_int_equal(back.recording.recorder.full_policy, TIDE_FULL_STOP);
    assert_true(back.recording.recorder.log_bytes == config.recording.recorder.log_bytes);
    assert_int_equal(back.recording.snapshot_every, 5);
    assert_memory_equal(tide_run_model_of(&back.workload), model, sizeof(*model));
    /* Configurations that a subprocess must refuse. */
    cJSON_SetNumberValue(cJSON_GetObjectItem(json, "precision"), TIDE_N_PRECISIONS);
    tide_error error = {""};
    assert_int_equal(tide_run_config_from_json(json, &tide_run_model_kind, &back, &error),
                     TIDE_FORMAT);
    assert_non_null(strstr(error.message, "precision"));
    assert_int_equal(tide_run_config_from_json(json, NULL, &back, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "kind"));
    cJSON_Delete(json);
    assert_int_equal(tide_run_subprocess_main("{}", NULL, &error), TIDE_FORMAT);
    assert_int_equal(tide_run_subprocess_main("{", NULL, &error), TIDE_INVALID);
}

/* Rows from before these keys existed can be read. */
static void a_result_without_the_newer_keys_is_read(void **state) {
    (void)state;
    tide_run_result result;
    tide_run_result back;
    tide_run_result_init(&result);
    result.outcome = TIDE_OUTCOME_OOM;
    result.loss = 2.5;
    result.memory.n_retries = 4;
    result.memory.spill_peak_bytes = 5;
    result.memory.n_spilled = 6;
    result.memory.spill_step = 7;
    result.loss_scale = 1024.0;
    result.n_skipped_steps = 3;
    result.program.n_launches = 456;
    result.program.n_guessed = 8;
    cJSON *json = tide_run_result_to_json(&result);
    assert_int_equal(tide_run_result_from_json(json, &back, NULL), TIDE_OK);
    assert_int_equal(back.outcome, TIDE_OUTCOME_OOM);
    assert_int_equal(back.memory.n_retries, 4);
    assert_int_equal(back.memory.spill_peak_bytes, 5);
    assert_int_equal(back.memory.n_spilled, 6);
    assert_int_equal(back.memory.spill_step, 7);
    assert_true(back.loss > 2.4 && back.loss < 2.6);
    assert_true(back.loss_scale > 1023.0 && back.loss_scale < 1025.0);
    assert_int_equal(back.n_skipped_steps, 3);
    assert_int_equal(back.program.n_launches, 456);
    assert_int_equal(back.program.n_guessed, 8);
    tide_run_result_fini(&back);
    cJSON_DeleteItemFromObject(json, "retries");
    cJSON_DeleteItemFromObject(json, "loss");
    cJSON_DeleteItemFromObject(json, "loss_scale");
    cJSON_DeleteItemFromObject(json, "skipped_steps");
    cJSON_DeleteItemFromObject(json, "forecast_launches");
    cJSON_DeleteItemFromObject(json, "forecast_guessed_launches");
    assert_int_equal(tide_run_result_from_json(json, &back, NULL), TIDE_OK);
    assert_int_equal(back.memory.n_retries, -1);
    assert_int_equal(back.n_skipped_steps, -1);
    assert_int_equal(back.program.n_launches, -1);
    assert_int_equal(back.program.n_guessed, -1);
    tide_run_result_fini(&back);
    cJSON_DeleteItemFromObject(json, "asked_bytes");
    assert_int_equal(tide_run_result_from_json(json, &back, NULL), TIDE_FORMAT);
    tide_run_result_fini(&back);
    cJSON_Delete(json);
}

/* Unknown values are -1, not a number that could be mistaken for an answer. */
static void a_new_result_knows_no_number(void **state) {
    (void)state;
    static const char *const NUMBERS[] = {"signal", "tokens_per_step"}; /* 0: none */
    tide_run_result result;
    tide_run_result_init(&result);
    cJSON *json = tide_run_result_to_json(&result);
    size_t n_numbers = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, json) {
        bool is_known =
            strcmp(item->string, NUMBERS[0]) == 0 || strcmp(item->string, NUMBERS[1]) == 0;
        if (cJSON_IsNumber(item) && !is_known) {
            assert_true(item->valuedouble < 0.0);
            n_numbers++;
        }
    }
    assert_true(n_numbers > 10);
    cJSON_Delete(json);
    tide_run_result_fini(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_of_outcomes_are_those_of_files),
        cmocka_unit_test(a_workload_has_name_and_labels),
        cmocka_unit_test(a_configuration_survives_the_handover),
        cmocka_unit_test(a_result_without_the_newer_keys_is_read),
        cmocka_unit_test(a_new_result_knows_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
