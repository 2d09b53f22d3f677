/* test_graph.c - a step as a CUDA graph: the replays compute what the steps of the same run without
 * a graph compute, bit for bit, from one launch each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "unit/model/recorded_run.h"

static tide_workload_config run_of(tide_mode mode, tide_precision precision) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.mode = mode;
    config.precision = precision;
    config.warmup_steps = 2;
    config.steps = 3;
    return config;
}

static void run_it(recorded_run *run, const tide_workload_config *config) {
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->late_copies = true; /* the loss and the size of the step are copied */
    recorded_run_start(run, "cuda", config, TIDE_UNLIMITED, TIDE_OK);
}

/* A size of the step that stays as it was in the capture gives other losses from the second replay
 * on; a launch outside the graph's stream would not be repeated at all. */
static void expect_same_losses(tide_workload_config *config) {
    recorded_run run;
    double losses[5];
    config->cuda_graph = false;
    run_it(&run, config);
    assert_int_equal(run.result.n_losses, 5);
    memcpy(losses, run.result.losses, sizeof(losses));
    recorded_run_end(&run);
    config->cuda_graph = true;
    run_it(&run, config);
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    assert_int_equal(fake->n_graph_launches, 3);
    assert_int_equal(run.result.n_losses, 5);
    assert_memory_equal(run.result.losses, losses, sizeof(losses));
    assert_true(run.result.device_ms[TIDE_TIMED_STEP][0] >= 0);
    assert_true(run.result.device_ms[TIDE_TIMED_FORWARD][0] < 0); /* a graph has no phases */
    recorded_run_end(&run);
    assert_int_equal(fake->n_graphs + fake->n_streams + fake->n_events + fake->n_segments, 0);
    if (fake->n_mistakes > 0) {
        fail_msg("%s", fake->mistake);
    }
}

static void losses_are_those_without_a_graph(void **state) {
    (void)state;
    tide_workload_config config = run_of(TIDE_TRAIN, TIDE_PRECISION_FP32);
    config.clip_grad_norm = 0.5;
    expect_same_losses(&config);
    config = run_of(TIDE_TRAIN, TIDE_PRECISION_BF16_MIXED);
    config.recompute = TIDE_RECOMPUTE_BLOCK;
    expect_same_losses(&config);
    config.attention = TIDE_ATTENTION_NAIVE;
    expect_same_losses(&config);
    config = run_of(TIDE_FORWARD_BACKWARD, TIDE_PRECISION_TF32);
    expect_same_losses(&config);
    config = run_of(TIDE_TRAIN, TIDE_PRECISION_BF16_TRUE);
    config.architecture = TIDE_MLP;
    expect_same_losses(&config);
}

/* It has no loss, and its one launch still runs every kernel. */
static void a_forward_pass_can_be_captured(void **state) {
    (void)state;
    recorded_run run;
    tide_workload_config config = run_of(TIDE_FORWARD, TIDE_PRECISION_FP32);
    run_it(&run, &config);
    size_t n_plain = tide_fake_cudart_state()->n_launches[0];
    recorded_run_end(&run);
    config.cuda_graph = true;
    run_it(&run, &config);
    /* One more: cuBLAS gets the stream. */
    assert_int_equal(tide_fake_cudart_state()->n_launches[0], n_plain + 1);
    recorded_run_end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_without_a_graph),
        cmocka_unit_test(a_forward_pass_can_be_captured),
    };
    return cmocka_run_group_tests_name("ops_cuda.graph", tests, NULL, NULL);
}
