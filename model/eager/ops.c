/* ops.c - operators: the allocations of each in forward, and the tensors that autograd keeps. */
#include "model/eager/internal.h"

static bool is_fine(const tide_eager *e, const tide_eager_tensor *a) {
    return e->status == TIDE_OK && a->storage != NULL;
}

/* ---- nodes ---- */

static tide_eager_node *take_node(tide_eager *e) {
    if (e->n_free_nodes > 0) {
        tide_eager_node *node = e->free_nodes[--e->n_free_nodes];
        *node = (tide_eager_node){0};
        return node;
    }
    return tide_arena_alloc(&e->arena, 1, sizeof(tide_eager_node));
}

static tide_eager_node *new_node(tide_eager *e, tide_eager_kind kind, const char *name) {
    tide_eager_node *node = e->status == TIDE_OK ? take_node(e) : NULL;
    tide_eager_node **tape = node == NULL
                                 ? NULL
                                 : tide_hostmem_grow(e->mem, e->tape, &e->tape_capacity,
                                                     e->n_tape + 1, sizeof(tide_eager_node *));
    if (tape == NULL) {
        if (e->status == TIDE_OK) {
            e->status =
                tide_fail(&e->error, TIDE_NO_MEMORY, "the host has no memory left for the graph");
        }
        return NULL;
    }
    e->tape = tape;
    e->tape[e->n_tape++] = node;
    node->kind = kind;
    node->name = name;
    node->layer = e->layer;
    node->scope = e->scope;
    return node;
}

static tide_eager_edge edge_to(const tide_eager_tensor *tensor) {
    return (tide_eager_edge){.node = tensor->node,
                             .name = tensor->name,
                             .shape = tensor->shape,
                             .output = tensor->output};
}

tide_eager_node *tide_eager_record(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                   const tide_eager_tensor *b, const char *name) {
    bool wanted = a->node != NULL || (b != NULL && b->node != NULL);
    if (!e->records || !wanted) {
        return NULL;
    }
    tide_eager_node *node = new_node(e, kind, name);
    if (node == NULL) {
        return NULL;
    }
    node->edges[node->n_edges++] = edge_to(a);
    if (b != NULL) {
        node->edges[node->n_edges++] = edge_to(b);
    }
    return node;
}

tide_eager_node *tide_eager_record_input(tide_eager *e, const char *name) {
    return e->records ? new_node(e, TIDE_EAGER_CLONE, name) : NULL;
}

tide_eager_node *tide_eager_leaf(tide_eager *e, size_t i) {
    tide_eager_node *node = tide_arena_alloc(&e->arena, 1, sizeof(*node));
    if (node == NULL) {
        e->status = tide_fail(&e->error, TIDE_NO_MEMORY, "the host has no memory left");
        return NULL;
    }
    *node = (tide_eager_node){.kind = TIDE_EAGER_ACCUMULATE, .layer = -1, .parameter = i};
    return node;
}

static void save(tide_eager_node *node, size_t i, const tide_eager_tensor *tensor) {
    node->saved[i] = tide_eager_retain(tensor);
    node->saved[i].node = NULL;
}

/* The broadcast sizes of both operands, and the wider of their floating types. */
static tide_eager_shape broadcast(const tide_eager_shape *a, const tide_eager_shape *b) {
    const tide_eager_shape *longer = a->n_dims >= b->n_dims ? a : b;
    const tide_eager_shape *shorter = longer == a ? b : a;
    tide_eager_shape shape = *longer;
    size_t offset = (size_t)longer->n_dims - shorter->n_dims;
    for (size_t i = 0; i < shorter->n_dims; i++) {
        if (shape.sizes[offset + i] == 1) {
            shape.sizes[offset + i] = shorter->sizes[i];
        }
    }
    shape.n_bytes = a->n_bytes > b->n_bytes ? a->n_bytes : b->n_bytes;
    return shape;
}

/* ---- pointwise ---- */

tide_eager_tensor tide_eager_unary(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                   tide_eager_label label) {
    tide_eager_tensor source = {0};
    if (!is_fine(e, a)) {
        return source;
    }
    /* autocast computes exp and log in fp32; the copy is released at the end of the call. */
    bool widens = e->autocast && (kind == TIDE_EAGER_EXP || kind == TIDE_EAGER_LOG);
    source = widens ? tide_eager_cast(e, a, TIDE_EAGER_FP32, a->name) : tide_eager_retain(a);
    tide_eager_tensor out =
        tide_eager_new_like(e, &source, source.shape.n_bytes, label.category, label.name, "");
    tide_eager_log_elements(e, &out, &source, NULL, "unary");
    tide_eager_node *node = tide_eager_record(e, kind, &source, NULL, label.name);
    if (node != NULL) {
        out.node = node;
        if (kind == TIDE_EAGER_LOG || kind == TIDE_EAGER_SQUARE) {
            save(node, 0, &source);
        } else if (kind == TIDE_EAGER_EXP || kind == TIDE_EAGER_SIGMOID ||
                   kind == TIDE_EAGER_RSQRT) {
            save(node, 0, &out);
        }
    }
    tide_eager_drop(e, &source);
    return out;
}

