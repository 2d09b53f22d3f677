/* test_operands.c - what PyTorch's kernels of softmax, norms, dropout, gathers, concatenation and
 * lists of tensors move, derived from their names and from arguments laid out by hand. The expected
 * bytes are counted by hand. */
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

static const char SOFTMAX[] = "_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6320softmax_warp_"
                              "forwardIfffLi7ELb0ELb0ELi32EEEvPT0_"
                              "PKT_iiiPKbib";
#define NORM "_ZN2at6native53_GLOBAL__N__4da244e1_20_layer_norm_kernel_cu_9c5ada8a"
static const char LAYER_NORM[] =
    NORM "28vectorized_layer_norm_kernelIffLb0EEEviT0_PKT_S6_S6_PS3_S7_PS4_";
static const char LAYER_NORM_BACKWARD[] =
    NORM "28layer_norm_grad_input_kernelIffLb0EEEvPKT_S5_PKT0_S8_S5_PS3_i";
static const char RMS_NORM_BACKWARD[] =
    NORM "28layer_norm_grad_input_kernelIffLb1EEEvPKT_S5_PKT0_S8_S5_PS3_i";
#define STATISTICS "_ZN2at6native36batch_norm_collect_statistics_kernelINS0_6InvStdE"
static const char BATCH_NORM[] =
    STATISTICS "N3c108BFloat16ES4_flEEvN5torch10headeronly6detail27GenericPackedTensorAccessorINS7_"
               "14TensorAccessorINS3_8ArrayRefIlEEKT0_Lm2ENS6_17RestrictPtrTraitsET3_EENS_6detail"
               "16IndexBoundsCheckILm3ESF_EESD_Lm3ESE_SF_EET2_SL_NS8_INS9_ISB_SL_Lm0ESE_SF_EENSI_"
               "ILm1ESF_EESL_Lm1"
               "ESE_SF_EESO_";
static const char OLD_BATCH_NORM[] =
    STATISTICS "ffflEEvNS_27GenericPackedTensorAccessorIKT0_Lm3ENS_17RestrictPtrTraitsET3_EET2_S9_"
               "NS3_IS9_Lm1ES6_"
               "S7_EESA_";
static const char INDEX_SELECT[] =
    "_ZN2at6native44_GLOBAL__N__b23ef953_11_Indexing_cu_"
    "89862edb21indexSelectSmallIndexIN3c108BFloat16"
    "EljLi2ELi2ELin2EEEvNS_4cuda6detail10TensorInfoIT_T1_EENS7_IKS8_S9_EENS7_IKT0_S9_EEiiS9_l";
static const char GATHER[] = "_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb";
static const char POOL[] =
    "_ZN2at6native49_GLOBAL__N__528a9ea4_16_AveragePool2d_cu_fb80407625avg_pool2d_"
    "out_cuda_frameIffEEviPKT_lllliiiiiiiPS3_ibb";
static const char NORMAL[] =
    "_ZN2at6native54_GLOBAL__N__8e11a5fb_21_DistributionNormal_cu_0c5b6e8543distribution_"
    "elementwise_"
    "grid_stride_kernelIfLi4EZNS0_9templates4cuda20normal_and_transformIffPNS_"
    "17CUDAGeneratorImplEZZZ"
    "NS4_13normal_kernelIS7_EEvRKNS_10TensorBaseEddT_ENKUlvE_clEvENKUlvE0_clEvEUlfE_EEvRNS_"
    "18TensorIteratorBaseET1_T2_EUlP24curandStatePhilox4_32_10E0_ZNS1_27distribution_nullary_"
    "kernelIff"
    "6float4S7_SM_SF_EEvSH_SJ_RKT3_T4_EUlifE_EEvlNS_15PhiloxCudaStateESI_SJ_";
static const char ARANGE[] = "_ZN50_GLOBAL__N__2fa45684_17_RangeFactories_cu_38772b0829elementwise_"
                             "kernel_with_indexIiZZZN2at6"
                             "native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_"
                             "clEvENKUlvE5_clEvEUllE_EEvT_T0_"
                             "PN15function_traitsISD_E11result_typeE";
