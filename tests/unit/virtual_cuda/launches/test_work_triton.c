/* test_work_triton.c - bytes of kernels that Triton makes, from the text beside their machine code
 * and hand-made arguments. */
#define _GNU_SOURCE /* setenv, mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/kernels/triton.h"
#include "programs/virtual_cuda/launches/kernels/work.h"

#include "programs/virtual_cuda/values/computed.h"

int cudaMalloc(void **ret_address, size_t n_bytes);
enum { ALLOCATION = 2 << 20 };

static char folder[] = "/tmp/triton.XXXXXX";

static int begin(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL || setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1) != 0 ||
           setenv("TIDEMARK_RUN_FOLDER", folder, 1) != 0 ||
           setenv("TIDEMARK_LAUNCHES", "1", 1) != 0;
}

static int end(void **state) {
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command); /* NOLINT(cert-env33-c): the folder is our own */
}

/* A kernel with its text written beside its machine code. */
static const void *new_kernel(const char *text) {
    static char kernels[64];
    static size_t n;
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%zu.ttir", folder, n);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/%zu.cubin", folder, n);
    assert_true(n < sizeof(kernels));
    tide_vc_triton_add(&kernels[n], path);
    return &kernels[n++];
}

static tide_run_launch launch_at(uint64_t pointer, const void *kernel, unsigned grid, int x,
                                 int r) {
    void *arguments[] = {&pointer, &pointer, &pointer, &x, &r};
    tide_vc_kernel_call call = {kernel, "triton_poi_fused_0", {grid, 1, 1}, {128, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    assert_int_equal(row.kind, TIDE_RUN_KERNEL);
    assert_int_equal(row.family, TIDE_RUN_GENERATED);
    return row;
}

static tide_run_launch launch(const void *kernel, unsigned grid, int x, int r) {
    return launch_at(0, kernel, grid, x, r);
}

#define HEAD(a, b, c)                                                                              \
    "module {\n"                                                                                   \
    "  tt.func public @k(%in_ptr0: !tt.ptr<" a "> {tt.divisibility = 16 : i32} loc(\"in_ptr0\"), " \
    "%in_ptr1: !tt.ptr<" b "> loc(\"in_ptr1\"), %out_ptr0: !tt.ptr<" c "> loc(\"out_ptr0\"), "     \
    "%xnumel: i32 loc(\"xnumel\"), %r0_numel: i32 loc(\"r0_numel\")) attributes {noinline = "      \
    "false} {\n"
#define TAIL                                                                                       \
    "    tt.return loc(#loc)\n"                                                                    \
    "  } loc(#loc)\n"                                                                              \
    "} loc(#loc)\n"

/* out[i] = in0[i] + in1[i % 512], in blocks of 1024. */
static const char POINTWISE[] = HEAD(
    "bf16", "f32",
    "bf16") "    %cst = arith.constant dense<512> : tensor<1024xi32> loc(#loc1)\n"
            "    %c1024 = arith.constant 1024 : i32 loc(#loc1)\n"
            "    %xoffset = tt.get_program_id x : i32 loc(#loc2)\n"
            "    %xoffset_0 = arith.muli %xoffset, %c1024 : i32 loc(#loc2)\n"
            "    %xindex = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32> "
            "loc(#loc3)\n"
            "    %xindex_1 = tt.splat %xoffset_0 : i32 -> tensor<1024xi32> loc(#loc3)\n"
            "    %xindex_2 = arith.addi %xindex_1, %xindex : tensor<1024xi32> loc(#loc3)\n"
            "    %x0 = arith.remsi %xindex_2, %cst : tensor<1024xi32> loc(#loc4)\n"
            "    %t = tt.splat %in_ptr0 : !tt.ptr<bf16> -> tensor<1024x!tt.ptr<bf16>> loc(#loc5)\n"
            "    %t_3 = tt.addptr %t, %xindex_2 : tensor<1024x!tt.ptr<bf16>>, tensor<1024xi32> "
            "loc(#loc5)\n"
            "    %t_4 = tt.load %t_3 : tensor<1024x!tt.ptr<bf16>> loc(#loc5)\n"
            "    %u = tt.splat %in_ptr1 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>> loc(#loc6)\n"
            "    %u_5 = tt.addptr %u, %x0 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32> "
            "loc(#loc6)\n"
            "    %u_6 = tt.load %u_5 : tensor<1024x!tt.ptr<f32>> loc(#loc6)\n"
            "    %s = arith.addf %t_4, %u_6 : tensor<1024xf32> loc(#loc7)\n"
            "    %0 = tt.splat %out_ptr0 : !tt.ptr<bf16> -> tensor<1024x!tt.ptr<bf16>> loc(#loc8)\n"
            "    %1 = tt.addptr %0, %xindex_2 : tensor<1024x!tt.ptr<bf16>>, tensor<1024xi32> "
            "loc(#loc8)\n"
            "    tt.store %1, %s : tensor<1024x!tt.ptr<bf16>> loc(#loc8)\n" TAIL;

static void test_pointwise(void **state) {
    (void)state;
    tide_run_launch row = launch(new_kernel(POINTWISE), 100, 102400, 0);
    assert_int_equal(row.bytes, 102400 * (2 + 2) + 512 * 4);
    assert_int_equal(row.elements, 102400);
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED);
}

/* A program adds up a row of r numbers, 64 at a time, with weights that all rows share; an if and a
 * reduction are between. */
static const char REDUCTION[] = HEAD(
    "f32", "i1",
    "f32") "    %c0 = arith.constant 0 : i32 loc(#loc1)\n"
           "    %c64 = arith.constant 64 : i32 loc(#loc1)\n"
           "    %zero = arith.constant dense<0.000000e+00> : tensor<64xf32> loc(#loc1)\n"
           "    %x = tt.get_program_id x : i32 loc(#loc2)\n"
           "    %row = arith.muli %x, %r0_numel : i32 loc(#loc2)\n"
           "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc3)\n"
           "    %sum = scf.for %r0 = %c0 to %r0_numel step %c64 iter_args(%a = %zero) -> "
           "(tensor<64xf32>) "
           " : i32 {\n"
           "      %i = tt.splat %r0 : i32 -> tensor<64xi32> loc(#loc4)\n"
           "      %i_1 = arith.addi %i, %r : tensor<64xi32> loc(#loc4)\n"
           "      %p = tt.splat %in_ptr1 : !tt.ptr<i1> -> tensor<64x!tt.ptr<i1>> loc(#loc5)\n"
           "      %p_1 = tt.addptr %p, %i_1 : tensor<64x!tt.ptr<i1>>, tensor<64xi32> loc(#loc5)\n"
           "      %w = tt.load %p_1 : tensor<64x!tt.ptr<i1>> loc(#loc5)\n"
           "      scf.if %w {\n"
           "        %never = arith.constant 1 : i32 loc(#loc5)\n"
           "      } else {\n"
           "        %never_1 = arith.constant 1 : i32 loc(#loc5)\n"
           "      } loc(#loc5)\n"
           "      %j = tt.splat %row : i32 -> tensor<64xi32> loc(#loc6)\n"
           "      %j_1 = arith.addi %j, %i_1 : tensor<64xi32> loc(#loc6)\n"
           "      %q = tt.splat %in_ptr0 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc6)\n"
           "      %q_1 = tt.addptr %q, %j_1 : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc6)\n"
           "      %v = tt.load %q_1 : tensor<64x!tt.ptr<f32>> loc(#loc6)\n"
           "      %b = arith.addf %a, %v : tensor<64xf32> loc(#loc7)\n"
           "      scf.yield %b : tensor<64xf32> loc(#loc7)\n"
           "    } loc(#loc7)\n"
           "    %all = \"tt.reduce\"(%sum) <{axis = 0 : i32}> ({\n"
           "    ^bb0(%l: f32, %m: f32):\n"
           "      %n = arith.addf %l, %m : f32 loc(#loc8)\n"
           "      tt.reduce.return %n : f32 loc(#loc8)\n"
           "    }) : (tensor<64xf32>) -> f32 loc(#loc8)\n"
           "    %o = tt.addptr %out_ptr0, %x : !tt.ptr<f32>, i32 loc(#loc9)\n"
           "    tt.store %o, %all : !tt.ptr<f32> loc(#loc9)\n" TAIL;

static void test_reduction(void **state) {
    (void)state;
    const void *kernel = new_kernel(REDUCTION);
    assert_int_equal(launch(kernel, 300, 300, 640).bytes, 4 * 300 * 640 + 640 + 4 * 300);
    assert_int_equal(launch(kernel, 3, 3, 640).bytes, 4 * 3 * 640 + 640 + 4 * 3);
}

/* out[i] = in0[in1[i]]: each access counts, because the rows are unknown. */
static const char GATHER[] = HEAD(
    "bf16", "i64",
    "bf16") "    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32> "
            "loc(#loc1)\n"
            "    %p = tt.splat %in_ptr1 : !tt.ptr<i64> -> tensor<256x!tt.ptr<i64>> loc(#loc2)\n"
            "    %p_1 = tt.addptr %p, %i : tensor<256x!tt.ptr<i64>>, tensor<256xi32> loc(#loc2)\n"
            "    %at = tt.load %p_1 : tensor<256x!tt.ptr<i64>> loc(#loc2)\n"
            "    %q = tt.splat %in_ptr0 : !tt.ptr<bf16> -> tensor<256x!tt.ptr<bf16>> loc(#loc3)\n"
            "    %q_1 = tt.addptr %q, %at : tensor<256x!tt.ptr<bf16>>, tensor<256xi64> loc(#loc3)\n"
            "    %v = tt.load %q_1 : tensor<256x!tt.ptr<bf16>> loc(#loc3)\n"
            "    %o = tt.splat %out_ptr0 : !tt.ptr<bf16> -> tensor<256x!tt.ptr<bf16>> loc(#loc4)\n"
            "    %o_1 = tt.addptr %o, %i : tensor<256x!tt.ptr<bf16>>, tensor<256xi32> loc(#loc4)\n"
            "    tt.store %o_1, %v : tensor<256x!tt.ptr<bf16>> loc(#loc4)\n" TAIL;

static void test_gather(void **state) {
    (void)state;
    const void *kernel = new_kernel(GATHER);
    void *memory = NULL;
    assert_int_equal(launch(kernel, 1, 256, 0).bytes, 256 * (8 + 2 + 2));
    assert_int_equal(cudaMalloc(&memory, ALLOCATION), 0);
    uint64_t near_end = (uint64_t)(uintptr_t)memory + ALLOCATION - 64; /* 64 bytes to choose from */
    assert_int_equal(launch_at(near_end, kernel, 1, 256, 0).bytes, 256 * (8 + 2) + 64);
}

/* A table of 256 numbers, chosen by bytes and by truth values: the addresses are on the card, and
 * their types bound them. */
static const char TABLE[] = HEAD(
    "f32", "i8",
    "f32") "    %c128 = arith.constant dense<128> : tensor<512xi32> loc(#loc1)\n"
           "    %c0 = arith.constant dense<0> : tensor<512xi32> loc(#loc1)\n"
           "    %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32> "
           "loc(#loc1)\n"
           "    %p = tt.splat %in_ptr1 : !tt.ptr<i8> -> tensor<512x!tt.ptr<i8>> loc(#loc2)\n"
           "    %p_1 = tt.addptr %p, %i : tensor<512x!tt.ptr<i8>>, tensor<512xi32> loc(#loc2)\n"
           "    %code = tt.load %p_1 : tensor<512x!tt.ptr<i8>> loc(#loc2)\n"
           "    %half = arith.cmpi sge, %code, %code : tensor<512xi8> loc(#loc3)\n"
           "    %at = arith.select %half, %c128, %c0 : tensor<512xi1>, tensor<512xi32> loc(#loc3)\n"
           "    %one = arith.extui %half : tensor<512xi1> to tensor<512xi32> loc(#loc3)\n"
           "    %at_1 = arith.addi %at, %one : tensor<512xi32> loc(#loc3)\n"
           "    %q = tt.splat %in_ptr0 : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>> loc(#loc4)\n"
           "    %q_1 = tt.addptr %q, %at_1 : tensor<512x!tt.ptr<f32>>, tensor<512xi32> loc(#loc4)\n"
           "    %v = tt.load %q_1 : tensor<512x!tt.ptr<f32>> loc(#loc4)\n" TAIL;

static void test_small_types_bound_addresses(void **state) {
    (void)state;
    assert_int_equal(launch(new_kernel(TABLE), 1, 512, 0).bytes, 512 + 130 * 4);
}

/* A function that returns early in one branch; both branches write the same row. */
static const char EARLY[] = HEAD(
    "f32", "i64",
    "f32") "    %x = tt.get_program_id x : i32 loc(#loc1)\n"
           "    %row = arith.muli %x, %xnumel : i32 loc(#loc1)\n"
           "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc1)\n"
           "    %s = tt.splat %row : i32 -> tensor<64xi32> loc(#loc1)\n"
           "    %i = arith.addi %s, %r : tensor<64xi32> loc(#loc1)\n"
           "    %o = tt.splat %out_ptr0 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc2)\n"
           "    %o_1 = tt.addptr %o, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc2)\n"
           "    cf.cond_br %c, ^bb1, ^bb2 loc(#loc3)\n"
           "  ^bb1:  // pred: ^bb0\n"
           "    tt.store %o_1, %zero : tensor<64x!tt.ptr<f32>> loc(#loc4)\n"
           "    tt.return loc(#loc4)\n"
           "  ^bb2:  // pred: ^bb0\n"
           "    %p = tt.splat %in_ptr0 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc5)\n"
           "    %p_1 = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc5)\n"
           "    %v = tt.load %p_1 : tensor<64x!tt.ptr<f32>> loc(#loc5)\n"
           "    tt.store %o_1, %v : tensor<64x!tt.ptr<f32>> loc(#loc6)\n" TAIL;

static void test_a_function_may_return_early(void **state) {
    (void)state;
    assert_int_equal(launch(new_kernel(EARLY), 10, 64, 0).bytes, 2 * 10 * 64 * 4);
}

/* Blocks of 64 rows multiply by 32 columns, with k in steps of 16; a loop moves both pointers. The
 * columns are read by each block, and once from memory. */
static const char MULTIPLY[] = HEAD(
    "bf16", "bf16",
    "f32") "    %c0 = arith.constant 0 : i32 loc(#loc1)\n"
           "    %c16 = arith.constant 16 : i32 loc(#loc1)\n"
           "    %c64 = arith.constant 64 : i32 loc(#loc1)\n"
           "    %s16 = arith.constant dense<16> : tensor<64x16xi32> loc(#loc1)\n"
           "    %t16 = arith.constant dense<16> : tensor<16x32xi32> loc(#loc1)\n"
           "    %m = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc1)\n"
           "    %k = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32> loc(#loc1)\n"
           "    %n = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32> loc(#loc1)\n"
           "    %x = tt.get_program_id x : i32 loc(#loc2)\n"
           "    %row = arith.muli %x, %c64 : i32 loc(#loc2)\n"
           "    %rows = tt.splat %row : i32 -> tensor<64xi32> loc(#loc2)\n"
           "    %rows_1 = arith.addi %rows, %m : tensor<64xi32> loc(#loc2)\n"
           "    %rows_2 = tt.expand_dims %rows_1 {axis = 1 : i32} : tensor<64xi32> -> "
           "tensor<64x1xi32> loc(#loc2)\n"
           "    %length = tt.splat %r0_numel : i32 -> tensor<64x1xi32> loc(#loc2)\n"
           "    %begin = arith.muli %rows_2, %length : tensor<64x1xi32> loc(#loc2)\n"
           "    %begin_1 = tt.broadcast %begin : tensor<64x1xi32> -> tensor<64x16xi32> loc(#loc2)\n"
           "    %k_1 = tt.broadcast %k : tensor<16xi32> -> tensor<64x16xi32> loc(#loc2)\n"
           "    %a_at = arith.addi %begin_1, %k_1 : tensor<64x16xi32> loc(#loc2)\n"
           "    %a = tt.splat %in_ptr0 : !tt.ptr<bf16> -> tensor<64x16x!tt.ptr<bf16>> loc(#loc3)\n"
           "    %a_1 = tt.addptr %a, %a_at : tensor<64x16x!tt.ptr<bf16>>, tensor<64x16xi32> "
           "loc(#loc3)\n"
           "    %length_1 = tt.splat %r0_numel : i32 -> tensor<32xi32> loc(#loc3)\n"
           "    %b_at = arith.muli %n, %length_1 : tensor<32xi32> loc(#loc3)\n"
           "    %b_at_1 = tt.broadcast %b_at : tensor<32xi32> -> tensor<16x32xi32> loc(#loc3)\n"
           "    %k_2 = tt.broadcast %k : tensor<16xi32> -> tensor<16x32xi32> loc(#loc3)\n"
           "    %b_at_2 = arith.addi %b_at_1, %k_2 : tensor<16x32xi32> loc(#loc3)\n"
           "    %b = tt.splat %in_ptr1 : !tt.ptr<bf16> -> tensor<16x32x!tt.ptr<bf16>> loc(#loc3)\n"
           "    %b_1 = tt.addptr %b, %b_at_2 : tensor<16x32x!tt.ptr<bf16>>, tensor<16x32xi32> "
           "loc(#loc3)\n"
           "    %sum:3 = scf.for %i = %c0 to %r0_numel step %c16 iter_args(%s = %zero, %a_2 = "
           "%a_1, "
           "%b_2 = %b_1) -> (tensor<64x32xf32>, tensor<64x16x!tt.ptr<bf16>>, "
           "tensor<16x32x!tt.ptr<bf16>>)  : i32 {\n"
           "      %v = tt.load %a_2 : tensor<64x16x!tt.ptr<bf16>> loc(#loc4)\n"
           "      %w = tt.load %b_2 : tensor<16x32x!tt.ptr<bf16>> loc(#loc4)\n"
           "      %d = tt.dot %v, %w, %s, inputPrecision = tf32 : tensor<64x16xbf16> * "
           "tensor<16x32xbf16> -> tensor<64x32xf32> loc(#loc5)\n"
           "      %a_3 = tt.addptr %a_2, %s16 : tensor<64x16x!tt.ptr<bf16>>, tensor<64x16xi32> "
           "loc(#loc6)\n"
           "      %b_3 = tt.addptr %b_2, %t16 : tensor<16x32x!tt.ptr<bf16>>, tensor<16x32xi32> "
           "loc(#loc6)\n"
           "      scf.yield %d, %a_3, %b_3 : tensor<64x32xf32>, tensor<64x16x!tt.ptr<bf16>>, "
           "tensor<16x32x!tt.ptr<bf16>> loc(#loc7)\n"
           "    } loc(#loc7)\n" TAIL;

static void test_products_of_matrices(void **state) {
    enum { M = 10 * 64, N = 32, K = 160 };
    (void)state;
    tide_run_launch row = launch(new_kernel(MULTIPLY), 10, 0, K);
    assert_int_equal(row.k, TIDE_RUN_MULTIPLIES);
    assert_int_equal(row.type, TIDE_RUN_BF16);
    assert_int_equal(row.elements, M * N * K);
    assert_int_equal(row.m, 10);
    assert_int_equal(row.bytes, 2 * (M * K + N * K));
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED);
}

