/* flash_case.c - see flash_case.h. */
#include "flash_case.h"

#include <math.h>
#include <stdlib.h>

#include "model/bf16.h"
#include "model/fp16.h"

#define FP32_ROUNDOFF 5.9604644775390625e-8
#define BF16_ROUNDOFF 0.00390625
#define TF32_ROUNDOFF 0.00048828125

size_t flash_n_elements(const flash_shape *s) {
    return s->B * s->T * s->H * s->D;
}

size_t flash_n_rows(const flash_shape *s) {
    return s->B * s->H * s->T;
}

/* The error of an fp32 sum of n terms, rounded a few times more, as of a random walk. */
static double sum_error(size_t n, double roundings) {
    return FP32_ROUNDOFF * (sqrt((double)n) + roundings);
}

double flash_operand_error(const flash_shape *s) {
    if (s->dtype == TIDE_BF16 && s->D % 8 == 0 && s->way != FLASH_SHIFTED) {
        return BF16_ROUNDOFF;
    }
    return s->way == FLASH_IN_TF32 && s->D % 4 == 0 ? TF32_ROUNDOFF : 0;
}

/* The TF32 number nearest to x, of two the one further from 0: eleven significant bits. */
static float to_tf32(float x) {
    int exponent = 0;
    const double fraction = frexp((double)x, &exponent);
    return (float)ldexp(round(fraction * 2048) / 2048, exponent);
}

twin_case *flash_begin(const flash_shape *s, const char *name) {
    twin_case *test = twin_begin(name);
    twin_shift(test, s->way == FLASH_SHIFTED ? 1 : 0);
    if (s->way == FLASH_IN_TF32) {
        twin_in_tf32(test);
    }
    return test;
}

/* x, of a call whose operands are rounded to TF32, rounded. */
static void round_numbers(const flash_shape *s, float *x) {
    for (size_t i = 0; flash_operand_error(s) == TF32_ROUNDOFF && i < flash_n_elements(s); i++) {
        x[i] = to_tf32(x[i]);
    }
}

/* Arrays first to last of the cpu side, where the cuda side rounds its operands. */
static void round_on_cpu(const twin_side *side, const flash_shape *s, size_t first, size_t last) {
    for (size_t i = first; !side->is_cuda && i <= last; i++) {
        round_numbers(s, twin_fp32(side, i));
    }
}

double flash_lse_tolerance(const flash_shape *s) {
    return 2 * (sum_error(s->T, 8) + FP32_ROUNDOFF * 4 * sqrt((double)s->D));
}

double flash_forward_tolerance(const flash_shape *s) {
    return flash_lse_tolerance(s) + flash_operand_error(s);
}

double flash_backward_tolerance(const flash_shape *s) {
    const double fp32 =
        8 * (sum_error(s->T, 8) + FP32_ROUNDOFF * 4 * sqrt((double)s->D) + sum_error(s->D, 4));
    return fp32 + 2 * flash_operand_error(s);
}

tide_status flash_forward(const twin_side *side, const void *shape, tide_error *error) {
    const flash_shape *s = shape;
    round_on_cpu(side, s, FORWARD_Q, FORWARD_V);
    const tide_attention_forward call = {.kind = TIDE_ATTENTION_FLASH,
                                         .out = side->arrays[OUT],
                                         .q = side->arrays[FORWARD_Q],
                                         .k = side->arrays[FORWARD_K],
                                         .v = side->arrays[FORWARD_V],
                                         .lse = twin_fp32(side, LSE),
                                         .B = s->B,
                                         .T = s->T,
                                         .H = s->H,
                                         .D = s->D};
    return TWIN(side, attention_forward)(side->ops, &call, error);
}

twin_case *flash_forward_case(const flash_shape *s, flash_compared what) {
    twin_case *test = flash_begin(s, "flash forward");
    (void)(what == ALL ? twin_written : twin_scratch)(test, s->dtype, flash_n_elements(s));
    (void)twin_written(test, TIDE_FP32, flash_n_rows(s));
    for (int i = 0; i < 3; i++) { /* q, k, v */
        (void)twin_read(test, s->dtype, flash_n_elements(s), 2);
    }
    return test;
}

enum { MOST_OF_ONE_TOKEN = 512 }; /* elements; B H D of the cases below */

/* One key: its probability is 1 whatever q and k are, and dq and dk are 0 except for rounding: dP
 * and delta are sums of D products of at most 2, each off by sqrt(D) roundings of at most 2 D; q
 * and k are at most 2. */
