/* test_ops_kernels.c - the inner loops of the cpu operators, in every table that this machine can
 * run, compared with plain loops in double. */
#include "ops_support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fp16.h"
#include "model/ops_cpu/kernels.h"

/* Sizes around the lanes of a register and a piece of an operator, and beyond. */
static const size_t SIZES[] = {0, 1, 15, 16, 17, 479, 480, 481, 5000};
enum { N_SIZES = sizeof(SIZES) / sizeof(SIZES[0]), N_RUNS = 5 };

/* Runs of n numbers, plus one that no kernel may touch; they begin at odd addresses. */
typedef struct runs {
    const tide_cpu_kernels *kernels; /* under test */
    size_t n;                        /* of each run */
    float *storage[N_RUNS];          /* owned */
    float *x[N_RUNS];                /* in storage; n + 1 numbers */
    double *before[N_RUNS];          /* owned; what x was at first */
    double *want[N_RUNS];            /* owned; n + 1 numbers, which the test fills */
} runs;

static runs make_runs(const tide_cpu_kernels *kernels, size_t n) {
    runs made = {.kernels = kernels, .n = n};
    for (size_t i = 0; i < N_RUNS; i++) {
        made.storage[i] = random_floats(n + 2, i + 1, 1);
        made.x[i] = made.storage[i] + 1;
        made.before[i] = widen(made.x[i], n + 1);
        made.want[i] = widen(made.x[i], n + 1);
    }
    return made;
}

static void free_runs(runs *made) {
    for (size_t i = 0; i < N_RUNS; i++) {
        free(made->want[i]);
        free(made->before[i]);
        free(made->storage[i]);
    }
}

/* Run i has the expected numbers, and the number after it is untouched. */
static void check_run(const runs *made, const char *kernel, size_t i, double tolerance) {
    char what[96];
    (void)snprintf(what, sizeof(what), "%s of %s", kernel, made->kernels->name);
    assert_close(what, made->x[i], made->want[i], made->n, tolerance);
    if ((double)made->x[i][made->n] != made->before[i][made->n]) {
        fail_msg("%s: writes beyond %zu numbers", what, made->n);
    }
}

/* A sum of n numbers whose magnitudes add up to `magnitude`, each with a relative error of
 * `tolerance`: any order of adding in double errs by n 2^-53 of the magnitude at most, twice. */
static void check_sum(const runs *made, const char *kernel, double got, double want,
                      double magnitude, double tolerance) {
    double room = ((double)made->n * DBL_EPSILON + tolerance) * magnitude;
    if (!(fabs(got - want) <= room)) {
        fail_msg("%s of %s, %zu numbers: %.17g instead of %.17g, room %.3g", kernel,
                 made->kernels->name, made->n, got, want, room);
    }
}

typedef void (*run_check)(runs *made);

static void for_all_tables(run_check check) {
    for (const tide_cpu_kernels *const *k = tide_cpu_kernels_available(); *k != NULL; k++) {
        for (size_t i = 0; i < N_SIZES; i++) {
            runs made = make_runs(*k, SIZES[i]);
            check(&made);
            free_runs(&made);
        }
    }
}

static void check_add_and_scale(runs *made) {
    for (size_t i = 0; i < made->n; i++) {
        made->want[0][i] = made->before[0][i] + made->before[1][i];
        made->want[2][i] = made->before[2][i] * (double)0.3F;
    }
    made->kernels->add(made->x[0], made->x[1], made->n);
    made->kernels->scale(made->x[2], 0.3F, made->n);
    check_run(made, "add", 0, sum_tolerance(0, 1));
    check_run(made, "scale", 2, sum_tolerance(0, 1));
}

static void add_and_scale(void **state) {
    (void)state;
    for_all_tables(check_add_and_scale);
}

