/* test_copies_ahead.c - the copies of weights that a second stream makes a layer ahead: whichever
 * of the two streams runs late, training computes the same, bit for bit; and omitting any of the
 * waits that order them is detected.
 *
 * The fake runtime has one order of launches at a time. Work that no event orders is tried in both
 * orders: once with the operators' stream as late as possible, and once with the casts' stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "unit/model/recorded_run.h"
#include "unit/model/training_run.h"

/* Bits of late_streams where the operators have the default stream. */
enum { NONE_LATE = 0, OPERATORS_LATE = 1, CASTS_LATE = 2 };
enum { N_LAYERS = 4, N_STEPS = 2 };

static tide_transformer_config mixed(tide_precision precision, tide_recompute recompute) {
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.model = tiny_model();
    config.model.n_layers = N_LAYERS;
    config.model.vocab_size = 13; /* small, since an emulated thread takes long */
    config.model.d_model = 12;
    config.model.d_ff = 28;
    config.model.context_length = 4;
    config.model.batch_size = 1;
    config.precision = precision;
    config.recompute = recompute;
    return config;
}

static training start(const tide_transformer_config *config, unsigned late) {
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->late_streams = late;
    return training_start("cuda", config);
}

/* A hash of all parameters, which differ where any gradient of any step does. */
static uint64_t end(training *run) {
    uint64_t hash = 0;
    assert_int_equal(tide_device_synchronize(run->device, NULL), TIDE_OK);
    for (size_t i = 0; i < tide_transformer_n_parameters(run->transformer); i++) {
        const tide_parameter *parameter = tide_transformer_parameter(run->transformer, i);
        size_t n_bytes = parameter->n_elements * sizeof(float);
        hash = tide_hash_u64(hash ^ tide_hash_bytes(parameter->value.array.data, n_bytes));
    }
    training_end(run);
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    assert_int_equal(fake->n_streams + fake->n_events + fake->n_segments, 0);
    if (fake->n_mistakes > 0) {
        fail_msg("%s", fake->mistake);
    }
    return hash;
}

/* Parameters after the steps; the `ignored`-th wait, from 1 on, is left out. */
static uint64_t train(const tide_transformer_config *config, unsigned late, size_t ignored) {
    training run = start(config, late);
    tide_fake_cudart_state()->ignored_wait = ignored;
    for (int i = 0; i < N_STEPS; i++) {
        training_step(&run);
    }
    return end(&run);
}

static void both_orders_compute_the_same(void **state) {
    (void)state;
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_BF16_MIXED,
                                                TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < 4; i++) {
        const tide_transformer_config config =
            mixed(PRECISIONS[i % 2], i < 2 ? TIDE_RECOMPUTE_NONE : TIDE_RECOMPUTE_BLOCK);
        uint64_t right = train(&config, NONE_LATE, 0);
        assert_true(train(&config, OPERATORS_LATE, 0) == right);
        assert_true(train(&config, CASTS_LATE, 0) == right);
        assert_true(train(&config, OPERATORS_LATE | CASTS_LATE, 0) == right);
    }
}

/* In each step the casts of every block wait for the operators, and the operators for them, so odd
 * waits are the casts'. A missing odd wait is detected only if earlier work of the operators
 * matters: at the first wait of a step, which waits for the work that wrote the weights, and where
 * recompute has released temporary tensors, whose memory the copies reuse. */
static void every_wait_is_needed(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const bool recomputes = i == 1;
        const tide_transformer_config config = mixed(
            TIDE_PRECISION_BF16_MIXED, recomputes ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE);
        const uint64_t right = train(&config, NONE_LATE, 0);
        const size_t per_step = (size_t)2 * (recomputes ? N_LAYERS - 1 : N_LAYERS + 1);
        size_t n_seen_for_memory = 0;
        assert_int_equal(tide_fake_cudart_state()->n_waits, N_STEPS * per_step);
        for (size_t wait = 1; wait <= N_STEPS * per_step; wait++) {
            const bool is_of_casts = wait % 2 == 1;
            const bool is_first = (wait - 1) % per_step == 0;
            const bool is_seen =
                train(&config, is_of_casts ? OPERATORS_LATE : CASTS_LATE, wait) != right;
            n_seen_for_memory += is_of_casts && !is_first && is_seen;
            if ((!is_of_casts || is_first) && !is_seen) {
                fail_msg("wait %zu of %zu can be left out (recompute %d)", wait, N_STEPS * per_step,
                         i);
            }
        }
        assert_true(n_seen_for_memory > 0 || !recomputes);
    }
}

enum { N_PARAMETERS = N_LAYERS * TIDE_LAYER_PARAMETERS + 3, MOST_ROUNDS = 4 };

static void sizes_of(const training *run, size_t n_elements[N_PARAMETERS]) {
    assert_int_equal(tide_transformer_n_parameters(run->transformer), N_PARAMETERS);
    for (size_t i = 0; i < N_PARAMETERS; i++) {
        n_elements[i] = tide_transformer_parameter(run->transformer, i)->n_elements;
    }
}

/* Fills memory of the sizes of the copies, n_rounds of each, on the operators' stream, and expects
 * the same bytes there when the device is idle. One round fills the memory that the cache gives to
 * the next step. Four have twice the bytes of the parameters, and so also fill the memory of a
 * destroyed transformer. */
