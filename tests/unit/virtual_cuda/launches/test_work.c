/* test_work.c - what kernels read and write, derived from PyTorch's names and from arguments laid
 * out by hand as its kernels expect them. The expected bytes are counted by hand. */
#define _GNU_SOURCE /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/kernels/work.h"

int cudaMalloc(void **ret_address, size_t n_bytes);

#define KERNELS "_ZN2at6native"
#define VECTORISED KERNELS "29vectorized_elementwise_kernelILi4E"

static const char FILL[] = VECTORISED "NS0_11FillFunctorIdEESt5arrayIPcLm1EELb0EEEviT0_T1_";
static const char COMPARE[] = VECTORISED
    "NS0_13BinaryFunctorIN3c108BFloat16ES4_bNS0_51_GLOBAL__N__68c48bfe_18_CompareEQKernel_cu_"
    "d8008c9616CompareEqFunctorIS4_EEEESt5arrayIPcLm3EELb0EEEviT0_T1_";
static const char CLAMP[] = VECTORISED
    "ZZZNS0_21clamp_min_kernel_cudaERNS_18TensorIteratorBaseERKN3c106ScalarEENKUlvE_clEvENKUlvE1_"
    "clEvEUliE_St5arrayIPcLm2EELb0EEEviT0_T1_";
static const char TO_HALF[] = VECTORISED
    "ZNS0_24float16_copy_kernel_cudaERNS_18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EELb0EEEviT0_T1_";
static const char OLD_ADD[] =
    VECTORISED "NS0_15CUDAFunctor_addIN3c104HalfEEENS_6detail5ArrayIPcLi3EEEEEviT0_T1_";
static const char WHERE[] =
    VECTORISED "ZZZNS0_49_GLOBAL__N__037c6ad9_16_TensorCompare_cu_71e06f4e17where_kernel_implERNS_"
               "14TensorIteratorEENKUlvE_clEvENKUlvE2_clEvEUlbmmE_St5arrayIPcLm4EELb0EEEviT0_T1_";
static const char OWN_FUNCTOR[] = VECTORISED "N4mine7FunctorESt5arrayIPcLm2EELb0EEEviT0_T1_";
static const char CAST[] = KERNELS
    "27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"
    "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE10_clEvEUlN3c108BFloat16EE_St5arrayIPcLm2EELi4E"
    "23TrivialOffsetCalculatorILi1EjESD_NS0_6memory12LoadWithCastILi1EEENSE_"
    "13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_";
static const char STRIDED[] =
    KERNELS "18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_"
            "addIfEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_";
static const char SUM[] = KERNELS
    "13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapper_tIfZNS0_11sum_"
    "functorIS4_ffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi8EEEEEvT1_";
static const char SUM_OF_COLUMNS[] = KERNELS
    "13reduce_kernelILi128ELi4ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapper_tIfZNS0_11sum_"
    "functorIS4_ffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi8EEEEEvT1_";

static char *card; /* an address of the card */

