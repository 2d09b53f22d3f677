/* test_not_served.c - functions that the virtual card does not serve: each fails by its library's
 * own error and names itself. */
#include <setjmp.h>
#include <stdarg.h>
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
status_function cudaArrayGetInfo, cuArrayGetDescriptor_v2, nvmlDeviceGetAccountingPids,
    cublasCcopy_v2_64, cublasLtLoggerSetMask, cudnnAddTensor, cufftEstimate3d,
    cuptiActivityDisableContext, cusolverDnCCgesv, cusparseCbsrilu02, cusparseLtSpMMAPrune2,
    ncclParamGetI32, nvjpegCreate, nvshmem_barrier;
typedef struct file_error {
    int status, cuda;
} file_error;
file_error cuFileDriverOpen(void);
float cublasSdot(int n, const float *x, int incx, const float *y, int incy);
double cublasDdot(int n, const double *x, int incx, const double *y, int incy);
void *nvshmem_calloc(size_t n, size_t n_bytes);

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
        REFUSING(nvmlDeviceGetAccountingPids, 3, "NVML_ERROR_NOT_SUPPORTED"),
        REFUSING(cublasCcopy_v2_64, 15, "CUBLAS_STATUS_NOT_SUPPORTED"),
        REFUSING(cublasLtLoggerSetMask, 15, "CUBLAS_STATUS_NOT_SUPPORTED"),
        REFUSING(cudnnAddTensor, 3000, "CUDNN_STATUS_NOT_SUPPORTED"),
        REFUSING(cufftEstimate3d, 16, "CUFFT_NOT_SUPPORTED"),
        REFUSING(cuptiActivityDisableContext, 27, "CUPTI_ERROR_NOT_SUPPORTED"),
        REFUSING(cusolverDnCCgesv, 9, "CUSOLVER_STATUS_NOT_SUPPORTED"),
        REFUSING(cusparseCbsrilu02, 10, "CUSPARSE_STATUS_NOT_SUPPORTED"),
        REFUSING(cusparseLtSpMMAPrune2, 10, "CUSPARSE_STATUS_NOT_SUPPORTED"),
        REFUSING(ncclParamGetI32, 5, "ncclInvalidUsage"),
        REFUSING(nvjpegCreate, 7, "NVJPEG_STATUS_ARCH_MISMATCH"),
        REFUSING(nvshmem_barrier, 7, "NVSHMEMX_ERROR_INTERNAL"),
    };
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        last_refused = "";
        assert_int_equal(CALLS[i].function(), CALLS[i].status);
        assert_string_equal(last_refused, CALLS[i].name);
        assert_non_null(find(CALLS[i].name));
        assert_int_equal(find(CALLS[i].name)->effects, TIDE_VC_NOT_SERVED);
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
    assert_null(nvshmem_calloc(1, 8));
    assert_int_equal(cuFileDriverOpen().status, 5001);
    assert_null(tide_vc_error_name(find("cublasSdot")));
    assert_null(tide_vc_error_name(find("cublasSgemm_v2")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_library_refuses_by_its_own_error, forget),
        cmocka_unit_test_setup(results_of_other_kinds_are_no_success, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
