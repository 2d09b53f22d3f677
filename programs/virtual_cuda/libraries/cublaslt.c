/* cublaslt.c - cuBLASLt: one algorithm for every product of matrices, without a workspace of its
 * own. PyTorch allocates the library's workspace itself, so it is counted there; the algorithm
 * never asks for more. Shapes that the real library refuses are not refused here. */
#include <stddef.h>
#include <string.h>

#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cublaslt.def"

enum { OK = 0, INVALID_VALUE = 7, NOT_SUPPORTED = 15, NO_EPILOGUE = 1 };

#define NOT_KEPT "of what the program set, pointers and scales are not kept"

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
                                              uint64_t n_rows, uint64_t n_columns, int64_t leading);
TIDE_VC_EXPORT int cublasLtMatrixLayoutGetAttribute(const tide_vc_layout *layout, int attribute,
                                                    void *ret_value, size_t n_bytes,
                                                    size_t *ret_n_written);
TIDE_VC_EXPORT int cublasLtMatmulDescGetAttribute(const tide_vc_description *description,
                                                  int attribute, void *ret_value, size_t n_bytes,
                                                  size_t *ret_n_written);
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

/* An attribute that is kept, and can be read back. */
typedef struct kept {
    int attribute; /* cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t */
    size_t offset, n_bytes;
} kept;

#define KEPT(number, type, member)                                                                 \
    { number, offsetof(type, member), sizeof(((type *)0)->member) }
static const kept OF_LAYOUT[] = {
    KEPT(0, tide_vc_layout, type),      KEPT(1, tide_vc_layout, order),
    KEPT(2, tide_vc_layout, n_rows),    KEPT(3, tide_vc_layout, n_columns),
    KEPT(4, tide_vc_layout, leading),   KEPT(5, tide_vc_layout, count),
    KEPT(6, tide_vc_layout, stride),    KEPT(7, tide_vc_layout, plane),
    KEPT(8, tide_vc_layout, batch_mode)};
static const kept OF_DESCRIPTION[] = {
    KEPT(0, tide_vc_description, computation),  KEPT(1, tide_vc_description, scale_type),
    KEPT(2, tide_vc_description, pointer_mode), KEPT(3, tide_vc_description, ta),
    KEPT(4, tide_vc_description, tb),           KEPT(5, tide_vc_description, tc),
    KEPT(6, tide_vc_description, fill_mode),    KEPT(7, tide_vc_description, epilogue)};
#undef KEPT
enum {
    N_OF_LAYOUT = sizeof(OF_LAYOUT) / sizeof(OF_LAYOUT[0]),
    N_OF_DESCRIPTION = sizeof(OF_DESCRIPTION) / sizeof(OF_DESCRIPTION[0])
};

_Static_assert(sizeof(tide_vc_layout) <= 64 && sizeof(tide_vc_description) <= 64,
               "handles have room for them, and so have NVIDIA's own structures");

static const kept *find_kept(const kept *table, size_t n, int attribute) {
    for (size_t i = 0; i < n; i++) {
        if (table[i].attribute == attribute) {
            return &table[i];
        }
    }
    return NULL;
}

/* Keeps an attribute that has as many bytes as its member; others decide nothing here. */
static void keep(const kept *of, void *members, const void *value, size_t n_bytes) {
    if (of != NULL && value != NULL && n_bytes == of->n_bytes) {
        memcpy((char *)members + of->offset, value, n_bytes);
    }
}

/* Without room, only the size is returned, as in cuBLASLt. */
static int read_back(const kept *of, const void *members, void *ret_value, size_t n_bytes,
                     size_t *ret_n_written) {
    if (n_bytes == 0 ? ret_n_written == NULL : ret_value == NULL || n_bytes < of->n_bytes) {
        return INVALID_VALUE;
    }
    if (n_bytes > 0) {
        memcpy(ret_value, (const char *)members + of->offset, of->n_bytes);
    }
    if (ret_n_written != NULL) {
        *ret_n_written = of->n_bytes;
    }
    return OK;
}