#define CAT_COPY(name, more)                                                                       \
    "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c" name                                 \
    "INS1_10OpaqueTypeILj4EEEjLi2ELi128ELi1E" more "EEvPT_NS1_25CatArrInputTensorMetadataI"        \
    "S5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_"
static const char CAT[] = CAT_COPY("35CatArrayBatchedCopy_alignedK_contig", "Li16E");
static const char CAT_ELEMENTS[] = CAT_COPY("26CatArrayBatchedCopy_contig", "");
static const char CAT_STRIDED[] = CAT_COPY("19CatArrayBatchedCopy", "");
#define SCATTER_GATHER                                                                             \
    "_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_"     \
    "internal_"                                                                                    \
    "kernelI"
static const char GATHER_ELEMENTS[] = SCATTER_GATHER
    "Lb0ENS0_10OpaqueTypeILi4EEElEclINS0_12TensorAssignEEEvRNS_14TensorIteratorElllRKT_"
    "EUliE_EEviT1_";
static const char SCATTER_ADD[] =
    SCATTER_GATHER "Lb1EflEclINS0_9ReduceAddEEEvRNS_14TensorIteratorElllRKT_EUliE_EEviT1_";
#define LISTS                                                                                      \
    "_ZN2at6native57_GLOBAL__N__7e105b8f_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor_"
static const char MULTIPLY[] =
    LISTS "apply_kernelINS1_18TensorListMetadataILi1EEENS1_21BinaryOpScalarFunctorIfLi1ELi1ELi0EEEJ"
          "St10multipliesIfEfEEEvT_T0_DpT1_";
static const char ADAM[] = LISTS "apply_kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_"
                                 "20FusedAdamMathFunctorIfLi4ELNS0_"
                                 "9ADAM_MODEE0ELb0EEEJPKfdddddbS9_S9_EEEvT_T0_DpT1_";

static char *card; /* an address of the card */
enum { BLOCKS = 4, THREADS = 128, GUESS = 8 * BLOCKS * THREADS };

