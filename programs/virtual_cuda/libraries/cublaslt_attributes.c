/* cublaslt_attributes.c - what a program writes into cuBLASLt's layouts, descriptions and
 * preferences, which it may read back. The launch log reads some of it. Sizes and defaults are
 * those that cublasLt.h documents for each attribute. */
#include <string.h>

#include "programs/virtual_cuda/libraries/stub_friend.h"

enum { OK = 0, INVALID_VALUE = 7 };

/* Where a structure keeps an attribute. The program passes n_bytes; the structure keeps the first
 * n_kept of them, and the rest is 0. */
typedef struct attribute {
    unsigned char number, at, n_bytes, n_kept;
} attribute;

#define KEPT(number, type, member, n_bytes)                                                        \
    { number, offsetof(type, member), n_bytes, sizeof(((type *)NULL)->member) }

/* cublasLtMatrixLayoutAttribute_t */
static const attribute LAYOUT[] = {
    KEPT(0, tide_vc_layout, type, 4),      KEPT(1, tide_vc_layout, order, 4),
    KEPT(2, tide_vc_layout, n_rows, 8),    KEPT(3, tide_vc_layout, n_columns, 8),
    KEPT(4, tide_vc_layout, leading, 8),   KEPT(5, tide_vc_layout, count, 4),
    KEPT(6, tide_vc_layout, stride, 8),    KEPT(7, tide_vc_layout, plane, 8),
    KEPT(8, tide_vc_layout, batch_mode, 4)};

/* cublasLtMatmulDescAttributes_t */
#define DESCRIBED(number, member, n_bytes) KEPT(number, tide_vc_description, member, n_bytes)
static const attribute DESCRIPTION[] = {DESCRIBED(0, computation, 4),
                                        DESCRIBED(1, scale_type, 4),
                                        DESCRIBED(2, pointer_mode, 4),
                                        DESCRIBED(3, ta, 4),
                                        DESCRIBED(4, tb, 4),
                                        DESCRIBED(5, tc, 4),
                                        DESCRIBED(6, fill, 4),
                                        DESCRIBED(7, epilogue, 4),
                                        DESCRIBED(8, bias, 8),
                                        DESCRIBED(10, bias_stride, 8),
                                        DESCRIBED(11, aux, 8),
                                        DESCRIBED(12, aux_leading, 8),
                                        DESCRIBED(13, aux_stride, 8),
                                        DESCRIBED(14, alpha_stride, 8),
                                        DESCRIBED(15, n_multiprocessors, 4),
                                        DESCRIBED(17, scales[0], 8),
                                        DESCRIBED(18, scales[1], 8),
                                        DESCRIBED(19, scales[2], 8),
                                        DESCRIBED(20, scales[3], 8),
                                        DESCRIBED(21, largest, 8),
                                        DESCRIBED(22, aux_type, 4),
                                        DESCRIBED(23, aux_scale, 8),
                                        DESCRIBED(24, aux_largest, 8),
                                        DESCRIBED(25, is_fast, 1),
                                        DESCRIBED(26, bias_type, 4),
                                        DESCRIBED(31, scale_modes[0], 4),
                                        DESCRIBED(32, scale_modes[1], 4),
                                        DESCRIBED(33, scale_modes[2], 4),
                                        DESCRIBED(34, scale_modes[3], 4),
                                        DESCRIBED(35, scale_modes[4], 4),
                                        DESCRIBED(36, out_scale, 8),
                                        DESCRIBED(37, scale_modes[5], 4),
                                        DESCRIBED(38, emulation, 8)};

/* cublasLtMatmulPreferenceAttributes_t */
#define PREFERRED(number, member, n_bytes) KEPT(number, tide_vc_preference, member, n_bytes)
static const attribute PREFERENCE[] = {
    PREFERRED(0, search, 4),        PREFERRED(1, workspace_bytes, 8),
    PREFERRED(3, reductions, 4),    PREFERRED(5, alignments[0], 4),
    PREFERRED(6, alignments[1], 4), PREFERRED(7, alignments[2], 4),
    PREFERRED(8, alignments[3], 4), PREFERRED(9, n_waves, 4),
    PREFERRED(12, algorithms, 8)};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The sizes of NVIDIA's own structures, in the program's memory. */
