#include "model/ops_cuda/cublas.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/toolkit_library.h"

/* NULL, with the reason, if none is found. */
static void *open_library(tide_error *error) {
    const char *path = getenv("TIDEMARK_CUBLAS");
    bool is_named = path != NULL && path[0] != '\0';
    void *library = is_named ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
                             : tide_toolkit_library_open("libcublas.so.13");
    if (library == NULL && is_named) {
        const char *reason = dlerror();
        (void)tide_fail(error, TIDE_UNSUPPORTED,
                        "cannot open the cuBLAS that TIDEMARK_CUBLAS names, %s: %s", path,
                        reason == NULL ? "no reason given" : reason);
        return NULL;
    }
    if (library == NULL) {
        library = tide_toolkit_library_open("libcublas.so.12");
    }
    if (library == NULL) {
        (void)tide_fail(error, TIDE_UNSUPPORTED,
                        "device cuda needs cuBLAS, and none was found: install the CUDA toolkit 12 "
                        "or newer, or let TIDEMARK_CUBLAS name the file; tried libcublas.so.13, "
                        "libcublas.so.12, " TIDE_TOOLKIT_LIBRARY_PLACES);
    }
    return library;
}

tide_status tide_cublas_load(tide_cublas *ret_table, tide_error *error) {
    static const struct {
        const char *name; /* of the symbol */
        size_t offset;    /* of the member */
    } SYMBOLS[] = {
        {"cublasCreate_v2", offsetof(tide_cublas, create)},
        {"cublasDestroy_v2", offsetof(tide_cublas, destroy)},
        {"cublasGetVersion_v2", offsetof(tide_cublas, get_version)},
        {"cublasSetStream_v2", offsetof(tide_cublas, set_stream)},
        {"cublasSetWorkspace_v2", offsetof(tide_cublas, set_workspace)},
        {"cublasSetMathMode", offsetof(tide_cublas, set_math_mode)},
        {"cublasGetStatusString", offsetof(tide_cublas, get_status_string)},
        {"cublasGemmEx", offsetof(tide_cublas, gemm_ex)},
        {"cublasGemmStridedBatchedEx", offsetof(tide_cublas, gemm_strided_batched_ex)},
        /* dlsym looks into the libraries that cuBLAS depends on, so cuBLASLt is not opened itself.
         */
        {"cublasLtMatmulDescCreate", offsetof(tide_cublas, lt_operation_create)},
        {"cublasLtMatmulDescDestroy", offsetof(tide_cublas, lt_operation_destroy)},
        {"cublasLtMatmulDescSetAttribute", offsetof(tide_cublas, lt_operation_set)},
        {"cublasLtMatrixLayoutCreate", offsetof(tide_cublas, lt_layout_create)},
        {"cublasLtMatrixLayoutDestroy", offsetof(tide_cublas, lt_layout_destroy)},
        {"cublasLtMatmulPreferenceCreate", offsetof(tide_cublas, lt_preference_create)},
        {"cublasLtMatmulPreferenceDestroy", offsetof(tide_cublas, lt_preference_destroy)},
        {"cublasLtMatmulPreferenceSetAttribute", offsetof(tide_cublas, lt_preference_set)},
        {"cublasLtMatmulAlgoGetHeuristic", offsetof(tide_cublas, lt_choose)},
        {"cublasLtMatmul", offsetof(tide_cublas, lt_matmul)},
    };
    tide_cublas table;
    void *library = open_library(error);
    if (library == NULL) {
        return TIDE_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof(SYMBOLS) / sizeof(SYMBOLS[0]); i++) {
        void *symbol = dlsym(library, SYMBOLS[i].name);
        if (symbol == NULL) {
            (void)dlclose(library);
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "the cuBLAS that was found has no %s: install the CUDA toolkit 12 or "
                             "newer, or let TIDEMARK_CUBLAS name its library",
                             SYMBOLS[i].name);
        }
        /* ISO C has no conversion from void * to a function pointer, so the bytes are copied. */
        memcpy((char *)&table + SYMBOLS[i].offset, &symbol, sizeof(symbol));
    }
    *ret_table = table;
    return TIDE_OK;
}
