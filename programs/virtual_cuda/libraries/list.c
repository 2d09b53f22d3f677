#include "programs/virtual_cuda/libraries/list.h"

#include <stdbool.h>
#include <string.h>

#include "programs/virtual_cuda/libraries/refusals_internal.h"

/* The rows of the tables as a list: an effect adds its kind; effects that come last also add
 * members.
 */
#define HARMLESS
#define WORKS
#define PRODUCT(...)
#define PRODUCTS(...)
#define PRODUCT_TYPED(...)
#define PRODUCTS_TYPED(...)
#define PRODUCT_TYPED_BY_MODE(...)
#define PRODUCT_DESCRIBED(...)
#define MOVES(...)
#define MOVES_MATRIX(...)
#define CONVOLUTION(...)
#define CONVOLUTION_DATA(...)
#define CONVOLUTION_FILTER(...)
#define PASSES(...)
#define OUTPUT(i, n_bytes) | TIDE_VC_SIMULATED
#define OUTPUT_OF(i, j) | TIDE_VC_SIMULATED
#define OUTPUTS(i, ...) | TIDE_VC_SIMULATED
#define WRITES(i) | TIDE_VC_SIMULATED
#define LENDS(i, j, lent) | TIDE_VC_SIMULATED
#define WRITES_DESCRIBED(i, n_data) | TIDE_VC_SIMULATED
#define COUNTS_NONZERO(i) | TIDE_VC_SIMULATED
#define CREATES(i) | TIDE_VC_SIMULATED
#define DESTROYS(i) | TIDE_VC_SIMULATED
#define ANSWERS(status) | TIDE_VC_SIMULATED
#define WORKSPACE(i, n_bytes) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define WORK_AREA(i, ...) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define WORK_AREAS(i, ...) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define WORK_AREA_TYPED(i, ...) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define WORK_AREAS_TYPED(i, ...) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define WORK_AREA_OF(i, ...) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define SAYS(what) | TIDE_VC_INEXACT, .why = (what)
#define REFUSED(reason) | TIDE_VC_REFUSED, .why = (reason)