enum { LAYOUT_BYTES = 64, PREFERENCE_BYTES = 64, DESCRIPTION_BYTES = 184 };
_Static_assert(sizeof(tide_vc_layout) <= LAYOUT_BYTES, "NVIDIA's structure has room for it");
_Static_assert(sizeof(tide_vc_preference) <= PREFERENCE_BYTES,
               "NVIDIA's structure has room for it");
_Static_assert(sizeof(tide_vc_description) <= DESCRIPTION_BYTES &&
                   sizeof(tide_vc_description) <= TIDE_VC_HANDLE_BYTES,
               "NVIDIA's structure and a handle have room for it");

/* ---- reading and writing ---- */

static const attribute *find(const attribute *all, size_t n, int number) {
    for (size_t i = 0; i < n; i++) {
        if (all[i].number == number) {
            return &all[i];
        }
    }
    return NULL;
}

/* Attributes of other versions of the library are accepted and not kept. */
static int set(void *structure, const attribute *of, const void *value, size_t n_bytes) {
    if (value == NULL || (of != NULL && n_bytes != of->n_bytes)) {
        return INVALID_VALUE;
    }
    if (of != NULL) {
        memcpy((char *)structure + of->at, value, of->n_kept);
    }
    return OK;
}

static int get(const void *structure, const attribute *of, void *ret_value, size_t n_bytes,
               size_t *ret_n_bytes) {
    bool asks_size = n_bytes == 0;
    if (of == NULL ||
        (asks_size ? ret_n_bytes == NULL : ret_value == NULL || n_bytes != of->n_bytes)) {
        return INVALID_VALUE;
    }
    if (!asks_size) {
        memset(ret_value, 0, n_bytes);
        memcpy(ret_value, (const char *)structure + of->at, of->n_kept);
    }
    if (ret_n_bytes != NULL) {
        *ret_n_bytes = of->n_bytes;
    }
    return OK;
}

/* NULL: not kept in this description. */
static const attribute *described(const tide_vc_description *in, int number) {
    const attribute *of = find(DESCRIPTION, COUNT(DESCRIPTION), number);
    return of != NULL && of->at + of->n_kept <= in->n_bytes ? of : NULL;
}

TIDE_VC_EXPORT int cublasLtMatrixLayoutSetAttribute(tide_vc_layout *layout, int number,
                                                    const void *value, size_t n_bytes);
TIDE_VC_EXPORT int cublasLtMatrixLayoutGetAttribute(const tide_vc_layout *layout, int number,
                                                    void *ret_value, size_t n_bytes,
                                                    size_t *ret_n_bytes);
TIDE_VC_EXPORT int cublasLtMatmulDescSetAttribute(tide_vc_description *description, int number,
                                                  const void *value, size_t n_bytes);
TIDE_VC_EXPORT int cublasLtMatmulDescGetAttribute(const tide_vc_description *description,
                                                  int number, void *ret_value, size_t n_bytes,
                                                  size_t *ret_n_bytes);
TIDE_VC_EXPORT int cublasLtMatmulPreferenceSetAttribute(tide_vc_preference *preference, int number,
                                                        const void *value, size_t n_bytes);
TIDE_VC_EXPORT int cublasLtMatmulPreferenceGetAttribute(const tide_vc_preference *preference,
                                                        int number, void *ret_value, size_t n_bytes,
                                                        size_t *ret_n_bytes);

int cublasLtMatrixLayoutSetAttribute(tide_vc_layout *layout, int number, const void *value,
                                     size_t n_bytes) {
    return set(layout, find(LAYOUT, COUNT(LAYOUT), number), value, n_bytes);
}

int cublasLtMatrixLayoutGetAttribute(const tide_vc_layout *layout, int number, void *ret_value,
                                     size_t n_bytes, size_t *ret_n_bytes) {
    return get(layout, find(LAYOUT, COUNT(LAYOUT), number), ret_value, n_bytes, ret_n_bytes);
}

int cublasLtMatmulDescSetAttribute(tide_vc_description *description, int number, const void *value,
                                   size_t n_bytes) {
    return set(description, described(description, number), value, n_bytes);
}

int cublasLtMatmulDescGetAttribute(const tide_vc_description *description, int number,
                                   void *ret_value, size_t n_bytes, size_t *ret_n_bytes) {
    return get(description, described(description, number), ret_value, n_bytes, ret_n_bytes);
}

int cublasLtMatmulPreferenceSetAttribute(tide_vc_preference *preference, int number,
                                         const void *value, size_t n_bytes) {
    return set(preference, find(PREFERENCE, COUNT(PREFERENCE), number), value, n_bytes);
}