static void test_products_in_parts(void **state) {
    enum { M = 10 * 64, N = 32, K = 160 };
    static const char ONCE[] = "inputPrecision = tf32";
    char text[sizeof(MULTIPLY) + 2];
    (void)state;
    const char *at = strstr(MULTIPLY, ONCE) + strlen(ONCE);
    (void)snprintf(text, sizeof(text), "%.*sx3%s", (int)(at - MULTIPLY), MULTIPLY, at);
    assert_int_equal(launch(new_kernel(text), 10, 0, K).elements, 3 * M * N * K);
}

/* Of tiles at places that the card computes, a quarter is read from memory: the same kernel, whose
 * rows follow from an operation that is not evaluated. */
static void test_products_of_unknown_rows(void **state) {
    enum { M = 10 * 64, N = 32, K = 160 };
    static const char KNOWN[] = "%a_at = arith.addi";
    char text[sizeof(MULTIPLY)];
    (void)state;
    memcpy(text, MULTIPLY, sizeof(text));
    char *at = strstr(text, KNOWN);
    assert_non_null(at);
    memcpy(at, "%a_at = arith.xori", sizeof(KNOWN) - 1);
    tide_run_launch row = launch(new_kernel(text), 10, 0, K);
    assert_int_equal(row.elements, M * N * K);
    assert_int_equal(row.bytes, 2 * (M * K / 4 + N * K));
}