static tide_run_launch work_of(const char *name, void **arguments) {
    tide_vc_kernel_call call = {name, name, {BLOCKS, 1, 1}, {THREADS, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    return row;
}

static void check(const char *name, void **arguments, tide_run_family family, uint64_t bytes,
                  uint64_t elements, int flags) {
    tide_run_launch row = work_of(name, arguments);
    assert_int_equal(row.family, family);
    assert_int_equal(row.bytes, bytes);
    assert_int_equal(row.elements, elements);
    assert_int_equal(row.flags, flags);
}

static void check_guess(const char *name, void **arguments, tide_run_family family) {
    check(name, arguments, family, GUESS, BLOCKS * THREADS, TIDE_RUN_GUESSED);
}

static void test_counts_are_products_of_parameters(void **state) {
    void *out = card, *in = card, *mask = NULL;
    int rows = 7, stride = 99, columns = 50, chunk = 0;
    bool is_transformer = false;
    void *arguments[] = {&out, &in, &rows, &stride, &columns, &mask, &chunk, &is_transformer};
    (void)state;
    check(SOFTMAX, arguments, TIDE_RUN_SOFTMAX, 2 * 7 * 50 * 4, 350, 0);
    tide_run_launch row = work_of(SOFTMAX, arguments);
    assert_int_equal(row.k, TIDE_RUN_BY_WARP);
    assert_int_equal(row.m, 7);
    assert_int_equal(row.n, 50);
    mask = card; /* a byte for each element */
    check(SOFTMAX, arguments, TIDE_RUN_SOFTMAX, 2 * 7 * 50 * 4 + 350, 350, 0);
    mask = &rows; /* not an address of the card */
    check_guess(SOFTMAX, arguments, TIDE_RUN_SOFTMAX);
    mask = NULL;
    rows = -1;
    check_guess(SOFTMAX, arguments, TIDE_RUN_SOFTMAX);
}

/* A block has a row; parameters that are NULL are not read, and RMS norm reads no mean. */
static void test_counts_by_blocks(void **state) {
    int columns = 100;
    float epsilon = 0;
    void *in = card, *gamma = card, *beta = NULL, *mean = card, *rstd = card, *out = card;
    void *forward[] = {&columns, &epsilon, &in, &gamma, &beta, &mean, &rstd, &out};
    void *backward[] = {&in, &in, &mean, &rstd, &gamma, &out, &columns};
    (void)state;
    check(LAYER_NORM, forward, TIDE_RUN_NORM, 4 * (2 * 400 + 100 + 2 * BLOCKS), 400, 0);
    check(LAYER_NORM_BACKWARD, backward, TIDE_RUN_NORM, 4 * (3 * 400 + 100 + 2 * BLOCKS), 400, 0);
    check(RMS_NORM_BACKWARD, backward, TIDE_RUN_NORM, 4 * (3 * 400 + 100 + BLOCKS), 400, 0);
}

/* An accessor with three lengths, or with one. */
typedef struct accessor {
    void *address;
    int64_t lengths[3], strides[3];
} accessor;
typedef struct short_accessor {
    void *address;
    int64_t length, stride;
} short_accessor;

static void test_accessors_tell_their_lengths(void **state) {
    accessor in = {card, {2, 3, 50}, {150, 50, 1}};
    short_accessor mean = {card, 3, 1}, rstd = {card, 3, 1};
    float epsilon = 0, momentum = 0;
    void *arguments[] = {&in, &epsilon, &momentum, &mean, &rstd};
    (void)state;
    check(BATCH_NORM, arguments, TIDE_RUN_NORM, 300 * 2 + 2 * 3 * 4, 300, 0);
    check(OLD_BATCH_NORM, arguments, TIDE_RUN_NORM, 300 * 4 + 2 * 3 * 4, 300, 0);
    in.lengths[1] = INT64_MAX; /* the product overflows */
    check_guess(BATCH_NORM, arguments, TIDE_RUN_NORM);
}

typedef struct tensor_info {
    void *address;
    uint32_t lengths[25], strides[25];
    int n_dimensions;
} tensor_info;

/* More rows are chosen than exist: each is read once. */
static void test_the_smaller_of_two_counts(void **state) {
    tensor_info out = {card, {64, 1}, {1, 64}, 2}, in = {card, {64, 1}, {1, 64}, 2};
    tensor_info indices = {card, {9}, {1}, 1};
    int out_dimension = 1, in_dimension = 1;
    uint32_t inner = 64;
    int64_t n_rows = 5;
    void *arguments[] = {&out, &in, &indices, &out_dimension, &in_dimension, &inner, &n_rows};
    (void)state;
    check(INDEX_SELECT, arguments, TIDE_RUN_GATHER_ROWS, 2 * 64 * (9 + 5) + 9 * 8, 9 * 64, 0);
    out.n_dimensions = 26; /* PyTorch has at most 25 */
    check_guess(INDEX_SELECT, arguments, TIDE_RUN_GATHER_ROWS);
}

static void test_bytes_and_threads(void **state) {
    void *out = card, *in = card, *indices = card;
    int n = 10;
    int64_t row_bytes = 3072, n_rows = 1000, stride = 3072;
    bool is_negative_allowed = false;
    void *arguments[] = {
        &out, &in, &indices, &n, &row_bytes, &n_rows, &stride, &stride, &is_negative_allowed};
    (void)state;
    check(GATHER, arguments, TIDE_RUN_GATHER_ROWS, 2 * 10 * 3072 + 10 * 8, BLOCKS * THREADS, 0);
}

/* 2 x 2 pools of 8 x 6 pictures: 3 pictures have 36 results and 144 inputs. */
static void test_division(void **state) {
    int n = 36, width_out = 3, window = 2, stride = 2, padding = 0, divisor = 0;
    void *in = card, *out = card;
    int64_t channels = 3, height = 8, width = 6, height_out = 4;
    bool is = false;
    void *arguments[] = {&n,         &in,     &channels, &height, &width,  &height_out,
                         &width_out, &window, &window,   &stride, &stride, &padding,
                         &padding,   &out,    &divisor,  &is,     &is};
    (void)state;
    check(POOL, arguments, TIDE_RUN_GATHER_ROWS, 4 * (36 + 144), 144, 0);
    width_out = 0;
    check_guess(POOL, arguments, TIDE_RUN_GATHER_ROWS);
}

static void test_filled_tensors(void **state) {
    int64_t n = 1000;
    int n_short = 77;
    char more[64] = {0};
    void *random[] = {&n, more, more + 16, more + 32};
    void *sequence[] = {&n_short, more, more + 16};
    (void)state;
    check(NORMAL, random, TIDE_RUN_DROPOUT, 4000, 1000, 0);
    check(ARANGE, sequence, TIDE_RUN_VECTORISED, 77 * 4, 77, TIDE_RUN_ESTIMATED);
}

/* CatArrInputTensorMetadata<T, unsigned, 128, 1> */
typedef struct cat_inputs {
    const void *addresses[128];
    uint32_t offsets[128], lengths[128], n_elements[128];
    bool is_contiguous[128];
} cat_inputs;

static void test_a_concatenation_copies_its_inputs(void **state) {
    void *out = card;
    static cat_inputs inputs = {.n_elements = {100, 20, 3, 77}};
    uint32_t sizes[8] = {0}, stride = 0;
    int dimension = 0;
    void *arguments[] = {&out, &inputs, sizes, &dimension, &stride};
    tide_vc_kernel_call call = {CAT, CAT, {8, 3, 1}, {THREADS, 1, 1}, arguments};
    tide_run_launch row;
    (void)state;
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.family, TIDE_RUN_VECTORISED);
    assert_int_equal(row.bytes, 2 * 123 * 4); /* a row of blocks has an input */
    assert_int_equal(row.flags, 0);
    assert_int_equal(row.k, TIDE_RUN_NO_VARIANT);
    call.name = call.kernel = CAT_ELEMENTS; /* a division for the result's place */
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.bytes, 2 * 123 * 4);
    assert_int_equal(row.k, TIDE_RUN_DIVISIONS);
    assert_int_equal(row.m, 1);
    call.name = call.kernel = CAT_STRIDED; /* and one for the input's */
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.bytes, 2 * 123 * 4);
    assert_int_equal(row.k, TIDE_RUN_DIVISIONS);
    assert_int_equal(row.m, 2);
}

