/* rules.c - backward of each operator: which tensors its formula makes, and when each is released.
 * The formulas are those of PyTorch's derivatives.yaml; if there are two gradients, that of "other"
 * (of "mat2") is computed before that of "self". */
#include "model/eager/internal.h"

static const tide_eager_tensor UNDEFINED = {.storage = NULL};

static bool wants(const tide_eager_node *node, size_t i) {
    return node->edges[i].node != NULL;
}

/* An intermediate tensor of a gradient's formula. */
static tide_eager_tensor scratch(tide_eager *e, const tide_eager_tensor *like, const char *name) {
    if (e->status != TIDE_OK || like->storage == NULL) {
        return UNDEFINED;
    }
    return tide_eager_new_like(e, like, like->shape.n_bytes, TIDE_TEMPORARY, name, ".grad.scratch");
}

static tide_eager_tensor fresh(tide_eager *e, const tide_eager_shape *shape, const char *name) {
    if (e->status != TIDE_OK) {
        return UNDEFINED;
    }
    return tide_eager_new(e, shape, TIDE_TEMPORARY, name, ".grad");
}

/* The gradient of input i as a product or quotient of the arriving gradient and `other`, in the
 * wider type and with the sizes of the arriving one. */
static tide_eager_tensor combined(tide_eager *e, const tide_eager_node *node, size_t i,
                                  const tide_eager_tensor *other) {
    const tide_eager_tensor *grad = &node->grads[0];
    uint8_t n_bytes = grad->shape.n_bytes;
    if (e->status != TIDE_OK || grad->storage == NULL) {
        return UNDEFINED;
    }
    if (other != NULL && other->shape.n_bytes > n_bytes) {
        n_bytes = other->shape.n_bytes;
    }
    tide_eager_tensor out =
        tide_eager_new_like(e, grad, n_bytes, TIDE_TEMPORARY, node->edges[i].name, ".grad");
    if (node->kind != TIDE_EAGER_WHERE) {
        bool is_scalar = other == NULL || other->storage == NULL;
        tide_eager_log_elements(e, &out, grad, is_scalar ? NULL : other, "gradient");
    }
    return out;
}

/* ---- pointwise ---- */

static void pass_on(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    (void)e;
    for (size_t i = 0; i < node->n_edges; i++) {
        ret[i] = wants(node, i) ? tide_eager_retain(&node->grads[0]) : UNDEFINED;
    }
}

static void back_sub(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    if (wants(node, 1)) {
        ret[1] = combined(e, node, 1, NULL);
    }
    if (wants(node, 0)) {
        ret[0] = tide_eager_retain(&node->grads[0]);
    }
}

static void back_mul(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    if (wants(node, 1)) {
        ret[1] = combined(e, node, 1, &node->saved[1]);
    }
    if (wants(node, 0)) {
        ret[0] = combined(e, node, 0, &node->saved[0]);
    }
}

/* other: -grad * ((self / other) / other). */
static void back_div(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    if (wants(node, 1)) {
        tide_eager_tensor quotient = scratch(e, &node->saved[1], node->name);
        tide_eager_log_elements(e, &quotient, &node->saved[1], &node->saved[0], "div");
        tide_eager_tensor again = scratch(e, &quotient, node->name);
        tide_eager_log_elements(e, &again, &quotient, &node->saved[0], "div");
        tide_eager_tensor negated = scratch(e, &node->grads[0], node->name);
        tide_eager_log_elements(e, &negated, &node->grads[0], NULL, "neg");
        ret[1] = combined(e, node, 1, &again);
        tide_eager_drop(e, &negated);
        tide_eager_drop(e, &again);
        tide_eager_drop(e, &quotient);
    }
    if (wants(node, 0)) {
        ret[0] = combined(e, node, 0, &node->saved[0]);
    }
}

/* One product, quotient or negation of the arriving gradient. */
static void back_once(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    ret[0] = combined(e, node, 0, &node->saved[0]);
}

