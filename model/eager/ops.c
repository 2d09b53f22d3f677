/* eager_ops.c - operators: what each allocates in forward, and what it has autograd keep. */
#include "model/eager/internal.h"

static bool is_fine(const tide_eager *e, const eager_tensor *a) {
    return e->status == TIDE_OK && a->storage != NULL;
}

/* ---- nodes ---- */

static eager_node *take_node(tide_eager *e) {
    if (e->n_free_nodes > 0) {
        eager_node *node = e->free_nodes[--e->n_free_nodes];
        *node = (eager_node){0};
        return node;
    }
    return tide_arena_alloc(&e->arena, 1, sizeof(eager_node));
}

static eager_node *new_node(tide_eager *e, eager_kind kind, const char *name) {
    eager_node *node = e->status == TIDE_OK ? take_node(e) : NULL;
    eager_node **tape = node == NULL ? NULL
                                     : tide_hostmem_grow(e->mem, e->tape, &e->tape_capacity,
                                                         e->n_tape + 1, sizeof(eager_node *));
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

static eager_edge edge_to(const eager_tensor *tensor) {
    return (eager_edge){.node = tensor->node,
                        .name = tensor->name,
                        .shape = tensor->shape,
                        .output = tensor->output};
}

eager_node *eager_record(tide_eager *e, eager_kind kind, const eager_tensor *a,
                         const eager_tensor *b, const char *name) {
    bool wanted = a->node != NULL || (b != NULL && b->node != NULL);
    if (!e->records || !wanted) {
        return NULL;
    }
    eager_node *node = new_node(e, kind, name);
    if (node == NULL) {
        return NULL;
    }
    node->edges[node->n_edges++] = edge_to(a);
    if (b != NULL) {
        node->edges[node->n_edges++] = edge_to(b);
    }
    return node;
}

eager_node *eager_record_input(tide_eager *e, const char *name) {
    return e->records ? new_node(e, EAGER_CLONE, name) : NULL;
}

eager_node *eager_leaf(tide_eager *e, size_t i) {
    eager_node *node = tide_arena_alloc(&e->arena, 1, sizeof(*node));
    if (node == NULL) {
        e->status = tide_fail(&e->error, TIDE_NO_MEMORY, "the host has no memory left");
        return NULL;
    }
    *node = (eager_node){.kind = EAGER_ACCUMULATE, .layer = -1, .parameter = i};
    return node;
}

static void save(eager_node *node, size_t i, const eager_tensor *tensor) {
    node->saved[i] = eager_retain(tensor);
    node->saved[i].node = NULL;
}

/* The sizes of both, those of 1 stretched; the wider of two floating types. */
static eager_shape broadcast(const eager_shape *a, const eager_shape *b) {
    const eager_shape *longer = a->n_dims >= b->n_dims ? a : b;
    const eager_shape *shorter = longer == a ? b : a;
    eager_shape shape = *longer;
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

eager_tensor eager_unary(tide_eager *e, eager_kind kind, const eager_tensor *a, eager_label label) {
    eager_tensor source = {0};
    if (!is_fine(e, a)) {
        return source;
    }
    /* autocast has exp and log in fp32; the copy lives no longer than the call. */
    bool widens = e->autocast && (kind == EAGER_EXP || kind == EAGER_LOG);
    source = widens ? eager_cast(e, a, EAGER_FP32, a->name) : eager_retain(a);
    eager_tensor out =
        eager_new_like(e, &source, source.shape.n_bytes, label.category, label.name, "");
    eager_node *node = eager_record(e, kind, &source, NULL, label.name);
    if (node != NULL) {
        out.node = node;
        if (kind == EAGER_LOG || kind == EAGER_SQUARE) {
            save(node, 0, &source);
        } else if (kind == EAGER_EXP || kind == EAGER_SIGMOID || kind == EAGER_RSQRT) {
            save(node, 0, &out);
        }
    }
    eager_drop(e, &source);
    return out;
}

eager_tensor eager_binary(tide_eager *e, eager_kind kind, const eager_tensor *a,
                          const eager_tensor *b, eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, b)) {
        return (eager_tensor){0};
    }
    eager_shape shape = broadcast(&a->shape, &b->shape);
    eager_tensor out = eager_same_sizes(&a->shape, &shape)
                           ? eager_new_like(e, a, shape.n_bytes, label.category, label.name, "")
                           : eager_new(e, &shape, label.category, label.name, "");
    eager_node *node = eager_record(e, kind, a, b, label.name);
    if (node != NULL) {
        out.node = node;
        /* "other" comes before "self". */
        if (kind == EAGER_DIV || (kind == EAGER_MUL && a->node != NULL)) {
            save(node, 0, b);
        }
        if ((kind == EAGER_DIV || kind == EAGER_MUL) && b->node != NULL) {
            save(node, 1, a);
        }
    }
    return out;
}

