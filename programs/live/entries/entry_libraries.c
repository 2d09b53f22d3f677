/* entry_libraries.c - stand-ins for the functions of cuBLAS and cuDNN that take a workspace, to
 * learn which of the program's blocks it is. A workspace gets its name before the library uses it.
 */
#include <stddef.h>
#include <stdint.h>

#include "programs/live/entries/entry_internal.h"
#include "programs/live/workspaces.h"

/* ---- cuBLAS ---- */

/* Until the handle gets another one. */
TIDE_LIVE_STAND_IN(cublasSetWorkspace_v2, void *handle, void *workspace, size_t n_bytes) {
    tide_live_workspace_lent(workspace, "workspace of cuBLAS");
    return TIDE_LIVE_NEXT(cublasSetWorkspace_v2)(handle, workspace, n_bytes);
}

/* For one product. */
TIDE_LIVE_STAND_IN(cublasLtMatmul, void *handle, void *product, const void *alpha, const void *a,
                   void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
                   void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
                   size_t n_bytes, void *stream) {
    tide_live_workspace_lent(workspace, "workspace of cuBLASLt");
    return TIDE_LIVE_NEXT(cublasLtMatmul)(handle, product, alpha, a, a_layout, b, b_layout, beta, c,
                                          c_layout, d, d_layout, algorithm, workspace, n_bytes,
                                          stream);
}

/* ---- cuDNN ---- */

enum { PACK_WORKSPACE = 1003, TYPE_POINTER = 6 }; /* of cudnn_graph.h */

TIDE_LIVE_STAND_IN(cudnnBackendSetAttribute, void *descriptor, int attribute, int type,
                   int64_t n_elements, const void *elements) {
    if (attribute == PACK_WORKSPACE && type == TYPE_POINTER && n_elements == 1) {
        void *workspace = NULL;
        memcpy(&workspace, elements, sizeof(workspace));
        tide_live_workspace_lent(workspace, "workspace of cuDNN");
    }
    return TIDE_LIVE_NEXT(cudnnBackendSetAttribute)(descriptor, attribute, type, n_elements,
                                                    elements);
}

TIDE_LIVE_STAND_IN(cudnnRNNForward, void *handle, void *network, int mode, const int *lengths,
                   void *x_layout, const void *x, void *y_layout, void *y, void *h_layout,
                   const void *h_before, void *h_after, void *c_layout, const void *c_before,
                   void *c_after, size_t n_weight_bytes, const void *weights, size_t n_bytes,
                   void *workspace, size_t n_reserve_bytes, void *reserve) {
    tide_live_workspace_lent(workspace, "workspace of cuDNN");
    return TIDE_LIVE_NEXT(cudnnRNNForward)(handle, network, mode, lengths, x_layout, x, y_layout, y,
                                           h_layout, h_before, h_after, c_layout, c_before, c_after,
                                           n_weight_bytes, weights, n_bytes, workspace,
                                           n_reserve_bytes, reserve);
}
