/* launches.c - PyTorch's launches for the operators of this model, in the rows of a launch log.
 * tests/unit/model/eager/test_eager_launches.c compares them with the log of PyTorch 2.14.1 on a
 * virtual card: kinds, families, bytes and order, and shapes, types and layouts of products. */
#include <string.h>

#include "programs/wire/stated_host.h"
#include "model/eager/internal.h"

enum { SECTOR_BYTES = 32 }; /* the least that the card's memory reads */

static int64_t host_ns(const tide_eager *e) {
    return e->in_backward                                 ? TIDE_STATED_BACKWARD_NS
           : e->in_optimizer                              ? TIDE_STATED_OPTIMIZER_NS
           : tide_precision_is_mixed(e->config.precision) ? TIDE_STATED_MIXED_FORWARD_NS
                                                          : TIDE_STATED_FORWARD_NS;
}

static void add(tide_eager *e, const char *name, tide_run_launch row) {
    if (e->launches == NULL || e->status != TIDE_OK) {
        return;
    }
    tide_status status = tide_launch_list_add(e->launches, name, host_ns(e), row);
    if (status != TIDE_OK) {
        e->status = tide_fail(&e->error, status, "the host has no memory left for the launches");
    }
}

void tide_eager_log(tide_eager *e, tide_run_family family, uint64_t bytes, uint64_t elements,
                    const char *name) {
    add(e, name,
        (tide_run_launch){.kind = TIDE_RUN_KERNEL,
                          .family = (uint8_t)family,
                          .bytes = bytes,
                          .elements = elements});
}

/* Bytes that a kernel moves for a tensor: a broadcast number once, and strided neighbours with the
 * bytes between them, up to a sector. */
static uint64_t touched(const tide_eager_tensor *tensor, bool is_strided) {
    const tide_eager_shape *shape = &tensor->shape;
    uint64_t n = 1;
    uint64_t least = SECTOR_BYTES;
    bool is_single = true;
    for (size_t d = 0; d < shape->n_dims; d++) {
        uint64_t distance = (uint64_t)tensor->strides[d] * shape->n_bytes;
        if (distance != 0 && shape->sizes[d] > 1) {
            n *= shape->sizes[d];
            least = distance < least ? distance : least;
            is_single = false;
        }
    }
    return !is_strided ? tide_eager_count(shape) * shape->n_bytes
           : is_single ? SECTOR_BYTES
                       : n * least;
}

/* Whether a kernel goes through both in the same order, without gaps. */
static bool same_layout(const tide_eager_tensor *a, const tide_eager_tensor *b) {
    if (!tide_eager_same_sizes(&a->shape, &b->shape) || !tide_eager_is_dense(a)) {
        return false;
    }
    for (size_t d = 0; d < a->shape.n_dims; d++) {
        if (a->shape.sizes[d] > 1 && a->strides[d] != b->strides[d]) {
            return false;
        }
    }
    return true;
}

void tide_eager_log_elements(tide_eager *e, const tide_eager_tensor *out,
                             const tide_eager_tensor *a, const tide_eager_tensor *b,
                             const char *name) {
    if (e->launches == NULL || out->storage == NULL) {
        return;
    }
    bool is_strided = (a != NULL && !same_layout(out, a)) || (b != NULL && !same_layout(out, b));
    /* Only casts between fp32 and bf16 have vectorised kernels. */
    bool to_16bit = b == NULL && a != NULL && a->shape.n_bytes == TIDE_EAGER_FP32 &&
                    out->shape.n_bytes == TIDE_EAGER_16BIT;
    bool casts = (a != NULL && a->shape.n_bytes != out->shape.n_bytes) ||
                 (b != NULL && b->shape.n_bytes != out->shape.n_bytes);
    uint64_t bytes = touched(out, is_strided) + (a != NULL ? touched(a, is_strided) : 0) +
                     (b != NULL ? touched(b, is_strided) : 0);
    tide_eager_log(e,
                   is_strided           ? TIDE_RUN_STRIDED
                   : casts && !to_16bit ? TIDE_RUN_CASTING
                                        : TIDE_RUN_VECTORISED,
                   bytes, tide_eager_count(&out->shape), name);
}

