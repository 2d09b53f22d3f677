#include "virtual_cuda/libraries/list.h"

/* The rows of the tables as a list: an effect adds its kind. */
#define HARMLESS
#define OUTPUT(i, n_bytes) | TIDE_VC_SIMULATED
#define OUTPUT_OF(i, j) | TIDE_VC_SIMULATED
#define WRITES(i) | TIDE_VC_SIMULATED
#define WRITES_DESCRIBED(i, n_data) | TIDE_VC_SIMULATED
#define CREATES(i) | TIDE_VC_SIMULATED
#define DESTROYS(i) | TIDE_VC_SIMULATED
#define ANSWERS(status) | TIDE_VC_SIMULATED
#define WORKSPACE(i, n_bytes) | TIDE_VC_SIMULATED | TIDE_VC_INEXACT
#define REFUSED(status, why) | TIDE_VC_REFUSED

/* The effects are a list without commas; each adds its bits to the 0. */
#define FUNCTION(name, returns, effects)                                                           \
    {LIBRARY, #name, 0 effects}, /* NOLINT(bugprone-macro-parentheses) */
#define HAND_WRITTEN(name) {LIBRARY, #name, TIDE_VC_SIMULATED | TIDE_VC_BY_HAND},
#define LEFT_TO_REAL(name) {LIBRARY, #name, TIDE_VC_LEFT_TO_REAL},

static const tide_vc_function FUNCTIONS[] = {
#define LIBRARY "cublas"
#include "virtual_cuda/libraries/cublas.def"
#undef LIBRARY
#define LIBRARY "cublasLt"
#include "virtual_cuda/libraries/cublaslt.def"
#undef LIBRARY
#define LIBRARY "cudnn"
#include "virtual_cuda/libraries/cudnn.def"
#undef LIBRARY
#define LIBRARY "cufft"
#include "virtual_cuda/libraries/cufft.def"
#undef LIBRARY
#define LIBRARY "cufile"
#include "virtual_cuda/libraries/cufile.def"
#undef LIBRARY
#define LIBRARY "cupti"
#include "virtual_cuda/libraries/cupti.def"
#undef LIBRARY
#define LIBRARY "cusolver"
#include "virtual_cuda/libraries/cusolver.def"
#undef LIBRARY
#define LIBRARY "cusparse"
#include "virtual_cuda/libraries/cusparse.def"
#undef LIBRARY
#define LIBRARY "cusparseLt"
#include "virtual_cuda/libraries/cusparselt.def"
#undef LIBRARY
#define LIBRARY "nccl"
#include "virtual_cuda/libraries/nccl.def"
#undef LIBRARY
#define LIBRARY "nvshmem"
#include "virtual_cuda/libraries/nvshmem.def"
#undef LIBRARY
};

const tide_vc_function *tide_vc_functions(size_t *ret_n) {
    *ret_n = sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]);
    return FUNCTIONS;
}