static void check_sums(runs *made) {
    double dot = 0;
    double dot_magnitude = 0;
    double squares = 0;
    double norm = 0;
    double norm_magnitude = 0;
    const double rstd = (double)1.7F;
    for (size_t i = 0; i < made->n; i++) {
        double x = made->before[0][i];
        double y = made->before[1][i];
        dot += x * y;
        dot_magnitude += fabs(x * y);
        squares += x * x;
        norm += x * y * made->before[2][i] * rstd;
        norm_magnitude += fabs(x * y * made->before[2][i] * rstd);
    }
    float *const *x = made->x;
    check_sum(made, "dot", made->kernels->dot(x[0], x[1], made->n), dot, dot_magnitude, 0);
    check_sum(made, "sum_of_squares", made->kernels->sum_of_squares(x[0], made->n), squares,
              squares, 0);
    /* Two products are rounded to fp32. */
    check_sum(made, "rmsnorm_dot", made->kernels->rmsnorm_dot(x[0], x[1], x[2], 1.7F, made->n),
              norm, norm_magnitude, 2 * UNIT_ROUNDOFF);
}

static void sums(void **state) {
    (void)state;
    for_all_tables(check_sums);
}

static void check_row_max(runs *made) {
    float *x = made->x[0];
    size_t n = made->n;
    x[n] = 2; /* larger, and beyond */
    for (size_t at = 0; at < n; at += n / 7 + 1) {
        float kept = x[at];
        x[at] = 1.5F;
        assert_true(made->kernels->row_max(x, n) == 1.5F);
        x[at] = kept;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] -= 3;
    }
    float max = made->kernels->row_max(x, n);
    assert_true(n == 0 ? max == -INFINITY : max < -1.9F && max >= -4.0F);
    if (n > 1) {
        x[n / 2] = NAN;
        x[0] = -1;
        assert_true(made->kernels->row_max(x, n) == -1.0F);
    }
}

static void row_max(void **state) {
    (void)state;
    for_all_tables(check_row_max);
}

/* exp errs by 2 units in the last place, 4 u, and by u |x - max| from rounding its argument; below
 * -87 it is e^-87, which is negligible beside 1. */
static void check_exponentials(runs *made) {
    const float MAX = 0.9F;
    size_t n = made->n;
    for (size_t i = 0; i < n; i++) {
        float distance = i % 3 == 0 ? 1.0F : i % 3 == 1 ? 40.0F : 200.0F;
        made->x[0][i] = distance * (made->x[0][i] - 1) + MAX;
        made->before[0][i] = (double)made->x[0][i];
    }
    double sum = made->kernels->exponentials(made->x[0], n, MAX);
    double want = 0;
    for (size_t i = 0; i < n; i++) {
        double argument = made->before[0][i] - (double)MAX;
        double exact = exp(argument);
        double room = UNIT_ROUNDOFF * (4 + fabs(argument)) * exact + 2e-38;
        assert_true(fabs((double)made->x[0][i] - exact) <= room);
        want += (double)made->x[0][i];
    }
    check_sum(made, "exponentials", sum, want, want, 0);
    assert_true((double)made->x[0][n] == made->before[0][n]);
    float edges[] = {-INFINITY, 0, NAN};
    (void)made->kernels->exponentials(edges, 3, 0);
    assert_true(edges[0] >= 0 && edges[0] < 2e-38F && edges[1] == 1.0F && isnan(edges[2]));
}

static void exponentials(void **state) {
    (void)state;
    for_all_tables(check_exponentials);
}

static void check_dscores(runs *made) {
    const double delta = (double)0.2F;
    const double factor = (double)0.125F;
    for (size_t i = 0; i < made->n; i++) {
        made->want[0][i] = made->before[1][i] * (made->before[0][i] - delta) * factor;
    }
    made->kernels->dscores(made->x[0], made->x[1], (float)delta, (float)factor, made->n);
    check_run(made, "dscores", 0, sum_tolerance(0, 3));
}

static void dscores(void **state) {
    (void)state;
    for_all_tables(check_dscores);
}

