/* test_real_size.c - what small shapes cannot show, without recorded results: flash attention
 * against naive attention, and the first loss of a transformer against the one its initial values
 * imply. On a GPU at the shapes of size 2.7B; in the emulator at the largest that it can do.
 *
 * Flash and naive attention share neither kernels nor the order of their sums: one is tiles of our
 * own, the other products of cuBLAS with a softmax between. An error of either, such as an index
 * that overflows, a skipped tile or a confused head, shows as a row of D numbers that differs. Rows
 * are compared by their L2 norm, each relative to its own and to the root mean square of all rows,
 * since rows that are 0 in exact arithmetic (dq of the first token) are not.
 *
 * Tolerances. q, k, v are uniform in [-2, 2): scores have the standard deviation 4/3. bf16 rounds
 * by r = 2^-9 in the L2 norm (model/reference/reference_tolerance_bf16.c). A row of out has these
 * roundings: of flash attention P and out, of naive attention the scores, which enter P by (4/3)^2
 * of their squares, P and out: K = 2 + 16/9 + 2. A row of a gradient, with dprobs, dscores and the
 * delta that is made of a rounded out: K = 2 + 1 + 16/9 + 4. A row is one sample of a few keys at
 * worst: six standard deviations, 6 r sqrt(K). In TF32 both operands of each product are rounded,
 * in flash attention by us and in naive attention by cuBLAS, which may also cut them off: r = u =
 * 2^-11, as in model/reference/reference_tolerance_tf32.c. A row of out has, on either side, q and
 * k, which enter P by (4/3)^2, P and v: K = 2 (2 * 16/9 + 2). A row of a gradient has q and k, dout
 * and v, and dscores and the other operand: K = 2 (2 * 16/9 + 4). In fp32 the sums of either side
 * err like a random walk, as in test_attention.c: the same tolerances, once for each side.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "device/device.h"
#include "model/bf16.h"
#include "model/ops.h"
#include "model/layers/transformer.h"

#define FP32_ROUNDOFF 5.9604644775390625e-8
#define BF16_ROUNDING 0.001953125
#define TF32_ROUNDING 0.00048828125

#ifdef TIDE_TEST_REAL_SIZE
/* Of 2.7B: heads, channels of a head, its width and its feed-forward width; four of its layers. */
enum { TOKENS = 2048, HEADS = 32, BATCH = 1, N_LAYERS = 4, D_FF = 10240, VOCABULARY = 10000 };
#else
/* Above one tile on either side, and three heads, so that the one in the middle has neighbours. */
enum { TOKENS = 140, HEADS = 3, BATCH = 1, N_LAYERS = 1, D_FF = 64, VOCABULARY = 97 };
#endif
enum { CHANNELS = 80, N = BATCH * TOKENS * HEADS * CHANNELS, N_ROWS = BATCH * TOKENS * HEADS };

typedef struct machine {
    tide_device *device; /* owned */
    tide_ops *ops;       /* owned; of strict fp32 */
    tide_ops *tf32;      /* owned */
    uint64_t segment;    /* of the arrays; 0: none */
    size_t n_used;       /* bytes of it in use */
    uint64_t workspace;  /* cuBLAS' */
} machine;

static void must(tide_status status, const tide_error *error) {
    if (status != TIDE_OK) {
        fail_msg("%s", error->message);
    }
}

static const size_t SEGMENT_BYTES =
    (size_t)14 * N * 4 + (size_t)2 * N_ROWS * TOKENS * 4 + (1 << 22);
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;

static int setup(void **state) {
    machine *m = calloc(1, sizeof(*m));
    tide_error error = {""};
    const tide_hostmem *mem = tide_hostmem_default();
    const size_t granule = TIDE_DEVICE_GRANULE;
    assert_non_null(m);
    must(tide_device_open("cuda", NULL, &m->device, &error), &error);
    must(tide_ops_open(mem, m->device, TIDE_PRECISION_FP32, &m->ops, &error), &error);
    must(tide_ops_open(mem, m->device, TIDE_PRECISION_TF32, &m->tf32, &error), &error);
    must(tide_device_alloc(m->device, (SEGMENT_BYTES / granule + 1) * granule, &m->segment, &error),
         &error);
    must(tide_device_alloc(m->device, WORKSPACE_BYTES, &m->workspace, &error), &error);
    void *workspace = tide_device_pointer(m->device, m->workspace);
    must(m->ops->table->use_workspace(m->ops, workspace, WORKSPACE_BYTES, &error), &error);
    must(m->ops->table->use_workspace(m->tf32, workspace, WORKSPACE_BYTES, &error), &error);
    *state = m;
    return 0;
}

