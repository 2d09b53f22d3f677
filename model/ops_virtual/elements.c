/* Elementwise operators; each is one kernel of ops_cuda/, which is skipped if it has nothing to
 * do. */
#include "model/ops_virtual/launches_internal.h"

/* One kernel over n elements. */
static tide_status elements(const tide_ops *ops, const char *name, uint64_t bytes, size_t n) {
    return n > 0 ? tide_launch_kernel(ops, name, TIDE_RUN_OWN, bytes, n) : TIDE_OK;
}

/* bias.cu: reads bias (C), writes out (R, C). */
tide_status tide_launches_of_bias_forward(const tide_ops *ops, const tide_bias_forward *call) {
    size_t n = call->R * call->C;
    return elements(ops, "tide_bias_forward_kernel",
                    tide_launch_bytes(call->bias, call->C) + tide_launch_bytes(call->out, n), n);
}

/* rope.cu: reads and writes x (B, T, H, D), reads table (2, T, D / 2). */
tide_status tide_launches_of_rope(const tide_ops *ops, const tide_rope *call) {
    size_t n_pairs = call->D / 2;
    size_t n = 2 * n_pairs * call->B * call->T * call->H;
    return elements(ops, "tide_rope_kernel",
                    2 * tide_launch_bytes(call->x, n) + tide_launch_words(2 * call->T * n_pairs),
                    n);
}

/* swiglu.cu: reads gate and up, writes out. */
tide_status tide_launches_of_swiglu_forward(const tide_ops *ops, const tide_swiglu_forward *call) {
    return elements(ops, "tide_swiglu_forward_kernel", 3 * tide_launch_bytes(call->out, call->n),
                    call->n);
}

/* swiglu.cu: reads dout, gate and up, writes dgate and dup. */
tide_status tide_launches_of_swiglu_backward(const tide_ops *ops,
                                             const tide_swiglu_backward *call) {
    return elements(ops, "tide_swiglu_backward_kernel", 5 * tide_launch_bytes(call->dup, call->n),
                    call->n);
}

/* gelu.cu, elements.h: reads x, writes out. */
tide_status tide_launches_of_gelu_forward(const tide_ops *ops, const tide_gelu_forward *call) {
    return elements(ops, "tide_elements_kernel<gelu>",
                    tide_launch_bytes(call->x, call->n) + tide_launch_bytes(call->out, call->n),
                    call->n);
}

/* gelu.cu: reads dout and x, writes dx. */
tide_status tide_launches_of_gelu_backward(const tide_ops *ops, const tide_gelu_backward *call) {
    return elements(ops, "tide_gelu_backward_kernel", 3 * tide_launch_bytes(call->dx, call->n),
                    call->n);
}

/* cast.cu, elements.h: reads x, writes out. */
tide_status tide_launches_of_cast(const tide_ops *ops, const tide_cast *call) {
    return elements(ops, "tide_elements_kernel<cast>",
                    tide_launch_bytes(call->x, call->n) + tide_launch_bytes(call->out, call->n),
                    call->n);
}

/* fill.cu, fill_normal.cu, fill_tokens.cu: write out. */
tide_status tide_launches_of_fill(const tide_ops *ops, const tide_fill *call) {
    return elements(ops, "tide_fill_kernel", tide_launch_bytes(call->out, call->n), call->n);
}

tide_status tide_launches_of_fill_normal(const tide_ops *ops, const tide_fill_normal *call) {
    return elements(ops, "tide_fill_normal_kernel", tide_launch_bytes(call->out, call->n), call->n);
}

tide_status tide_launches_of_fill_tokens(const tide_ops *ops, const tide_fill_tokens *call) {
    return elements(ops, "tide_fill_tokens_kernel", tide_launch_words(call->n), call->n);
}

/* fill_rope.cu: writes table (2, T, D / 2). */
tide_status tide_launches_of_fill_rope(const tide_ops *ops, const tide_fill_rope *call) {
    size_t n = 2 * call->T * (call->D / 2);
    return elements(ops, "tide_fill_rope_kernel", tide_launch_words(n), n);
}
