/* test_decode.c - language models that decode on the cuda device, whose kernels run in the
 * emulator: the logits of each pass and the tokens are compared with the cpu device, and the events
 * with the virtual device. The cpu device itself is compared with a whole forward pass in
 * tests/unit/model/test_decode.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cards.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "model/bf16.h"
#include "model/decode/decode_internal.h"
#include "support/same_recordings.h"
#include "unit/model/recorded_run.h"

enum { MAX_LOGITS = 3 * 97 * 32, MAX_TOKENS = 3 * 64 };

/* The results of a generation. */
typedef struct given {
    tide_device *device;
    double logits[MAX_LOGITS]; /* of one pass after the other */
    size_t n_logits;
    int32_t tokens[MAX_TOKENS];
} given;

/* Copies n elements from the device. */
static void fetch(tide_device *device, const tide_tensor *tensor, void *to) {
    assert_int_equal(tide_device_copy(device, to, tensor->array.data,
                                      tensor->n_elements * tide_dtype_bytes(tensor->array.dtype),
                                      TIDE_COPY_TO_HOST, 0, NULL),
                     TIDE_OK);
    assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
}

static void keep_logits(void *ctx, const tide_tensor *logits) {
    static float numbers[MAX_LOGITS];
    given *of = ctx;
    assert_true(of->n_logits + logits->n_elements <= MAX_LOGITS);
    fetch(of->device, logits, numbers);
    for (size_t i = 0; i < logits->n_elements; i++) {
        of->logits[of->n_logits++] = logits->array.dtype == TIDE_BF16
                                         ? (double)tide_bf16_to_fp32(((uint16_t *)numbers)[i])
                                         : (double)numbers[i];
    }
}

