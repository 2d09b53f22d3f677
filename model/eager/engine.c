/* eager_engine.c - autograd's walk back: nodes in the reverse of the order in which they were made,
 * gradients of one tensor added up, those of parameters kept. */
#include <string.h>

#include "model/eager/internal.h"

/* ---- where gradients arrive ---- */

/* Can a gradient be added to this one in its place? Not where something else knows it: another
 * edge, or the tensor that it is a view of. */
static bool adds_in_place(const eager_tensor *grad) {
    return !grad->is_view && grad->storage->n_references == 1 && eager_is_dense(grad);
}

static void add_up(tide_eager *e, eager_tensor *sum, eager_tensor *grad) {
    if (sum->storage == NULL) {
        *sum = *grad;
        *grad = (eager_tensor){0};
        return;
    }
    if (!adds_in_place(sum)) {
        eager_tensor added = eager_new(e, &sum->shape, TIDE_TEMPORARY, sum->name, ".grad.sum");
        eager_assign(e, sum, added);
    }
    eager_drop(e, grad);
}

/* A parameter's gradient: the tensor itself where nobody else has it and it lies in memory as the
 * parameter does, else a copy that does. */
static void accumulate(tide_eager *e, size_t i, eager_tensor *grad) {
    eager_tensor *gradient = &e->gradients[i];
    if (gradient->storage != NULL || grad->storage == NULL) {
        eager_drop(e, grad);
        return;
    }
    if (eager_is_contiguous(grad) && grad->storage->n_references == 1) {
        *gradient = *grad;
        *grad = (eager_tensor){0};
        return;
    }
    int32_t layer = e->layer;
    e->layer = -1;
    *gradient = eager_new(e, &e->values[i].shape, TIDE_GRADIENT, e->parameters[i].name, ".grad");
    e->layer = layer;
    eager_drop(e, grad);
}

void eager_send(tide_eager *e, eager_node *node, uint8_t output, eager_tensor *grad) {
    if (e->status != TIDE_OK || grad->storage == NULL) {
        eager_drop(e, grad);
    } else if (node->kind == EAGER_ACCUMULATE) {
        accumulate(e, node->parameter, grad);
    } else {
        add_up(e, &node->grads[output], grad);
    }
}

/* ---- what a gradient must look like ---- */

/* Summed over the dimensions that the operator had stretched. */
static void sum_to(tide_eager *e, const eager_edge *edge, eager_tensor *grad) {
    eager_shape shape = edge->shape;
    shape.n_bytes = grad->shape.n_bytes;
    bool is_last = edge->node != NULL && edge->node->kind == EAGER_ACCUMULATE;
    int32_t layer = e->layer;
    e->layer = is_last ? -1 : layer;
    eager_tensor sum = is_last ? eager_new(e, &shape, TIDE_GRADIENT,
                                           e->parameters[edge->node->parameter].name, ".grad")
                               : eager_new(e, &shape, TIDE_TEMPORARY, edge->name, ".grad");
    e->layer = layer;
    eager_assign(e, grad, sum);
}

static void validate(tide_eager *e, const eager_edge *edge, eager_tensor *grad) {
    if (grad->storage == NULL) {
        return;
    }
    if (!eager_same_sizes(&edge->shape, &grad->shape)) {
        sum_to(e, edge, grad);
    }
    if (edge->shape.n_bytes != grad->shape.n_bytes && e->status == TIDE_OK) {
        eager_assign(
            e, grad,
            eager_new_like(e, grad, edge->shape.n_bytes, TIDE_TEMPORARY, edge->name,
                           edge->shape.n_bytes == EAGER_BF16 ? ".grad.bf16" : ".grad.fp32"));
    }
}

/* ---- the walk ---- */

static bool has_gradient(const eager_node *node) {
    return node->grads[0].storage != NULL || node->grads[1].storage != NULL;
}

static void release_saved(tide_eager *e, eager_node *node) {
    for (size_t i = 0; i < EAGER_SAVED; i++) {
        eager_drop(e, &node->saved[i]);
    }
}

static void run_node(tide_eager *e, eager_node *node) {
    eager_tensor grads[EAGER_INPUTS] = {{0}};
    eager_enter(e, node->layer, node->scope);
    EAGER_RULES[node->kind].backward(e, node, grads);
    for (size_t i = 0; i < node->n_edges; i++) {
        if (node->edges[i].node == NULL) {
            eager_drop(e, &grads[i]);
        } else {
            validate(e, &node->edges[i], &grads[i]);
        }
    }
    for (size_t i = 0; i < EAGER_OUTPUTS; i++) {
        eager_drop(e, &node->grads[i]);
    }
    release_saved(e, node);
    for (size_t i = 0; i < node->n_edges; i++) {
        if (node->edges[i].node != NULL) {
            eager_send(e, node->edges[i].node, node->edges[i].output, &grads[i]);
        }
    }
}

/* The node may be used for another operator. */
static void give_node(tide_eager *e, eager_node *node) {
    release_saved(e, node);
    for (size_t i = 0; i < EAGER_OUTPUTS; i++) {
        eager_drop(e, &node->grads[i]);
    }
    eager_node **nodes = tide_hostmem_grow(e->mem, e->free_nodes, &e->free_nodes_capacity,
                                           e->n_free_nodes + 1, sizeof(eager_node *));
    if (nodes != NULL) { /* without it the node stays in the arena, unused */
        e->free_nodes = nodes;
        e->free_nodes[e->n_free_nodes++] = node;
    }
}

void eager_run_backward(tide_eager *e, size_t n_kept) {
    while (e->n_tape > n_kept && e->status == TIDE_OK) {
        eager_node *node = e->tape[--e->n_tape];
        if (has_gradient(node)) {
            size_t n_tape = e->n_tape;
            run_node(e, node);
            if (e->n_tape > n_tape) {
                eager_forget(e, n_tape); /* of a part that was recorded on the way */
            }
        }
        give_node(e, node);
    }
}

void eager_forget(tide_eager *e, size_t n_kept) {
    while (e->n_tape > n_kept) {
        give_node(e, e->tape[--e->n_tape]);
    }
}