eager_tensor eager_reduce(tide_eager *e, eager_kind kind, const eager_tensor *a,
                          eager_label label) {
    if (!is_fine(e, a)) {
        return (eager_tensor){0};
    }
    eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] = 1;
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    out.node = eager_record(e, kind, a, NULL, label.name);
    return out;
}

eager_tensor eager_mean_all(tide_eager *e, const eager_tensor *a, eager_label label) {
    if (!is_fine(e, a)) {
        return (eager_tensor){0};
    }
    eager_shape shape = eager_shape_of(a->shape.n_bytes, 0, NULL);
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    out.node = eager_record(e, EAGER_MEAN, a, NULL, label.name);
    return out;
}

eager_tensor eager_max(tide_eager *e, const eager_tensor *a, eager_label label,
                       const char *indices_name, eager_tensor *ret_indices) {
    *ret_indices = (eager_tensor){0};
    if (!is_fine(e, a)) {
        return (eager_tensor){0};
    }
    eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] = 1;
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    shape.n_bytes = EAGER_INT64;
    *ret_indices = eager_new(e, &shape, TIDE_ACTIVATION, indices_name, "");
    out.node = eager_record(e, EAGER_MAX, a, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, ret_indices);
    }
    return out;
}

eager_tensor eager_where(tide_eager *e, const eager_tensor *condition, const eager_tensor *a,
                         eager_label label) {
    if (!is_fine(e, condition) || !is_fine(e, a)) {
        return (eager_tensor){0};
    }
    eager_shape scalar_shape = eager_shape_of(a->shape.n_bytes, 0, NULL);
    eager_tensor scalar = eager_new(e, &scalar_shape, TIDE_TEMPORARY, label.name, ".scalar");
    eager_tensor out = eager_new_like(e, a, a->shape.n_bytes, label.category, label.name, "");
    out.node = eager_record(e, EAGER_WHERE, a, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, condition);
    }
    eager_drop(e, &scalar);
    return out;
}

eager_tensor eager_cast(tide_eager *e, const eager_tensor *a, uint8_t n_bytes, const char *name) {
    if (!is_fine(e, a) || a->shape.n_bytes == n_bytes) {
        return eager_retain(a);
    }
    tide_category category = n_bytes == EAGER_BF16 ? TIDE_ACTIVATION : TIDE_TEMPORARY;
    eager_tensor out =
        eager_new_like(e, a, n_bytes, category, name, n_bytes == EAGER_BF16 ? ".bf16" : ".fp32");
    out.node = eager_record(e, EAGER_CAST, a, NULL, name);
    return out;
}

eager_tensor eager_autocast(tide_eager *e, const eager_tensor *a, const char *name) {
    if (!is_fine(e, a) || !e->autocast || a->shape.n_bytes == EAGER_BF16) {
        return eager_retain(a);
    }
    if (a->is_view || a->node == NULL || a->node->kind != EAGER_ACCUMULATE) {
        return eager_cast(e, a, EAGER_BF16, name);
    }
    size_t i = a->node->parameter;
    if (e->casts[i].storage == NULL) {
        int32_t layer = e->layer;
        e->layer = -1; /* the parameter's name is whole */
        eager_tensor copy =
            eager_new_like(e, a, EAGER_BF16, TIDE_WEIGHT_COPY, e->parameters[i].name, ".bf16");
        e->layer = layer;
        copy.name = a->name;
        copy.node = eager_record(e, EAGER_CAST, a, NULL, a->name);
        e->casts[i] = copy;
    }
    return eager_retain(&e->casts[i]);
}

/* ---- views ---- */

eager_tensor eager_view(tide_eager *e, const eager_tensor *a, const eager_shape *shape) {
    if (!is_fine(e, a)) {
        return (eager_tensor){0};
    }
    eager_tensor out = eager_retain(a);
    out.shape = *shape;
    out.shape.n_bytes = a->shape.n_bytes;
    out.is_view = true;
    out.output = 0;
    out.node = eager_record(e, EAGER_VIEW, a, NULL, a->name);
    if (!eager_view_strides(a, shape, out.strides) && e->status == TIDE_OK) {
        e->status =
            tide_fail(&e->error, TIDE_INVALID, "%s cannot be viewed without a copy", a->name);
    }
    return out;
}

eager_tensor eager_reshape(tide_eager *e, const eager_tensor *a, const eager_shape *shape,
                           eager_label label) {
    size_t strides[EAGER_DIMS];
    if (!is_fine(e, a) || eager_view_strides(a, shape, strides)) {
        return eager_view(e, a, shape);
    }
    eager_tensor copy = eager_new(e, &a->shape, label.category, label.name, "");
    copy.node = eager_record(e, EAGER_CLONE, a, NULL, label.name);
    eager_tensor out = eager_view(e, &copy, shape);
    /* The view hides the copy (_unsafe_view): nobody else knows it. */
    out.is_view = false;
    eager_drop(e, &copy);
    return out;
}

