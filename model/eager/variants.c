/* eager_variants.c - scaled_dot_product_attention in place of the code's own attention, and a
 * checkpoint around each block. No file of such a run was there to compare with: what follows is
 * from the operators' definitions.
 */
#include "model/eager/internal.h"

enum { FLASH_ROWS = 128 }; /* rows of the statistics of backward come in multiples of this */

/* (B, T, H, D) in memory, seen as (B, H, T, D). */
static eager_tensor token_major(tide_eager *e, const eager_shape *heads, uint8_t n_bytes,
                                tide_category category, const char *name, const char *suffix) {
    eager_shape shape = *heads;
    shape.n_bytes = n_bytes;
    if (e->status != TIDE_OK) {
        return (eager_tensor){0};
    }
    eager_tensor out = eager_new(e, &shape, category, name, suffix);
    size_t H = shape.sizes[1];
    size_t D = shape.sizes[3];
    out.strides[0] = shape.sizes[2] * H * D;
    out.strides[1] = D;
    out.strides[2] = H * D;
    out.strides[3] = 1;
    return out;
}

static eager_tensor statistics(tide_eager *e, const eager_shape *heads, size_t rows,
                               tide_category category, const char *name) {
    const size_t sizes[] = {heads->sizes[0], heads->sizes[1], rows};
    eager_shape shape = eager_shape_of(EAGER_FP32, 3, sizes);
    return e->status == TIDE_OK ? eager_new(e, &shape, category, name, "") : (eager_tensor){0};
}

eager_tensor eager_flash(tide_eager *e, const eager_tensor *q, const eager_tensor *k,
                         const eager_tensor *v) {
    eager_tensor inputs[] = {eager_autocast(e, q, "attn.q"), eager_autocast(e, k, "attn.k"),
                             eager_autocast(e, v, "attn.v")};
    const eager_shape *shape = &inputs[0].shape;
    eager_tensor out = token_major(e, shape, shape->n_bytes, TIDE_ACTIVATION, "attn.out", "");
    eager_tensor lse = statistics(e, shape, shape->sizes[2], TIDE_ACTIVATION, "attn.lse");
    out.name = "attn.out";
    eager_node *node = eager_record(e, EAGER_FLASH, &inputs[0], &inputs[1], "attn.out");
    if (node != NULL) {
        out.node = node;
        node->edges[node->n_edges++] = (eager_edge){.node = inputs[2].node,
                                                    .name = inputs[2].name,
                                                    .shape = inputs[2].shape,
                                                    .output = inputs[2].output};
        for (size_t i = 0; i < 3; i++) {
            node->saved[i] = eager_retain(&inputs[i]);
        }
        node->saved[3] = eager_retain(&lse);
        node->saved[4] = eager_retain(&out);
    }
    eager_drop(e, &lse);
    for (size_t i = 0; i < 3; i++) {
        eager_drop(e, &inputs[i]);
    }
    return out;
}

/* Gradients of q, k and v, with row sums and, in bf16, the sum of dq in fp32 on the way. */
void eager_back_flash(tide_eager *e, eager_node *node, eager_tensor *ret) {
    const eager_shape *shape = &node->edges[0].shape;
    uint8_t n_bytes = shape->n_bytes;
    size_t rows = (shape->sizes[2] + FLASH_ROWS - 1) / FLASH_ROWS * FLASH_ROWS;
    for (size_t i = 0; i < 3; i++) {
        ret[i] = token_major(e, shape, n_bytes, TIDE_TEMPORARY, node->edges[i].name, ".grad");
    }
    eager_tensor sums = statistics(e, shape, rows, TIDE_TEMPORARY, "attn.grad.row_sums");
    eager_shape padded = *shape;
    padded.sizes[2] = rows;
    eager_tensor dq = n_bytes == EAGER_BF16 ? token_major(e, &padded, EAGER_FP32, TIDE_TEMPORARY,
                                                          "attn.q", ".grad.fp32")
                                            : (eager_tensor){0};
    eager_drop(e, &dq);
    eager_drop(e, &sums);
}

/* ---- checkpoints ---- */

eager_tensor eager_checkpoint(tide_eager *e, int32_t layer, const eager_tensor *x) {
    e->records = false;
    eager_tensor out = eager_block(e, layer, x);
    e->records = true;
    eager_node *node = eager_record(e, EAGER_CHECKPOINT, x, NULL, "out");
    if (node != NULL) {
        out.node = node;
        node->layer = layer;
        node->scope = "recompute";
        node->saved[0] = eager_retain(x);
    }
    return out;
}

/* Runs the block again, with a graph, and walks back over that. */
void eager_back_checkpoint(tide_eager *e, eager_node *node, eager_tensor *ret) {
    size_t n_kept = e->n_tape;
    eager_node *leaf = eager_record_input(e, "out");
    if (leaf == NULL) {
        return;
    }
    eager_tensor x = eager_retain(&node->saved[0]);
    x.node = leaf;
    x.output = 0;
    e->autocast = e->config.precision == TIDE_PRECISION_BF16_MIXED;
    eager_tensor out = eager_block(e, node->layer, &x);
    eager_end_autocast(e);
    if (out.node != NULL) {
        eager_tensor grad = eager_retain(&node->grads[0]);
        eager_send(e, out.node, out.output, &grad);
    }
    eager_drop(e, &out);
    eager_run_backward(e, n_kept + 1);
    ret[0] = leaf->grads[0];
    leaf->grads[0] = (eager_tensor){0};
    eager_drop(e, &x);
}