/* Each tensor once. */
void tide_eager_log_whole(tide_eager *e, tide_run_family family, const tide_eager_tensor *a,
                          const tide_eager_tensor *b, uint64_t more_bytes, const char *name) {
    uint64_t n_a = tide_eager_count(&a->shape);
    uint64_t bytes = n_a * a->shape.n_bytes +
                     (b != NULL ? tide_eager_count(&b->shape) * b->shape.n_bytes : 0) + more_bytes;
    tide_eager_log(e, family, bytes, n_a, name);
}

/* where(condition, a, scalar): the scalar is filled first. */
void tide_eager_log_where(tide_eager *e, const tide_eager_tensor *out, const tide_eager_tensor *a,
                          const tide_eager_tensor *condition) {
    if (e->launches == NULL || out->storage == NULL) {
        return;
    }
    tide_eager_log(e, TIDE_RUN_VECTORISED, a->shape.n_bytes, 1, "fill");
    tide_eager_log(e, TIDE_RUN_STRIDED,
                   touched(out, true) + touched(a, true) + touched(condition, true) + SECTOR_BYTES,
                   tide_eager_count(&out->shape), "where");
}

void tide_eager_log_copy(tide_eager *e, const tide_eager_tensor *a) {
    add(e, NULL,
        (tide_run_launch){.kind = TIDE_RUN_COPY,
                          .family = TIDE_RUN_COPY_ON_CARD,
                          .bytes = tide_eager_count(&a->shape) * a->shape.n_bytes});
}

void tide_eager_log_fill(tide_eager *e, uint64_t n_bytes) {
    add(e, NULL, (tide_run_launch){.kind = TIDE_RUN_FILL, .bytes = n_bytes});
}

static tide_run_type type_of(const tide_eager *e, uint8_t n_bytes) {
    tide_precision precision = e->config.precision;
    return n_bytes != TIDE_EAGER_16BIT
               ? (precision == TIDE_PRECISION_TF32 ? TIDE_RUN_TF32 : TIDE_RUN_FP32)
           : precision == TIDE_PRECISION_FP16_MIXED ? TIDE_RUN_FP16
                                                    : TIDE_RUN_BF16;
}

void tide_eager_log_product(tide_eager *e, const tide_eager_matrix *a, const tide_eager_matrix *b,
                            size_t n_batches, uint8_t n_bytes) {
    tide_run_type type = type_of(e, n_bytes);
    /* cuBLAS is column-major: the factors are swapped. */
    unsigned flags = (b->is_transposed ? TIDE_RUN_TRANSPOSED_A : 0U) |
                     (a->is_transposed ? TIDE_RUN_TRANSPOSED_B : 0U);
    add(e, NULL,
        (tide_run_launch){.kind = TIDE_RUN_PRODUCT,
                          .m = (uint32_t)b->n_columns,
                          .n = (uint32_t)a->n_rows,
                          .k = (uint32_t)a->n_columns,
                          .count = (uint32_t)n_batches,
                          .type = (uint8_t)type,
                          .out_type = (uint8_t)(type == TIDE_RUN_TF32 ? TIDE_RUN_FP32 : type),
                          .flags = (uint8_t)flags});
}

tide_eager_matrix tide_eager_matrix_of(const tide_eager_tensor *tensor, bool transposes) {
    const size_t *sizes = tensor->shape.sizes;
    bool is_transposed = tensor->strides[2] != 1 && sizes[2] != 1;
    return transposes ? (tide_eager_matrix){sizes[2], sizes[1], !is_transposed}
                      : (tide_eager_matrix){sizes[1], sizes[2], is_transposed};
}