static int teardown(void **state) {
    machine *m = *state;
    tide_ops_close(m->ops);
    tide_ops_close(m->tf32);
    assert_int_equal(tide_device_release(m->device, m->workspace, NULL), TIDE_OK);
    assert_int_equal(tide_device_release(m->device, m->segment, NULL), TIDE_OK);
    tide_device_close(m->device);
    free(m);
    return 0;
}

/* The next n elements of the segment. */
static tide_array take(machine *m, tide_dtype dtype, size_t n) {
    const tide_array made = {tide_device_pointer(m->device, m->segment + m->n_used), dtype};
    m->n_used += (n * tide_dtype_bytes(dtype) + 255) / 256 * 256;
    assert_true(m->n_used <= SEGMENT_BYTES);
    return made;
}

static void to_device(machine *m, tide_array to, const float *from, size_t n) {
    uint16_t *narrow = malloc(n * sizeof(*narrow));
    tide_error error = {""};
    assert_non_null(narrow);
    for (size_t i = 0; i < n; i++) {
        narrow[i] = tide_fp32_to_bf16(from[i]);
    }
    const void *source = to.dtype == TIDE_BF16 ? (const void *)narrow : from;
    must(tide_device_copy(m->device, to.data, source, n * tide_dtype_bytes(to.dtype),
                          TIDE_COPY_TO_DEVICE, 0, &error),
         &error);
    must(tide_device_synchronize(m->device, &error), &error);
    free(narrow);
}

/* n numbers of an array; the caller frees them. */
static float *from_device(tide_device *device, tide_array from, size_t n) {
    float *wide = malloc(n * sizeof(*wide));
    uint16_t *narrow = malloc(n * sizeof(*narrow));
    tide_error error = {""};
    assert_true(wide != NULL && narrow != NULL);
    void *target = from.dtype == TIDE_BF16 ? (void *)narrow : wide;
    must(tide_device_copy(device, target, from.data, n * tide_dtype_bytes(from.dtype),
                          TIDE_COPY_TO_HOST, 0, &error),
         &error);
    must(tide_device_synchronize(device, &error), &error);
    for (size_t i = 0; from.dtype == TIDE_BF16 && i < n; i++) {
        wide[i] = tide_bf16_to_fp32(narrow[i]);
    }
    free(narrow);
    return wide;
}

/* Uniform in [-scale, scale). */
static float *numbers(size_t n, float scale, uint32_t seed) {
    float *x = malloc(n * sizeof(*x));
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = ((float)(seed >> 8) * 0x1p-23F - 1) * scale;
    }
    return x;
}

/* ---- attention ---- */

enum { OUT, DQ, DK, DV, N_RESULTS };
static const char *const NAMES[N_RESULTS] = {"out", "dq", "dk", "dv"};

/* What both kinds read, and what one of them wrote. */
typedef struct attention_arrays {
    tide_array q, k, v, dout;      /* N each */
    tide_array results[N_RESULTS]; /* N each */
    tide_array probs, dprobs;      /* of naive attention, N_ROWS * TOKENS each */
    tide_array lse, scratch;       /* of flash attention, fp32, N_ROWS each */
} attention_arrays;

static void run_attention(tide_ops *ops, tide_attention kind, const attention_arrays *a) {
    tide_error error = {""};
    const tide_attention_forward forward = {.kind = kind,
                                            .out = a->results[OUT],
                                            .q = a->q,
                                            .k = a->k,
                                            .v = a->v,
                                            .lse = a->lse.data,
                                            .probs = a->probs,
                                            .B = BATCH,
                                            .T = TOKENS,
                                            .H = HEADS,
                                            .D = CHANNELS};
    must(ops->table->attention_forward(ops, &forward, &error), &error);
    const tide_attention_backward backward = {.kind = kind,
                                              .dq = a->results[DQ],
                                              .dk = a->results[DK],
                                              .dv = a->results[DV],
                                              .dout = a->dout,
                                              .out = a->results[OUT],
                                              .q = a->q,
                                              .k = a->k,
                                              .v = a->v,
                                              .lse = a->lse.data,
                                              .scratch = a->scratch.data,
                                              .probs = a->probs,
                                              .dprobs = a->dprobs,
                                              .B = BATCH,
                                              .T = TOKENS,
                                              .H = HEADS,
                                              .D = CHANNELS};
    must(ops->table->attention_backward(ops, &backward, &error), &error);
}

