/* test_triton_launches.c - branches of Triton's kernels, values of the card that decide loops,
 * values without room in registers, and rows of former launches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/kernels/triton_machine_internal.h"

#define ROW 64 /* values of a block in most texts */
#define HEAD                                                                                       \
    "module {\n"                                                                                   \
    "  tt.func public @k(%in: !tt.ptr<f32>, %counts: !tt.ptr<i32>, %out: !tt.ptr<f32>, %n: i32, "  \
    "%rate: f32, %seed: i64) attributes {noinline = false} {\n"                                    \
    "    %c0 = arith.constant 0 : i32\n"                                                           \
    "    %c1 = arith.constant 1 : i32\n"                                                           \
    "    %c2 = arith.constant 2 : i32\n"                                                           \
    "    %c16 = arith.constant 16 : i32\n"                                                         \
    "    %c64 = arith.constant 64 : i32\n"                                                         \
    "    %x = tt.get_program_id x : i32\n"                                                         \
    "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n"
#define TAIL                                                                                       \
    "    tt.return\n"                                                                              \
    "  }\n"                                                                                        \
    "}\n"
/* Loads row %`row` of `pointer`. */
#define LOAD(row, pointer)                                                                         \
    "      %at = arith.muli %" row ", %c64 : i32\n"                                                \
    "      %s = tt.splat %at : i32 -> tensor<64xi32>\n"                                            \
    "      %i = arith.addi %s, %r : tensor<64xi32>\n"                                              \
    "      %p = tt.splat %" pointer " : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"                 \
    "      %p_1 = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n"                    \
    "      %v = tt.load %p_1 : tensor<64x!tt.ptr<f32>>\n"

/* What the card has: counts[i], from address 1000 on. */
static int32_t counts[16];
static bool are_known = true;
static unsigned n_asked;
static uint64_t n_allocated;

static bool read_value(uint64_t address, size_t n_bytes, void *to) {
    n_asked++;
    assert_int_equal(n_bytes, 4);
    assert_true(address >= 1000);
    if (are_known) {
        memcpy(to, (const char *)counts + (address - 1000), n_bytes);
    }
    return are_known;
}

static uint64_t bytes_from(uint64_t address) {
    (void)address;
    return n_allocated;
}

/* A launch of a text; `n`, `rate` and `seed` are its numbers. */
typedef struct launch {
    uint64_t in, counts, out;
    int32_t n;
    float rate;
    int64_t seed;
    unsigned grid, block;
} launch;

static const launch PLAIN = {.in = 1 << 20, .counts = 1000, .out = 1 << 21, .grid = 8, .block = 32};

/* Everything that a launch is followed from, and what comes out. */
typedef struct followed {
    launch of;
    void *arguments[6];
    tide_vc_kernel_call call;
    tide_vc_launched_kernel launched;
    tide_run_launch row;
    tide_triton_needs needs;
    tide_triton_key key;
} followed;

static void begin(const tide_triton_program *program, launch of, followed *to) {
    *to = (followed){.of = of};
    void *arguments[] = {&to->of.in, &to->of.counts, &to->of.out,
                         &to->of.n,  &to->of.rate,   &to->of.seed};
    memcpy(to->arguments, arguments, sizeof(arguments));
    to->call = (tide_vc_kernel_call){.name = "k",
                                     .grid = {of.grid, 1, 1},
                                     .block = {of.block, 1, 1},
                                     .arguments = to->arguments};
    to->launched = (tide_vc_launched_kernel){
        .call = &to->call, .bytes_from = bytes_from, .read_value = read_value};
    tide_vc_arguments_find(to->arguments, (unsigned)program->n_arguments, &to->launched.arguments);
    assert_true(tide_triton_key_of(&to->launched, program, &to->key));
}

static void follow(const tide_triton_program *program, launch of, followed *to) {
    begin(program, of, to);
    assert_true(tide_triton_follow(&to->launched, program, &to->row, &to->needs));
}

static tide_run_launch row_of(const char *text, launch of) {
    followed made;
    tide_triton_program *program = tide_triton_parse(text);
    assert_non_null(program);
    follow(program, of, &made);
    tide_triton_program_free(program);
    return made.row;
}

