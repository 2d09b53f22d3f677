/* test_decode.c - language models that decode: the logits of prefill and of every pass on the cpu
 * device compared with a whole forward pass in double over the same tokens, without a cache; bytes
 * of real shapes against published figures, and peaks of runs against the closed form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/bf16.h"
#include "model/decode/decode_internal.h"
#include "recorded_run.h"

/* ---- the plain implementation ---- */

enum { MAX_TOKENS = 32, MAX_CHANNELS = 48, MAX_HIDDEN = 80, MAX_QKV = 144, MAX_EXPERTS = 4 };

/* Element (i, j) of matrix e. */
static double weight_at(const tide_decode_linear *linear, size_t e, size_t i, size_t j) {
    size_t row = e * linear->m + i;
    size_t at = row * linear->k + j;
    if (linear->weight.array.dtype == TIDE_FP32) {
        return (double)((const float *)linear->weight.array.data)[at];
    }
    return (double)((const int8_t *)linear->weight.array.data)[at] *
           (double)tide_bf16_to_fp32(((const uint16_t *)linear->scale.array.data)[row]);
}

static void multiply(const tide_decode_linear *linear, size_t e, const double *x, double *out) {
    for (size_t i = 0; i < linear->m; i++) {
        out[i] = 0;
        for (size_t j = 0; j < linear->k; j++) {
            out[i] += weight_at(linear, e, i, j) * x[j];
        }
    }
}

static void normalize(const tide_tensor *weight, const double *x, double *out) {
    double sum = 0;
    for (size_t c = 0; c < weight->n_elements; c++) {
        sum += x[c] * x[c];
    }
    for (size_t c = 0; c < weight->n_elements; c++) {
        out[c] = x[c] / sqrt(sum / (double)weight->n_elements + 1e-5) *
                 (double)((const float *)weight->array.data)[c];
    }
}

/* Rotates the n_heads heads at x by the angles of position t. */
static void rotate(const tide_decode_config *config, double *x, size_t n_heads, size_t t) {
    size_t D = config->C / config->H;
    for (size_t i = 0; i < n_heads * D / 2; i++) {
        double angle =
            (double)t * pow(config->rope_theta, -2.0 * (double)(i % (D / 2)) / (double)D);
        double a = x[2 * i];
        double b = x[2 * i + 1];
        x[2 * i] = a * cos(angle) - b * sin(angle);
        x[2 * i + 1] = a * sin(angle) + b * cos(angle);
    }
}

/* Adds the attention of all tokens to x. */
static void attention(const tide_decode *of, const tide_decode_layer *layer, size_t T,
                      double x[MAX_TOKENS][MAX_CHANNELS]) {
    static double qkv[MAX_TOKENS][MAX_QKV];
    const tide_decode_config *config = &of->config;
    size_t D = config->C / config->H;
    size_t group = config->H / config->K;
    for (size_t t = 0; t < T; t++) {
        double norm[MAX_CHANNELS];
        normalize(&layer->attention_norm, x[t], norm);
        multiply(&layer->qkv, 0, norm, qkv[t]);
        rotate(config, qkv[t], config->H + config->K, t);
    }
    for (size_t t = 0; t < T; t++) {
        double out[MAX_CHANNELS] = {0};
        double projected[MAX_CHANNELS];
        for (size_t h = 0; h < config->H; h++) {
            double shares[MAX_TOKENS];
            double total = 0;
            for (size_t s = 0; s <= t; s++) {
                const double *k = qkv[s] + config->C + h / group * D;
                double score = 0;
                for (size_t d = 0; d < D; d++) {
                    score += qkv[t][h * D + d] * k[d];
                }
                shares[s] = exp(score / sqrt((double)D));
                total += shares[s];
            }
            for (size_t s = 0; s <= t; s++) {
                const double *v = qkv[s] + config->C + (config->K + h / group) * D;
                for (size_t d = 0; d < D; d++) {
                    out[h * D + d] += shares[s] / total * v[d];
                }
            }
        }
        multiply(&layer->wo, 0, out, projected);
        for (size_t c = 0; c < config->C; c++) {
            x[t][c] += projected[c];
        }
    }
}