static void expect_own_memory(const training *run, const size_t n_elements[N_PARAMETERS],
                              size_t n_rounds) {
    tide_tensor taken[MOST_ROUNDS * N_PARAMETERS] = {{0}};
    for (size_t i = 0; i < n_rounds * N_PARAMETERS; i++) {
        size_t n = n_elements[i % N_PARAMETERS];
        assert_int_equal(
            tide_tensor_alloc(run->cache, &taken[i], n, TIDE_BF16, TIDE_TEMPORARY, "taken", NULL),
            TIDE_OK);
        assert_int_equal(tide_device_set(run->device, taken[i].array.data, 0x5A,
                                         n * tide_dtype_bytes(TIDE_BF16), 0, NULL),
                         TIDE_OK);
    }
    assert_int_equal(tide_device_synchronize(run->device, NULL), TIDE_OK);
    for (size_t i = 0; i < n_rounds * N_PARAMETERS; i++) {
        const unsigned char *bytes = taken[i].array.data;
        for (size_t k = 0; k < taken[i].n_elements * tide_dtype_bytes(TIDE_BF16); k++) {
            assert_int_equal(bytes[k], 0x5A);
        }
        assert_int_equal(tide_tensor_release(run->cache, &taken[i], NULL), TIDE_OK);
    }
}

/* Casts may still run when the step is abandoned: its end waits for them before their memory is
 * reused. */
static void a_step_that_fails_leaves_nothing_behind(void **state) {
    (void)state;
    const tide_transformer_config config = mixed(TIDE_PRECISION_BF16_MIXED, TIDE_RECOMPUTE_NONE);
    training run = start(&config, NONE_LATE);
    training_step(&run);
    size_t n_elements[N_PARAMETERS];
    sizes_of(&run, n_elements);
    const uint64_t right = end(&run);
    size_t n_failed = 0;
    for (size_t call = 1; n_failed + 1 == call; call++) {
        run = start(&config, CASTS_LATE);
        tide_fake_cudart_fail("cudaStreamWaitEvent", call, cudaErrorUnknown);
        n_failed += tide_transformer_forward(run.transformer, NULL) != TIDE_OK;
        tide_fake_cudart_state()->fail_call = 0;
        assert_int_equal(tide_transformer_end_step(run.transformer, NULL), TIDE_OK);
        expect_own_memory(&run, n_elements, 1);
        training_step(&run);
        assert_true(end(&run) == right);
    }
    assert_int_equal(n_failed, 2 * (N_LAYERS + 1));
}

/* If the wait also fails in the destructor, the host waits. */
static void a_transformer_that_cannot_wait_leaves_nothing_behind(void **state) {
    (void)state;
    const tide_transformer_config config = mixed(TIDE_PRECISION_BF16_MIXED, TIDE_RECOMPUTE_NONE);
    training run = start(&config, CASTS_LATE);
    size_t n_elements[N_PARAMETERS];
    sizes_of(&run, n_elements);
    tide_fake_cudart_fail("cudaStreamWaitEvent", 2, cudaErrorUnknown);
    assert_int_not_equal(tide_transformer_forward(run.transformer, NULL), TIDE_OK);
    tide_fake_cudart_fail("cudaStreamWaitEvent", 1, cudaErrorUnknown);
    tide_transformer_destroy(run.transformer);
    assert_non_null(tide_fake_cudart_state()->failed_in);
    expect_own_memory(&run, n_elements, MOST_ROUNDS);
    tide_cache_destroy(run.cache);
    tide_device_close(run.device);
}

/* Losses of 2 steps and of 3 launches of a graph. The streams are created in this order: the
 * workload's, which is captured, and the casts'. */
enum { WORKLOAD_LATE = 2, CASTS_BESIDE_LATE = 4, N_LOSSES = 5 };
static void train_as_graph(unsigned late, size_t ignored, double losses[N_LOSSES]) {
    recorded_run run;
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.mode = TIDE_TRAIN;
    config.precision = TIDE_PRECISION_BF16_MIXED;
    config.cuda_graph = true;
    config.warmup_steps = 2;
    config.steps = 3;
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->late_streams = late;
    tide_fake_cudart_state()->ignored_wait = ignored;
    recorded_run_start(&run, "cuda", &config, TIDE_UNLIMITED, TIDE_OK);
    assert_int_equal(tide_fake_cudart_state()->n_graph_launches, 3);
    assert_int_equal(run.result.n_losses, N_LOSSES);
    memcpy(losses, run.result.losses, N_LOSSES * sizeof(*losses));
    recorded_run_end(&run);
}

/* Within a graph only its edges order the two. A step of 2 blocks has 6 waits, so the 14th and the
 * 16th are those of the operators in the capture; without one of them a block reads copies that do
 * not exist yet. Without the last, the 18th, the capture yields no graph. */
static void a_graph_has_both_streams(void **state) {
    (void)state;
    double right[N_LOSSES];
    double losses[N_LOSSES];
    train_as_graph(NONE_LATE, 0, right);
    train_as_graph(WORKLOAD_LATE, 0, losses);
    assert_memory_equal(losses, right, sizeof(right));
    train_as_graph(CASTS_BESIDE_LATE, 0, losses);
    assert_memory_equal(losses, right, sizeof(right));
    for (size_t ignored = 14; ignored <= 16; ignored += 2) {
        train_as_graph(CASTS_BESIDE_LATE, ignored, losses);
        assert_memory_equal(losses, right, 2 * sizeof(*right)); /* before the graph */
        assert_memory_not_equal(losses, right, sizeof(right));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_orders_compute_the_same),
        cmocka_unit_test(every_wait_is_needed),
        cmocka_unit_test(a_step_that_fails_leaves_nothing_behind),
        cmocka_unit_test(a_transformer_that_cannot_wait_leaves_nothing_behind),
        cmocka_unit_test(a_graph_has_both_streams),
    };
    return cmocka_run_group_tests_name("ops_cuda.copies_ahead", tests, NULL, NULL);
}