/* Sums around a value that is far from 0 and not the mean, as a row's first sum may leave it. */
static void check_layernorm(runs *made) {
    const double mean = (double)0.3F;
    const double rstd = (double)1.7F;
    double sum = 0;
    double magnitude = 0;
    double squares = 0;
    for (size_t i = 0; i < made->n; i++) {
        double x = made->before[1][i];
        sum += x;
        magnitude += fabs(x);
        squares += (x - mean) * (x - mean);
        made->want[0][i] = (x - mean) * rstd * made->before[2][i] + made->before[3][i];
    }
    check_sum(made, "sum", made->kernels->sum(made->x[1], made->n), sum, magnitude, 0);
    check_sum(made, "squares_around", made->kernels->squares_around(made->x[1], mean, made->n),
              squares, squares, DBL_EPSILON);
    made->kernels->layernorm_forward(made->x[0], made->x[1], made->x[2], made->x[3], (float)mean,
                                     (float)rstd, made->n);
    check_run(made, "layernorm_forward", 0, sum_tolerance(0, 8)); /* terms that may cancel */
}

static void layernorm(void **state) {
    (void)state;
    for_all_tables(check_layernorm);
}

static void check_gelu(runs *made) {
    for (size_t i = 0; i < made->n; i++) {
        made->x[1][i] *= 6;
        double x = (double)made->x[1][i];
        double below = erfc(-x / sqrt(2)) / 2;
        made->want[0][i] = x * below;
        made->want[3][i] = made->before[2][i] * (below + x * exp(-x * x / 2) / sqrt(2 * acos(-1)));
    }
    made->kernels->gelu_forward(made->x[0], made->x[1], made->n);
    made->kernels->gelu_backward(made->x[3], made->x[2], made->x[1], made->n);
    /* The normal distribution errs by 1.3 u, its exponential by 4 u, and ten roundings. */
    check_run(made, "gelu_forward", 0, sum_tolerance(0, 16));
    check_run(made, "gelu_backward", 3, sum_tolerance(0, 16));
}

static void gelu(void **state) {
    (void)state;
    for_all_tables(check_gelu);
}

static void check_widen_int8(runs *made) {
    int8_t *whole = malloc(made->n + 1);
    assert_non_null(whole);
    for (size_t i = 0; i < made->n; i++) {
        whole[i] = (int8_t)((int)(i * 37 % 256) - 128);
        made->want[0][i] = (double)whole[i];
    }
    made->kernels->widen_int8(made->x[0], whole, made->n);
    check_run(made, "widen_int8", 0, 0);
    free(whole);
}

static void widen_int8(void **state) {
    (void)state;
    for_all_tables(check_widen_int8);
}

static void check_rmsnorm(runs *made) {
    const double rstd = (double)1.7F;
    const double mean = (double)0.3F;
    float *const *x = made->x; /* dx, dweight, dout, x, weight */
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        for (size_t i = 0; i < made->n; i++) {
            double dout = made->before[2][i];
            double normed = made->before[3][i] * rstd;
            made->want[0][i] = (accumulate ? (double)x[0][i] : 0) +
                               rstd * (dout * made->before[4][i] - normed * mean);
            made->want[1][i] = (double)x[1][i] + dout * normed;
        }
        const tide_rmsnorm_run run = {.dx = x[0],
                                      .dweight = x[1],
                                      .dout = x[2],
                                      .x = x[3],
                                      .weight = x[4],
                                      .rstd = (float)rstd,
                                      .mean = (float)mean,
                                      .accumulate = accumulate != 0};
        made->kernels->rmsnorm_backward(&run, made->n);
        /* Six roundings of terms that may cancel. */
        check_run(made, "rmsnorm_backward's dx", 0, sum_tolerance(0, 12));
        check_run(made, "rmsnorm_backward's dweight", 1, sum_tolerance(0, 6));
    }
    for (size_t i = 0; i < made->n; i++) {
        made->want[0][i] = made->before[3][i] * rstd * made->before[4][i];
    }
    made->kernels->rmsnorm_forward(x[0], x[3], x[4], (float)rstd, made->n);
    check_run(made, "rmsnorm_forward", 0, sum_tolerance(0, 2));
}

static void rmsnorm(void **state) {
    (void)state;
    for_all_tables(check_rmsnorm);
}