tide_eager_tensor tide_eager_binary(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                    const tide_eager_tensor *b, tide_eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, b)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = broadcast(&a->shape, &b->shape);
    tide_eager_tensor out =
        tide_eager_same_sizes(&a->shape, &shape)
            ? tide_eager_new_like(e, a, shape.n_bytes, label.category, label.name, "")
            : tide_eager_new(e, &shape, label.category, label.name, "");
    tide_eager_log_elements(e, &out, a, b, "binary");
    tide_eager_node *node = tide_eager_record(e, kind, a, b, label.name);
    if (node != NULL) {
        out.node = node;
        /* "other" comes before "self". */
        if (kind == TIDE_EAGER_DIV || (kind == TIDE_EAGER_MUL && a->node != NULL)) {
            save(node, 0, b);
        }
        if ((kind == TIDE_EAGER_DIV || kind == TIDE_EAGER_MUL) && b->node != NULL) {
            save(node, 1, a);
        }
    }
    return out;
}

tide_eager_tensor tide_eager_reduce(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                    tide_eager_label label) {
    if (!is_fine(e, a)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] = 1;
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    tide_eager_log_whole(e, TIDE_RUN_REDUCTION, a, &out, 0, "reduce");
    out.node = tide_eager_record(e, kind, a, NULL, label.name);
    return out;
}

tide_eager_tensor tide_eager_mean_all(tide_eager *e, const tide_eager_tensor *a,
                                      tide_eager_label label) {
    if (!is_fine(e, a)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = tide_eager_shape_of(a->shape.n_bytes, 0, NULL);
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    tide_eager_log_whole(e, TIDE_RUN_REDUCTION, a, &out, 0, "mean");
    out.node = tide_eager_record(e, TIDE_EAGER_MEAN, a, NULL, label.name);
    return out;
}

tide_eager_tensor tide_eager_max(tide_eager *e, const tide_eager_tensor *a, tide_eager_label label,
                                 const char *indices_name, tide_eager_tensor *ret_indices) {
    *ret_indices = (tide_eager_tensor){0};
    if (!is_fine(e, a)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] = 1;
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    shape.n_bytes = TIDE_EAGER_INT64;
    *ret_indices = tide_eager_new(e, &shape, TIDE_ACTIVATION, indices_name, "");
    tide_eager_log_whole(e, TIDE_RUN_REDUCTION, a, &out,
                         tide_eager_count(&shape) * TIDE_EAGER_INT64, "max");
    out.node = tide_eager_record(e, TIDE_EAGER_MAX, a, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, ret_indices);
    }
    return out;
}

tide_eager_tensor tide_eager_where(tide_eager *e, const tide_eager_tensor *condition,
                                   const tide_eager_tensor *a, tide_eager_label label) {
    if (!is_fine(e, condition) || !is_fine(e, a)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape scalar_shape = tide_eager_shape_of(a->shape.n_bytes, 0, NULL);
    tide_eager_tensor scalar =
        tide_eager_new(e, &scalar_shape, TIDE_TEMPORARY, label.name, ".scalar");
    tide_eager_tensor out =
        tide_eager_new_like(e, a, a->shape.n_bytes, label.category, label.name, "");
    tide_eager_log_where(e, &out, a, condition);
    out.node = tide_eager_record(e, TIDE_EAGER_WHERE, a, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, condition);
    }
    tide_eager_drop(e, &scalar);
    return out;
}

tide_eager_tensor tide_eager_cast(tide_eager *e, const tide_eager_tensor *a, uint8_t n_bytes,
                                  const char *name) {
    if (!is_fine(e, a) || a->shape.n_bytes == n_bytes) {
        return tide_eager_retain(a);
    }
    tide_category category = n_bytes == TIDE_EAGER_16BIT ? TIDE_ACTIVATION : TIDE_TEMPORARY;
    tide_eager_tensor out = tide_eager_new_like(e, a, n_bytes, category, name,
                                                tide_eager_cast_suffix(e, n_bytes, false));
    tide_eager_log_elements(e, &out, a, NULL, "cast");
    out.node = tide_eager_record(e, TIDE_EAGER_CAST, a, NULL, name);
    return out;
}