/* -0.5 * grad * result.pow(3) */
static void back_rsqrt(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    tide_eager_tensor power = scratch(e, &node->saved[0], node->name);
    tide_eager_log_elements(e, &power, &node->saved[0], NULL, "pow");
    tide_eager_tensor scaled = scratch(e, &node->grads[0], node->name);
    tide_eager_log_elements(e, &scaled, &node->grads[0], NULL, "mul");
    ret[0] = combined(e, node, 0, &power);
    tide_eager_drop(e, &scaled);
    tide_eager_drop(e, &power);
}

/* grad * (2 * self.pow(1)) */
static void back_square(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    tide_eager_tensor power = scratch(e, &node->saved[0], node->name);
    tide_eager_log_copy(e, &power); /* pow(1) is a copy */
    tide_eager_tensor scaled = scratch(e, &power, node->name);
    tide_eager_log_elements(e, &scaled, &power, NULL, "mul");
    ret[0] = combined(e, node, 0, &scaled);
    tide_eager_drop(e, &scaled);
    tide_eager_drop(e, &power);
}

static void back_where(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    tide_eager_shape shape = tide_eager_shape_of(node->grads[0].shape.n_bytes, 0, NULL);
    tide_eager_tensor zero = tide_eager_new(e, &shape, TIDE_TEMPORARY, node->name, ".grad.scalar");
    ret[0] = combined(e, node, 0, NULL);
    tide_eager_log_where(e, &ret[0], &node->grads[0], &node->saved[0]);
    tide_eager_drop(e, &zero);
}

/* ---- reductions ---- */

/* The same number for every element: an expanded view, which needs no memory. */
static void back_sum(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    (void)e;
    ret[0] = tide_eager_retain(&node->grads[0]);
    ret[0].is_view = true;
    ret[0].shape = node->edges[0].shape;
    ret[0].shape.n_bytes = node->grads[0].shape.n_bytes;
    ret[0].strides[ret[0].shape.n_dims - 1] = 0;
}

static void expand(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    tide_eager_shape shape = node->edges[0].shape;
    shape.n_bytes = node->grads[0].shape.n_bytes;
    ret[0] = fresh(e, &shape, node->edges[0].name);
}

static void back_mean(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    expand(e, node, ret);
    tide_eager_log_elements(e, &ret[0], &node->grads[0], NULL, "div");
}

/* max and gather: the gradient is scattered into zeros. */
static void back_scatter(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    uint64_t n = tide_eager_count(&node->grads[0].shape);
    uint64_t n_bytes = node->grads[0].shape.n_bytes;
    /* max: an index, its gradient and a sector; gather adds to the existing values. */
    uint64_t n_sectors = node->kind == TIDE_EAGER_GATHER ? 2 : 1;
    expand(e, node, ret);
    tide_eager_log_elements(e, &ret[0], NULL, NULL, "fill");
    tide_eager_log(e, TIDE_RUN_SCATTER_ROWS, n * (TIDE_EAGER_INT64 + n_bytes + n_sectors * 32U), n,
                   "scatter");
}

/* ---- products ---- */

static void back_bmm(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    for (size_t i = 2; i > 0; i--) {
        if (!wants(node, i - 1)) {
            continue;
        }
        tide_eager_shape shape = node->edges[i - 1].shape;
        shape.n_bytes = node->grads[0].shape.n_bytes;
        ret[i - 1] = fresh(e, &shape, node->edges[i - 1].name);
        tide_eager_use_workspace(e);
        /* other: self^T grad; self: grad other^T */
        const tide_eager_matrix a = i == 2 ? tide_eager_matrix_of(&node->saved[1], true)
                                           : tide_eager_matrix_of(&node->grads[0], false);
        const tide_eager_matrix b = i == 2 ? tide_eager_matrix_of(&node->grads[0], false)
                                           : tide_eager_matrix_of(&node->saved[0], true);
        tide_eager_log_product(e, &a, &b, shape.sizes[0], shape.n_bytes);
    }
}