/* Once as one long head, and once as heads of ten numbers. */
static void check_rope(runs *made) {
    static const size_t N_PAIRS[] = {5, 2500};
    for (size_t shape = 0; shape < 2; shape++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            size_t n_pairs = N_PAIRS[shape] < made->n / 2 ? N_PAIRS[shape] : made->n / 2;
            size_t n_heads = n_pairs == 0 ? 0 : made->n / (2 * n_pairs);
            for (size_t i = 0; i < made->n; i++) {
                made->want[0][i] = (double)made->x[0][i];
            }
            for (size_t i = 0; i < n_heads * n_pairs; i++) {
                double cosine = made->before[1][i % n_pairs];
                double sine = sign * made->before[2][i % n_pairs];
                double even = (double)made->x[0][2 * i];
                double odd = (double)made->x[0][2 * i + 1];
                made->want[0][2 * i] = cosine * even - sine * odd;
                made->want[0][2 * i + 1] = sine * even + cosine * odd;
            }
            made->kernels->rope(made->x[0], made->x[1], made->x[2], (float)sign, n_pairs, n_heads);
            /* Two products and their sum, which may cancel. */
            check_run(made, "rope", 0, sum_tolerance(0, 6));
        }
    }
}

static void rope(void **state) {
    (void)state;
    for_all_tables(check_rope);
}

static void check_swiglu_of_scale(runs *made, double scale) {
    float *const *x = made->x; /* out or dgate, dup, dout, gate, up */
    for (size_t i = 0; i < made->n; i++) {
        x[3][i] = (float)(scale * made->before[3][i]);
        double g = (double)x[3][i];
        double s = 1 / (1 + exp(-g));
        made->want[0][i] = g * s * made->before[4][i];
    }
    /* Eight roundings and exp's error of 4 u; exp(-x) at large x also takes u |x| from its
     * argument, but is then small compared with 1. */
    double tolerance = sum_tolerance(0, 12);
    made->kernels->swiglu_forward(x[0], x[3], x[4], made->n);
    check_run(made, "swiglu_forward", 0, tolerance);
    for (size_t i = 0; i < made->n; i++) {
        double g = (double)x[3][i];
        double s = 1 / (1 + exp(-g));
        made->want[0][i] = made->before[2][i] * made->before[4][i] * s * (1 + g * (1 - s));
        made->want[1][i] = made->before[2][i] * g * s;
    }
    made->kernels->swiglu_backward(x[0], x[1], x[2], x[3], x[4], made->n);
    check_run(made, "swiglu_backward's dgate", 0, tolerance);
    check_run(made, "swiglu_backward's dup", 1, tolerance);
}

static void check_swiglu(runs *made) {
    check_swiglu_of_scale(made, 4);
    check_swiglu_of_scale(made, 100); /* beyond where exp overflows */
}

static void swiglu(void **state) {
    (void)state;
    for_all_tables(check_swiglu);
}

/* eps is as large as the roots of v, so that its place in the formula matters. */
static void check_adamw(runs *made) {
    const tide_adamw_factors f = {0.8F, 0.2F, 0.95F, 0.05F, 0.3F, 0.1F, 0.06F};
    float *const *x = made->x; /* p, m, v, g */
    for (size_t i = 0; i < made->n; i++) {
        x[2][i] *= x[2][i];
        double g = made->before[3][i];
        double m = (double)f.beta1 * made->before[1][i] + (double)f.one_minus_beta1 * g;
        double v = (double)f.beta2 * (double)x[2][i] + (double)f.one_minus_beta2 * g * g;
        double moved = made->before[0][i] - (double)f.step * m / (sqrt(v) + (double)f.eps);
        made->want[0][i] = moved - (double)f.decay * moved;
        made->want[1][i] = m;
        made->want[2][i] = v;
    }
    made->kernels->adamw(x[0], x[1], x[2], x[3], &f, made->n);
    /* Three, four and ten roundings of terms that may cancel. */
    check_run(made, "adamw's m", 1, sum_tolerance(0, 6));
    check_run(made, "adamw's v", 2, sum_tolerance(0, 4));
    check_run(made, "adamw's p", 0, sum_tolerance(0, 20));
}