static void generate(const char *spec, const tide_decode_config *config, given *ret_given) {
    tide_cache *cache = NULL;
    tide_decode *decode = NULL;
    tide_error error = {""};
    *ret_given = (given){.n_logits = 0};
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    assert_int_equal(tide_device_open(spec, NULL, &ret_given->device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(ret_given->device, NULL, NULL, &cache, NULL), TIDE_OK);
    assert_int_equal(tide_decode_create(config, cache, NULL, &decode, NULL), TIDE_OK);
    decode->see_logits = keep_logits;
    decode->see_logits_ctx = ret_given;
    if (tide_decode_setup(decode, &error) != TIDE_OK ||
        tide_decode_generate(decode, &error) != TIDE_OK) {
        fail_msg("%s on %s: %s", config->name, spec, error.message);
    }
    assert_true(tide_decode_tokens(decode)->n_elements <= MAX_TOKENS);
    fetch(ret_given->device, tide_decode_tokens(decode), ret_given->tokens);
    tide_decode_destroy(decode);
    tide_cache_destroy(cache);
    tide_device_close(ret_given->device);
}

/* The largest difference of logits in the passes up to the first token that differs, and the number
 * of these passes; all tokens equal: N. */
static double worst_difference(const tide_decode_config *config, const given *a, const given *b,
                               size_t *ret_n_equal) {
    size_t stride = config->P + config->N;
    double worst = 0;
    size_t i = 0;
    for (*ret_n_equal = 0; *ret_n_equal < config->N; ++*ret_n_equal) {
        for (size_t k = 0; k < config->B * config->V; k++, i++) {
            assert_true(isfinite(a->logits[i]) && isfinite(b->logits[i]));
            worst = fmax(worst, fabs(a->logits[i] - b->logits[i]));
        }
        for (size_t s = 0; s < config->B; s++) {
            size_t at = s * stride + config->P + *ret_n_equal;
            if (a->tokens[at] != b->tokens[at]) {
                return worst;
            }
        }
    }
    return worst;
}

/* Both devices store the same tensors in fp32. The bound follows test_decode.c's derivation for the
 * cpu device: 12 tensors a layer, each of numbers around 1 to 10, of which both devices round each
 * once: twice sqrt(12 L) 10 2^-24. The kernels' sums of k <= 80 numbers err by sqrt(80) 2^-24 of
 * their size more, ten times a rounding. As worst cases: 2e-5 * (2 + 10). A wrong operator is off
 * by 0.01 and more. */
static const double TOLERANCE = 2.4e-4;

static void both_devices_generate_the_same_tokens(void **state) {
    (void)state;
    static const char *const MODELS[] = {"tiny-fp32", "tiny-int8", "tiny-moe-int8"};
    static given cpu;
    static given cuda;
    for (size_t i = 0; i < 6; i++) {
        tide_decode_config config;
        size_t n_equal = 0;
        assert_int_equal(tide_decode_preset(MODELS[i / 2], &config, NULL), TIDE_OK);
        config.B = i % 2 == 0 ? 1 : 3;
        config.N = 6;
        config.seed = 7 + i;
        generate("cpu", &config, &cpu);
        generate("cuda", &config, &cuda);
        assert_int_equal(cpu.n_logits, config.N * config.B * config.V);
        assert_int_equal(cuda.n_logits, cpu.n_logits);
        double worst = worst_difference(&config, &cpu, &cuda, &n_equal);
        if (!(worst < TOLERANCE)) {
            fail_msg("%s: logits differ by %g", MODELS[i / 2], worst);
        }
        assert_int_equal(n_equal, config.N); /* no two logits are as close as the tolerance */
        for (size_t k = 0; k < config.B * (config.P + config.N); k++) {
            assert_int_equal(cpu.tokens[k], cuda.tokens[k]);
        }
    }
}

/* In bf16 a number near the midpoint of two is rounded down on one device and up on the other, a
 * difference of at most 2^-8 of it, so later tensors differ as if each device rounded
 * independently: 12 L = 36 tensors of numbers around 1, each with a relative error of 2^-9 on
 * either device, and of the logits the last one, make sqrt(2 * 37) 2^-9 = 0.017 as a standard
 * deviation of a logit of size 1, and the largest of N B V = 1455 differences is 4 of these: 0.07.
 * Scores this close could select another expert and change a row, so only dense models are
 * compared. test_decode_operators.c compares each operator much more closely. */
static const double BF16_TOLERANCE = 0.07;

static void bf16_models_stay_close(void **state) {
    (void)state;
    static given cpu;
    static given cuda;
    for (size_t i = 0; i < 2; i++) {
        tide_decode_config config;
        size_t n_equal = 0;
        assert_int_equal(tide_decode_preset("tiny-int8", &config, NULL), TIDE_OK);
        config.type = TIDE_BF16;
        config.weight_type = i == 0 ? TIDE_INT8 : TIDE_BF16;
        config.B = 3;
        config.P = 7; /* 21 rows: tiles */
        config.N = 5;
        config.seed = 3;
        generate("cpu", &config, &cpu);
        generate("cuda", &config, &cuda);
        double worst = worst_difference(&config, &cpu, &cuda, &n_equal);
        if (!(worst < BF16_TOLERANCE)) {
            fail_msg("%s: logits differ by %g", i == 0 ? "int8" : "bf16", worst);
        }
        assert_true(n_equal > 0);
    }
}

static void the_events_are_those_of_the_virtual_card(void **state) {
    (void)state;
    static const char *const DEVICES[2] = {"cuda", "virtual:h100-80"};
    static const char *const MODELS[] = {"tiny-fp32", "tiny-moe-int8"};
    for (size_t i = 0; i < 2; i++) {
        tide_workload_config config;
        tide_decode_config preset;
        recorded_run runs[2];
        tide_workload_config_init(&config);
        assert_int_equal(tide_decode_preset(MODELS[i], &preset, NULL), TIDE_OK);
        config.architecture = TIDE_DECODE;
        config.mode = TIDE_FORWARD;
        config.model = (tide_model_config){
            .n_layers = preset.L, .context_length = 5, .batch_size = 2, .d_model = preset.C};
        memcpy(config.model.size, preset.name, sizeof(preset.name));
        config.new_tokens = 3;
        config.warmup_steps = 1;
        config.steps = 1;
        tide_fake_cudart_reset();
        tide_fake_cublas_reset();
        tide_fake_cudart_state()->capacity_bytes = (size_t)tide_card_find("h100-80")->total_bytes /
                                                   TIDE_DEVICE_GRANULE * TIDE_DEVICE_GRANULE;
        recorded_runs_start(runs, DEVICES, 2, &config);
        const tide_recording *cuda = &runs[0].state.recording;
        const tide_recording *card = &runs[1].state.recording;
        expect_same_scopes(cuda, card);
        expect_same_events(cuda, cuda->events[0].address, card, card->events[0].address);
        assert_true(runs[0].result.device_ms[TIDE_TIMED_STEP][0] >= 0); /* it was timed */
        recorded_run_end(&runs[0]);
        recorded_run_end(&runs[1]);
        assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_devices_generate_the_same_tokens),
        cmocka_unit_test(bf16_models_stay_close),
        cmocka_unit_test(the_events_are_those_of_the_virtual_card),
    };
    return cmocka_run_group_tests_name("ops_cuda.decode", tests, NULL, NULL);
}
