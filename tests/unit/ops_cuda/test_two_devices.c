/* test_two_devices.c - two cuda devices and their operators in one thread, in turns: all work goes
 * to the GPU that owns its memory, although the runtime has one current GPU per thread. It covers
 * every way to submit work: a kernel, a kernel that requests more shared memory, products of cuBLAS
 * and of cuBLASLt, and a copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "model/ops.h"

#define MIB ((size_t)1 << 20)

enum { N_DEVICES = 2, N = 4, T = 33, D = 128 };

/* One GPU and the arrays in its memory. */
typedef struct side {
    tide_device *device; /* owned */
    tide_ops *ops;       /* owned */
    char *memory;        /* a segment, owned; 2 MiB */
} side;

static void open_side(side *on, const char *spec) {
    uint64_t address = 0;
    assert_int_equal(tide_device_open(spec, NULL, &on->device, NULL), TIDE_OK);
    assert_int_equal(tide_device_alloc(on->device, 2 * MIB, &address, NULL), TIDE_OK);
    on->memory = tide_device_pointer(on->device, address);
    assert_int_equal(
        tide_ops_cuda_open(tide_hostmem_default(), on->device, TIDE_PRECISION_FP32, &on->ops, NULL),
        TIDE_OK);
}

static void close_side(side *on) {
    tide_ops_close(on->ops);
    assert_int_equal(tide_device_release(on->device, (uint64_t)(uintptr_t)on->memory, NULL),
                     TIDE_OK);
    tide_device_close(on->device);
}

static tide_array array_at(const side *on, size_t n_elements_before) {
    return (tide_array){.data = on->memory + n_elements_before * sizeof(float), .dtype = TIDE_FP32};
}

static tide_status fill(const side *on) {
    return on->ops->table->fill(
        on->ops, &(tide_fill){.out = array_at(on, 0), .value = 1, .n = 4 * T * D}, NULL);
}

static tide_status cast(const side *on) {
    return on->ops->table->cast(
        on->ops, &(tide_cast){.out = array_at(on, 0), .x = array_at(on, T * D), .n = T * D}, NULL);
}

static tide_matmul product(const side *on) {
    return (tide_matmul){.kind = TIDE_MATMUL_NT,
                         .out = array_at(on, 8 * T * D),
                         .a = array_at(on, 0),
                         .b = array_at(on, T * D),
                         .m = N,
                         .n = N,
                         .k = N};
}

static tide_status multiply(const side *on) {
    const tide_matmul call = product(on);
    return on->ops->table->matmul(on->ops, &call, NULL);
}

static tide_status multiply_and_add(const side *on) {
    tide_matmul call = product(on);
    call.addend = array_at(on, 2 * T * D);
    return on->ops->table->matmul(on->ops, &call, NULL);
}

static tide_status attend(const side *on) {
    const tide_attention_forward call = {.kind = TIDE_ATTENTION_FLASH,
                                         .out = array_at(on, 4 * T * D),
                                         .q = array_at(on, 0),
                                         .k = array_at(on, T * D),
                                         .v = array_at(on, 2 * T * D),
                                         .B = 1,
                                         .T = T,
                                         .H = 1,
                                         .D = D};
    return on->ops->table->attention_forward(on->ops, &call, NULL);
}

static void work_goes_to_the_gpu_whose_it_is(void **state) {
    (void)state;
    tide_status (*const WORK[])(const side *) = {fill, cast, multiply, multiply_and_add, attend};
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->n_devices = N_DEVICES;
    side sides[N_DEVICES];
    open_side(&sides[0], "cuda:0");
    open_side(&sides[1], "cuda:1");
    for (size_t i = 0; i < sizeof(WORK) / sizeof(WORK[0]); i++) {
        for (size_t turn = 0; turn < 4; turn++) {
            const size_t own = turn % N_DEVICES;
            const size_t before[N_DEVICES] = {fake->n_launches[0], fake->n_launches[1]};
            assert_int_equal(WORK[i](&sides[own]), TIDE_OK);
            assert_true(fake->n_launches[own] > before[own]);
            assert_int_equal(fake->n_launches[1 - own], before[1 - own]);
        }
    }
    /* A mere device call also changes the current GPU, and so may other code. */
    assert_int_equal(tide_device_synchronize(sides[1].device, NULL), TIDE_OK);
    const size_t n_before = fake->n_launches[0];
    assert_int_equal(fill(&sides[0]), TIDE_OK);
    assert_int_equal(fake->n_launches[0], n_before + 1);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(tide_device_synchronize(sides[0].device, NULL), TIDE_OK);
    assert_int_equal(fill(&sides[0]), TIDE_OK);
    assert_int_equal(fake->n_launches[0], n_before + 2);
    close_side(&sides[0]);
    close_side(&sides[1]);
    assert_int_equal(fake->n_mistakes + tide_fake_cublas_state()->n_mistakes, 0);
    assert_int_equal(fake->n_segments, 0);
}

/* Consecutive operators on one GPU do not call the runtime to set it. */
static void one_gpu_is_made_current_once(void **state) {
    (void)state;
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    side on;
    open_side(&on, "cuda");
    assert_int_equal(fill(&on), TIDE_OK);
    tide_fake_cudart_fail("cudaSetDevice", 0, cudaSuccess); /* counts them */
    assert_int_equal(fill(&on), TIDE_OK);
    assert_int_equal(attend(&on), TIDE_OK);
    assert_int_equal(multiply(&on), TIDE_OK);
    assert_int_equal(tide_fake_cudart_state()->n_calls, 0);
    close_side(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_goes_to_the_gpu_whose_it_is),
        cmocka_unit_test(one_gpu_is_made_current_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