/* A program handles up to 32 rows of 64 numbers, and the last ones have none: of 100 rows, three
 * programs have 32, one has 4, and four have none. */
static const char UNEVEN[] = HEAD(
    "f32", "f32",
    "f32") "    %c1 = arith.constant 1 : i32 loc(#loc1)\n"
           "    %c32 = arith.constant 32 : i32 loc(#loc1)\n"
           "    %x = tt.get_program_id x : i32 loc(#loc1)\n"
           "    %begin = arith.muli %x, %c32 : i32 loc(#loc1)\n"
           "    %next = arith.addi %x, %c1 : i32 loc(#loc1)\n"
           "    %next_1 = arith.muli %next, %c32 : i32 loc(#loc1)\n"
           "    %end = arith.minsi %next_1, %xnumel : i32 loc(#loc1)\n"
           "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc1)\n"
           "    scf.for %row = %begin to %end step %c1  : i32 {\n"
           "      %at = arith.muli %row, %r0_numel : i32 loc(#loc2)\n"
           "      %s = tt.splat %at : i32 -> tensor<64xi32> loc(#loc2)\n"
           "      %i = arith.addi %s, %r : tensor<64xi32> loc(#loc2)\n"
           "      %p = tt.splat %in_ptr0 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc2)\n"
           "      %p_1 = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc2)\n"
           "      %v = tt.load %p_1 : tensor<64x!tt.ptr<f32>> loc(#loc2)\n"
           "      %all = \"tt.reduce\"(%v) <{axis = 0 : i32}> ({\n"
           "      ^bb0(%l: f32, %m: f32):\n"
           "        tt.reduce.return %m : f32 loc(#loc2)\n"
           "      }) : (tensor<64xf32>) -> f32 loc(#loc2)\n"
           "    } loc(#loc3)\n" TAIL;

