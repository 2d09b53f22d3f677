/* fake_library.c - a shared library with the names of cuBLAS. Each function returns a different
 * number, so that a test can see which function a member of the table points to. */
#include "model/ops_cuda/cublas.h"

int cublasCreate_v2(struct cublasContext **ret_handle);
int cublasDestroy_v2(struct cublasContext *handle);
int cublasGetVersion_v2(struct cublasContext *handle, int *ret_version);
int cublasSetStream_v2(struct cublasContext *handle, struct CUstream_st *stream);
int cublasSetWorkspace_v2(struct cublasContext *handle, void *workspace, size_t n_bytes);
int cublasSetMathMode(struct cublasContext *handle, int mode);
const char *cublasGetStatusString(int status);
int cublasGetProperty(int which, int *ret_value);
int cublasGemmEx(void);
int cublasGemmStridedBatchedEx(void);
int cublasLtMatmulDescCreate(void);
int cublasLtMatmulDescDestroy(void);
int cublasLtMatmulDescSetAttribute(void);
int cublasLtMatrixLayoutCreate(void);
int cublasLtMatrixLayoutDestroy(void);
int cublasLtMatmulPreferenceCreate(void);
int cublasLtMatmulPreferenceDestroy(void);
int cublasLtMatmulPreferenceSetAttribute(void);
int cublasLtMatmulAlgoGetHeuristic(void);
int cublasLtMatmul(void);

int cublasCreate_v2(struct cublasContext **ret_handle) {
    *ret_handle = NULL;
    return 1001;
}

int cublasDestroy_v2(struct cublasContext *handle) {
    (void)handle;
    return 1002;
}

int cublasGetVersion_v2(struct cublasContext *handle, int *ret_version) {
    (void)handle;
    *ret_version = 12345;
    return 1003;
}

int cublasSetStream_v2(struct cublasContext *handle, struct CUstream_st *stream) {
    (void)handle;
    (void)stream;
    return 1004;
}

int cublasSetWorkspace_v2(struct cublasContext *handle, void *workspace, size_t n_bytes) {
    (void)handle;
    (void)workspace;
    return 1005 + (int)n_bytes;
}

int cublasSetMathMode(struct cublasContext *handle, int mode) {
    (void)handle;
    return 1006 + mode;
}

const char *cublasGetStatusString(int status) {
    return status == 7 ? "seven" : "another";
}

/* Version 13.1.7, which benchmarks ask for. */
int cublasGetProperty(int which, int *ret_value) {
    static const int VERSION[] = {13, 1, 7};
    if (which < 0 || which > 2) {
        return 7;
    }
    *ret_value = VERSION[which];
    return 0;
}

int cublasGemmEx(void) {
    return 1008;
}

int cublasGemmStridedBatchedEx(void) {
    return 1009;
}

int cublasLtMatmulDescCreate(void) {
    return 1010;
}

int cublasLtMatmulDescDestroy(void) {
    return 1011;
}

int cublasLtMatmulDescSetAttribute(void) {
    return 1012;
}

int cublasLtMatrixLayoutCreate(void) {
    return 1013;
}

int cublasLtMatrixLayoutDestroy(void) {
    return 1014;
}

int cublasLtMatmulPreferenceCreate(void) {
    return 1015;
}

int cublasLtMatmulPreferenceDestroy(void) {
    return 1016;
}

int cublasLtMatmulPreferenceSetAttribute(void) {
    return 1017;
}

int cublasLtMatmulAlgoGetHeuristic(void) {
    return 1018;
}

int cublasLtMatmul(void) {
    return 1019;
}
