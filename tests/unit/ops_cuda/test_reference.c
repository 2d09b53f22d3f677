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
#include "model/reference.h"

#define GOLDEN(name) TIDE_REFERENCE_DIR "/" name ".safetensors"

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

/* Nothing was left behind, and neither runtime, cuBLAS nor kernels were used wrongly. */
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
    check_all_ways(*state, GOLDEN("tiny_fp32"));
    check_all_ways(*state, GOLDEN("odd_fp32"));
    check_all_ways(*state, GOLDEN("edge_fp32"));
}

static void bf16_files(void **state) {
    check_all_ways(*state, GOLDEN("tiny_bf16_mixed"));
    check_all_ways(*state, GOLDEN("odd_bf16_mixed"));
}

/* Rounded where both devices round: what is left is fp32 arithmetic. */
static void files_of_our_storage(void **state) {
    check_all_ways(*state, GOLDEN("stored_mixed_flash"));
    check_all_ways(*state, GOLDEN("stored_mixed_long"));
    check_all_ways(*state, GOLDEN("stored_true_flash"));
    check_all_ways(*state, GOLDEN("stored_mixed_naive"));
    check_all_ways(*state, GOLDEN("stored_true_naive"));
}

static void fp32_files_in_bf16(void **state) {
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_BF16_MIXED,
                                                TIDE_PRECISION_BF16_TRUE};
    for (size_t i = 0; i < 2; i++) {
        check(*state, GOLDEN("odd_fp32"), TIDE_ATTENTION_FLASH, TIDE_RECOMPUTE_NONE,
              &PRECISIONS[i]);
        check(*state, GOLDEN("tiny_fp32"), TIDE_ATTENTION_NAIVE, TIDE_RECOMPUTE_BLOCK,
              &PRECISIONS[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fp32_files, setup, teardown),
        cmocka_unit_test_setup_teardown(bf16_files, setup, teardown),
        cmocka_unit_test_setup_teardown(files_of_our_storage, setup, teardown),
        cmocka_unit_test_setup_teardown(fp32_files_in_bf16, setup, teardown),
    };
    return cmocka_run_group_tests_name("ops_cuda.reference", tests, NULL, NULL);
}
