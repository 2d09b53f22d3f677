/* test_readable.c - names of kernels as tables show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/kernels/readable.h"

static const char *readable(const char *symbol) {
    static char text[256];
    tide_vc_readable_symbol(symbol, text, sizeof(text));
    return text;
}

static void what_is_the_same_in_all_names_is_left_out(void **state) {
    (void)state;
    assert_string_equal(
        readable("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add"
                 "<float>, std::array<char*, 3ul>, false>(int, at::native::CUDAFunctor_add<float>, "
                 "std::array<char*, 3ul>)"),
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>, false>");
    assert_string_equal(
        readable("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*)"),
        "softmax_warp_forward<float, 8>");
}

static void a_lambda_has_the_name_of_its_function(void **state) {
    (void)state;
    assert_string_equal(
        readable("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                 "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"
                 "operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>"
                 "(int)"),
        "elementwise_kernel<128, 2, gpu_kernel_impl_nocast<direct_copy_kernel_cuda>>");
}

static void other_names_stay(void **state) {
    (void)state;
    char text[64];
    tide_vc_readable("triton_poi_fused_add_0", text, sizeof(text));
    assert_string_equal(text, "triton_poi_fused_add_0");
    tide_vc_readable("triton_poi_fused_add_0", text, 7);
    assert_string_equal(text, "triton");
    assert_string_equal(readable("kernel<(int)4"), "kernel<4"); /* cut short by its compiler */
    assert_string_equal(readable("kernel("), "kernel");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_the_same_in_all_names_is_left_out),
        cmocka_unit_test(a_lambda_has_the_name_of_its_function),
        cmocka_unit_test(other_names_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