static double norm(const float *x, const float *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (y == NULL ? 0 : (double)y[i]);
        sum += d * d;
    }
    return sqrt(sum);
}

/* Rows (b, t, h) that differ by more than allowed, of a result. */
static size_t n_rows_off(const char *name, const float *got, const float *want, double tolerance,
                         bool aloud) {
    const double usual = norm(want, NULL, N) / sqrt((double)N_ROWS);
    size_t n_off = 0;
    for (size_t row = 0; row < N_ROWS; row++) {
        const float *x = got + row * CHANNELS;
        const float *y = want + row * CHANNELS;
        const double off = norm(x, y, CHANNELS);
        const double allowed = tolerance * (norm(y, NULL, CHANNELS) + usual);
        if (!(off <= allowed)) {
            if (aloud && n_off == 0) {
                print_error("%s, token %zu, head %zu: off by %.3g, %.3g is allowed\n", name,
                            row / HEADS % TOKENS, row % HEADS, off, allowed);
            }
            n_off++;
        }
    }
    return n_off;
}

static double sum_error(size_t n, double roundings) {
    return FP32_ROUNDOFF * (sqrt((double)n) + roundings);
}

static double tolerance_of(tide_precision precision, int result) {
    if (precision == TIDE_PRECISION_TF32) {
        return 6 * TF32_ROUNDING * sqrt(2 * (2 * 16.0 / 9 + (result == OUT ? 2 : 4)));
    }
    if (precision == TIDE_PRECISION_BF16_TRUE) {
        const double K = result == OUT ? 2 + 16.0 / 9 + 2 : 2 + 1 + 16.0 / 9 + 4;
        return 6 * BF16_ROUNDING * sqrt(K);
    }
    const double scores = FP32_ROUNDOFF * 4 * sqrt((double)CHANNELS);
    return result == OUT ? 2 * 2 * (sum_error(TOKENS, 8) + scores)
                         : 2 * 8 * (sum_error(TOKENS, 8) + scores + sum_error(CHANNELS, 4));
}

static attention_arrays take_arrays(machine *m, tide_dtype dtype) {
    attention_arrays a = {.q = take(m, dtype, N),
                          .k = take(m, dtype, N),
                          .v = take(m, dtype, N),
                          .dout = take(m, dtype, N),
                          .probs = take(m, dtype, (size_t)N_ROWS * TOKENS),
                          .dprobs = take(m, dtype, (size_t)N_ROWS * TOKENS),
                          .lse = take(m, TIDE_FP32, N_ROWS),
                          .scratch = take(m, TIDE_FP32, N_ROWS)};
    for (int i = 0; i < N_RESULTS; i++) {
        a.results[i] = take(m, dtype, N);
    }
    const tide_array inputs[] = {a.q, a.k, a.v, a.dout};
    for (uint32_t i = 0; i < 4; i++) {
        float *x = numbers(N, i < 3 ? 2 : 1, i + 1);
        to_device(m, inputs[i], x, N);
        free(x);
    }
    return a;
}

/* Where `turn` is set, 64 keys of the middle head are negated for naive attention alone: the result
 * of a kernel that uses another tile as its own. Returns the results that agree, by bit. */