/* ---- layout ---- */

static void back_cast(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    if (e->status == TIDE_OK) {
        uint8_t n_bytes = node->edges[0].shape.n_bytes;
        ret[0] = tide_eager_new_like(e, &node->grads[0], n_bytes, TIDE_TEMPORARY,
                                     node->edges[0].name, tide_eager_cast_suffix(e, n_bytes, true));
        tide_eager_log_elements(e, &ret[0], &node->grads[0], NULL, "cast");
    }
}

/* grad.reshape(sizes of the input) */
static void back_view(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    const tide_eager_tensor *grad = &node->grads[0];
    tide_eager_shape shape = node->edges[0].shape;
    shape.n_bytes = grad->shape.n_bytes;
    size_t strides[TIDE_EAGER_DIMS];
    if (tide_eager_view_strides(grad, &shape, strides)) {
        ret[0] = tide_eager_retain(grad);
        for (size_t i = 0; i < TIDE_EAGER_DIMS; i++) {
            ret[0].strides[i] = strides[i];
        }
        ret[0].shape = shape;
        ret[0].is_view = true;
        return;
    }
    ret[0] = fresh(e, &shape, node->edges[0].name);
    tide_eager_tensor like = ret[0]; /* borrowed: the copy with the sizes of the gradient */
    like.shape = grad->shape;
    for (size_t i = grad->shape.n_dims, stride = 1; i > 0; i--) {
        like.strides[i - 1] = stride;
        stride *= grad->shape.sizes[i - 1];
    }
    tide_eager_log_elements(e, &like, grad, NULL, "copy");
}

static void back_permute(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    (void)e;
    const tide_eager_tensor *grad = &node->grads[0];
    ret[0] = tide_eager_retain(grad);
    ret[0].shape.n_dims = node->edges[0].shape.n_dims;
    ret[0].is_view = true;
    for (size_t i = 0; i < TIDE_EAGER_DIMS; i++) {
        uint8_t to = node->permutation[i];
        if (to != TIDE_EAGER_NO_DIM) {
            ret[0].shape.sizes[to] = grad->shape.sizes[i];
            ret[0].strides[to] = grad->strides[i];
        }
    }
}

/* stack(gradients of the two parts) */
static void back_unbind(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    tide_eager_shape shape = node->edges[0].shape;
    shape.n_bytes = node->grads[0].shape.n_bytes;
    ret[0] = fresh(e, &shape, node->edges[0].name);
    tide_eager_log_whole(e, TIDE_RUN_VECTORISED, &ret[0], &ret[0], 0, "cat");
}

static void back_cat(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    (void)e;
    for (size_t i = 0; i < 2; i++) {
        ret[i] = tide_eager_retain(&node->grads[0]);
        ret[i].shape.sizes[ret[i].shape.n_dims - 1] =
            node->edges[i].shape.sizes[ret[i].shape.n_dims - 1];
        ret[i].is_view = true;
    }
}

/* ---- tables ---- */

/* A gradient with the sizes of a table. It becomes the parameter's gradient if the table is a
 * parameter. */
static tide_eager_tensor table_gradient(tide_eager *e, const tide_eager_edge *edge) {
    if (edge->node->kind != TIDE_EAGER_ACCUMULATE || e->status != TIDE_OK) {
        return fresh(e, &edge->shape, edge->name);
    }
    return tide_eager_new(e, &edge->shape, TIDE_GRADIENT, e->parameters[edge->node->parameter].name,
                          ".grad");
}

static tide_eager_tensor indices(tide_eager *e, const tide_eager_node *node) {
    return scratch(e, &node->saved[0], node->name);
}

/* The gradient is filled with zeros, the indices are wrapped, scaled to offsets and scaled back,
 * and sorted together with their positions, in one kernel for short lists; then the rows are added:
 * each is read, and read and written in the table. */