static void test_programs_may_differ(void **state) {
    (void)state;
    const void *kernel = new_kernel(UNEVEN);
    assert_int_equal(launch(kernel, 4, 128, 64).bytes, 4 * 128 * 64);
    assert_int_equal(launch(kernel, 4, 128, 64).k, TIDE_RUN_IN_TURN); /* a row after another */
    assert_int_equal(launch(kernel, 4, 128, 64).m, 4);
    uint64_t bytes = launch(kernel, 8, 100, 64).bytes; /* a sample of the eight */
    assert_in_range(bytes, 4 * 100 * 64 * 3 / 4, 4 * 100 * 64 * 5 / 4);
}

/* A program reads its row of r numbers twice. Its place of a single number is on the card, which
 * leaves the range of the row known. */
static const char TWICE[] = HEAD(
    "f32", "i64",
    "f32") "    %c0 = arith.constant 0 : i32 loc(#loc1)\n"
           "    %c64 = arith.constant 64 : i32 loc(#loc1)\n"
           "    %x = tt.get_program_id x : i32 loc(#loc1)\n"
           "    %row = arith.muli %x, %r0_numel : i32 loc(#loc1)\n"
           "    %begin = tt.addptr %in_ptr0, %row : !tt.ptr<f32>, i32 loc(#loc1)\n"
           "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc1)\n"
           "    %y_at = tt.addptr %in_ptr1, %x : !tt.ptr<i64>, i32 loc(#loc1)\n"
           "    %y = tt.load %y_at : !tt.ptr<i64> loc(#loc1)\n"
           "    %one = tt.addptr %begin, %y : !tt.ptr<f32>, i64 loc(#loc1)\n"
           "    %of_y = tt.load %one : !tt.ptr<f32> loc(#loc1)\n"
           "    scf.for %i = %c0 to %r0_numel step %c64  : i32 {\n"
           "      %s = tt.splat %i : i32 -> tensor<64xi32> loc(#loc2)\n"
           "      %at = arith.addi %s, %r : tensor<64xi32> loc(#loc2)\n"
           "      %p = tt.splat %begin : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc2)\n"
           "      %p_1 = tt.addptr %p, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc2)\n"
           "      %v = tt.load %p_1 : tensor<64x!tt.ptr<f32>> loc(#loc2)\n"
           "      %w = tt.load %p_1 : tensor<64x!tt.ptr<f32>> loc(#loc2)\n"
           "    } loc(#loc3)\n" TAIL;

