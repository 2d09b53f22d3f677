/* cublaslt.c - cuBLASLt: one algorithm for every product of matrices, without a workspace of its
 * own. PyTorch allocates the library's workspace itself, so it is counted there; the algorithm
 * never asks for more. Shapes that the real library refuses are not refused here. */
#include <string.h>

#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cublaslt.def"

enum { OK = 0, INVALID_VALUE = 7 };

/* cublasLtMatmulHeuristicResult_t; check_list.py compares the size with data/cuda_api. */
typedef struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int status;
    float n_waves;
    int reserved[4];
} heuristic;
_Static_assert(sizeof(heuristic) == 96, "cublasLtMatmulHeuristicResult_t has 96 bytes");

TIDE_VC_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b,
                                                  void *c, void *d, void *preference, int n_wanted,
                                                  heuristic *ret_found, int *ret_n_found);
TIDE_VC_EXPORT int cublasLtMatmulAlgoCheck(void *handle, void *product, void *a, void *b, void *c,
                                           void *d, const void *algorithm, heuristic *ret_found);

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                   void *preference, int n_wanted, heuristic *ret_found,
                                   int *ret_n_found) {
    (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)preference;
    if (n_wanted <= 0 || ret_found == NULL || ret_n_found == NULL) {
        return INVALID_VALUE;
    }
    *ret_found = (heuristic){.status = OK, .n_waves = 1.0F};
    *ret_n_found = 1;
    return OK;
}

int cublasLtMatmulAlgoCheck(void *handle, void *product, void *a, void *b, void *c, void *d,
                            const void *algorithm, heuristic *ret_found) {
    (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d;
    if (algorithm == NULL || ret_found == NULL) {
        return INVALID_VALUE;
    }
    *ret_found = (heuristic){.status = OK, .n_waves = 1.0F};
    memcpy(ret_found->algorithm, algorithm, sizeof(ret_found->algorithm));
    return OK;
}

TIDE_VC_EXPORT int cublasLtMatmulAlgoGetIds(void *handle, int computation, int scale_type,
                                            int a_type, int b_type, int c_type, int d_type,
                                            int n_wanted, int *ret_ids, int *ret_n);

/* There is one algorithm, number 0. */
int cublasLtMatmulAlgoGetIds(void *handle, int computation, int scale_type, int a_type, int b_type,
                             int c_type, int d_type, int n_wanted, int *ret_ids, int *ret_n) {
    (void)handle, (void)computation, (void)scale_type, (void)a_type, (void)b_type, (void)c_type;
    (void)d_type;
    if (n_wanted < 1 || ret_ids == NULL || ret_n == NULL) {
        return INVALID_VALUE;
    }
    ret_ids[0] = 0;
    *ret_n = 1;
    return OK;
}
