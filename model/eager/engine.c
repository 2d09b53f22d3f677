/* engine.c - autograd's backward walk: it visits nodes in the reverse order of their creation, sums
 * the gradients of one tensor, and keeps those of parameters. */
#include <string.h>

#include "model/eager/internal.h"

/* ---- where gradients arrive ---- */

/* Whether a gradient can be added to this one in place. It cannot if another edge also holds it, or
 * if it is a view, because the change would then be visible elsewhere. */
static bool adds_in_place(const tide_eager_tensor *grad) {
    return !grad->is_view && grad->storage->n_references == 1 && tide_eager_is_dense(grad);
}

static void add_up(tide_eager *e, tide_eager_tensor *sum, tide_eager_tensor *grad) {
    if (sum->storage == NULL) {
        *sum = *grad;
        *grad = (tide_eager_tensor){0};
        return;
    }
    if (!adds_in_place(sum)) {
        tide_eager_tensor added =
            tide_eager_new(e, &sum->shape, TIDE_TEMPORARY, sum->name, ".grad.sum");
        tide_eager_log_elements(e, &added, sum, grad, "add");
        tide_eager_assign(e, sum, added);
    } else {
        tide_eager_log_elements(e, sum, sum, grad, "add");
    }
    tide_eager_drop(e, grad);
}

/* A parameter's gradient: the tensor itself if it has no other owner and the parameter's memory
 * layout, else a copy with that layout. */
static void accumulate(tide_eager *e, size_t i, tide_eager_tensor *grad) {
    tide_eager_tensor *gradient = &e->gradients[i];
    if (gradient->storage != NULL || grad->storage == NULL) {
        tide_eager_drop(e, grad);
        return;
    }
    if (tide_eager_is_contiguous(grad) && grad->storage->n_references == 1) {
        *gradient = *grad;
        *grad = (tide_eager_tensor){0};
        return;
    }
    int32_t layer = e->layer;
    e->layer = -1;
    *gradient =
        tide_eager_new(e, &e->values[i].shape, TIDE_GRADIENT, e->parameters[i].name, ".grad");
    e->layer = layer;
    tide_eager_log_elements(e, gradient, grad, NULL, "copy");
    tide_eager_drop(e, grad);
}

void tide_eager_send(tide_eager *e, tide_eager_node *node, uint8_t output,
                     tide_eager_tensor *grad) {
    if (e->status != TIDE_OK || grad->storage == NULL) {
        tide_eager_drop(e, grad);
    } else if (node->kind == TIDE_EAGER_ACCUMULATE) {
        accumulate(e, node->parameter, grad);
    } else {
        add_up(e, &node->grads[output], grad);
    }
}

/* ---- the required form of a gradient ---- */

/* Sums over the dimensions that the operator had broadcast. */
static void sum_to(tide_eager *e, const tide_eager_edge *edge, tide_eager_tensor *grad) {
    tide_eager_shape shape = edge->shape;
    shape.n_bytes = grad->shape.n_bytes;
    bool is_last = edge->node != NULL && edge->node->kind == TIDE_EAGER_ACCUMULATE;
    int32_t layer = e->layer;
    e->layer = is_last ? -1 : layer;
    tide_eager_tensor sum = is_last
                                ? tide_eager_new(e, &shape, TIDE_GRADIENT,
                                                 e->parameters[edge->node->parameter].name, ".grad")
                                : tide_eager_new(e, &shape, TIDE_TEMPORARY, edge->name, ".grad");
    if (is_last && edge->shape.n_dims == 1) {
        size_t n_columns = edge->shape.sizes[0];
        tide_eager_sum_scratch(e, tide_eager_count(&grad->shape) / n_columns, n_columns,
                               e->parameters[edge->node->parameter].name);
    }
    e->layer = layer;
    tide_eager_log_whole(e, TIDE_RUN_REDUCTION, grad, &sum, 0, "sum");
    tide_eager_assign(e, grad, sum);
}

static void validate(tide_eager *e, const tide_eager_edge *edge, tide_eager_tensor *grad) {
    if (grad->storage == NULL) {
        return;
    }
    if (!tide_eager_same_sizes(&edge->shape, &grad->shape)) {
        sum_to(e, edge, grad);
    }
    if (edge->shape.n_bytes != grad->shape.n_bytes && e->status == TIDE_OK) {
        tide_eager_tensor cast =
            tide_eager_new_like(e, grad, edge->shape.n_bytes, TIDE_TEMPORARY, edge->name,
                                tide_eager_cast_suffix(e, edge->shape.n_bytes, true));
        tide_eager_log_elements(e, &cast, grad, NULL, "cast");
        tide_eager_assign(e, grad, cast);
    }
}

/* ---- the walk ---- */

static bool has_gradient(const tide_eager_node *node) {
    return node->grads[0].storage != NULL || node->grads[1].storage != NULL;
}

static void release_saved(tide_eager *e, tide_eager_node *node) {
    for (size_t i = 0; i < TIDE_EAGER_SAVED; i++) {
        tide_eager_drop(e, &node->saved[i]);
    }
}

static void run_node(tide_eager *e, tide_eager_node *node) {
    tide_eager_tensor grads[TIDE_EAGER_INPUTS] = {{0}};
    tide_eager_enter(e, node->layer, node->scope);
    tide_eager_rules[node->kind].backward(e, node, grads);
    for (size_t i = 0; i < node->n_edges; i++) {
        if (node->edges[i].node == NULL) {
            tide_eager_drop(e, &grads[i]);
        } else {
            validate(e, &node->edges[i], &grads[i]);
        }
    }
    for (size_t i = 0; i < TIDE_EAGER_OUTPUTS; i++) {
        tide_eager_drop(e, &node->grads[i]);
    }
    release_saved(e, node);
    for (size_t i = 0; i < node->n_edges; i++) {
        if (node->edges[i].node != NULL) {
            tide_eager_send(e, node->edges[i].node, node->edges[i].output, &grads[i]);
        }
    }
}

/* Returns the node to the free list. */
static void give_node(tide_eager *e, tide_eager_node *node) {
    release_saved(e, node);
    for (size_t i = 0; i < TIDE_EAGER_OUTPUTS; i++) {
        tide_eager_drop(e, &node->grads[i]);
    }
    tide_eager_node **nodes = tide_hostmem_grow(e->mem, e->free_nodes, &e->free_nodes_capacity,
                                                e->n_free_nodes + 1, sizeof(tide_eager_node *));
    if (nodes != NULL) { /* without room the node stays in the arena, unused */
        e->free_nodes = nodes;
        e->free_nodes[e->n_free_nodes++] = node;
    }
}

void tide_eager_run_backward(tide_eager *e, size_t n_kept) {
    while (e->n_tape > n_kept && e->status == TIDE_OK) {
        tide_eager_node *node = e->tape[--e->n_tape];
        if (has_gradient(node)) {
            size_t n_tape = e->n_tape;
            run_node(e, node);
            if (e->n_tape > n_tape) {
                tide_eager_forget(
                    e, n_tape); /* the end of a part that a checkpoint recorded during the walk */
            }
        }
        give_node(e, node);
    }
}

void tide_eager_forget(tide_eager *e, size_t n_kept) {
    while (e->n_tape > n_kept) {
        give_node(e, e->tape[--e->n_tape]);
    }
}