static unsigned results_that_agree(machine *m, tide_precision precision, bool turn) {
    tide_ops *ops = precision == TIDE_PRECISION_TF32 ? m->tf32 : m->ops;
    m->n_used = 0;
    const attention_arrays a =
        take_arrays(m, precision == TIDE_PRECISION_BF16_TRUE ? TIDE_BF16 : TIDE_FP32);
    float *flash[N_RESULTS];
    unsigned agree = 0;
    run_attention(ops, TIDE_ATTENTION_FLASH, &a);
    for (int i = 0; i < N_RESULTS; i++) {
        flash[i] = from_device(m->device, a.results[i], N);
    }
    if (turn) {
        float *k = from_device(m->device, a.k, N);
        for (size_t t = TOKENS / 4; t < TOKENS / 4 + 64; t++) {
            for (size_t d = 0; d < CHANNELS; d++) { /* k[0][t][middle][:] */
                k[(t * HEADS + HEADS / 2) * CHANNELS + d] *= -1;
            }
        }
        to_device(m, a.k, k, N);
        free(k);
    }
    run_attention(ops, TIDE_ATTENTION_NAIVE, &a);
    for (int i = 0; i < N_RESULTS; i++) {
        float *naive = from_device(m->device, a.results[i], N);
        const size_t n_off =
            n_rows_off(NAMES[i], flash[i], naive, tolerance_of(precision, i), !turn);
        agree |= n_off == 0 ? 1U << i : 0U;
        free(naive);
        free(flash[i]);
    }
    return agree;
}

static const tide_precision PRECISIONS[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_TF32,
                                            TIDE_PRECISION_BF16_TRUE};
enum { N_PRECISIONS = sizeof(PRECISIONS) / sizeof(PRECISIONS[0]) };

static void flash_equals_naive(void **state) {
    for (int i = 0; i < N_PRECISIONS; i++) {
        assert_int_equal(results_that_agree(*state, PRECISIONS[i], false), (1U << N_RESULTS) - 1);
    }
}

static void tiles_of_another_head_are_seen_in_every_result(void **state) {
    for (int i = 0; i < N_PRECISIONS; i++) {
        assert_int_equal(results_that_agree(*state, PRECISIONS[i], true), 0);
    }
}

/* ---- the first loss ---- */

/* With RMSNorm before lm_head logits are sums of C products of a number of mean square 1 and a
 * weight of variance 2 / (C + V), of which truncation at 3 sigma leaves 0.9733: normal, of variance
 * s^2. */
static double logit_variance(void) {
    const double C = (double)CHANNELS * HEADS;
    return 0.9733 * 2 * C / (C + VOCABULARY);
}

/* Relative variance of sum exp z over V such logits. */
static double sum_variance(void) {
    return (exp(logit_variance()) - 1) / VOCABULARY;
}

/* The mean of log sum exp z - z_target: ln V + s^2 / 2, or ln V + C / (C + V) except for the
 * truncation, less the loss by the logarithm of a varying sum. */
static double expected_loss(void) {
    return log((double)VOCABULARY) + logit_variance() / 2 - sum_variance() / 2;
}

/* Five standard deviations of the mean of R rows, since tokens and targets are random. It must be
 * less than s^2 / 2, to detect logits of 0. */
static double loss_tolerance(void) {
    const double R = (double)BATCH * TOKENS;
    return 5 * sqrt((logit_variance() + sum_variance()) / R);
}

static tide_transformer *make_transformer(tide_cache *cache, tide_precision precision,
                                          tide_attention attention) {
    tide_transformer_config config;
    tide_transformer *made = NULL;
    tide_error error = {""};
    tide_transformer_config_init(&config);
    config.model.d_model = (size_t)CHANNELS * HEADS;
    config.model.n_heads = HEADS;
    config.model.n_layers = N_LAYERS;
    config.model.d_ff = D_FF;
    config.model.vocab_size = VOCABULARY;
    config.model.context_length = TOKENS;
    config.model.batch_size = BATCH;
    config.precision = precision;
    config.attention = attention;
    must(tide_transformer_create(&config, cache, NULL, &made, &error), &error);
    must(tide_transformer_setup(made, &error), &error);
    must(tide_transformer_fill(made, &error), &error);
    return made;
}

/* A step of forward and backward: the loss, and the gradient of the first layer's q_proj, n
 * numbers, which the caller frees. */