static void test_rows_read_again(void **state) {
    (void)state;
    tide_run_launch row = launch(new_kernel(TWICE), 10, 0, 640);
    assert_int_equal(row.bytes, 10 * (640 * 4 + 8 + 4));
    assert_int_equal(row.k, TIDE_RUN_READS_AGAIN);
    assert_int_equal(row.m, 10);
    assert_int_equal(row.n, 640 * 4);
    assert_int_equal(row.count, 640 * 4);
}

/* An atomic addition reads and writes. */
static const char ATOMIC[] = HEAD(
    "f32", "f32",
    "f32") "    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32> "
           "loc(#loc1)\n"
           "    %p = tt.splat %out_ptr0 : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>> loc(#loc2)\n"
           "    %p_1 = tt.addptr %p, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32> loc(#loc2)\n"
           "    %old = tt.atomic_rmw fadd, acq_rel, gpu, %p_1, %v, %m : "
           "(tensor<256x!tt.ptr<f32>>, tensor<256xf32>, tensor<256xi1>) -> tensor<256xf32> "
           "loc(#loc3)\n" TAIL;

static void test_atomic_operations(void **state) {
    (void)state;
    tide_run_launch row = launch(new_kernel(ATOMIC), 3, 0, 0);
    assert_int_equal(row.bytes, 2 * 256 * 4); /* all programs add to the same numbers */
    assert_int_equal(row.k, TIDE_RUN_ADDS);
    assert_int_equal(row.elements, 3 * 256);
}