/* Adds `share` of the output of expert e for norm to x. */
static void add_expert(const tide_decode_layer *layer, size_t e, double share, const double *norm,
                       double *x) {
    double gate[MAX_HIDDEN];
    double up[MAX_HIDDEN];
    double out[MAX_CHANNELS];
    multiply(&layer->w1, e, norm, gate);
    multiply(&layer->w3, e, norm, up);
    for (size_t f = 0; f < layer->w1.m; f++) {
        gate[f] = gate[f] / (1 + exp(-gate[f])) * up[f];
    }
    multiply(&layer->w2, e, gate, out);
    for (size_t c = 0; c < layer->w2.m; c++) {
        x[c] += share * out[c];
    }
}

/* The feed-forward layer of one token. An expert counts if fewer than A have a larger score; its
 * share is that of the softmax over all, divided by the sum of the shares that count. */
static void feed_forward(const tide_decode *of, const tide_decode_layer *layer, double *x) {
    const tide_decode_config *config = &of->config;
    double norm[MAX_CHANNELS];
    double scores[MAX_EXPERTS];
    bool counts[MAX_EXPERTS];
    double total = 0;
    normalize(&layer->ffn_norm, x, norm);
    if (config->E == 0) {
        add_expert(layer, 0, 1, norm, x);
        return;
    }
    multiply(&layer->gate, 0, norm, scores);
    for (size_t e = 0; e < config->E; e++) {
        size_t n_larger = 0;
        for (size_t i = 0; i < config->E; i++) {
            n_larger += scores[i] > scores[e];
        }
        counts[e] = n_larger < config->A;
        total += counts[e] ? exp(scores[e]) : 0;
    }
    for (size_t e = 0; e < config->E; e++) {
        if (counts[e]) {
            add_expert(layer, e, exp(scores[e]) / total, norm, x);
        }
    }
}

/* The logits after the last of T tokens. */
static void forward(const tide_decode *of, const int32_t *tokens, size_t T, double *logits) {
    static double x[MAX_TOKENS][MAX_CHANNELS];
    const tide_decode_config *config = &of->config;
    double norm[MAX_CHANNELS];
    for (size_t t = 0; t < T; t++) {
        for (size_t c = 0; c < config->C; c++) {
            x[t][c] = (double)((const float *)
                                   of->embedding.array.data)[(size_t)tokens[t] * config->C + c];
        }
    }
    for (size_t l = 0; l < config->L; l++) {
        attention(of, &of->layers[l], T, x);
        for (size_t t = 0; t < T; t++) {
            feed_forward(of, &of->layers[l], x[t]);
        }
    }
    normalize(&of->final_norm, x[T - 1], norm);
    multiply(&of->head, 0, norm, logits);
}

/* ---- the comparison ---- */

typedef struct check {
    const tide_decode *of;
    size_t n_passes; /* seen so far */
    double worst;    /* largest difference */
} check;

/* The logits of pass i are those after P + i tokens. The operators sum in double and round their
 * results to fp32, an error of at most 2^-24. A layer stores some 12 tensors one after another,
 * each of numbers around 1 to 10, and a product passes on the root of the sum of squares of its
 * inputs' errors, so L layers give about sqrt(12 L) 10 2^-24 = 4e-6, and a sum of worst cases 12 L
 * 10 2^-24 = 2e-5. A wrong operator is off by 0.01 and more. */
static const double TOLERANCE = 2e-5;

static void compare(void *ctx, const tide_tensor *logits) {
    check *of = ctx;
    const tide_decode_config *config = &of->of->config;
    size_t T = config->P + of->n_passes++;
    for (size_t b = 0; b < config->B; b++) {
        double expected[97];
        const int32_t *tokens =
            (const int32_t *)of->of->tokens.array.data + b * (config->P + config->N);
        size_t best = 0;
        forward(of->of, tokens, T, expected);
        for (size_t v = 0; v < config->V; v++) {
            double is = (double)((const float *)logits->array.data)[b * config->V + v];
            of->worst = fmax(of->worst, fabs(is - expected[v]));
            best = expected[v] > expected[best] ? v : best;
        }
        assert_int_equal(tokens[T], best); /* no two logits are as close as the tolerance */
    }
}

