/* out (m, n) = a (m, k) b (n, k)^T, or a (m, k) b (k, n), or a (k, m)^T b (k, n); with accumulate
 * out += , with an addend out = addend + (matmul_addend.c).
 *
 * cuBLAS is column-major: a row-major (r, c) array is a column-major (c, r) array. So we request
 * out^T = op(b)^T op(a)^T, with the operands and m and n swapped, and no element has to move.
 */
#include <limits.h>

#include "model/ops_cuda/gemm.h"

static tide_status check_types(const char *name, const tide_cuda_gemm *gemm, tide_error *error) {
    const tide_dtype in = gemm->a.array.dtype;
    const tide_dtype out = gemm->out.array.dtype;
    if (in == TIDE_INT32 || out == TIDE_INT32 || gemm->b.array.dtype != in) {
        return tide_fail(
            error, TIDE_UNSUPPORTED,
            "%s: device cuda multiplies two fp32, two bf16 or two fp16 arrays: pass both "
            "as one of these",
            name);
    }
    if (in != TIDE_FP32 && out != TIDE_FP32 && in != out) {
        return tide_fail(
            error, TIDE_UNSUPPORTED,
            "%s: device cuda gives a product of two %s arrays as %s or fp32, not as %s", name,
            tide_dtype_name(in), tide_dtype_name(in), tide_dtype_name(out));
    }
    if (in == TIDE_FP32 && out != TIDE_FP32) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s: device cuda gives fp32 products as fp32: cast them afterwards", name);
    }
    return TIDE_OK;
}

static tide_status check_sizes(const char *name, const tide_cuda_gemm *gemm, tide_error *error) {
    const size_t sizes[] = {gemm->m,      gemm->n,    gemm->k,   gemm->n_batches,
                            gemm->out.ld, gemm->a.ld, gemm->b.ld};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] == 0 || sizes[i] > INT_MAX) {
            return tide_fail(error, TIDE_LIMIT,
                             "%s: (%zu, %zu, %zu), %zu times, with rows of %zu, %zu and %zu "
                             "elements, is not in 1 .. 2^31 - 1",
                             name, gemm->m, gemm->n, gemm->k, gemm->n_batches, gemm->out.ld,
                             gemm->a.ld, gemm->b.ld);
        }
    }
    return TIDE_OK;
}

tide_status tide_cuda_gemm_check(const char *name, const tide_cuda_gemm *gemm, tide_error *error) {
    TIDE_TRY(check_types(name, gemm, error));
    return check_sizes(name, gemm, error);
}

int tide_cuda_gemm_type(tide_dtype dtype) {
    return dtype == TIDE_BF16   ? TIDE_CUBLAS_R_16BF
           : dtype == TIDE_FP16 ? TIDE_CUBLAS_R_16F
                                : TIDE_CUBLAS_R_32F;
}

int tide_cuda_gemm_compute_type(const tide_ops *ops, tide_dtype in) {
    return in == TIDE_FP32 ? tide_ops_cuda_of(ops)->fp32_compute_type : TIDE_CUBLAS_COMPUTE_32F;
}

tide_status tide_cuda_gemm_run(tide_ops *ops, const char *name, const tide_cuda_gemm *gemm,
                               tide_error *error) {
    const tide_ops_cuda *cuda = tide_ops_cuda_of(ops);
    TIDE_TRY(tide_cuda_gemm_check(name, gemm, error));
    const tide_cuda_matrix *a = &gemm->b; /* cuBLAS' A and B: see above */
    const tide_cuda_matrix *b = &gemm->a;
    const tide_cuda_matrix *c = &gemm->out;
    const int op_a = gemm->kind == TIDE_MATMUL_NT ? TIDE_CUBLAS_OP_T : TIDE_CUBLAS_OP_N;
    const int op_b = gemm->kind == TIDE_MATMUL_TN ? TIDE_CUBLAS_OP_T : TIDE_CUBLAS_OP_N;
    const int in = tide_cuda_gemm_type(a->array.dtype);
    const int out = tide_cuda_gemm_type(c->array.dtype);
    const int compute_type = tide_cuda_gemm_compute_type(ops, a->array.dtype);
    int result = 0;
    tide_cuda_make_current(ops); /* cuBLAS launches on it */
    if (gemm->n_batches == 1) {
        result = cuda->cublas.gemm_ex(cuda->handle, op_a, op_b, (int)gemm->n, (int)gemm->m,
                                      (int)gemm->k, &gemm->alpha, a->array.data, in, (int)a->ld,
                                      b->array.data, in, (int)b->ld, &gemm->beta, c->array.data,
                                      out, (int)c->ld, compute_type, TIDE_CUBLAS_GEMM_DEFAULT);
    } else {
        result = cuda->cublas.gemm_strided_batched_ex(
            cuda->handle, op_a, op_b, (int)gemm->n, (int)gemm->m, (int)gemm->k, &gemm->alpha,
            a->array.data, in, (int)a->ld, (long long)a->stride, b->array.data, in, (int)b->ld,
            (long long)b->stride, &gemm->beta, c->array.data, out, (int)c->ld, (long long)c->stride,
            (int)gemm->n_batches, compute_type, TIDE_CUBLAS_GEMM_DEFAULT);
    }
    return tide_cuda_multiplied(ops, name, result, error);
}

tide_status tide_cuda_matmul(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    const tide_cuda_gemm gemm = {
        .kind = call->kind,
        .m = call->m,
        .n = call->n,
        .k = call->k,
        .n_batches = 1,
        .alpha = 1,
        .beta = call->accumulate ? 1 : 0,
        .out = {.array = call->out, .ld = call->n},
        .a = {.array = call->a, .ld = call->kind == TIDE_MATMUL_TN ? call->m : call->k},
        .b = {.array = call->b, .ld = call->kind == TIDE_MATMUL_NT ? call->k : call->n},
    };
    TIDE_TRY(tide_ops_check_addend(call, error));
    return call->addend.data == NULL
               ? tide_cuda_gemm_run(ops, "matmul", &gemm, error)
               : tide_cuda_gemm_add(ops, "matmul", &gemm, call->addend.data, error);
}