static void log_index_put(tide_eager *e, const tide_eager_node *node,
                          const tide_eager_tensor *table) {
    const tide_eager_tensor *index = &node->saved[0];
    uint64_t n = tide_eager_count(&index->shape);
    uint64_t n_elements = tide_eager_count(&node->grads[0].shape);
    tide_eager_log_elements(e, table, NULL, NULL, "fill");
    tide_eager_log_elements(e, index, index, NULL, "remainder");
    tide_eager_log_elements(e, index, index, NULL, "mul");
    tide_eager_log_elements(e, index, index, NULL, "div");
    tide_eager_log_elements(e, index, NULL, NULL, "arange");
    tide_eager_log(e, TIDE_RUN_SORT, n * 4 * TIDE_EAGER_INT64, n, "sort");
    tide_eager_log(e, TIDE_RUN_SCATTER_ROWS,
                   n * 2 * TIDE_EAGER_INT64 + n_elements * 3 * node->grads[0].shape.n_bytes,
                   2 * n_elements, "indexing_backward");
}

/* index_put with accumulation: the indices are wrapped, scaled to offsets, and sorted together with
 * their positions. */
static void back_index(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    const tide_eager_shape byte = {.n_dims = 0, .n_bytes = 1};
    ret[0] = table_gradient(e, &node->edges[0]);
    log_index_put(e, node, &ret[0]);
    tide_eager_tensor wrapped = indices(e, node);
    tide_eager_tensor scaled = indices(e, node);
    tide_eager_drop(e, &wrapped);
    tide_eager_tensor sorted = indices(e, node);
    tide_eager_tensor places = indices(e, node);
    tide_eager_tensor range = indices(e, node);
    tide_eager_tensor sort_scratch = fresh(e, &byte, node->name);
    tide_eager_drop(e, &sort_scratch);
    tide_eager_drop(e, &range);
    tide_eager_drop(e, &places);
    tide_eager_drop(e, &sorted);
    tide_eager_drop(e, &scaled);
}

static void back_slice(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    ret[0] = table_gradient(e, &node->edges[0]);
}

const tide_eager_rule tide_eager_rules[TIDE_EAGER_N_KINDS] = {
    [TIDE_EAGER_ACCUMULATE] = {pass_on}, /* never called: the walk ends at tide_eager_send */
    [TIDE_EAGER_ADD] = {pass_on},
    [TIDE_EAGER_ADD_SCALAR] = {pass_on},
    [TIDE_EAGER_SUB] = {back_sub},
    [TIDE_EAGER_MUL] = {back_mul},
    [TIDE_EAGER_DIV] = {back_div},
    [TIDE_EAGER_DIV_SCALAR] = {back_once},
    [TIDE_EAGER_NEG] = {back_once},
    [TIDE_EAGER_EXP] = {back_once},
    [TIDE_EAGER_LOG] = {back_once},
    [TIDE_EAGER_SIGMOID] = {back_once},
    [TIDE_EAGER_RSQRT] = {back_rsqrt},
    [TIDE_EAGER_SQUARE] = {back_square},
    [TIDE_EAGER_SUM] = {back_sum},
    [TIDE_EAGER_MEAN] = {back_mean},
    [TIDE_EAGER_MAX] = {back_scatter},
    [TIDE_EAGER_WHERE] = {back_where},
    [TIDE_EAGER_BMM] = {back_bmm},
    [TIDE_EAGER_CAST] = {back_cast},
    [TIDE_EAGER_CLONE] = {pass_on},
    [TIDE_EAGER_VIEW] = {back_view},
    [TIDE_EAGER_PERMUTE] = {back_permute},
    [TIDE_EAGER_UNBIND] = {back_unbind},
    [TIDE_EAGER_CAT] = {back_cat},
    [TIDE_EAGER_INDEX] = {back_index},
    [TIDE_EAGER_SLICE] = {back_slice},
    [TIDE_EAGER_GATHER] = {back_scatter},
    [TIDE_EAGER_FLASH] = {tide_eager_back_flash},
    [TIDE_EAGER_CHECKPOINT] = {tide_eager_back_checkpoint},
};
