/* test_not_served.c - functions that the virtual card refuses or does not serve: each fails by its
 * library's own error, names itself and gives the reason of its row. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <complex.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/libraries/list.h"
#include "unit/virtual_cuda/libraries/fake_core.h"

/* A function that is not served reads no argument, so it may be called without any. */
typedef int status_function(void);
#define REFUSING(name, status, error)                                                              \
    { #name, (name), (status), (error) }
// NOLINTBEGIN(readability-identifier-naming): names of NVIDIA's
status_function cudaArrayGetInfo, cuArrayGetDescriptor_v2, cuLibraryGetKernelCount,
    cuModuleGetFunctionCount, nvmlVgpuTypeGetName, cublasXtCreate,
    cublasLtMatrixTransformDescGetAttribute, cudnnGetCallback, cufftXtSetGPUs,
    cuptiActivityDisableContext, cusolverSpCreate, cusparseCsrGet, cusparseLtMatDescGetAttribute,
    ncclParamGetI32, nvjpegCreate, nvshmem_barrier;
typedef struct file_error {
    int status, cuda;
} file_error;
file_error cuFileDriverOpen(void);
float cublasSdot(int n, const float *x, int incx, const float *y, int incy);
double cublasDdot(int n, const double *x, int incx, const double *y, int incy);
double _Complex cublasZdotu(int n, const void *x, int incx, const void *y, int incy);
void *nvshmem_calloc(size_t n, size_t n_bytes);
// NOLINTEND(readability-identifier-naming)

static const tide_vc_function *find(const char *name) {
    size_t n = 0;
    const tide_vc_function *functions = tide_vc_functions(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    return NULL;
}

static void each_library_refuses_by_its_own_error(void **state) {
    (void)state;
    static const struct {
        const char *name;
        status_function *function;
        int status;
        const char *error; /* in NVIDIA's headers */
    } CALLS[] = {
        REFUSING(cudaArrayGetInfo, 801, "cudaErrorNotSupported"),
        REFUSING(cuArrayGetDescriptor_v2, 801, "CUDA_ERROR_NOT_SUPPORTED"),
        /* like their lists: a program must not conclude that a module has no kernel */
        REFUSING(cuLibraryGetKernelCount, 801, "CUDA_ERROR_NOT_SUPPORTED"),
        REFUSING(cuModuleGetFunctionCount, 801, "CUDA_ERROR_NOT_SUPPORTED"),
        REFUSING(nvmlVgpuTypeGetName, 3, "NVML_ERROR_NOT_SUPPORTED"),
        REFUSING(cublasXtCreate, 15, "CUBLAS_STATUS_NOT_SUPPORTED"),
        REFUSING(cublasLtMatrixTransformDescGetAttribute, 15, "CUBLAS_STATUS_NOT_SUPPORTED"),
        REFUSING(cudnnGetCallback, 3000, "CUDNN_STATUS_NOT_SUPPORTED"),
        REFUSING(cufftXtSetGPUs, 16, "CUFFT_NOT_SUPPORTED"),
        REFUSING(cuptiActivityDisableContext, 27, "CUPTI_ERROR_NOT_SUPPORTED"),
        REFUSING(cusolverSpCreate, 9, "CUSOLVER_STATUS_NOT_SUPPORTED"),
        REFUSING(cusparseCsrGet, 10, "CUSPARSE_STATUS_NOT_SUPPORTED"),
        REFUSING(cusparseLtMatDescGetAttribute, 10, "CUSPARSE_STATUS_NOT_SUPPORTED"),
        REFUSING(ncclParamGetI32, 5, "ncclInvalidUsage"),
        REFUSING(nvjpegCreate, 9, "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED"),
        REFUSING(nvshmem_barrier, 3, "NVSHMEMX_ERROR_NOT_SUPPORTED"),
    };
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        last_refused = "";
        assert_int_equal(CALLS[i].function(), CALLS[i].status);
        assert_string_equal(last_refused, CALLS[i].name);
        assert_non_null(find(CALLS[i].name));
        assert_int_equal(find(CALLS[i].name)->effects, TIDE_VC_REFUSED);
        assert_string_equal(tide_vc_error_name(find(CALLS[i].name)), CALLS[i].error);
    }
}

static void results_of_other_kinds_are_no_success(void **state) {
    (void)state;
    const float two[2] = {1, 1};
    const double pair[2] = {1, 1};
    float dot = cublasSdot(2, two, 1, two, 1);
    double wide = cublasDdot(2, pair, 1, pair, 1);
    assert_true(dot != dot);
    assert_true(wide != wide);
    assert_string_equal(last_refused, "cublasDdot");
    double _Complex both = cublasZdotu(1, pair, 1, pair, 1);
    assert_true(creal(both) != creal(both) && cimag(both) != cimag(both));
    assert_null(nvshmem_calloc(1, 8));
    assert_int_equal(cuFileDriverOpen().status, 5007);
    assert_null(tide_vc_error_name(find("cublasSdot")));
    assert_null(tide_vc_error_name(find("cublasSgemm_v2")));
}

/* A complex number of two doubles returns in two registers. */
static void both_parts_of_a_complex_result_are_no_number(void **state) {
    (void)state;
    const double pair[2] = {1, 1};
    __asm__ volatile("pxor %%xmm1, %%xmm1" ::: "xmm1"); /* a number */
    double _Complex dot = cublasZdotu(1, pair, 1, pair, 1);
    assert_true(creal(dot) != creal(dot));
    assert_true(cimag(dot) != cimag(dot));
    assert_string_equal(last_refused, "cublasZdotu");
}

/* Every row that refuses, as a program finds it: by name. None reads an argument. */
static void each_refusing_row_answers(void **state) {
    (void)state;
    size_t n = 0;
    size_t n_called = 0;
    const tide_vc_function *functions = tide_vc_functions(&n);
    for (size_t i = 0; i < n; i++) {
        const tide_vc_function *row = &functions[i];
        bool refuses = (row->effects & (TIDE_VC_REFUSED | TIDE_VC_NOT_SERVED)) != 0;
        if (!refuses || (row->effects & TIDE_VC_BY_HAND) != 0) {
            continue;
        }
        status_function *function = NULL;
        void *found = dlsym(RTLD_DEFAULT, row->name);
        memcpy(&function, &found, sizeof(function));
        if (function == NULL) {
            fail_msg("%s is not offered", row->name);
        }
        last_refused = "";
        int status = function();
        if (tide_vc_error_name(row) != NULL && status != row->error) {
            fail_msg("%s returned %d, not %d", row->name, status, row->error);
        }
        assert_string_equal(last_refused, row->name);
        assert_string_equal(last_reason,
                            row->why != NULL ? row->why : "the virtual card does not serve it");
        n_called++;
    }
    assert_true(n_called > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_library_refuses_by_its_own_error, forget),
        cmocka_unit_test_setup(each_refusing_row_answers, forget),
        cmocka_unit_test_setup(both_parts_of_a_complex_result_are_no_number, forget),
        cmocka_unit_test_setup(results_of_other_kinds_are_no_success, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
