/* test_stores.c - the parameters that a kernel stores through, from its text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/stores.h"

#define UNKNOWN UINT64_MAX

#define HEAD                                                                                       \
    ".version 8.4\n.target sm_90a\n.address_size 64\n"                                             \
    "// .globl k // st.global.b32 [%rd1], %r1;\n"                                                  \
    ".visible .entry k(\n"                                                                         \
    "\t.param .u64 .ptr .global .align 1 k_param_0, // in\n"                                       \
    "\t.param .u64 .ptr .global .align 1 k_param_1,\n"                                             \
    "\t.param .u32 k_param_2,\n"                                                                   \
    "\t.param .u64 .ptr .global .align 1 k_param_3\n"                                              \
    ")\n.reqntid 128\n{\n\t.reg .pred %p<3>;\n\t.reg .b64 %rd<9>;\n\t.loc 1 18 0\n$L__begin0:\n"   \
    "\tld.param.b64 %rd1, [k_param_0];\n\tld.param.b64 %rd2, [k_param_1];\n"                       \
    "\tld.param.b32 %r9, [k_param_2];\n\tld.param.b64 %rd3, [k_param_3];\n"

static uint64_t stores_of(const char *text) {
    tide_vc_stores stores = 0;
    return tide_vc_stores_parse(text, "k", &stores) ? stores : UNKNOWN;
}

static void a_store_is_followed_to_its_parameter(void **state) {
    (void)state;
    assert_int_equal(stores_of(HEAD "\tmul.wide.s32 %rd4, %r9, 4;\n\tadd.s64 %rd5, %rd2, %rd4;\n"
                                    "\tadd.s64 %rd6, %rd1, %rd4;\n"
                                    "\t// begin inline asm\n\tmov.u32 %r1, 0x0;\n"
                                    "\t@%p1 ld.global.v2.b32 { %r1, %r2 }, [ %rd6 + 0 ];\n"
                                    "\t@%p1 st.global.v2.b32 [ %rd5 + 0 ], { %r1, %r2 };\n"
                                    "\t// end inline asm\n\tret;\n$L__tmp1:\n}\n"),
                     1 << 1);
}

static void atomics_and_generic_addresses_count(void **state) {
    (void)state;
    assert_int_equal(stores_of(HEAD "\tcvta.to.global.u64 %rd4, %rd1;\n"
                                    "\t@!%p1 atom.global.gpu.acq_rel.add.f32 %f1, [%rd4], %f2;\n"
                                    "\tred.global.add.f32 [%rd3+16], %f2;\n\tret;\n}\n"),
                     1 << 0 | 1 << 3);
    assert_int_equal(stores_of(HEAD "\tst.u8 [%rd2], %r1;\n\tret;\n}\n"), 1 << 1);
    assert_int_equal(stores_of(HEAD "\tcp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], "
                                    "%r2;\n\tret;\n}\n"),
                     1 << 1);
}

static void other_spaces_do_not_count(void **state) {
    (void)state;
    assert_int_equal(stores_of(HEAD "\tmov.u32 %r5, global_smem;\n\tst.shared.b32 [%r5], %r1;\n"
                                    "\tst.local.b64 [%SPL], %rd2;\n"
                                    "\tcp.async.cg.shared.global [%r5], [%rd1], 16;\n"
                                    "\tatom.shared.add.u32 %r2, [%r5], 1;\n\tret;\n}\n"),
                     0);
}

/* The address in the loop is set by a later line. */
static void loops_are_followed(void **state) {
    (void)state;
    assert_int_equal(stores_of(HEAD "$L__BB0_1:\n\tst.global.b32 [%rd7], %r1;\n"
                                    "\tmov.b64 %rd7, %rd8;\n\tselp.b64 %rd8, %rd2, %rd3, %p1;\n"
                                    "\t@%p1 bra $L__BB0_1;\n\tret;\n}\n"),
                     1 << 1 | 1 << 3);
}

static void an_index_from_memory_is_an_offset(void **state) {
    (void)state;
    assert_int_equal(stores_of(HEAD "\tld.global.b64 %rd4, [%rd1];\n\tshl.b64 %rd5, %rd4, 2;\n"
                                    "\tadd.s64 %rd6, %rd2, %rd5;\n\tst.global.b32 [%rd6], %r1;\n"
                                    "\tret;\n}\n"),
                     1 << 1);
}

static void what_cannot_be_followed_is_unknown(void **state) {
    (void)state;
    static const char *const BODIES[] = {
        HEAD "\tld.global.b64 %rd4, [%rd1];\n\tst.global.b32 [%rd4], %r1;\n\tret;\n}\n",
        HEAD "\tst.global.b32 [%rd7], %r1;\n\tret;\n}\n",
        HEAD "\tcp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r2}], [%r3];\n"
             "\tret;\n}\n",
        HEAD "\t{\n\t.param .b64 param0;\n\tst.param.b64 [param0], %rd2;\n\tcall.uni f, "
             "(param0);\n\t}\n\tret;\n}\n",
        "no text",
        ".entry other() { ret; }",
        ".entry k",
        "",
    };
    for (size_t i = 0; i < sizeof(BODIES) / sizeof(BODIES[0]); i++) {
        if (stores_of(BODIES[i]) != UNKNOWN) {
            fail_msg("text %zu is known", i);
        }
    }
}