/* ---- branches ---- */

/* Programs 0 and 1 load their row of `in` twice; the others load row x - 2 of `out`. Then all load
 * row 0 of `out`. */
static const char BRANCHES[] = HEAD "    %is = arith.cmpi slt, %x, %c2 : i32\n"
                                    "    scf.if %is {\n" LOAD("x", "in") LOAD("x", "in") //
    "    } else {\n"
    "      %y = arith.subi %x, %c2 : i32\n" LOAD("y", "out") //
    "    }\n"
    "    %w = tt.addptr %counts, %x : !tt.ptr<i32>, i32\n" /* after it, x has its range again */
    "    %z = tt.load %w : !tt.ptr<i32>\n" LOAD("c0", "out") TAIL;

static void programs_take_one_branch(void **state) {
    (void)state;
    assert_int_equal(row_of(BRANCHES, PLAIN).bytes, 8 * ROW * 4 + 8 * 4);
    launch few = PLAIN;
    few.grid = 2; /* none takes the other branch */
    assert_int_equal(row_of(BRANCHES, few).bytes, (2 + 1) * ROW * 4 + 2 * 4);
}

static double share_of(tide_triton_comparison comparison, int64_t low, int64_t high,
                       int64_t other_low, int64_t other_high) {
    return tide_triton_share(
        comparison, (tide_triton_value){.is_known = true, .low = low, .high = high},
        (tide_triton_value){.is_known = true, .low = other_low, .high = other_high});
}

/* The comparison, its share of the programs 0 to 7, and of those with x on the right. */
static void shares_of_comparisons(void **state) {
    (void)state;
    static const struct {
        tide_triton_comparison comparison;
        double left, right;
    } ROWS[] = {{TIDE_TRITON_EQUAL, 0.125, 0.125},  {TIDE_TRITON_UNEQUAL, 0.875, 0.875},
                {TIDE_TRITON_LESS, 0.25, 0.625},    {TIDE_TRITON_AT_MOST, 0.375, 0.75},
                {TIDE_TRITON_GREATER, 0.625, 0.25}, {TIDE_TRITON_AT_LEAST, 0.75, 0.375}};
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        assert_true(share_of(ROWS[i].comparison, 0, 7, 2, 2) == ROWS[i].left);
        assert_true(share_of(ROWS[i].comparison, 2, 2, 0, 7) == ROWS[i].right);
    }
    assert_true(share_of(TIDE_TRITON_LESS, 0, 7, 8, 9) == 1.0);
    assert_true(share_of(TIDE_TRITON_LESS, 8, 9, 0, 7) == 0.0);
    assert_true(share_of(TIDE_TRITON_LESS, 0, 7, 5, 9) < 0.0); /* not known */
}

/* ---- values of the card ---- */

/* Program x loads counts[x] rows, at most 16. */
static const char COUNTED[] =
    HEAD "    %place = tt.addptr %counts, %x : !tt.ptr<i32>, i32\n"
         "    %count = tt.load %place : !tt.ptr<i32>\n"
         "    %most = arith.minsi %count, %c16 : i32\n"
         "    scf.for %k = %c0 to %most step %c1  : i32 {\n" LOAD("k", "in") //
    "      %product = tt.dot %a, %b, %c : tensor<16x16xbf16> * tensor<16x16xbf16> -> "
    "tensor<16x16xf32>\n"
    "    }\n" TAIL;
enum { PRODUCT = 16 * 16 * 16 };

static void loops_up_to_numbers_of_the_card(void **state) {
    (void)state;
    launch of = PLAIN;
    of.grid = 16; /* each of the sixteen is followed */
    for (int i = 0; i < 16; i++) {
        counts[i] = i % 4;
    }
    are_known = true;
    tide_run_launch row = row_of(COUNTED, of);
    assert_int_equal(row.elements, (16 / 4) * (0 + 1 + 2 + 3) * PRODUCT);
    assert_int_equal(row.flags & TIDE_RUN_GUESSED, 0);
    counts[3] = 1000; /* more than the kernel's limit */
    assert_int_equal(row_of(COUNTED, of).elements, (24 - 3 + 16) * PRODUCT);
    are_known = false;
    row = row_of(COUNTED, of); /* half of the limit */
    assert_int_equal(row.elements, 16 * 8 * PRODUCT);
    assert_int_equal(row.flags & TIDE_RUN_GUESSED, TIDE_RUN_GUESSED);
}