/* A loop up to a number from the card: at most 16 iterations, 8 in the middle, or unknown. */
#define COUNTED(bound)                                                                             \
    HEAD("f32", "i32", "f32")                                                                      \
    "    %c0 = arith.constant 0 : i32 loc(#loc1)\n"                                                \
    "    %c1 = arith.constant 1 : i32 loc(#loc1)\n"                                                \
    "    %c16 = arith.constant 16 : i32 loc(#loc1)\n"                                              \
    "    %n = tt.load %in_ptr1 : !tt.ptr<i32> loc(#loc2)\n"                                        \
    "    %most = arith.minsi %n, %c16 : i32 loc(#loc2)\n"                                          \
    "    scf.for %i = %c0 to " bound " step %c1  : i32 {\n"                                        \
    "      %p = tt.int_to_ptr %i : i64 -> !tt.ptr<f32> loc(#loc3)\n"                               \
    "      %v = tt.load %p : !tt.ptr<f32> loc(#loc3)\n"                                            \
    "    } loc(#loc4)\n" TAIL

static void test_counts_from_the_card(void **state) {
    (void)state;
    tide_run_launch row = launch(new_kernel(COUNTED("%most")), 1, 0, 0);
    assert_int_equal(row.bytes, 4 + 8 * 4);
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED | TIDE_RUN_GUESSED);
    row = launch(new_kernel(COUNTED("%n")), 1, 0, 0);
    assert_int_equal(row.bytes, 4 + 4);
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED | TIDE_RUN_GUESSED);
}