static double first_step(machine *m, tide_precision precision, tide_attention attention,
                         float **ret_gradient, size_t *ret_n) {
    tide_cache *cache = NULL;
    tide_error error = {""};
    must(tide_cache_create(m->device, NULL, NULL, &cache, &error), &error);
    tide_transformer *t = make_transformer(cache, precision, attention);
    must(tide_transformer_forward(t, &error), &error);
    must(tide_transformer_loss(t, &error), &error);
    float *loss = from_device(m->device, tide_transformer_loss_value(t)->array, 1);
    const double value = (double)*loss;
    must(tide_transformer_backward(t, &error), &error);
    const tide_parameter *q =
        tide_transformer_parameter(t, tide_parameter_of_layer(0, TIDE_Q_PROJ));
    *ret_n = q->n_elements;
    *ret_gradient = from_device(m->device, q->gradient.array, q->n_elements);
    must(tide_transformer_end_step(t, &error), &error);
    tide_transformer_destroy(t);
    tide_cache_destroy(cache);
    free(loss);
    return value;
}

/* Relative error of the logits of one side, as model/reference_tolerance*.c derive it. */
static double logit_error(tide_precision precision) {
    const double C = (double)CHANNELS * HEADS;
    const double L = N_LAYERS;
    switch (precision) {
    case TIDE_PRECISION_FP32:
        return FP32_ROUNDOFF * sqrt(L * (3 * C + CHANNELS + TOKENS + D_FF + 40) + C + 40);
    case TIDE_PRECISION_TF32:
        return 1.0 / 2048 * sqrt(9 * L + 2);
    default:
        return BF16_ROUNDING * sqrt(8.5 * L + 3);
    }
}

/* The same for a gradient. */
static double gradient_error(tide_precision precision) {
    const double C = (double)CHANNELS * HEADS;
    const double L = N_LAYERS;
    const double few_channels = sqrt(1 + 16 / C);
    const double R = (double)BATCH * TOKENS;
    switch (precision) {
    case TIDE_PRECISION_FP32:
        return 2 * few_channels * FP32_ROUNDOFF *
               sqrt(L * (8 * C + 2 * CHANNELS + 3 * (double)TOKENS + 3 * (double)D_FF + 100) + C +
                    VOCABULARY + R + 40);
    case TIDE_PRECISION_TF32:
        return 1.25 * few_channels / 2048 * sqrt(15 * L + 6);
    default:
        return 1.25 * few_channels * BF16_ROUNDING * sqrt(17 * L + 7);
    }
}

/* Errors of the logits move the loss by their size times |dloss / dlogits|, about 1 / sqrt(R); two
 * standard deviations. Two sides err: sqrt(2). Rows' losses and their mean are rounded to fp32, on
 * either side. */
static double losses_apart(tide_precision precision) {
    const double R = (double)BATCH * TOKENS;
    return 2 * sqrt(2.0) * logit_error(precision) * sqrt(logit_variance() / R) +
           4 * FP32_ROUNDOFF * expected_loss();
}

static void assert_at_most(tide_precision precision, const char *what, double value, double most) {
    if (!(value <= most)) {
        fail_msg("%s: %s: %.4g, at most %.4g is allowed", tide_precision_name((int)precision), what,
                 value, most);
    }
}

static void check_first_step(machine *m, tide_precision precision) {
    float *gradients[TIDE_N_ATTENTIONS];
    double losses[TIDE_N_ATTENTIONS];
    size_t n = 0;
    for (int i = 0; i < TIDE_N_ATTENTIONS; i++) {
        losses[i] = first_step(m, precision, (tide_attention)i, &gradients[i], &n);
        assert_at_most(precision, "the first loss from what the initial values make it",
                       fabs(losses[i] - expected_loss()), loss_tolerance());
    }
    assert_at_most(precision, "the losses of flash and naive attention",
                   fabs(losses[0] - losses[1]), losses_apart(precision));
    assert_at_most(precision, "their gradients of q_proj",
                   norm(gradients[0], gradients[1], n) / norm(gradients[1], NULL, n),
                   sqrt(2.0) * gradient_error(precision));
    free(gradients[0]);
    free(gradients[1]);
}

static void the_first_loss_is_that_of_random_logits(void **state) {
    assert_true(loss_tolerance() < logit_variance() / 2);
    check_first_step(*state, TIDE_PRECISION_FP32);
    check_first_step(*state, TIDE_PRECISION_TF32);
    check_first_step(*state, TIDE_PRECISION_BF16_MIXED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flash_equals_naive, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles_of_another_head_are_seen_in_every_result, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_first_loss_is_that_of_random_logits, setup, teardown),
    };
    return cmocka_run_group_tests_name("ops_cuda.real_size", tests, NULL, NULL);
}