tide_eager_tensor tide_eager_autocast(tide_eager *e, const tide_eager_tensor *a, const char *name) {
    if (!is_fine(e, a) || !e->autocast || a->shape.n_bytes == TIDE_EAGER_16BIT) {
        return tide_eager_retain(a);
    }
    if (a->is_view || a->node == NULL || a->node->kind != TIDE_EAGER_ACCUMULATE) {
        return tide_eager_cast(e, a, TIDE_EAGER_16BIT, name);
    }
    size_t i = a->node->parameter;
    if (e->casts[i].storage == NULL) {
        int32_t layer = e->layer;
        e->layer = -1; /* a parameter's name has no layer prefix */
        tide_eager_tensor copy =
            tide_eager_new_like(e, a, TIDE_EAGER_16BIT, TIDE_WEIGHT_COPY, e->parameters[i].name,
                                tide_eager_cast_suffix(e, TIDE_EAGER_16BIT, false));
        e->layer = layer;
        tide_eager_log_elements(e, &copy, a, NULL, "cast");
        copy.name = a->name;
        copy.node = tide_eager_record(e, TIDE_EAGER_CAST, a, NULL, a->name);
        e->casts[i] = copy;
    }
    return tide_eager_retain(&e->casts[i]);
}

/* ---- views ---- */

tide_eager_tensor tide_eager_view(tide_eager *e, const tide_eager_tensor *a,
                                  const tide_eager_shape *shape) {
    if (!is_fine(e, a)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_tensor out = tide_eager_retain(a);
    out.shape = *shape;
    out.shape.n_bytes = a->shape.n_bytes;
    out.is_view = true;
    out.output = 0;
    out.node = tide_eager_record(e, TIDE_EAGER_VIEW, a, NULL, a->name);
    if (!tide_eager_view_strides(a, shape, out.strides) && e->status == TIDE_OK) {
        e->status =
            tide_fail(&e->error, TIDE_INVALID, "%s cannot be viewed without a copy", a->name);
    }
    return out;
}

tide_eager_tensor tide_eager_reshape(tide_eager *e, const tide_eager_tensor *a,
                                     const tide_eager_shape *shape, tide_eager_label label) {
    size_t strides[TIDE_EAGER_DIMS];
    if (!is_fine(e, a) || tide_eager_view_strides(a, shape, strides)) {
        return tide_eager_view(e, a, shape);
    }
    tide_eager_tensor copy = tide_eager_new(e, &a->shape, label.category, label.name, "");
    tide_eager_log_elements(e, &copy, a, NULL, "copy");
    copy.node = tide_eager_record(e, TIDE_EAGER_CLONE, a, NULL, label.name);
    tide_eager_tensor out = tide_eager_view(e, &copy, shape);
    /* The view hides the copy (_unsafe_view): no other tensor refers to it. */
    out.is_view = false;
    tide_eager_drop(e, &copy);
    return out;
}

tide_eager_tensor tide_eager_permute(tide_eager *e, const tide_eager_tensor *a, uint8_t n_dims,
                                     const uint8_t *permutation) {
    if (!is_fine(e, a)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_tensor out = tide_eager_retain(a);
    out.shape.n_dims = n_dims;
    out.is_view = true;
    out.output = 0;
    for (size_t i = 0; i < n_dims; i++) {
        uint8_t from = permutation[i];
        out.shape.sizes[i] = from == TIDE_EAGER_NO_DIM ? 1 : a->shape.sizes[from];
        out.strides[i] = from == TIDE_EAGER_NO_DIM ? 1 : a->strides[from];
    }
    out.node = tide_eager_record(e, TIDE_EAGER_PERMUTE, a, NULL, a->name);
    for (size_t i = 0; out.node != NULL && i < TIDE_EAGER_DIMS; i++) {
        out.node->permutation[i] = i < n_dims ? permutation[i] : TIDE_EAGER_NO_DIM;
    }
    return out;
}

void tide_eager_unbind(tide_eager *e, const tide_eager_tensor *a, tide_eager_tensor ret_parts[2]) {
    tide_eager_node *node =
        is_fine(e, a) ? tide_eager_record(e, TIDE_EAGER_UNBIND, a, NULL, a->name) : NULL;
    for (uint8_t i = 0; i < 2; i++) {
        ret_parts[i] = tide_eager_retain(a);
        if (a->storage == NULL) {
            continue;
        }
        tide_eager_tensor *part = &ret_parts[i];
        part->shape.n_dims--;
        for (size_t d = 0; d < part->shape.n_dims; d++) {
            part->shape.sizes[d] = a->shape.sizes[d + 1];
            part->strides[d] = a->strides[d + 1];
        }
        part->is_view = true;
        part->node = node;
        part->output = i;
    }
}

/* ---- others ---- */

void tide_eager_use_workspace(tide_eager *e) {
    tide_eager_tensor *workspace = &e->workspaces[e->in_backward ? 1 : 0];
    size_t n_bytes = tide_device_get_info(tide_cache_device(e->cache))->workspace_bytes;
    if (workspace->storage != NULL || n_bytes == 0) {
        return;
    }
    int32_t layer = e->layer;
    bool makes_kept = e->makes_kept;
    e->layer = -1;
    e->makes_kept = false;
    tide_eager_shape shape = tide_eager_shape_of(1, 1, &n_bytes);
    *workspace = tide_eager_new(e, &shape, TIDE_WORKSPACE, "cublas.workspace",
                                e->in_backward ? ".backward" : ".forward");
    e->layer = layer;
    e->makes_kept = makes_kept;
}

tide_eager_tensor tide_eager_bmm(tide_eager *e, const tide_eager_tensor *a,
                                 const tide_eager_tensor *b, tide_eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, b)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = a->shape;
    shape.sizes[2] = b->shape.sizes[2];
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    tide_eager_use_workspace(e);
    const tide_eager_matrix factors[] = {tide_eager_matrix_of(a, false),
                                         tide_eager_matrix_of(b, false)};
    tide_eager_log_product(e, &factors[0], &factors[1], shape.sizes[0], shape.n_bytes);
    out.node = tide_eager_record(e, TIDE_EAGER_BMM, a, b, label.name);
    if (out.node != NULL && a->node != NULL) {
        save(out.node, 0, b);
    }
    if (out.node != NULL && b->node != NULL) {
        save(out.node, 1, a);
    }
    return out;
}

tide_eager_tensor tide_eager_cat(tide_eager *e, const tide_eager_tensor *a,
                                 const tide_eager_tensor *b, tide_eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, b)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] += b->shape.sizes[shape.n_dims - 1];
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    tide_eager_log_whole(e, TIDE_RUN_VECTORISED, &out, &out, 0, "cat");
    out.node = tide_eager_record(e, TIDE_EAGER_CAT, a, b, label.name);
    return out;
}