/* Programs from 2 on load counts[x - 2] rows; for the others, that place is before the numbers. */
static const char GUARDED[] =
    HEAD "    %is = arith.cmpi sge, %x, %c2 : i32\n"
         "    scf.if %is {\n"
         "      %y = arith.subi %x, %c2 : i32\n"
         "      %place = tt.addptr %counts, %y : !tt.ptr<i32>, i32\n"
         "      %count = tt.load %place : !tt.ptr<i32>\n"
         "      %most = arith.minsi %count, %c16 : i32\n"
         "      scf.for %k = %c0 to %most step %c1  : i32 {\n" LOAD("k", "in") //
    "        %product = tt.dot %a, %b, %c : tensor<16x16xbf16> * tensor<16x16xbf16> -> "
    "tensor<16x16xf32>\n"
    "      }\n"
    "    }\n" TAIL;

static void branches_that_are_not_taken_read_nothing(void **state) {
    (void)state;
    launch of = PLAIN;
    of.grid = 16;
    are_known = true;
    for (int i = 0; i < 16; i++) {
        counts[i] = 3;
    }
    tide_run_launch row = row_of(GUARDED, of);
    assert_int_equal(row.elements, 14 * 3 * PRODUCT);
    assert_int_equal(row.flags & TIDE_RUN_GUESSED, 0);
}

/* The number of rows is at another place in each turn of a loop. */
static const char NESTED[] =
    HEAD "    scf.for %turn = %c0 to %c2 step %c1  : i32 {\n"
         "      %place = tt.addptr %counts, %turn : !tt.ptr<i32>, i32\n"
         "      %count = tt.load %place : !tt.ptr<i32>\n"
         "      %most = arith.minsi %count, %c16 : i32\n"
         "      scf.for %k = %c0 to %most step %c1  : i32 {\n" LOAD("k", "in") //
    "      }\n"
    "    }\n" TAIL;

static void numbers_of_several_places_are_unknown(void **state) {
    (void)state;
    are_known = true;
    n_asked = 0;
    assert_int_equal(row_of(NESTED, PLAIN).flags & TIDE_RUN_GUESSED, TIDE_RUN_GUESSED);
    assert_int_equal(n_asked, 0);
}

/* ---- registers ---- */

/* An addition and a product of blocks with 16384 values; %u is the same for all values. */
#define BLOCK "tensor<16384xf32>"
static const char ARITHMETIC[] =
    HEAD "    %u = tt.splat %rate : f32 -> " BLOCK "\n"
         "    %p = tt.splat %in : !tt.ptr<f32> -> tensor<16384x!tt.ptr<f32>>\n"
         "    %v = tt.load %p : tensor<16384x!tt.ptr<f32>>\n"
         "    %a = arith.mulf %v, %u : " BLOCK "\n"
         "    %b = arith.addf %a, %v : " BLOCK "\n" TAIL;

static void values_without_registers_go_to_memory(void **state) {
    (void)state;
    uint64_t plain = row_of(ARITHMETIC, (launch){.grid = 8, .block = 128}).bytes;
    assert_int_equal(plain, 4);               /* all programs load the same number */
    launch narrow = {.grid = 8, .block = 64}; /* 256 values a thread */
    assert_int_equal(row_of(ARITHMETIC, narrow).bytes, plain + 8 * 16384 * (2 + 3) * 4);
}

/* ---- rows of former launches ---- */