static void a_function_that_prints_stores_nothing(void **state) {
    (void)state;
    assert_int_equal(stores_of(HEAD "\tst.global.b32 [%rd2], %r1;\n\t{\n\tcall.uni __assertfail, "
                                    "(param0, param1);\n\t}\n\tret;\n}\n"),
                     1 << 1);
}

/* Numbers of 8 bytes, such as strides, are offsets where the text marks pointers. */
static void a_stride_is_no_pointer(void **state) {
    (void)state;
    static const char STRIDE[] =
        ".entry k(.param .u64 .ptr .global .align 1 p,.param .u64 s){ld.param.u64 %rd1,[p];"
        "ld.param.u64 %rd2,[s];mad.lo.s64 %rd3,%rd2,%rd4,%rd1;st.global.u32 [%rd3],%r1;ret;}";
    static const char ONLY_STRIDE[] = ".entry k(.param .u64 .ptr .global .align 1 p,.param .u64 s){"
                                      "ld.param.u64 %rd2,[s];st.global.u32 [%rd2],%r1;ret;}";
    assert_int_equal(stores_of(STRIDE), 1 << 0);
    assert_true(stores_of(ONLY_STRIDE) == UNKNOWN);
}

/* Compilers other than Triton's do not mark pointers, and pass structs as arrays of bytes. */
static void texts_without_marks(void **state) {
    (void)state;
    static const char PLAIN[] =
        ".visible .entry k(.param .u64 k_param_0,.param .align 8 .b8 k_param_1[24]){"
        "ld.param.u64 %rd1,[k_param_0];ld.param.u64 %rd2,[k_param_1+8];"
        "add.s64 %rd3,%rd1,%rd4;st.global.u32 [%rd3],%r1;ret;}";
    static const char THROUGH_STRUCT[] =
        ".visible .entry k(.param .u64 k_param_0,.param .align 8 .b8 k_param_1[24]){"
        "ld.param.u64 %rd2,[k_param_1+8];st.global.u32 [%rd2],%r1;ret;}";
    static const char MAYBE_STRUCT[] =
        ".visible .entry k(.param .u64 k_param_0,.param .align 8 .b8 k_param_1[24]){"
        "ld.param.u64 %rd1,[k_param_0];ld.param.u64 %rd2,[k_param_1+8];"
        "add.s64 %rd3,%rd1,%rd2;st.global.u32 [%rd3],%r1;ret;}";
    static const char MAYBE_LOADED[] =
        ".visible .entry k(.param .u64 k_param_0,.param .u64 k_param_1){"
        "ld.param.u64 %rd1,[k_param_0];ld.global.u64 %rd2,[%rd5];"
        "add.s64 %rd3,%rd1,%rd2;st.global.u32 [%rd3],%r1;ret;}";
    assert_int_equal(stores_of(PLAIN), 1 << 0);
    assert_true(stores_of(THROUGH_STRUCT) == UNKNOWN);
    assert_true(stores_of(MAYBE_STRUCT) == UNKNOWN);
    assert_true(stores_of(MAYBE_LOADED) == UNKNOWN);
}

static void the_kernel_is_found_by_its_name(void **state) {
    (void)state;
    tide_vc_stores stores = 5;
    static const char TWO[] = ".entry a(.param .u64 p){ld.param.u64 %rd1,[p];st.global.u32 "
                              "[%rd1],%r1;ret;} .entry k { ret; }";
    assert_true(tide_vc_stores_parse(TWO, "a", &stores));
    assert_int_equal(stores, 1);
    assert_int_equal(stores_of(TWO), 0);
    stores = 5;
    assert_false(tide_vc_stores_parse(TWO, "", &stores)); /* which one? */
    assert_int_equal(stores, 5);
    assert_true(tide_vc_stores_parse(".entry a() { ret; }", "", &stores));
    assert_int_equal(stores, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_followed_to_its_parameter),
        cmocka_unit_test(atomics_and_generic_addresses_count),
        cmocka_unit_test(other_spaces_do_not_count),
        cmocka_unit_test(loops_are_followed),
        cmocka_unit_test(an_index_from_memory_is_an_offset),
        cmocka_unit_test(what_cannot_be_followed_is_unknown),
        cmocka_unit_test(a_function_that_prints_stores_nothing),
        cmocka_unit_test(a_stride_is_no_pointer),
        cmocka_unit_test(texts_without_marks),
        cmocka_unit_test(the_kernel_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