eager_tensor eager_permute(tide_eager *e, const eager_tensor *a, uint8_t n_dims,
                           const uint8_t *permutation) {
    if (!is_fine(e, a)) {
        return (eager_tensor){0};
    }
    eager_tensor out = eager_retain(a);
    out.shape.n_dims = n_dims;
    out.is_view = true;
    out.output = 0;
    for (size_t i = 0; i < n_dims; i++) {
        uint8_t from = permutation[i];
        out.shape.sizes[i] = from == EAGER_NO_DIM ? 1 : a->shape.sizes[from];
        out.strides[i] = from == EAGER_NO_DIM ? 1 : a->strides[from];
    }
    out.node = eager_record(e, EAGER_PERMUTE, a, NULL, a->name);
    for (size_t i = 0; out.node != NULL && i < EAGER_DIMS; i++) {
        out.node->permutation[i] = i < n_dims ? permutation[i] : EAGER_NO_DIM;
    }
    return out;
}

void eager_unbind(tide_eager *e, const eager_tensor *a, eager_tensor ret_parts[2]) {
    eager_node *node = is_fine(e, a) ? eager_record(e, EAGER_UNBIND, a, NULL, a->name) : NULL;
    for (uint8_t i = 0; i < 2; i++) {
        ret_parts[i] = eager_retain(a);
        if (a->storage == NULL) {
            continue;
        }
        eager_tensor *part = &ret_parts[i];
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

void eager_use_workspace(tide_eager *e) {
    eager_tensor *workspace = &e->workspaces[e->in_backward ? 1 : 0];
    size_t n_bytes = tide_device_get_info(tide_cache_device(e->cache))->workspace_bytes;
    if (workspace->storage != NULL || n_bytes == 0) {
        return;
    }
    int32_t layer = e->layer;
    bool makes_kept = e->makes_kept;
    e->layer = -1;
    e->makes_kept = false;
    eager_shape shape = eager_shape_of(1, 1, &n_bytes);
    *workspace = eager_new(e, &shape, TIDE_WORKSPACE, "cublas.workspace",
                           e->in_backward ? ".backward" : ".forward");
    e->layer = layer;
    e->makes_kept = makes_kept;
}

eager_tensor eager_bmm(tide_eager *e, const eager_tensor *a, const eager_tensor *b,
                       eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, b)) {
        return (eager_tensor){0};
    }
    eager_shape shape = a->shape;
    shape.sizes[2] = b->shape.sizes[2];
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    eager_use_workspace(e);
    out.node = eager_record(e, EAGER_BMM, a, b, label.name);
    if (out.node != NULL && a->node != NULL) {
        save(out.node, 0, b);
    }
    if (out.node != NULL && b->node != NULL) {
        save(out.node, 1, a);
    }
    return out;
}

eager_tensor eager_cat(tide_eager *e, const eager_tensor *a, const eager_tensor *b,
                       eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, b)) {
        return (eager_tensor){0};
    }
    eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] += b->shape.sizes[shape.n_dims - 1];
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    out.node = eager_record(e, EAGER_CAT, a, b, label.name);
    return out;
}

eager_tensor eager_index(tide_eager *e, const eager_tensor *weight, const eager_tensor *indices,
                         bool has_slice, eager_label label) {
    if (!is_fine(e, weight) || !is_fine(e, indices)) {
        return (eager_tensor){0};
    }
    eager_tensor rows = eager_retain(weight);
    if (has_slice) {
        rows.is_view = true;
        rows.node = eager_record(e, EAGER_SLICE, weight, NULL, weight->name);
    }
    eager_shape shape = indices->shape;
    shape.sizes[shape.n_dims++] = weight->shape.sizes[1];
    shape.n_bytes = weight->shape.n_bytes;
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    out.node = eager_record(e, EAGER_INDEX, &rows, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, indices);
    }
    eager_drop(e, &rows);
    return out;
}

eager_tensor eager_gather(tide_eager *e, const eager_tensor *a, const eager_tensor *indices,
                          eager_label label) {
    if (!is_fine(e, a) || !is_fine(e, indices)) {
        return (eager_tensor){0};
    }
    eager_shape shape = a->shape;
    shape.sizes[shape.n_dims - 1] = 1;
    eager_tensor out = eager_new(e, &shape, label.category, label.name, "");
    out.node = eager_record(e, EAGER_GATHER, a, NULL, label.name);
    if (out.node != NULL) {
        save(out.node, 0, indices);
        save(out.node, 1, a);
    }
    return out;
}
