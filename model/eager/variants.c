/* variants.c - scaled_dot_product_attention instead of the code's own attention, and a checkpoint
 * around each block. No snapshot of such a run was available to compare with: this follows the
 * operators' definitions. */
#include "model/eager/internal.h"

enum { FLASH_ROWS = 128 }; /* backward rounds the rows of its statistics up to a multiple of this */

/* (B, T, H, D) in memory, seen as (B, H, T, D). */
static tide_eager_tensor token_major(tide_eager *e, const tide_eager_shape *heads, uint8_t n_bytes,
                                     tide_category category, const char *name, const char *suffix) {
    tide_eager_shape shape = *heads;
    shape.n_bytes = n_bytes;
    if (e->status != TIDE_OK) {
        return (tide_eager_tensor){0};
    }
    tide_eager_tensor out = tide_eager_new(e, &shape, category, name, suffix);
    size_t H = shape.sizes[1];
    size_t D = shape.sizes[3];
    out.strides[0] = shape.sizes[2] * H * D;
    out.strides[1] = D;
    out.strides[2] = H * D;
    out.strides[3] = 1;
    return out;
}

static tide_eager_tensor statistics(tide_eager *e, const tide_eager_shape *heads, size_t rows,
                                    tide_category category, const char *name) {
    const size_t sizes[] = {heads->sizes[0], heads->sizes[1], rows};
    tide_eager_shape shape = tide_eager_shape_of(TIDE_EAGER_FP32, 3, sizes);
    return e->status == TIDE_OK ? tide_eager_new(e, &shape, category, name, "")
                                : (tide_eager_tensor){0};
}

tide_eager_tensor tide_eager_flash(tide_eager *e, const tide_eager_tensor *q,
                                   const tide_eager_tensor *k, const tide_eager_tensor *v) {
    tide_eager_tensor inputs[] = {tide_eager_autocast(e, q, "attn.q"),
                                  tide_eager_autocast(e, k, "attn.k"),
                                  tide_eager_autocast(e, v, "attn.v")};
    const tide_eager_shape *shape = &inputs[0].shape;
    tide_eager_tensor out = token_major(e, shape, shape->n_bytes, TIDE_ACTIVATION, "attn.out", "");
    tide_eager_tensor lse = statistics(e, shape, shape->sizes[2], TIDE_ACTIVATION, "attn.lse");
    out.name = "attn.out";
    tide_eager_node *node =
        tide_eager_record(e, TIDE_EAGER_FLASH, &inputs[0], &inputs[1], "attn.out");
    if (node != NULL) {
        out.node = node;
        node->edges[node->n_edges++] = (tide_eager_edge){.node = inputs[2].node,
                                                         .name = inputs[2].name,
                                                         .shape = inputs[2].shape,
                                                         .output = inputs[2].output};
        for (size_t i = 0; i < 3; i++) {
            node->saved[i] = tide_eager_retain(&inputs[i]);
        }
        node->saved[3] = tide_eager_retain(&lse);
        node->saved[4] = tide_eager_retain(&out);
    }
    tide_eager_drop(e, &lse);
    for (size_t i = 0; i < 3; i++) {
        tide_eager_drop(e, &inputs[i]);
    }
    return out;
}

/* Gradients of q, k and v. In between it allocates the row sums and, in 16 bits, an fp32 sum of dq.
 */
void tide_eager_back_flash(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    const tide_eager_shape *shape = &node->edges[0].shape;
    uint8_t n_bytes = shape->n_bytes;
    size_t rows = (shape->sizes[2] + FLASH_ROWS - 1) / FLASH_ROWS * FLASH_ROWS;
    for (size_t i = 0; i < 3; i++) {
        ret[i] = token_major(e, shape, n_bytes, TIDE_TEMPORARY, node->edges[i].name, ".grad");
    }
    tide_eager_tensor sums = statistics(e, shape, rows, TIDE_TEMPORARY, "attn.grad.row_sums");
    tide_eager_shape padded = *shape;
    padded.sizes[2] = rows;
    tide_eager_tensor dq =
        n_bytes == TIDE_EAGER_16BIT
            ? token_major(e, &padded, TIDE_EAGER_FP32, TIDE_TEMPORARY, "attn.q", ".grad.fp32")
            : (tide_eager_tensor){0};
    tide_eager_drop(e, &dq);
    tide_eager_drop(e, &sums);
}

/* ---- checkpoints ---- */

tide_eager_tensor tide_eager_checkpoint(tide_eager *e, int32_t layer, const tide_eager_tensor *x) {
    e->records = false;
    tide_eager_tensor out = tide_eager_block(e, layer, x);
    e->records = true;
    tide_eager_node *node = tide_eager_record(e, TIDE_EAGER_CHECKPOINT, x, NULL, "out");
    if (node != NULL) {
        out.node = node;
        node->layer = layer;
        node->scope = "recompute";
        node->saved[0] = tide_eager_retain(x);
    }
    return out;
}

/* Runs the block again, with a graph, and walks back over that graph. */
void tide_eager_back_checkpoint(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret) {
    size_t n_kept = e->n_tape;
    tide_eager_node *leaf = tide_eager_record_input(e, "out");
    if (leaf == NULL) {
        return;
    }
    tide_eager_tensor x = tide_eager_retain(&node->saved[0]);
    x.node = leaf;
    x.output = 0;
    e->autocast = tide_precision_is_mixed(e->config.precision);
    tide_eager_tensor out = tide_eager_block(e, node->layer, &x);
    tide_eager_end_autocast(e);
    if (out.node != NULL) {
        tide_eager_tensor grad = tide_eager_retain(&node->grads[0]);
        tide_eager_send(e, out.node, out.output, &grad);
    }
    tide_eager_drop(e, &out);
    tide_eager_run_backward(e, n_kept + 1);
    ret[0] = leaf->grads[0];
    leaf->grads[0] = (tide_eager_tensor){0};
    tide_eager_drop(e, &x);
}