static int32_t of_card = 3;
static unsigned n_computed;

static int compute(void *to, uint64_t address, size_t n_bytes) {
    (void)address;
    (void)memcpy(to, &of_card, n_bytes);
    n_computed++;
    return 1;
}

/* A row is kept as long as the card's values are the same: then each is computed once a launch. */
static void test_counts_that_are_computed(void **state) {
    (void)state;
    const void *kernel = new_kernel(COUNTED("%most"));
    tidemark_values_computes(compute);
    tide_run_launch row = launch(kernel, 1, 0, 0);
    assert_int_equal(row.bytes, 4 + 3 * 4);
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED);
    unsigned n_of_first = n_computed;
    assert_int_equal(launch(kernel, 1, 1, 1).bytes, row.bytes); /* of numbers that do not matter */
    assert_int_equal(n_computed, 2 * n_of_first);
    of_card = 5; /* the first number differs from the kept one, and all are computed again */
    assert_int_equal(launch(kernel, 1, 0, 0).bytes, 4 + 5 * 4);
    assert_int_equal(n_computed, 3 * n_of_first + 1);
    for (unsigned grid = 1; grid < 40; grid++) { /* more rows than are kept */
        assert_int_equal(launch(kernel, grid, 0, 0).bytes, 4 + grid * 5 * 4);
    }
    tidemark_values_computes(NULL);
    assert_int_equal(launch(kernel, 1, 0, 0).flags, TIDE_RUN_ESTIMATED | TIDE_RUN_GUESSED);
}

