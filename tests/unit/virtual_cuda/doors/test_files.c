/* The names of NVIDIA's libraries, of the driver's and our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/virtual_cuda/doors/doors.h"
#include "programs/virtual_cuda/doors/files.h"

static void test_libraries_are_recognized_by_their_files(void **state) {
    (void)state;
    static const char *const YES[] = {"libcudart.so.13",
                                      "/usr/local/cuda/lib64/libcudart.so",
                                      "libcudart-1a2b3c4d.so.12.0",
                                      "/a/nvidia/cublas/lib/libcublasLt.so.13",
                                      "libcudnn.so.9",
                                      "libcudnn_graph.so.9",
                                      "libcudnn_engines_runtime_compiled.so.9.24.0",
                                      "/lib/libnccl.so.2",
                                      "libcuda.so.1",
                                      "libnvidia-ml.so.580.82.07"};
    static const char *const NO[] = {"libcudart",
                                     "libcudart.a",
                                     "libcudart_shim.so",
                                     "libcudarts.so",
                                     "libmycudart.so",
                                     "libtorch_cuda.so",
                                     "libnvrtc.so.13",
                                     "libcudnn_",
                                     "/libcuda.so.1/lib",
                                     "libcudart-static.so",
                                     "libnccl-net.so",
                                     "libcudart.sound",
                                     ""};
    for (size_t i = 0; i < sizeof(YES) / sizeof(YES[0]); i++) {
        assert_true(tide_vc_is_nvidia_file(YES[i]));
    }
    for (size_t i = 0; i < sizeof(NO) / sizeof(NO[0]); i++) {
        assert_false(tide_vc_is_nvidia_file(NO[i]));
    }
}

static void test_only_the_driver_and_nvml_are_the_card(void **state) {
    (void)state;
    assert_true(tide_vc_is_driver_file("libcuda.so"));
    assert_true(tide_vc_is_driver_file("/usr/local/cuda/lib64/stubs/libcuda.so"));
    assert_true(tide_vc_is_driver_file("/lib/libnvidia-ml.so.1"));
    assert_false(tide_vc_is_driver_file("libcudart.so.13"));
    assert_false(tide_vc_is_driver_file("libcudadebugger.so.1"));
    assert_false(tide_vc_is_driver_file("libcuda-1a2b3c4d.so.1"));
    assert_null(tidemark_virtual_library("libcudart.so.13"));
    assert_null(tidemark_virtual_library(NULL));
}

static void test_a_file_has_the_last_name_of_its_path(void **state) {
    (void)state;
    assert_string_equal(tide_vc_file_name("/opt/lib/libcudart.so.13"), "libcudart.so.13");
    assert_string_equal(tide_vc_file_name("libcudart.so"), "libcudart.so");
    assert_string_equal(tide_vc_file_name("/opt/"), "");
    assert_string_equal(tide_vc_file_name(""), "");
    assert_true(tide_vc_is_runtime_file("/opt/lib/libcudart-1a2b3c4d.so.12"));
    assert_false(tide_vc_is_runtime_file("/opt/libcudart.so.12/libcuda.so.1"));
}

static void test_our_objects(void **state) {
    (void)state;
    assert_true(tide_vc_is_own_file("/opt/tidemark/libtidemark_live.so"));
    assert_false(tide_vc_is_own_file("/opt/libtidemark_x/libcudart.so.13"));
}

static void test_names_of_functions(void **state) {
    (void)state;
    static const char *const YES[] = {"cuInit",        "cudaMalloc", "__cudaRegisterFunction",
                                      "nvmlInit_v2",   "ncclSend",   "pncclSend",
                                      "cublasLtCreate"};
    for (size_t i = 0; i < sizeof(YES) / sizeof(YES[0]); i++) {
        assert_true(tidemark_virtual_has_name(YES[i]));
    }
    assert_false(tidemark_virtual_has_name("malloc"));
    assert_false(tidemark_virtual_has_name("PyInit_cuda"));
    assert_false(tidemark_virtual_has_name(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libraries_are_recognized_by_their_files),
        cmocka_unit_test(test_only_the_driver_and_nvml_are_the_card),
        cmocka_unit_test(test_a_file_has_the_last_name_of_its_path),
        cmocka_unit_test(test_our_objects),
        cmocka_unit_test(test_names_of_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
