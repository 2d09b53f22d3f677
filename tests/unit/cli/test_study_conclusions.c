/* test_study_conclusions.c - the sentences of the studies follow from their numbers: changing a
 * number changes the sentence that states it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/commands/study/conclusions.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static char text[TIDE_CONCLUSION_BYTES];

static void parameters(void **state) {
    (void)state;
    tide_conclusion_size sizes[] = {{"one", 1000, 300, 16000}, {"two", 5000, 400, 80 * 1024}};
    tide_conclusion_of_parameters(sizes, 2, text);
    assert_string_equal(text, "two has 5.0 times the parameters of one; embedding and lm_head are "
                              "30.0 % of them in one and 8.0 % in two; before the first "
                              "activation, training two in fp32 takes 80.00 KiB, 16 bytes a "
                              "parameter");
    sizes[0].n_parameters = 10000; /* now the larger one */
    tide_conclusion_of_parameters(sizes, 2, text);
    assert_non_null(strstr(text, "one has 2.0 times the parameters of two"));
    tide_conclusion_of_parameters(sizes, 1, text);
    assert_string_equal(text, "one has 10000 parameters, 3.0 % of them in embedding and lm_head; "
                              "before the first activation, training one in fp32 takes 15.63 KiB, "
                              "2 bytes a parameter");
    tide_conclusion_of_parameters(sizes, 0, text);
    assert_string_equal(text, "no model was asked for");
}

static void memory(void **state) {
    (void)state;
    tide_conclusion_peak peaks[] = {
        {"m", "forward", "fp32", 512, "", 2 * GIB, -1, 20 * MIB, "x", 30 * MIB, {0}},
        {"m", "train", "fp32", 128, "", 7 * GIB, -1, 5 * MIB, "y", 20 * MIB, {0}},
        {"m",
         "train",
         "fp32",
         512,
         "",
         8 * GIB,
         10 * GIB,
         20 * MIB,
         "ffn.gate, ffn.up",
         80 * MIB,
         {[TIDE_ACTIVATION] = 6 * GIB}},
        {"m",
         "train",
         "bf16-mixed",
         512,
         "",
         6 * GIB,
         -1,
         20 * MIB,
         "z",
         40 * MIB,
         {[TIDE_ACTIVATION] = 3 * GIB, [TIDE_WEIGHT_COPY] = 5 * GIB}},
    };
    tide_conclusion_of_memory(peaks, 4, text);
    assert_string_equal(text, "m, train, context 512, peaks at 8.00 GiB in fp32, 4.0 times as high "
                              "as forward alone (2.00 GiB); bf16-mixed takes 6.00 GiB, 25.0 % "
                              "less; PyTorch, eager, takes 10.00 GiB in fp32, 1.25 times as "
                              "much; of the activations that a step makes there the largest are "
                              "ffn.gate, ffn.up (80.00 MiB each, 4.0 times a tensor of the "
                              "residual stream, 20.00 MiB)");
    peaks[0].allocated_bytes = 4 * GIB;
    peaks[3].allocated_bytes = 10 * GIB;
    peaks[2].tensor_bytes = 40 * MIB;
    peaks[2].eager_bytes = 12 * GIB;
    tide_conclusion_of_memory(peaks, 4, text);
    assert_non_null(strstr(text, "2.0 times as high as forward alone (4.00 GiB); bf16-mixed takes "
                                 "10.00 GiB, 25.0 % more, although its type is smaller: 5.00 GiB "
                                 "more of weight copies outweigh 3.00 GiB less of "
                                 "activations;"));
    assert_non_null(strstr(text, "(40.00 MiB each, 2.0 times"));
    assert_non_null(strstr(text, "takes 12.00 GiB in fp32, 1.50 times"));
    peaks[2].allocated_bytes = -1; /* does not fit, so the sentence names the next best */
    tide_conclusion_of_memory(peaks, 4, text);
    assert_non_null(strstr(text, "m, train, context 512, peaks at 10.00 GiB in bf16-mixed;"));
    tide_conclusion_of_memory(peaks, 1, text);
    assert_non_null(strstr(text, "m, forward, context 512, peaks at 4.00 GiB in fp32;"));
    tide_conclusion_of_memory(&peaks[2], 1, text);
    assert_string_equal(text, "no run fits");
    /* Runs that differ in more than one thing have no ratio. */
    strcpy(peaks[1].rest, "batch 2");
    strcpy(peaks[3].rest, "batch 4");
    tide_conclusion_of_memory(peaks, 4, text);
    assert_non_null(strstr(text, "m, train, context 512, batch 4, peaks at 10.00 GiB in "
                                 "bf16-mixed;"));
    assert_null(strstr(text, "as high as forward"));
}

