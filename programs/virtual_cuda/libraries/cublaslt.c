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

TIDE_VC_EXPORT int cublasLtMatrixLayoutCreate(tide_vc_layout **ret_layout, int type,
                                              uint64_t n_rows, uint64_t n_columns);
TIDE_VC_EXPORT int cublasLtMatrixLayoutSetAttribute(tide_vc_layout *layout, int attribute,
                                                    const void *value, size_t n_bytes);
TIDE_VC_EXPORT int cublasLtMatmulDescCreate(tide_vc_description **ret_description, int computation,
                                            int scale_type);
TIDE_VC_EXPORT int cublasLtMatmulDescSetAttribute(tide_vc_description *description, int attribute,
                                                  const void *value, size_t n_bytes);
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

/* ---- the description of a product, kept for the launch log ---- */

/* cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t */
enum { LAYOUT_TYPE = 0, LAYOUT_ROWS = 2, LAYOUT_COLUMNS = 3, LAYOUT_COUNT = 5 };
enum { COMPUTATION = 0, TRANSPOSE_A = 3, TRANSPOSE_B = 4 };

_Static_assert(sizeof(tide_vc_layout) <= 64 && sizeof(tide_vc_description) <= 64,
               "handles have room for them, and so have NVIDIA's own structures");

/* Copies an attribute that has as many bytes as the member. */
static void take(void *member, size_t n_member, const void *value, size_t n_bytes) {
    if (value != NULL && n_bytes == n_member) {
        memcpy(member, value, n_bytes);
    }
}

int cublasLtMatrixLayoutCreate(tide_vc_layout **ret_layout, int type, uint64_t n_rows,
                               uint64_t n_columns) {
    tide_vc_layout *made = tide_vc_handle_new();
    *made = (tide_vc_layout){type, 1, n_rows, n_columns};
    *ret_layout = made;
    return OK;
}

int cublasLtMatrixLayoutSetAttribute(tide_vc_layout *layout, int attribute, const void *value,
                                     size_t n_bytes) {
    if (attribute == LAYOUT_TYPE) {
        take(&layout->type, sizeof(layout->type), value, n_bytes);
    } else if (attribute == LAYOUT_ROWS) {
        take(&layout->n_rows, sizeof(layout->n_rows), value, n_bytes);
    } else if (attribute == LAYOUT_COLUMNS) {
        take(&layout->n_columns, sizeof(layout->n_columns), value, n_bytes);
    } else if (attribute == LAYOUT_COUNT) {
        take(&layout->count, sizeof(layout->count), value, n_bytes);
    }
    return OK;
}

int cublasLtMatmulDescCreate(tide_vc_description **ret_description, int computation,
                             int scale_type) {
    (void)scale_type;
    tide_vc_description *made = tide_vc_handle_new();
    *made = (tide_vc_description){.computation = computation};
    *ret_description = made;
    return OK;
}

int cublasLtMatmulDescSetAttribute(tide_vc_description *description, int attribute,
                                   const void *value, size_t n_bytes) {
    if (attribute == COMPUTATION) {
        take(&description->computation, sizeof(description->computation), value, n_bytes);
    } else if (attribute == TRANSPOSE_A) {
        take(&description->ta, sizeof(description->ta), value, n_bytes);
    } else if (attribute == TRANSPOSE_B) {
        take(&description->tb, sizeof(description->tb), value, n_bytes);
    }
    return OK;
}

/* ---- the same in memory of the program ---- */

TIDE_VC_EXPORT int cublasLtMatrixLayoutInit_internal(tide_vc_layout *layout, size_t n_bytes,
                                                     int type, uint64_t n_rows, uint64_t n_columns);
TIDE_VC_EXPORT int cublasLtMatmulDescInit_internal(tide_vc_description *description, size_t n_bytes,
                                                   int computation, int scale_type);
TIDE_VC_EXPORT int cublasLtMatmulAlgoGetIds(void *handle, int computation, int scale_type,
                                            int a_type, int b_type, int c_type, int d_type,
                                            int n_wanted, int *ret_ids, int *ret_n);

int cublasLtMatrixLayoutInit_internal(tide_vc_layout *layout, size_t n_bytes, int type,
                                      uint64_t n_rows, uint64_t n_columns) {
    if (n_bytes < sizeof(*layout)) {
        return INVALID_VALUE;
    }
    memset(layout, 0, n_bytes);
    *layout = (tide_vc_layout){type, 1, n_rows, n_columns};
    return OK;
}

int cublasLtMatmulDescInit_internal(tide_vc_description *description, size_t n_bytes,
                                    int computation, int scale_type) {
    (void)scale_type;
    if (n_bytes < sizeof(*description)) {
        return INVALID_VALUE;
    }
    memset(description, 0, n_bytes);
    description->computation = computation;
    return OK;
}

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