/* The effects are a list without commas; each adds its bits to the 0. */
/* NOLINTBEGIN(bugprone-macro-parentheses): lists cannot be in parentheses. */
#define ROW_WITH(function, failure, ...)                                                           \
    {.library = LIBRARY, .name = #function, .error = (failure), .effects = __VA_ARGS__},
#define ROW(function, ...) ROW_WITH(function, TIDE_VC_REFUSAL_##function, __VA_ARGS__)
#define FUNCTION(name, effects) ROW(name, 0 effects)
#define FUNCTION_64(name, effects) FUNCTION(name, effects)
#define HAND_WRITTEN(name) ROW(name, TIDE_VC_SIMULATED | TIDE_VC_BY_HAND)
#define WITHOUT_OUTPUT(name) ROW(name, TIDE_VC_BY_HAND)
#define REFUSED_BY_HAND(name, error, why) ROW_WITH(name, error, TIDE_VC_BY_HAND REFUSED(why))
#define INEXACT_BY_HAND(name, what) ROW(name, TIDE_VC_SIMULATED | TIDE_VC_BY_HAND SAYS(what))
#define PARTLY_BY_HAND(name, reason) ROW(name, TIDE_VC_SIMULATED | TIDE_VC_BY_HAND, .why = (reason))
#define LEFT_TO_REAL(name) ROW(name, TIDE_VC_LEFT_TO_REAL)
#define SAME_AS(name, other) ROW(name, TIDE_VC_SIMULATED, .why = "as " #other)
#define PER_THREAD(name, other, stream) SAME_AS(name, other)
#define PER_THREAD_NULL(name, other) SAME_AS(name, other)
#define NOT_SERVED(name) ROW(name, TIDE_VC_NOT_SERVED)
#define NOT_SIMULATED(name, reason) ROW(name, 0 REFUSED(reason))
/* NOLINTEND(bugprone-macro-parentheses) */

static const tide_vc_function FUNCTIONS[] = {
#define LIBRARY "cudart"
#include "programs/virtual_cuda/libraries/cudart.def"
#undef LIBRARY
#define LIBRARY "driver"
#include "programs/virtual_cuda/libraries/driver.def"
#undef LIBRARY
#define LIBRARY "nvml"
#include "programs/virtual_cuda/libraries/nvml.def"
#undef LIBRARY
#define LIBRARY "cublas"
#include "programs/virtual_cuda/libraries/cublas.def"
#undef LIBRARY
#define LIBRARY "cublasLt"
#include "programs/virtual_cuda/libraries/cublaslt.def"
#undef LIBRARY
#define LIBRARY "cudnn"
#include "programs/virtual_cuda/libraries/cudnn.def"
#undef LIBRARY
#define LIBRARY "cufft"
#include "programs/virtual_cuda/libraries/cufft.def"
#undef LIBRARY
#define LIBRARY "cufile"
#include "programs/virtual_cuda/libraries/cufile.def"
#undef LIBRARY
#define LIBRARY "cupti"
#include "programs/virtual_cuda/libraries/cupti.def"
#undef LIBRARY
#define LIBRARY "curand"
#include "programs/virtual_cuda/libraries/curand.def"
#undef LIBRARY
#define LIBRARY "cusolver"
#include "programs/virtual_cuda/libraries/cusolver.def"
#undef LIBRARY
#define LIBRARY "cusparse"
#include "programs/virtual_cuda/libraries/cusparse.def"
#undef LIBRARY
#define LIBRARY "cusparseLt"
#include "programs/virtual_cuda/libraries/cusparselt.def"
#undef LIBRARY
#define LIBRARY "nccl"
#include "programs/virtual_cuda/libraries/nccl.def"
#undef LIBRARY
#define LIBRARY "nvjpeg"
#include "programs/virtual_cuda/libraries/nvjpeg.def"
#undef LIBRARY
#define LIBRARY "nvrtc"
#include "programs/virtual_cuda/libraries/nvrtc.def"
#undef LIBRARY
#define LIBRARY "nvshmem"
#include "programs/virtual_cuda/libraries/nvshmem.def"
#undef LIBRARY
#define LIBRARY "nvtx"
#include "programs/virtual_cuda/libraries/nvtx.def"
#undef LIBRARY
};

const tide_vc_function *tide_vc_functions(size_t *ret_n) {
    *ret_n = sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]);
    return FUNCTIONS;
}

const char *tide_vc_error_name(const tide_vc_function *function) {
    static const struct {
        const char *library;
        int error;
        const char *name;
    } ERRORS[] = {
        {"cudart", 801, "cudaErrorNotSupported"},
        {"driver", 801, "CUDA_ERROR_NOT_SUPPORTED"},
        {"nvml", 3, "NVML_ERROR_NOT_SUPPORTED"},
        {"cublas", 15, "CUBLAS_STATUS_NOT_SUPPORTED"},
        {"cublasLt", 15, "CUBLAS_STATUS_NOT_SUPPORTED"},
        {"cudnn", 3000, "CUDNN_STATUS_NOT_SUPPORTED"},
        {"cufft", 16, "CUFFT_NOT_SUPPORTED"},
        {"cufile", 5007, "CU_FILE_PLATFORM_NOT_SUPPORTED"},
        {"cupti", 27, "CUPTI_ERROR_NOT_SUPPORTED"},
        {"curand", 204, "CURAND_STATUS_ARCH_MISMATCH"},
        {"cusolver", 9, "CUSOLVER_STATUS_NOT_SUPPORTED"},
        {"cusparse", 10, "CUSPARSE_STATUS_NOT_SUPPORTED"},
        {"cusparseLt", 10, "CUSPARSE_STATUS_NOT_SUPPORTED"},
        {"nccl", 5, "ncclInvalidUsage"},
        {"nvjpeg", 9, "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED"},
        {"nvshmem", 3, "NVSHMEMX_ERROR_NOT_SUPPORTED"},
    };
    bool fails = (function->effects & (TIDE_VC_REFUSED | TIDE_VC_NOT_SERVED)) != 0;
    for (size_t i = 0; fails && i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++) {
        if (function->error == ERRORS[i].error &&
            strcmp(function->library, ERRORS[i].library) == 0) {
            return ERRORS[i].name;
        }
    }
    return NULL;
}