int cublasLtMatmulPreferenceGetAttribute(const tide_vc_preference *preference, int number,
                                         void *ret_value, size_t n_bytes, size_t *ret_n_bytes) {
    return get(preference, find(PREFERENCE, COUNT(PREFERENCE), number), ret_value, n_bytes,
               ret_n_bytes);
}

/* ---- handles, and the same in memory of the program ---- */

TIDE_VC_EXPORT int cublasLtMatrixLayoutCreate(tide_vc_layout **ret_layout, int type,
                                              uint64_t n_rows, uint64_t n_columns, int64_t leading);
TIDE_VC_EXPORT int cublasLtMatrixLayoutInit_internal(tide_vc_layout *layout, size_t n_bytes,
                                                     int type, uint64_t n_rows, uint64_t n_columns,
                                                     int64_t leading);
TIDE_VC_EXPORT int cublasLtMatmulDescCreate(tide_vc_description **ret_description, int computation,
                                            int scale_type);
TIDE_VC_EXPORT int cublasLtMatmulDescInit_internal(tide_vc_description *description, size_t n_bytes,
                                                   int computation, int scale_type);
TIDE_VC_EXPORT int cublasLtMatmulPreferenceCreate(tide_vc_preference **ret_preference);
TIDE_VC_EXPORT int cublasLtMatmulPreferenceInit_internal(tide_vc_preference *preference,
                                                         size_t n_bytes);

int cublasLtMatrixLayoutInit_internal(tide_vc_layout *layout, size_t n_bytes, int type,
                                      uint64_t n_rows, uint64_t n_columns, int64_t leading) {
    if (n_bytes < sizeof(*layout)) {
        return INVALID_VALUE;
    }
    memset(layout, 0, n_bytes);
    *layout = (tide_vc_layout){
        .type = type, .count = 1, .n_rows = n_rows, .n_columns = n_columns, .leading = leading};
    return OK;
}

int cublasLtMatrixLayoutCreate(tide_vc_layout **ret_layout, int type, uint64_t n_rows,
                               uint64_t n_columns, int64_t leading) {
    *ret_layout = tide_vc_handle_new();
    return cublasLtMatrixLayoutInit_internal(*ret_layout, TIDE_VC_HANDLE_BYTES, type, n_rows,
                                             n_columns, leading);
}

int cublasLtMatmulDescInit_internal(tide_vc_description *description, size_t n_bytes,
                                    int computation, int scale_type) {
    enum { FILL_FULL = 2, EPILOGUE_DEFAULT = 1, AS_THE_OUTPUT = -1 };
    tide_vc_description made = {.computation = computation,
                                .scale_type = scale_type,
                                .fill = FILL_FULL,
                                .epilogue = EPILOGUE_DEFAULT,
                                .aux_type = AS_THE_OUTPUT,
                                .bias_type = AS_THE_OUTPUT};
    size_t n_kept = n_bytes < sizeof(made) ? n_bytes : sizeof(made);
    if (n_bytes < offsetof(tide_vc_description, scale_type)) {
        return INVALID_VALUE;
    }
    made.n_bytes = (int)n_kept;
    memset(description, 0, n_bytes);
    memcpy(description, &made, n_kept);
    return OK;
}

int cublasLtMatmulDescCreate(tide_vc_description **ret_description, int computation,
                             int scale_type) {
    *ret_description = tide_vc_handle_new();
    return cublasLtMatmulDescInit_internal(*ret_description, TIDE_VC_HANDLE_BYTES, computation,
                                           scale_type);
}

int cublasLtMatmulPreferenceInit_internal(tide_vc_preference *preference, size_t n_bytes) {
    enum { ALL_REDUCTIONS = 7, ALIGNMENT = 256 };
    if (n_bytes < sizeof(*preference)) {
        return INVALID_VALUE;
    }
    memset(preference, 0, n_bytes);
    *preference = (tide_vc_preference){.algorithms = UINT64_MAX,
                                       .reductions = ALL_REDUCTIONS,
                                       .alignments = {ALIGNMENT, ALIGNMENT, ALIGNMENT, ALIGNMENT}};
    return OK;
}

int cublasLtMatmulPreferenceCreate(tide_vc_preference **ret_preference) {
    *ret_preference = tide_vc_handle_new();
    return cublasLtMatmulPreferenceInit_internal(*ret_preference, TIDE_VC_HANDLE_BYTES);
}