static bool holds(const char *text, launch before, launch now) {
    tide_triton_program *program = tide_triton_parse(text);
    followed first;
    followed second;
    tide_triton_kept kept;
    follow(program, before, &first);
    assert_true(tide_triton_keep(&first.launched, &first.key, &first.needs, &first.row, &kept));
    begin(program, now, &second);
    bool is_same = memcmp(&first.key, &second.key, sizeof(first.key)) == 0 &&
                   tide_triton_holds(&kept, &second.launched);
    if (is_same) { /* then the row is that of the launch */
        follow(program, now, &second);
        assert_memory_equal(&first.row, &second.row, sizeof(first.row));
    }
    tide_triton_program_free(program);
    return is_same;
}

/* Program x loads row x + n. */
static const char MOVED[] = HEAD "    %y = arith.addi %x, %n : i32\n" LOAD("y", "in") TAIL;

static void arguments_that_matter(void **state) {
    (void)state;
    launch now = PLAIN;
    now.rate = 2.0F;
    now.seed = 7;
    now.in += 4096;
    assert_true(holds(MOVED, PLAIN, now));
    now.n = 1;
    assert_false(holds(MOVED, PLAIN, now));
    now = PLAIN;
    now.grid++;
    assert_false(holds(MOVED, PLAIN, now));
    now = PLAIN;
    now.block++;
    assert_false(holds(MOVED, PLAIN, now));
}

/* An argument that a loop carries from one turn to the next. */
static const char CARRIED[] = HEAD
    "    scf.for %k = %c0 to %c16 step %c1 iter_args(%y = %c0) -> (i32)  : i32 {\n" LOAD("y",
                                                                                         "in") //
    "      %next = arith.addi %y, %n : i32\n"
    "      scf.yield %next : i32\n"
    "    }\n" TAIL;

static void arguments_that_matter_in_the_next_turn(void **state) {
    (void)state;
    launch now = PLAIN;
    now.n = 3;
    assert_false(holds(CARRIED, PLAIN, now));
}

static void values_that_decide(void **state) {
    (void)state;
    are_known = true;
    memset(counts, 0, sizeof(counts));
    launch now = PLAIN;
    now.in += 4096;
    assert_true(holds(COUNTED, PLAIN, now));
    now.counts += 4; /* programs read the next numbers */
    counts[8] = 5;
    assert_false(holds(COUNTED, PLAIN, now));
    n_asked = 0;
    assert_true(holds(COUNTED, now, now));
    assert_int_equal(n_asked, 3 * 16); /* followed, checked, and followed to compare */
}

/* Program x loads a number at a place that the card computes. */
static const char UNKNOWN[] = HEAD "    %p = tt.addptr %counts, %x : !tt.ptr<i32>, i32\n"
                                   "    %v = tt.load %p : !tt.ptr<i32>\n"
                                   "    %q = tt.addptr %in, %v : !tt.ptr<f32>, i32\n"
                                   "    %w = tt.load %q : !tt.ptr<f32>\n" TAIL;

static void room_in_allocations(void **state) {
    (void)state;
    tide_triton_program *program = tide_triton_parse(UNKNOWN);
    followed made;
    tide_triton_kept kept;
    n_allocated = 8 * 4;
    follow(program, PLAIN, &made);
    assert_true(tide_triton_keep(&made.launched, &made.key, &made.needs, &made.row, &kept));
    n_allocated = 1 << 20; /* also enough */
    assert_true(tide_triton_holds(&kept, &made.launched));
    n_allocated = 7 * 4;
    assert_false(tide_triton_holds(&kept, &made.launched));
    n_allocated = 0;
    tide_triton_program_free(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_take_one_branch),
                                       cmocka_unit_test(shares_of_comparisons),
                                       cmocka_unit_test(loops_up_to_numbers_of_the_card),
                                       cmocka_unit_test(branches_that_are_not_taken_read_nothing),
                                       cmocka_unit_test(numbers_of_several_places_are_unknown),
                                       cmocka_unit_test(values_without_registers_go_to_memory),
                                       cmocka_unit_test(arguments_that_matter),
                                       cmocka_unit_test(arguments_that_matter_in_the_next_turn),
                                       cmocka_unit_test(values_that_decide),
                                       cmocka_unit_test(room_in_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
