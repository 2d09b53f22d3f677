/* Operators that work by rows: embeddings, norms, the loss, and sums over rows. */
#include "model/ops_virtual/launches_internal.h"

static tide_status rows(const tide_ops *ops, const char *name, uint64_t bytes, uint64_t elements) {
    return tide_launch_kernel(ops, name, TIDE_RUN_OWN_ROWS, bytes, elements);
}

/* embedding.cu: reads tokens (R) and as many rows of table, some of which may be the same, and
 * writes out (R, C). */
tide_status tide_launches_of_embedding_forward(const tide_ops *ops,
                                               const tide_embedding_forward *call) {
    size_t n = call->R * call->C;
    return n > 0
               ? tide_launch_kernel(ops, "tide_embedding_forward_kernel", TIDE_RUN_GATHER_ROWS,
                                    tide_launch_words(call->R) + tide_launch_bytes(call->table, n) +
                                        tide_launch_bytes(call->out, n),
                                    n)
               : TIDE_OK;
}

/* embedding.cu: reads tokens (R) and dout (R, C), writes all of dtable (V, C). */
tide_status tide_launches_of_embedding_backward(const tide_ops *ops,
                                                const tide_embedding_backward *call) {
    size_t n = call->V * call->C;
    return n > 0 ? tide_launch_kernel(ops, "tide_embedding_backward_kernel", TIDE_RUN_SCATTER_ROWS,
                                      tide_launch_words(call->R) +
                                          tide_launch_bytes(call->dout, call->R * call->C) +
                                          tide_launch_bytes(call->dtable, n),
                                      n)
                 : TIDE_OK;
}

/* rmsnorm.cu: reads x (R, C) and weight (C), writes out (R, C) and rstd (R). */
tide_status tide_launches_of_rmsnorm_forward(const tide_ops *ops,
                                             const tide_rmsnorm_forward *call) {
    size_t n = call->R * call->C;
    return n > 0 ? rows(ops, "tide_rmsnorm_forward_kernel",
                        tide_launch_bytes(call->x, n) + tide_launch_bytes(call->weight, call->C) +
                            tide_launch_bytes(call->out, n) +
                            (call->rstd != NULL ? tide_launch_words(call->R) : 0),
                        n)
                 : TIDE_OK;
}

/* How many partial sums of dweight rmsnorm.cu makes: partials_of there, whose dout is aligned here
 * as every tensor of the cache is. */
static size_t n_partials(const tide_rmsnorm_backward *call) {
    enum { PAIRS = 2 * 256, SHARED_CHANNELS = 12224 }; /* twice its BACKWARD_BLOCKS, and its own */
    size_t n_groups = tide_ops_rmsnorm_scratch_elements(call->R, 1);
    size_t n_rows = call->C <= SHARED_CHANNELS ? (call->R + PAIRS - 1) / PAIRS * 2
                                               : (call->R + n_groups - 1) / n_groups;
    return (call->R + n_rows - 1) / n_rows;
}

/* rmsnorm.cu. Rows: reads dout, x (R, C), weight (C) and rstd (R), and also dx if it accumulates,
 * writes dx and the partial sums, in dout except for the last one. dweight: reads the partial sums,
 * writes dweight (C). */
tide_status tide_launches_of_rmsnorm_backward(const tide_ops *ops,
                                              const tide_rmsnorm_backward *call) {
    size_t n = call->R * call->C;
    if (n == 0) {
        return TIDE_OK;
    }
    uint64_t partials = tide_launch_words(n_partials(call) * call->C);
    TIDE_TRY(rows(ops, "tide_rmsnorm_backward_rows_kernel",
                  tide_launch_bytes(call->dout, n) + tide_launch_bytes(call->x, n) +
                      tide_launch_words(call->R) + tide_launch_bytes(call->weight, call->C) +
                      (call->accumulate ? 2 : 1) * tide_launch_bytes(call->dx, n) + partials,
                  n));
    return rows(ops, "tide_rmsnorm_backward_dweight_kernel",
                partials + tide_launch_bytes(call->dweight, call->C), call->C);
}

/* layernorm.cu: reads x (R, C), weight and bias (C), writes out (R, C). */
tide_status tide_launches_of_layernorm_forward(const tide_ops *ops,
                                               const tide_layernorm_forward *call) {
    size_t n = call->R * call->C;
    return n > 0 ? rows(ops, "tide_layernorm_forward_kernel",
                        tide_launch_bytes(call->x, n) + tide_launch_bytes(call->out, n) +
                            2 * tide_launch_bytes(call->weight, call->C),
                        n)
                 : TIDE_OK;
}

/* bias.cu: reads dout (R, C), writes dbias (C). */
tide_status tide_launches_of_bias_backward(const tide_ops *ops, const tide_bias_backward *call) {
    size_t n = call->R * call->C;
    return call->C > 0
               ? rows(ops, "tide_bias_backward_kernel",
                      tide_launch_bytes(call->dout, n) + tide_launch_bytes(call->dbias, call->C), n)
               : TIDE_OK;
}

/* cross_entropy.cu. Rows: reads logits (R, V) and targets (R), writes the gradient in place of the
 * logits and row_losses (R). Mean: reads row_losses, writes the loss. */
tide_status tide_launches_of_cross_entropy(const tide_ops *ops, const tide_cross_entropy *call) {
    size_t n = call->R * call->V;
    if (n == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(rows(ops, "tide_cross_entropy_rows_kernel",
                  2 * tide_launch_bytes(call->logits, n) + tide_launch_words(2 * call->R), n));
    return rows(ops, "tide_cross_entropy_mean_kernel", tide_launch_words(call->R + 1), call->R);
}

/* gemv.cu: reads the chosen matrices (m, k) with their bias (m), and x (k); writes out. */
tide_status tide_launches_of_gemv(const tide_ops *ops, const tide_gemv *call) {
    size_t n_rows = call->n_chosen * call->m;
    return n_rows > 0
               ? rows(ops, "tide_gemv_kernel",
                      tide_launch_bytes(call->weight, n_rows * call->k) +
                          tide_launch_bytes(call->x, call->k) +
                          tide_launch_bytes(call->out, n_rows) +
                          (call->bias.data != NULL ? tide_launch_bytes(call->bias, n_rows) : 0) +
                          (call->chosen != NULL ? tide_launch_words(call->n_chosen) : 0),
                      n_rows * call->k)
               : TIDE_OK;
}
