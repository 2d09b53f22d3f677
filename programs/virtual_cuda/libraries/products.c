#include "programs/virtual_cuda/libraries/products_internal.h"

#include <stddef.h>

#include "programs/virtual_cuda/launches/launch_log.h"

/* cudaDataType */
static tide_run_type type_of(int type, bool *ret_is_known) {
    static const struct {
        int type;
        tide_run_type of;
    } TYPES[] = {{0, TIDE_RUN_FP32},      {1, TIDE_RUN_FP64},       {2, TIDE_RUN_FP16},
                 {14, TIDE_RUN_BF16},     {3, TIDE_RUN_INT8},       {8, TIDE_RUN_INT8},
                 {4, TIDE_RUN_COMPLEX64}, {5, TIDE_RUN_COMPLEX128}, {10, TIDE_RUN_INT32},
                 {28, TIDE_RUN_FP8},      {29, TIDE_RUN_FP8},       {33, TIDE_RUN_FP4}};
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (TYPES[i].type == type) {
            return TYPES[i].of;
        }
    }
    *ret_is_known = false;
    return TIDE_RUN_FP32;
}

/* cublasComputeType_t for fp32 factors: whether tensor cores may round them. */
enum { PEDANTIC_32F = 69, FAST_16F = 74, FAST_16BF = 75, FAST_TF32 = 77 };
enum { MODE_BITS = 0xf, TF32_MODE = 3 }; /* of cublasMath_t */

static bool is_rounded(int math, int computation) {
    bool is_fast = computation == FAST_16F || computation == FAST_16BF || computation == FAST_TF32;
    return is_fast || ((math & MODE_BITS) == TF32_MODE && computation != PEDANTIC_32F);
}

static void add(tide_vc_entry entry, const tide_vc_product *of, int math, void *stream) {
    bool is_known = true;
    tide_run_type type = of->is_typed ? type_of(of->type, &is_known) : (tide_run_type)of->type;
    tide_run_type out =
        of->is_typed ? type_of(of->out_type, &is_known) : (tide_run_type)of->out_type;
    if (!tide_vc_is_logged(entry) || of->m <= 0 || of->n <= 0 || of->count <= 0) {
        return; /* no work, as in the library */
    }
    if (type == TIDE_RUN_FP32 && is_rounded(math, of->computation)) {
        type = TIDE_RUN_TF32;
    }
    unsigned flags = (of->ta != 0 ? TIDE_RUN_TRANSPOSED_A : 0U) |
                     (of->tb != 0 ? TIDE_RUN_TRANSPOSED_B : 0U) |
                     (is_known ? 0U : TIDE_RUN_ESTIMATED);
    tide_run_launch row = {.kind = TIDE_RUN_PRODUCT,
                           .m = (uint32_t)of->m,
                           .n = (uint32_t)of->n,
                           .k = (uint32_t)(of->k > 0 ? of->k : 0),
                           .count = (uint32_t)of->count,
                           .type = (uint8_t)type,
                           .out_type = (uint8_t)out,
                           .flags = (uint8_t)flags};
    tide_vc_launch_end(entry, &row, stream, NULL);
}

void tide_vc_blas_product(const void *handle, const tide_vc_product *product) {
    tide_vc_entry entry = tide_vc_launch_begin();
    const tide_vc_blas_modes *modes = handle;
    add(entry, product, modes != NULL ? modes->math : 0, modes != NULL ? modes->stream : NULL);
}

void tide_vc_described_product(const tide_vc_description *description, const tide_vc_layout *a,
                               const tide_vc_layout *d, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    if (description == NULL || a == NULL || d == NULL) {
        return;
    }
    tide_vc_product of = {.ta = description->ta,
                          .tb = description->tb,
                          .m = (int)d->n_rows,
                          .n = (int)d->n_columns,
                          .k = (int)(description->ta != 0 ? a->n_rows : a->n_columns),
                          .count = d->count,
                          .is_typed = true,
                          .type = a->type,
                          .out_type = d->type,
                          .computation = description->computation};
    add(entry, &of, 0, stream);
}

void tide_vc_blas_kernel(const void *handle, const char *name, uint64_t n, uint64_t bytes_each) {
    tide_vc_entry entry = tide_vc_launch_begin();
    const tide_vc_blas_modes *modes = handle;
    tide_run_launch row = {.kind = TIDE_RUN_KERNEL,
                           .family = TIDE_RUN_LIBRARY,
                           .bytes = n * bytes_each,
                           .elements = n};
    tide_vc_launch_end(entry, &row, modes != NULL ? modes->stream : NULL, name);
}

void tide_vc_other_work(const char *name) {
    tide_vc_entry entry = tide_vc_launch_begin();
    tide_run_launch row = {
        .kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_LIBRARY, .flags = TIDE_RUN_GUESSED};
    tide_vc_launch_end(entry, &row, NULL, name);
}