int cublasLtMatrixLayoutCreate(tide_vc_layout **ret_layout, int type, uint64_t n_rows,
                               uint64_t n_columns, int64_t leading) {
    tide_vc_layout *made = tide_vc_handle_new();
    *made = (tide_vc_layout){type, 1, n_rows, n_columns, .leading = leading};
    *ret_layout = made;
    return OK;
}

int cublasLtMatrixLayoutSetAttribute(tide_vc_layout *layout, int attribute, const void *value,
                                     size_t n_bytes) {
    keep(find_kept(OF_LAYOUT, N_OF_LAYOUT, attribute), layout, value, n_bytes);
    return OK;
}

int cublasLtMatmulDescCreate(tide_vc_description **ret_description, int computation,
                             int scale_type) {
    tide_vc_description *made = tide_vc_handle_new();
    *made = (tide_vc_description){
        .computation = computation, .scale_type = scale_type, .epilogue = NO_EPILOGUE};
    *ret_description = made;
    return OK;
}

int cublasLtMatmulDescSetAttribute(tide_vc_description *description, int attribute,
                                   const void *value, size_t n_bytes) {
    keep(find_kept(OF_DESCRIPTION, N_OF_DESCRIPTION, attribute), description, value, n_bytes);
    return OK;
}

int cublasLtMatrixLayoutGetAttribute(const tide_vc_layout *layout, int attribute, void *ret_value,
                                     size_t n_bytes, size_t *ret_n_written) {
    const kept *of = find_kept(OF_LAYOUT, N_OF_LAYOUT, attribute);
    return of == NULL ? INVALID_VALUE : read_back(of, layout, ret_value, n_bytes, ret_n_written);
}

int cublasLtMatmulDescGetAttribute(const tide_vc_description *description, int attribute,
                                   void *ret_value, size_t n_bytes, size_t *ret_n_written) {
    const kept *of = find_kept(OF_DESCRIPTION, N_OF_DESCRIPTION, attribute);
    if (of == NULL) {
        tide_vc_refused("cublasLtMatmulDescGetAttribute", NOT_KEPT);
        return NOT_SUPPORTED;
    }
    return read_back(of, description, ret_value, n_bytes, ret_n_written);
}

/* ---- the same in memory of the program ---- */

TIDE_VC_EXPORT int cublasLtMatrixLayoutInit_internal(tide_vc_layout *layout, size_t n_bytes,
                                                     int type, uint64_t n_rows, uint64_t n_columns,
                                                     int64_t leading);
TIDE_VC_EXPORT int cublasLtMatmulDescInit_internal(tide_vc_description *description, size_t n_bytes,
                                                   int computation, int scale_type);
TIDE_VC_EXPORT int cublasLtMatmulAlgoGetIds(void *handle, int computation, int scale_type,
                                            int a_type, int b_type, int c_type, int d_type,
                                            int n_wanted, int *ret_ids, int *ret_n);

int cublasLtMatrixLayoutInit_internal(tide_vc_layout *layout, size_t n_bytes, int type,
                                      uint64_t n_rows, uint64_t n_columns, int64_t leading) {
    if (n_bytes < sizeof(*layout)) {
        return INVALID_VALUE;
    }
    memset(layout, 0, n_bytes);
    *layout = (tide_vc_layout){type, 1, n_rows, n_columns, .leading = leading};
    return OK;
}

int cublasLtMatmulDescInit_internal(tide_vc_description *description, size_t n_bytes,
                                    int computation, int scale_type) {
    if (n_bytes < sizeof(*description)) {
        return INVALID_VALUE;
    }
    memset(description, 0, n_bytes);
    description->computation = computation;
    description->scale_type = scale_type;
    description->epilogue = NO_EPILOGUE;
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