static void adamw(void **state) {
    (void)state;
    for_all_tables(check_adamw);
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Every bf16 number, and for each the fp32 numbers next to it and those about half way to the next
 * bf16 number. */
static void all_of_bf16(const tide_cpu_kernels *kernels) {
    enum { N = 1 << 16 };
    static const uint32_t BEYOND[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    uint16_t *narrow = calloc(N, sizeof(*narrow));
    float *wide = calloc(N, sizeof(*wide));
    assert_non_null(narrow);
    assert_non_null(wide);
    for (uint32_t i = 0; i < N; i++) {
        narrow[i] = (uint16_t)i;
    }
    kernels->widen_bf16(wide, narrow, N);
    for (uint32_t i = 0; i < N; i++) {
        float want = float_of(i << 16);
        assert_memory_equal(&wide[i], &want, sizeof(want));
    }
    for (size_t b = 0; b < sizeof(BEYOND) / sizeof(BEYOND[0]); b++) {
        for (uint32_t i = 0; i < N; i++) {
            wide[i] = float_of((i << 16) + BEYOND[b]);
        }
        kernels->narrow_bf16(narrow, wide, N);
        for (uint32_t i = 0; i < N; i++) {
            bool both_nan = isnan(wide[i]) && (narrow[i] & 0x7F80) == 0x7F80 &&
                            (narrow[i] & 0x7F) != 0 && narrow[i] >> 15 == i >> 15;
            bool infinite = isinf(wide[i]) && narrow[i] == i;
            if (!both_nan && !infinite && narrow[i] != nearest_bf16((double)wide[i])) {
                fail_msg("narrow of %s: %08x becomes %04x", kernels->name,
                         (unsigned)((i << 16) + BEYOND[b]), (unsigned)narrow[i]);
            }
        }
    }
    free(wide);
    free(narrow);
}

/* Every fp16 number, and fp32 numbers of all sizes: as the functions of fp16.h, which test_fp16.c
 * checks, to the bit. */
static void all_of_fp16(const tide_cpu_kernels *kernels) {
    enum { N = 1 << 16 };
    uint16_t *narrow = calloc(N, sizeof(*narrow));
    float *wide = calloc(N, sizeof(*wide));
    assert_non_null(narrow);
    assert_non_null(wide);
    for (uint32_t i = 0; i < N; i++) {
        narrow[i] = (uint16_t)i;
    }
    kernels->widen_fp16(wide, narrow, N);
    for (uint32_t i = 0; i < N; i++) {
        float want = tide_fp16_to_fp32((uint16_t)i);
        assert_memory_equal(&wide[i], &want, sizeof(want));
    }
    for (uint32_t below = 0; below < N; below += 0x0FFF) {
        for (uint32_t i = 0; i < N; i++) {
            wide[i] = float_of((i << 16) + below);
        }
        kernels->narrow_fp16(narrow, wide, N);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(narrow[i], tide_fp32_to_fp16(wide[i]));
        }
    }
    free(wide);
    free(narrow);
}

static void check_storage(runs *made) {
    uint16_t *narrow = calloc(made->n + 2, sizeof(*narrow));
    assert_non_null(narrow);
    made->kernels->narrow_bf16(narrow + 1, made->x[0], made->n);
    assert_int_equal(narrow[0], 0);
    assert_int_equal(narrow[made->n + 1], 0);
    made->kernels->widen_bf16(made->x[0], narrow + 1, made->n);
    for (size_t i = 0; i < made->n; i++) {
        assert_int_equal(narrow[i + 1], nearest_bf16(made->before[0][i]));
        made->want[0][i] = (double)float_of((uint32_t)narrow[i + 1] << 16);
    }
    check_run(made, "widen", 0, 0);
    free(narrow);
}

static void storage(void **state) {
    (void)state;
    for (const tide_cpu_kernels *const *k = tide_cpu_kernels_available(); *k != NULL; k++) {
        all_of_bf16(*k);
        all_of_fp16(*k);
    }
    for_all_tables(check_storage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage),    cmocka_unit_test(add_and_scale), cmocka_unit_test(sums),
        cmocka_unit_test(row_max),    cmocka_unit_test(exponentials),  cmocka_unit_test(dscores),
        cmocka_unit_test(rmsnorm),    cmocka_unit_test(rope),          cmocka_unit_test(swiglu),
        cmocka_unit_test(adamw),      cmocka_unit_test(layernorm),     cmocka_unit_test(gelu),
        cmocka_unit_test(widen_int8),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