static void logits_are_those_of_a_whole_forward_pass(void **state) {
    (void)state;
    static const char *const MODELS[] = {"tiny-fp32", "tiny-int8", "tiny-moe-int8"};
    for (size_t i = 0; i < 3; i++) {
        tide_device *device = NULL;
        tide_cache *cache = NULL;
        tide_decode *decode = NULL;
        tide_decode_config config;
        assert_int_equal(tide_decode_preset(MODELS[i], &config, NULL), TIDE_OK);
        config.B = 3;
        config.seed = 7 + i;
        assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
        assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
        assert_int_equal(tide_decode_create(&config, cache, NULL, &decode, NULL), TIDE_OK);
        check of = {.of = decode};
        decode->see_logits = compare;
        decode->see_logits_ctx = &of;
        assert_int_equal(tide_decode_setup(decode, NULL), TIDE_OK);
        assert_int_equal(tide_decode_generate(decode, NULL), TIDE_OK);
        assert_int_equal(of.n_passes, config.N);
        if (!(of.worst < TOLERANCE)) {
            fail_msg("%s: logits are off by %g", MODELS[i], of.worst);
        }
        tide_decode_destroy(decode);
        tide_cache_destroy(cache);
        tide_device_close(device);
    }
}

/* ---- bytes ---- */

/* Parameters as the models' authors publish them; read bytes as PyTorch's benchmark counts them:
 * its memory bandwidth is these times its tokens per second, so its two targets for a model, which
 * are rounded, agree within 1 %. Its Mixtral has 16 layers. */
static void real_shapes_have_published_figures(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t L;
        uint64_t n_parameters;
    } MODELS[] = {{"llama-2-7B-bf16", 32, UINT64_C(6738415616)},
                  {"llama-2-7B-int8", 32, UINT64_C(6738415616)},
                  {"mixtral-8x7B-int8", 16, 0}};
    tide_decode_config config;
    for (size_t i = 0; i < 3; i++) {
        const tide_decode_target *target = tide_decode_target_of(MODELS[i].name, MODELS[i].L);
        assert_int_equal(tide_decode_preset(MODELS[i].name, &config, NULL), TIDE_OK);
        config.L = MODELS[i].L;
        if (MODELS[i].n_parameters != 0) {
            assert_int_equal(tide_decode_n_parameters(&config), MODELS[i].n_parameters);
        }
        double per_token = target->memory_bandwidth * 1e9 / target->tokens_per_s;
        double read = (double)tide_decode_read_bytes(&config);
        if (!(fabs(read / per_token - 1) < 0.01)) {
            fail_msg("%s: %g bytes are read, the targets say %g", MODELS[i].name, read, per_token);
        }
    }
    config.L = 32;
    assert_null(tide_decode_target_of(config.name, config.L));
    assert_int_equal(tide_decode_n_parameters(&config), UINT64_C(46702792704));
    assert_int_equal(tide_decode_cache_bytes(&config), 2 * 32 * 208 * 8 * 128 * 2);
    /* One position further: one more key and value in each layer. */
    assert_int_equal(tide_decode_token_bytes(&config, 9) - tide_decode_token_bytes(&config, 8),
                     2 * 32 * 8 * 128 * 2);
    /* The mean over the passes, added up. */
    double sum = 0;
    for (size_t i = 1; i < config.N; i++) {
        sum += (double)tide_decode_token_bytes(&config, config.P + i - 1);
    }
    assert_true(fabs(sum / (double)(config.N - 1) / tide_decode_mean_token_bytes(&config) - 1) <
                1e-12);
}

static tide_workload_config run_of(const char *model, size_t B, size_t P, size_t N) {
    tide_workload_config config;
    tide_decode_config preset;
    tide_workload_config_init(&config);
    assert_int_equal(tide_decode_preset(model, &preset, NULL), TIDE_OK);
    config.architecture = TIDE_DECODE;
    config.mode = TIDE_FORWARD;
    config.model = (tide_model_config){
        .n_layers = preset.L, .context_length = P, .batch_size = B, .d_model = preset.C};
    memcpy(config.model.size, preset.name, sizeof(preset.name));
    config.new_tokens = N;
    config.warmup_steps = 1;
    config.steps = 1;
    return config;
}

/* Prompts long and short, few rows and many: the feed-forward layer or the logits set the peak; the
 * other sets of activations never do for these shapes. Bytes of weights and cache equal the closed
 * forms. */
