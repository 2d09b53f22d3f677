/* Products of matrices, which cuBLAS computes: one call each. */
#include "model/ops_virtual/launches_internal.h"

tide_status tide_launches_of_matmul(const tide_ops *ops, const tide_matmul *call) {
    const tide_launch_gemm gemm = {
        .kind = call->kind,
        .m = call->m,
        .n = call->n,
        .k = call->k,
        .count = 1,
        .in = call->a.dtype,
        .out = call->out.dtype,
        .addend_bytes =
            call->addend.data != NULL ? tide_launch_bytes(call->addend, call->m * call->n) : 0};
    return tide_launch_product(ops, &gemm);
}