static void is_guessed(const void *kernel) {
    tide_run_launch row = launch(kernel, 10, 1, 1);
    assert_int_equal(row.flags, TIDE_RUN_GUESSED);
    assert_int_equal(row.bytes, 8 * 10 * 128);
}

static void test_texts_that_say_nothing(void **state) {
    (void)state;
    static char kernel;
    is_guessed(new_kernel(""));
    is_guessed(new_kernel("module {\n  tt.func public @k("));
    is_guessed(new_kernel(HEAD("bf16", "!tt.tensordesc", "bf16") TAIL));
    is_guessed(new_kernel(HEAD("bf16", "f32", "bf16") "    %d = tt.dot_scaled %a, %b\n" TAIL));
    is_guessed(new_kernel(HEAD("bf16", "f32", "bf16") "    %d = scf.while () : () -> ()\n" TAIL));
    is_guessed(new_kernel(HEAD("bf16", "f32", "bf16"))); /* it ends early */
    tide_vc_triton_add(&kernel, NULL);
    is_guessed(&kernel);
    tide_vc_triton_add(&kernel, "/nowhere/k.cubin");
    is_guessed(&kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pointwise),
                                       cmocka_unit_test(test_reduction),
                                       cmocka_unit_test(test_gather),
                                       cmocka_unit_test(test_small_types_bound_addresses),
                                       cmocka_unit_test(test_a_function_may_return_early),
                                       cmocka_unit_test(test_products_of_matrices),
                                       cmocka_unit_test(test_products_in_parts),
                                       cmocka_unit_test(test_products_of_unknown_rows),
                                       cmocka_unit_test(test_programs_may_differ),
                                       cmocka_unit_test(test_rows_read_again),
                                       cmocka_unit_test(test_atomic_operations),
                                       cmocka_unit_test(test_counts_from_the_card),
                                       cmocka_unit_test(test_counts_that_are_computed),
                                       cmocka_unit_test(test_texts_that_say_nothing)};
    return cmocka_run_group_tests(tests, begin, end);
}