static void assert_no_gradient(const twin_side *side, const flash_shape *s, size_t gradient) {
    const size_t n = flash_n_elements(s);
    float wide[MOST_OF_ONE_TOKEN];
    uint16_t narrow[MOST_OF_ONE_TOKEN];
    const bool is_wide = s->dtype == TIDE_FP32;
    assert_true(n <= MOST_OF_ONE_TOKEN);
    twin_load(side, gradient, is_wide ? (void *)wide : narrow, n * tide_dtype_bytes(s->dtype));
    const double bound = 2 * sum_error(s->D, 4) * 2 * (double)s->D * 2 / sqrt((double)s->D);
    for (size_t i = 0; i < n; i++) {
        const double x = is_wide ? (double)wide[i] : (double)tide_bf16_to_fp32(narrow[i]);
        if (!(fabs(x) <= bound)) {
            fail_msg("flash backward, one token, D %zu: %.3g instead of 0", s->D, x);
        }
    }
}

tide_status flash_backward(const twin_side *side, const void *shape, tide_error *error) {
    const flash_shape *s = shape;
    round_on_cpu(side, s, DOUT, V);
    const tide_attention_backward call = {.kind = TIDE_ATTENTION_FLASH,
                                          .dq = side->arrays[DQ],
                                          .dk = side->arrays[DK],
                                          .dv = side->arrays[DV],
                                          .dout = side->arrays[DOUT],
                                          .out = side->arrays[GIVEN_OUT],
                                          .q = side->arrays[Q],
                                          .k = side->arrays[K],
                                          .v = side->arrays[V],
                                          .lse = twin_fp32(side, GIVEN_LSE),
                                          .scratch = twin_fp32(side, SCRATCH),
                                          .B = s->B,
                                          .T = s->T,
                                          .H = s->H,
                                          .D = s->D};
    TIDE_TRY(TWIN(side, attention_backward)(side->ops, &call, error));
    if (s->T == 1) {
        assert_no_gradient(side, s, DQ);
        assert_no_gradient(side, s, DK);
    }
    return TIDE_OK;
}

float *flash_numbers(tide_dtype dtype, size_t n, unsigned seed) {
    float *x = malloc(n * sizeof(*x));
    assert_non_null(x);
    uint32_t state = seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525U + 1013904223U;
        x[i] = (float)(state >> 8) * 0x1p-22F - 2;
        x[i] = dtype == TIDE_BF16   ? tide_bf16_to_fp32(tide_fp32_to_bf16(x[i]))
               : dtype == TIDE_FP16 ? tide_fp16_to_fp32(tide_fp32_to_fp16(x[i]))
                                    : x[i];
    }
    return x;
}

/* The result of the cpu's forward pass, in fp32, for inputs q, k, v. */
static void forward_on_cpu(const flash_shape *s, float *const *inputs, float *out, float *lse) {
    tide_device *device = NULL;
    tide_ops *cpu = NULL;
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(
        tide_ops_cpu_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &cpu, NULL),
        TIDE_OK);
    const tide_attention_forward call = {.kind = TIDE_ATTENTION_FLASH,
                                         .out = {out, TIDE_FP32},
                                         .q = {inputs[0], TIDE_FP32},
                                         .k = {inputs[1], TIDE_FP32},
                                         .v = {inputs[2], TIDE_FP32},
                                         .lse = lse,
                                         .B = s->B,
                                         .T = s->T,
                                         .H = s->H,
                                         .D = s->D};
    assert_int_equal(tide_cpu_attention_forward(cpu, &call, NULL), TIDE_OK);
    tide_ops_close(cpu);
    tide_device_close(device);
}

flash_inputs flash_make_inputs(const flash_shape *s) {
    flash_inputs made;
    for (unsigned i = 0; i < 4; i++) {
        made.x[i] = flash_numbers(s->dtype, flash_n_elements(s), i + 1);
    }
    for (size_t i = 0; i < flash_n_elements(s); i++) {
        made.x[0][i] /= 2;
    }
    return made;
}

twin_case *flash_backward_case_of(const flash_shape *s, flash_inputs inputs) {
    const size_t n = flash_n_elements(s);
    float *out = malloc(n * sizeof(*out));
    float *lse = malloc(flash_n_rows(s) * sizeof(*lse));
    assert_true(out != NULL && lse != NULL);
    twin_case *test = flash_begin(s, "flash backward");
    for (size_t i = DQ; i <= DV; i++) {
        const bool is_zero = s->T == 1 && i < DV; /* see assert_no_gradient */
        (void)(is_zero ? twin_scratch : twin_written)(test, s->dtype, n);
    }
    for (int i = 0; i < 4; i++) {
        (void)twin_given(test, s->dtype, inputs.x[i], n);
        round_numbers(s, inputs.x[i]); /* as the forward pass has read them */
    }
    forward_on_cpu(s, &inputs.x[1], out, lse);
    (void)twin_given(test, s->dtype, out, n);
    (void)twin_given(test, TIDE_FP32, lse, flash_n_rows(s));
    (void)twin_scratch(test, TIDE_FP32, flash_n_rows(s));
    free(out);
    free(lse);
    for (int i = 0; i < 4; i++) {
        free(inputs.x[i]);
    }
    return test;
}

twin_case *flash_backward_case(const flash_shape *s) {
    return flash_backward_case_of(s, flash_make_inputs(s));
}