static void peaks_are_those_on_paper(void **state) {
    (void)state;
    static const size_t RUNS[][3] = {{1, 6, 200}, {1, 1, 1}, {5, 1, 3}, {2, 700, 2}, {64, 9, 8}};
    for (size_t i = 0; i < 6 * 5; i++) {
        const size_t *shape = RUNS[i % 5];
        tide_workload_config config =
            run_of(tide_decode_preset_name(i / 5), shape[0], shape[1], shape[2]);
        tide_decode_config decode;
        recorded_run run;
        uint64_t n_bytes[TIDE_N_CATEGORIES] = {0};
        assert_int_equal(tide_workload_decode(&config, &decode, NULL), TIDE_OK);
        recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
        tide_cache_stats stats;
        tide_cache_get_stats(run.cache, &stats);
        assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].peak,
                         tide_decode_peak_bytes(&decode));
        assert_int_equal(tide_workload_requested_peak_bytes(&config),
                         tide_decode_peak_bytes(&decode));
        const tide_recording *all = &run.state.recording;
        for (size_t k = 0; k < all->n_events; k++) {
            const tide_event *event = &all->events[k];
            if (event->action == TIDE_ACTION_ALLOC) {
                n_bytes[event->category] += event->requested_bytes;
            }
        }
        assert_int_equal(n_bytes[TIDE_PARAMETER], tide_decode_weight_bytes(&decode));
        assert_int_equal(n_bytes[TIDE_KV_CACHE], tide_decode_cache_bytes(&decode));
        recorded_run_end(&run);
    }
}

static void a_pass_stands_in_its_scopes(void **state) {
    (void)state;
    char at[SCOPE_PATH];
    const tide_workload_config config = run_of("tiny-moe-int8", 1, 6, 3);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *all = &run.state.recording;
    size_t i = find_event(all, TIDE_ACTION_ALLOC, "layers.2.ffn.w2", 0);
    assert_true(i < all->n_events);
    scope_path(all, all->events[i].scope, at);
    assert_string_equal(at, "warmup 0/forward/prefill/layer 2/ffn");
    i = find_event(all, TIDE_ACTION_ALLOC, "logits", 5);
    assert_true(i < all->n_events);
    scope_path(all, all->events[i].scope, at);
    assert_string_equal(at, "step 0/forward/decode 2/lm_head");
    assert_int_equal(find_event(all, TIDE_ACTION_ALLOC, "logits", 6), all->n_events);
    recorded_run_end(&run);
}

/* ---- what is refused ---- */

static void bad_configurations_are_refused(void **state) {
    (void)state;
    tide_decode_config config;
    tide_error error;
    assert_int_equal(tide_decode_preset("llama", &config, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "mixtral-8x7B-int8"));
    assert_int_equal(tide_decode_preset("llama-2-7B-int8", &config, NULL), TIDE_OK);
    config.P = 4000;
    assert_int_equal(tide_decode_check(&config, NULL), TIDE_INVALID); /* 4096 positions */
    config.P = 3896;
    assert_int_equal(tide_decode_check(&config, NULL), TIDE_OK);
    config.B = SIZE_MAX;
    assert_int_equal(tide_decode_check(&config, NULL), TIDE_LIMIT);
    config.B = 0;
    assert_int_equal(tide_decode_check(&config, NULL), TIDE_INVALID);
}

/* The cpu refuses large models; an out of memory on the way leaks nothing. */
static void devices_without_operators_are_refused(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_decode *decode = NULL;
    tide_decode_config config;
    tide_error error;
    assert_int_equal(tide_decode_preset("llama-2-7B-int8", &config, NULL), TIDE_OK);
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
    assert_int_equal(tide_decode_create(&config, cache, NULL, &decode, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "virtual"));
    tide_cache_destroy(cache);
    tide_device_close(device);
    recorded_run run;
    const tide_workload_config large = run_of("tiny-int8", 3000, 6, 10);
    recorded_run_start(&run, "virtual", &large, (size_t)16 << 20, TIDE_DEVICE_OOM);
    recorded_run_end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_a_whole_forward_pass),
        cmocka_unit_test(real_shapes_have_published_figures),
        cmocka_unit_test(peaks_are_those_on_paper),
        cmocka_unit_test(a_pass_stands_in_its_scopes),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(devices_without_operators_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