/* The lambda of a kernel with three operands, whose first address follows the strides. */
typedef struct lambda {
    int n_dimensions;
    struct {
        uint32_t length, magic, shift;
    } divisors[25];
    uint32_t strides[25][3];
    void *address;
} lambda;

/* 5 of each of 30 rows are chosen by indices of 8 bytes: every choice reads a sector. */
static void test_chosen_elements_are_sectors(void **state) {
    int n = 150;
    lambda gather = {.n_dimensions = 2,
                     .divisors = {{.length = 5}, {.length = 30}},
                     .strides = {{4, 0, 8}, {20, 4000, 40}},
                     .address = card};
    lambda scatter = gather;
    void *of_gather[] = {&n, &gather}, *of_scatter[] = {&n, &scatter};
    (void)state;
    for (size_t d = 0; d < 2;
         d++) { /* the result is chosen, and the source has the choices' shape */
        scatter.strides[d][0] = gather.strides[d][1];
        scatter.strides[d][1] = gather.strides[d][0];
    }
    check(GATHER_ELEMENTS, of_gather, TIDE_RUN_GATHER_ROWS, 150 * (4 + 32 + 8), 150,
          TIDE_RUN_ESTIMATED);
    check(SCATTER_ADD, of_scatter, TIDE_RUN_SCATTER_ROWS, 150 * (2 * 32 + 4 + 8), 150,
          TIDE_RUN_ESTIMATED);
    gather.address = &n;
    check_guess(GATHER_ELEMENTS, of_gather, TIDE_RUN_GATHER_ROWS);
}