static void residuals(void **state) {
    (void)state;
    tide_conclusion_block blocks[] = {
        {"a", 400 * MIB, "ffn.gate", 80 * MIB, 240 * MIB, 5, 100 * MIB, 100 * MIB, 300 * MIB},
        {"b", 200 * MIB, "ln1", 50 * MIB, 50 * MIB, 1, 200 * MIB, 200 * MIB - 7, -8 * MIB},
    };
    tide_conclusion_of_residuals(blocks, 2, text);
    assert_string_equal(text, "a block of a keeps 400.00 MiB for backward, 20.0 % of it in "
                              "ffn.gate and 60.0 % in the 5 largest tensors; its backward makes "
                              "100.00 MiB of gradients, to the byte what theory says, so that what "
                              "is alive falls by 300.00 MiB; a block of b keeps 200.00 MiB");
    tide_conclusion_of_residuals(&blocks[1], 1, text);
    assert_string_equal(text,
                        "a block of b keeps 200.00 MiB for backward, 25.0 % of it in ln1; its "
                        "backward makes 200.00 MiB of gradients, 7 bytes more than theory "
                        "says, so that what is alive grows by 8.00 MiB");
    blocks[0].gradient_bytes -= 5;
    blocks[0].largest_bytes = 100 * MIB;
    tide_conclusion_of_residuals(blocks, 1, text);
    assert_non_null(strstr(text, "25.0 % of it in ffn.gate"));
    assert_non_null(strstr(text, "5 bytes less than theory says"));
    blocks[0].kept_bytes = -1;
    tide_conclusion_of_residuals(blocks, 1, text);
    assert_string_equal(text, "no run fits");
}

static tide_statistics ms(double mean, double std) {
    return (tide_statistics){.mean = mean, .std = std, .median = mean, .min = mean, .max = mean};
}

static tide_conclusion_times timed(const char *label, uint64_t n_parameters, double forward,
                                   double backward, double std) {
    tide_conclusion_times run = {.n_parameters = n_parameters,
                                 .forward_ms = ms(forward, std),
                                 .backward_ms = ms(backward, std),
                                 .step_ms = ms(forward + backward, std)};
    strcpy(run.label, label);
    return run;
}

static tide_conclusion_times untimed(const char *label) {
    return timed(label, 1, -1, -1, -1);
}

static void end_to_end(void **state) {
    (void)state;
    tide_conclusion_times runs[] = {timed("one", 100, 10, 20, 0.1), timed("two", 400, 40, 100, 1),
                                    untimed("three")};
    runs[2].step_ms = ms(-1, -1);
    tide_conclusion_of_end_to_end(runs, 3, text);
    assert_string_equal(text, "two takes 140.0 ms a step, 4.67 times as long as one for 4.00 times "
                              "the parameters; backward takes 2.00 to 2.50 times as long as "
                              "forward; the samples of forward in two lie furthest apart, with a "
                              "sample standard deviation of 2.5 % of the mean");
    runs[0].backward_ms = ms(20, 5);
    tide_conclusion_of_end_to_end(runs, 3, text);
    assert_non_null(strstr(text, "of backward in one lie furthest apart, with a sample standard "
                                 "deviation of 25.0 %"));
    runs[0].forward_ms.std = runs[0].backward_ms.std = -1; /* of one step */
    tide_conclusion_of_end_to_end(runs, 1, text);
    assert_null(strstr(text, "standard deviation"));
    assert_non_null(strstr(text, "one takes 30.0 ms a step; backward takes 2.00 times as long"));
    runs[1].n_parameters = runs[0].n_parameters;
    tide_conclusion_of_end_to_end(runs, 2, text);
    assert_non_null(strstr(text, "4.67 times as long as one; backward"));
    tide_conclusion_of_end_to_end(&runs[2], 1, text);
    assert_string_equal(text, "no time was measured: no run was computed");
}

