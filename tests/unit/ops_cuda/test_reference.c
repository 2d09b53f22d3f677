/* test_reference.c - whole training runs of the cuda device against recorded PyTorch results: every
 * golden file, attention and recomputation, with the kernels in the emulator, products by a fake
 * cuBLAS and memory of a fake runtime.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_emulator.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "model/reference/reference.h"

#define GOLDEN(name) TIDE_REFERENCE_DIR "/" name ".safetensors"

static const char *const FP32_FILES[] = {GOLDEN("tiny_fp32"), GOLDEN("odd_fp32"),
                                         GOLDEN("edge_fp32")};
enum { N_FP32_FILES = sizeof(FP32_FILES) / sizeof(FP32_FILES[0]) };

static int setup(void **state) {
    tide_device *device = NULL;
    tide_error error = {""};
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->late_copies = true;
    if (tide_device_open("cuda", NULL, &device, &error) != TIDE_OK) {
        print_error("%s\n", error.message);
        return -1;
    }
    *state = device;
    return 0;
}

/* Nothing leaked, and runtime, cuBLAS and kernels were used correctly. */
static int teardown(void **state) {
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    const tide_fake_cublas *cublas = tide_fake_cublas_state();
    tide_device_close(*state);
    if (fake->n_mistakes + cublas->n_mistakes > 0) {
        print_error("%s; %s\n", fake->mistake, cublas->mistake);
        return -1;
    }
    assert_int_equal(fake->n_segments + fake->n_streams + fake->n_events, 0);
    assert_int_equal(cublas->n_handles, 0);
    assert_true(cublas->n_products > 0);
    assert_int_equal(cublas->n_without_workspace, 0);
    assert_int_equal(cublas->workspace_bytes, 33554432);
    assert_int_equal(tide_emulator_n_reports(), 0);
    return 0;
}

static void check(tide_device *device, const char *path, tide_attention attention,
                  tide_recompute recompute, const tide_precision *precision) {
    tide_reference *reference = NULL;
    tide_reference_report report;
    tide_error error = {""};
    if (tide_reference_open(tide_hostmem_default(), path, &reference, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    const tide_reference_run run = {
        .device = device, .attention = attention, .recompute = recompute, .precision = precision};
    if (tide_reference_check(reference, &run, &report, &error) != TIDE_OK) {
        fail_msg("%s, attention %d, recompute %d: %s", path, (int)attention, (int)recompute,
                 error.message);
    }
    assert_true(report.n_rows > 3);
    for (size_t i = 0; i < report.n_rows; i++) {
        const tide_reference_row *row = &report.rows[i];
        if (!row->ok) {
            fail_msg("%s, attention %d, recompute %d: %s is off by %.3g of %.3g", path,
                     (int)attention, (int)recompute, row->name, row->error, row->tolerance);
        }
    }
    tide_reference_report_fini(&report);
    tide_reference_close(reference);
}

static void check_all_ways(tide_device *device, const char *path) {
    for (int attention = 0; attention < TIDE_N_ATTENTIONS; attention++) {
        for (int recompute = 0; recompute < TIDE_N_RECOMPUTES; recompute++) {
            check(device, path, (tide_attention)attention, (tide_recompute)recompute, NULL);
        }
    }
}

static void fp32_files(void **state) {
    for (size_t i = 0; i < N_FP32_FILES; i++) {
        check_all_ways(*state, FP32_FILES[i]);
    }
}

static void bf16_files(void **state) {
    check_all_ways(*state, GOLDEN("tiny_bf16_mixed"));
    check_all_ways(*state, GOLDEN("odd_bf16_mixed"));
}

/* The file rounds where both devices round, so only fp32 arithmetic differs. */
static void files_of_our_storage(void **state) {
    check_all_ways(*state, GOLDEN("stored_mixed_flash"));
    check_all_ways(*state, GOLDEN("stored_mixed_long"));
    check_all_ways(*state, GOLDEN("stored_true_flash"));
    check_all_ways(*state, GOLDEN("stored_mixed_naive"));
    check_all_ways(*state, GOLDEN("stored_true_naive"));
}

static void fp32_files_in_two_bytes(void **state) {
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_BF16_MIXED, TIDE_PRECISION_BF16_TRUE,
                                                TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < 3; i++) {
        check(*state, GOLDEN("odd_fp32"), TIDE_ATTENTION_FLASH, TIDE_RECOMPUTE_NONE,
              &PRECISIONS[i]);
        check(*state, GOLDEN("tiny_fp32"), TIDE_ATTENTION_NAIVE, TIDE_RECOMPUTE_BLOCK,
              &PRECISIONS[i]);
    }
}

/* Rows beyond their tolerance for each gradient of a file, in TF32. */
static double wrong_rows_in_tf32(tide_device *device, const char *path, tide_attention attention) {
    static const tide_precision TF32 = TIDE_PRECISION_TF32;
    tide_reference *reference = NULL;
    tide_reference_report report;
    assert_int_equal(tide_reference_open(tide_hostmem_default(), path, &reference, NULL), TIDE_OK);
    const tide_reference_run run = {.device = device, .attention = attention, .precision = &TF32};
    assert_int_equal(tide_reference_check(reference, &run, &report, NULL), TIDE_GATE);
    const double share = 3 * (double)report.n_failed / (double)(report.n_rows - 3);
    tide_reference_report_fini(&report);
    tide_reference_close(reference);
    return share;
}

/* However cuBLAS shortens its operands. */
static void fp32_files_in_tf32(void **state) {
    static const tide_precision TF32 = TIDE_PRECISION_TF32;
    static const tide_fake_tf32 WAYS[] = {TIDE_FAKE_TF32_NEAREST, TIDE_FAKE_TF32_CUT};
    for (size_t way = 0; way < 2; way++) {
        tide_fake_cublas_state()->tf32 = WAYS[way];
        for (size_t i = 0; i < N_FP32_FILES; i++) {
            check(*state, FP32_FILES[i], TIDE_ATTENTION_FLASH, TIDE_RECOMPUTE_NONE, &TF32);
            check(*state, FP32_FILES[i], TIDE_ATTENTION_NAIVE, TIDE_RECOMPUTE_BLOCK, &TF32);
        }
    }
}

/* Operands as short as bf16's err eight times as much: most gradients must show it. */
static void operands_that_are_too_short_for_tf32_are_rejected(void **state) {
    tide_fake_cublas_state()->tf32 = TIDE_FAKE_TF32_AS_BF16;
    for (size_t i = 0; i < N_FP32_FILES; i++) {
        assert_true(wrong_rows_in_tf32(*state, FP32_FILES[i], TIDE_ATTENTION_FLASH) > 0.5);
        assert_true(wrong_rows_in_tf32(*state, FP32_FILES[i], TIDE_ATTENTION_NAIVE) > 0.5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fp32_files, setup, teardown),
        cmocka_unit_test_setup_teardown(bf16_files, setup, teardown),
        cmocka_unit_test_setup_teardown(files_of_our_storage, setup, teardown),
        cmocka_unit_test_setup_teardown(fp32_files_in_two_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(fp32_files_in_tf32, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_that_are_too_short_for_tf32_are_rejected, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("ops_cuda.reference", tests, NULL, NULL);
}