/* Rows of the table once, the indices, and the result. The threads take packs of 16 bytes, up to
 * 256 in a block, of whole warps (vectorized_gather_kernel). */
static void log_index(tide_eager *e, const tide_eager_tensor *out, const tide_eager_tensor *table,
                      const tide_eager_tensor *indices) {
    uint64_t bytes = tide_eager_count(&out->shape) * out->shape.n_bytes;
    uint64_t table_bytes = tide_eager_count(&table->shape) * table->shape.n_bytes;
    uint64_t n_rows = tide_eager_count(&indices->shape);
    uint64_t n_packs = (bytes / n_rows + 15) / 16;
    uint64_t unit = n_packs > 256 ? 256 : 32;
    tide_eager_log(e, TIDE_RUN_GATHER_ROWS,
                   bytes + (bytes < table_bytes ? bytes : table_bytes) + n_rows * TIDE_EAGER_INT64,
                   n_rows * ((n_packs + unit - 1) / unit * unit), "index");
}

/* An index, a sector of the table and the result, for each row. */
static void log_gather(tide_eager *e, const tide_eager_tensor *out) {
    uint64_t n = tide_eager_count(&out->shape);
    tide_eager_log(e, TIDE_RUN_GATHER_ROWS, n * (TIDE_EAGER_INT64 + 32U + out->shape.n_bytes), n,
                   "gather");
}

tide_eager_tensor tide_eager_index(tide_eager *e, const tide_eager_tensor *weight,
                                   const tide_eager_tensor *indices, bool has_slice,
                                   tide_eager_label label) {
    if (!is_fine(e, weight) || !is_fine(e, indices)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_tensor rows = tide_eager_retain(weight);
    if (has_slice) {
        rows.is_view = true;
        rows.node = tide_eager_record(e, TIDE_EAGER_SLICE, weight, NULL, weight->name);
    }
    tide_eager_shape shape = indices->shape;
    shape.sizes[shape.n_dims++] = weight->shape.sizes[1];
    shape.n_bytes = weight->shape.n_bytes;
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    log_index(e, &out, weight, indices);
    out.node = tide_eager_record(e, TIDE_EAGER_INDEX, &rows, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, indices);
    }
    tide_eager_drop(e, &rows);
    return out;
}

tide_eager_tensor tide_eager_gather(tide_eager *e, const tide_eager_tensor *a,
                                    const tide_eager_tensor *indices, tide_eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, indices)) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] = 1;
    tide_eager_tensor out = tide_eager_new(e, &shape, label.category, label.name, "");
    log_gather(e, &out);
    out.node = tide_eager_record(e, TIDE_EAGER_GATHER, a, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, indices);
        save(out.node, 1, a);
    }
    return out;
}