/* TensorListMetadata<1> as in CUDA 13, and in earlier versions. */
typedef struct lists {
    const void *addresses[770];
    int64_t n_elements[770];
    uint16_t tensors[2240];
    int chunks[2240], start;
} lists;
typedef struct old_lists {
    const void *addresses[110];
    int64_t n_elements[110];
    uint8_t tensors[320];
    int chunks[320], start;
} old_lists;

static void test_lists_of_tensors(void **state) {
    static lists new = {
        .n_elements = {70000, 10, 65536}, .tensors = {0, 0, 1, 2}, .chunks = {0, 1, 0, 0}};
    static old_lists old = {
        .n_elements = {70000, 10, 65536}, .tensors = {0, 0, 1, 2}, .chunks = {0, 1, 0, 0}};
    char functor[16] = {0};
    float by = 0;
    void *of_new[] = {&new, functor, functor + 8, &by};
    void *of_old[] = {&old, functor, functor + 8, &by};
    uint64_t n = 70000 + 10 + 65536;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        new.addresses[i] = old.addresses[i] = card;
    }
    check(MULTIPLY, of_new, TIDE_RUN_MULTI_TENSOR, 2 * n * 4, n, 0);
    check(MULTIPLY, of_old, TIDE_RUN_MULTI_TENSOR, 2 * n * 4, n, 0);
    new.chunks[2] = 1; /* the tensor of 10 elements has only one */
    check_guess(MULTIPLY, of_new, TIDE_RUN_MULTI_TENSOR);
    new.chunks[2] = 0;
    new.tensors[3] = 770;
    check_guess(MULTIPLY, of_new, TIDE_RUN_MULTI_TENSOR);
}

/* FusedOptimizerTensorListMetadata<4> */
typedef struct optimizer_lists {
    const void *addresses[4][252];
    int64_t n_elements[252];
    const void *steps[252];
    uint16_t tensors[2240];
    int chunks[2240];
} optimizer_lists;

static void test_a_fused_optimizer(void **state) {
    static optimizer_lists of = {.n_elements = {1000, 500}, .tensors = {0, 1}};
    char functor = 0;
    bool is_maximized = false;
    double number = 0;
    void *rate = NULL, *scale = NULL, *infinite = NULL;
    void *arguments[] = {&of,     &functor, &rate,         &number, &number,  &number,
                         &number, &number,  &is_maximized, &scale,  &infinite};
    tide_vc_kernel_call call = {ADAM, ADAM, {2, 1, 1}, {512, 1, 1}, arguments};
    tide_run_launch row;
    (void)state;
    of.addresses[0][0] = of.addresses[0][1] = card;
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.flags, 0);
    assert_int_equal(row.bytes, 1500 * 4 * (4 + 3)); /* all are read; the gradients are kept */
    scale = card;
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.bytes, 1500 * 4 * (4 + 4));
}

/* A kernel of that name with other parameters is another, unknown version. */
static void test_another_version_is_a_guess(void **state) {
    static const char OTHER[] = "_ZN2at6native20softmax_warp_forwardIffEEvPT_PKT0_ii";
    (void)state;
    check_guess(OTHER, NULL, TIDE_RUN_OTHER);
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
        cmocka_unit_test(test_counts_are_products_of_parameters),
        cmocka_unit_test(test_counts_by_blocks),
        cmocka_unit_test(test_accessors_tell_their_lengths),
        cmocka_unit_test(test_the_smaller_of_two_counts),
        cmocka_unit_test(test_bytes_and_threads),
        cmocka_unit_test(test_division),
        cmocka_unit_test(test_filled_tensors),
        cmocka_unit_test(test_a_concatenation_copies_its_inputs),
        cmocka_unit_test(test_chosen_elements_are_sectors),
        cmocka_unit_test(test_lists_of_tensors),
        cmocka_unit_test(test_a_fused_optimizer),
        cmocka_unit_test(test_another_version_is_a_guess),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