static void warmup(void **state) {
    (void)state;
    tide_conclusion_times runs[] = {timed("0 steps", 1, 30, 30, 40), timed("1 step", 1, 10, 11, 1),
                                    timed("5 steps", 1, 10, 10, 0.5)};
    tide_conclusion_of_warmup(runs, 3, text);
    assert_string_equal(
        text, "with 0 steps of warm-up the mean is 3.00 times and the sample "
              "standard deviation 80.0 times that with 5 steps, with 1 step of warm-up the "
              "mean is 1.05 times and the sample standard deviation 2.0 times that with 5 "
              "steps");
    runs[0].step_ms = ms(20, 0.25);
    tide_conclusion_of_warmup(runs, 3, text);
    assert_non_null(strstr(text,
                           "0 steps of warm-up the mean is 1.00 times and the sample standard "
                           "deviation 0.5 times"));
    tide_conclusion_of_warmup(&runs[2], 1, text);
    assert_string_equal(text,
                        "with 5 steps of warm-up a step takes 20.00 ms, with a sample standard "
                        "deviation of 0.50 ms; there is nothing to compare it with");
    runs[2].step_ms.std = -1; /* of one step */
    tide_conclusion_of_warmup(runs + 1, 2, text);
    assert_string_equal(text, "with 1 step of warm-up the mean is 1.05 times that with 5 steps");
    tide_conclusion_of_warmup(&runs[2], 1, text);
    assert_string_equal(text, "with 5 steps of warm-up a step takes 20.00 ms; there is nothing to "
                              "compare it with");
    runs[2] = untimed("5 steps");
    runs[2].step_ms = ms(-1, -1);
    tide_conclusion_of_warmup(&runs[2], 1, text);
    assert_string_equal(text, "no time was measured: no run was computed");
}

static void precision(void **state) {
    (void)state;
    tide_conclusion_times runs[] = {timed("fp32", 1, 40, 80, 1), timed("tf32", 1, 20, 20, 1),
                                    timed("bf16-mixed", 1, 80, 160, 1)};
    tide_conclusion_of_precision(runs, 3, text);
    assert_string_equal(text, "tf32 is 3.00 times as fast as fp32 (speed-up of forward 2.00, of "
                              "backward 4.00), bf16-mixed is 2.00 times as slow as fp32 (speed-up "
                              "of forward 0.50, of backward 0.50)");
    runs[0] = untimed("fp32");
    runs[0].step_ms = ms(-1, -1);
    tide_conclusion_of_precision(runs, 3, text);
    assert_string_equal(text, "bf16-mixed is 6.00 times as slow as tf32 (speed-up of forward 0.25, "
                              "of backward 0.12)");
    tide_conclusion_of_precision(&runs[1], 1, text);
    assert_string_equal(text,
                        "tf32 takes 40.00 ms a step, and there is nothing to compare it with");
    tide_conclusion_of_precision(runs, 1, text);
    assert_string_equal(text, "no time was measured: no run was computed");
}

static void kernels(void **state) {
    (void)state;
    tide_conclusion_kernels of = {.label = "m",
                                  .unit = "kernel",
                                  .products = "matrix products",
                                  .top_forward = "gemm",
                                  .top_forward_share = 0.5,
                                  .top_step = "adamw",
                                  .top_step_share = 0.25,
                                  .gemm_forward_share = 0.8,
                                  .gemm_step_share = 0.4,
                                  .softmax_ms = 6,
                                  .products_ms = 4,
                                  .softmax_flops = 5,
                                  .products_flops = 200};
    tide_conclusion_of_kernels(&of, text);
    assert_string_equal(text, "m: the kernel with most time in forward is gemm (50.0 %), in the "
                              "full step adamw (25.0 %); matrix products are 80.0 % of forward and "
                              "40.0 % of the full step; in attention softmax takes 1.50 times as "
                              "long as the two products with 2.5 % of their FLOPs");
    of.softmax_ms = 1;
    of.gemm_forward_share = 0.7;
    tide_conclusion_of_kernels(&of, text);
    assert_non_null(strstr(text, "softmax takes 0.25 times"));
    assert_non_null(strstr(text, "70.0 % of forward"));
    of.softmax_ms = -1;
    of.gemm_forward_share = -1;
    of.top_step[0] = '\0';
    tide_conclusion_of_kernels(&of, text);
    assert_string_equal(text, "m: the kernel with most time in forward is gemm (50.0 %)");
    of.top_forward[0] = '\0';
    tide_conclusion_of_kernels(&of, text);
    assert_string_equal(text, "no time was measured: no run was computed");
}

/* More than fits is cut, not written past the end. */
static void long_sentences_are_cut(void **state) {
    (void)state;
    tide_conclusion_block blocks[64];
    for (size_t i = 0; i < 64; i++) {
        blocks[i] = (tide_conclusion_block){.label = "block", .kept_bytes = 1, .largest = "x"};
    }
    tide_conclusion_of_residuals(blocks, 64, text);
    assert_int_equal(strlen(text), TIDE_CONCLUSION_BYTES - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters), cmocka_unit_test(memory),
        cmocka_unit_test(residuals),  cmocka_unit_test(end_to_end),
        cmocka_unit_test(warmup),     cmocka_unit_test(precision),
        cmocka_unit_test(kernels),    cmocka_unit_test(long_sentences_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