static tide_run_launch work_of(const char *name, void **arguments) {
    tide_vc_kernel_call call = {name, name, {4, 1, 1}, {128, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.kind, TIDE_RUN_KERNEL);
    return row;
}

static void check(const tide_run_launch *row, tide_run_family family, uint64_t bytes,
                  uint64_t elements, int flags) {
    assert_int_equal(row->family, family);
    assert_int_equal(row->bytes, bytes);
    assert_int_equal(row->elements, elements);
    assert_int_equal(row->flags, flags);
}

enum { N = 1000 };

static void check_vectorised(const char *name, uint64_t bytes_each, int flags) {
    int n = N;
    char functor[16] = {0};
    void *pointers[4] = {card, card + 4096, card + 8192, card + 12288};
    void *arguments[] = {&n, functor, pointers};
    tide_run_launch row = work_of(name, arguments);
    check(&row, TIDE_RUN_VECTORISED, N * bytes_each, N, flags);
}

/* x * x reads x once; a result in the place of an operand is written in addition. */
static void test_equal_operands_count_once(void **state) {
    int n = N;
    char functor[16] = {0};
    void *pointers[3] = {card, card + 4096, card + 4096};
    void *arguments[] = {&n, functor, pointers};
    (void)state;
    tide_run_launch row = work_of(OLD_ADD, arguments);
    check(&row, TIDE_RUN_VECTORISED, N * (2 + 2), N, 0);
    assert_int_equal(row.count, 3);
    pointers[1] = card;
    row = work_of(OLD_ADD, arguments);
    check(&row, TIDE_RUN_VECTORISED, N * (2 + 2 + 2), N, 0);
}

/* where(mask, x, x) of 64-bit values: the mask has one byte each. */
static void test_equal_operands_of_another_size_count_once(void **state) {
    int n = N;
    char functor[16] = {0};
    void *pointers[4] = {card, card + 4096, card + 8192, card + 8192};
    void *arguments[] = {&n, functor, pointers};
    (void)state;
    tide_run_launch row = work_of(WHERE, arguments);
    check(&row, TIDE_RUN_VECTORISED, N * (1 + 8 + 8), N, 0);
}

static void test_contiguous_kernels_by_their_types(void **state) {
    (void)state;
    check_vectorised(FILL, 8, 0);
    check_vectorised(COMPARE, 2 + 2 + 1, 0);
    check_vectorised(CLAMP, 4 + 4, 0);
    check_vectorised(TO_HALF, 4 + 2, 0);
    check_vectorised(OLD_ADD, 2 + 2 + 2, 0);
    check_vectorised(WHERE, 1 + 8 + 8 + 8, 0); /* the mask is not a result */
    check_vectorised(OWN_FUNCTOR, 4 + 4, TIDE_RUN_ESTIMATED);
    check_vectorised(COMPARE, 2 + 2 + 1, 0); /* remembered by the kernel */
}

/* LoadWithCast<1> and StoreWithCast<1>: a type of one byte, and at 4 the size. */
typedef struct cast {
    int8_t type;
    uint32_t n_bytes;
} cast;

static void test_casts_tell_their_sizes(void **state) {
    int n = N;
    char functor = 0, in = 0, out = 0;
    void *pointers[2] = {card, card};
    cast load = {15, 2}, store = {7, 8};
    void *arguments[] = {&n, &functor, pointers, &in, &out, &load, &store};
    (void)state;
    tide_run_launch row = work_of(CAST, arguments);
    check(&row, TIDE_RUN_CASTING, N * (2 + 8), N, 0);
    load.n_bytes = 77; /* no type has that many */
    row = work_of(CAST, arguments);
    check(&row, TIDE_RUN_CASTING, UINT64_C(8) * 4 * 128, 4 * 128, TIDE_RUN_GUESSED);
}

/* The lambda of a kernel with three addresses. */
typedef struct lambda {
    int n_dimensions;
    struct {
        uint32_t length, magic, shift;
    } divisors[25];
    uint32_t strides[25][3];
    void *pointers[3];
} lambda;

/* A result of 30 rows of 20, a second operand that is one row, and a third that is a column of a
 * matrix with 100 columns. */
static void test_strides_tell_broadcasts_and_gaps(void **state) {
    int n = 600;
    lambda of = {.n_dimensions = 2,
                 .divisors = {{.length = 20}, {.length = 30}},
                 .strides = {{4, 4, 0}, {80, 0, 400}},
                 .pointers = {card, card + 4096, card + 8192}};
    void *arguments[] = {&n, &of};
    (void)state;
    tide_run_launch row = work_of(STRIDED, arguments);
    check(&row, TIDE_RUN_STRIDED, 600 * 4 + 20 * 4 + 30 * 32, 600, 0);
    assert_int_equal(row.count, 3);
    of.pointers[2] = of.pointers[1]; /* another part of the same tensor */
    row = work_of(STRIDED, arguments);
    check(&row, TIDE_RUN_STRIDED, 600 * 4 + 20 * 4 + 30 * 32, 600, 0);
    of.strides[0][2] = 4; /* the same part */
    of.strides[1][2] = 0;
    row = work_of(STRIDED, arguments);
    check(&row, TIDE_RUN_STRIDED, 600 * 4 + 20 * 4, 600, 0);
    of.pointers[1] = &n; /* not an address of the card: the layout differs */
    row = work_of(STRIDED, arguments);
    check(&row, TIDE_RUN_STRIDED, UINT64_C(8) * 4 * 128, 4 * 128, TIDE_RUN_GUESSED);
}

/* The operation, the value that a sum begins with, and then ReduceConfig. */
typedef struct reduction {
    float ops, begins_with;
    int accumulator_bytes, n_inputs, n_outputs, step_input, step_output, n_blocks;
    int more[64];
} reduction;

static void test_a_reduction_reads_its_inputs(void **state) {
    reduction of = {.accumulator_bytes = 4,
                    .n_inputs = 50,
                    .n_outputs = 70,
                    .step_input = 32,
                    .step_output = 16,
                    .n_blocks = 1};
    void *arguments[] = {&of};
    (void)state;
    tide_run_launch row = work_of(SUM, arguments);
    check(&row, TIDE_RUN_REDUCTION, 50 * 70 * 2 + 70 * 4, 50 * 70, 0);
    assert_int_equal(row.m, 70);
    assert_int_equal(row.n, 50);
    assert_int_equal(row.k, TIDE_RUN_NO_VARIANT);
    row = work_of(SUM_OF_COLUMNS, arguments);
    check(&row, TIDE_RUN_REDUCTION, 50 * 70 * 2 + 70 * 4, 50 * 70, 0);
    assert_int_equal(row.k, TIDE_RUN_COLUMNS);
    of.n_blocks = 0;
    row = work_of(SUM, arguments);
    check(&row, TIDE_RUN_REDUCTION, UINT64_C(8) * 4 * 128, 4 * 128, TIDE_RUN_GUESSED);
}

/* An argument ends where the next one begins: data after it is not read as part of it. */
static void test_nothing_beyond_an_argument_is_read(void **state) {
    struct {
        int n;
        unsigned char functor[4];
        void *pointers[2];
        unsigned char in, out;
        cast load; /* the storer begins inside it */
        cast store;
    } of = {.n = N, .load = {15, 2}, .store = {7, 8}};
    void *arguments[] = {&of.n,   of.functor, of.pointers,         &of.in,
                         &of.out, &of.load,   (char *)&of.load + 4};
    (void)state;
    tide_run_launch row = work_of(CAST, arguments);
    assert_int_equal(row.flags, TIDE_RUN_GUESSED);
}

/* A list and arguments that are not on the stack are copied by the system, or not at all. */
static void test_arguments_elsewhere(void **state) {
    void **list = malloc(3 * sizeof(*list));
    int *n = malloc(sizeof(*n));
    (void)state;
    *n = N;
    list[0] = list[1] = list[2] = n;
    tide_run_launch row = work_of(FILL, list);
    check(&row, TIDE_RUN_VECTORISED, N * 8, N, 0);
    list[0] = (void *)(uintptr_t)64; /* no memory */
    row = work_of(FILL, list);
    assert_int_equal(row.flags, TIDE_RUN_GUESSED);
    row = work_of(FILL, NULL);
    assert_int_equal(row.flags, TIDE_RUN_GUESSED);
    free(n);
    free(list);
}

static void test_an_unknown_kernel_is_a_guess(void **state) {
    (void)state;
    tide_run_launch row = work_of("some_kernel", NULL);
    check(&row, TIDE_RUN_OTHER, UINT64_C(8) * 4 * 128, 4 * 128, TIDE_RUN_GUESSED);
}

static int set_up(void **state) {
    (void)state;
    void *address = NULL;
    (void)setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    int status = cudaMalloc(&address, 1 << 20);
    card = address;
    return status;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contiguous_kernels_by_their_types),
        cmocka_unit_test(test_equal_operands_count_once),
        cmocka_unit_test(test_equal_operands_of_another_size_count_once),
        cmocka_unit_test(test_casts_tell_their_sizes),
        cmocka_unit_test(test_strides_tell_broadcasts_and_gaps),
        cmocka_unit_test(test_a_reduction_reads_its_inputs),
        cmocka_unit_test(test_nothing_beyond_an_argument_is_read),
        cmocka_unit_test(test_arguments_elsewhere),
        cmocka_unit_test(test_an_unknown_kernel_is_a_guess),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
