/* out (m, n) = addend (m, n) + a product, by cuBLASLt: unlike cublasGemmEx it reads one matrix, its
 * C, and writes another, its D, so the addend costs one read in the product's last step instead of
 * a kernel that reads two matrices and writes one.
 *
 * C and D have the type of out, which is that of the residual stream: fp32 with operands of any
 * type (fp32, tf32, bf16-mixed, fp16-mixed), or bf16 with bf16 (bf16-true). The sum of the product
 * stays fp32 until the addend is added, as everywhere (ops.h): cuBLASLt may split a sum over k only
 * in ways that keep its parts in fp32. If it cannot compute a product, the addend is copied into
 * out and cublasGemmEx adds to it: the same sums and roundings, with the bytes of the separate
 * addition.
 *
 * The operands are exchanged as in matmul.c. cuBLASLt assumes an alignment of 256 bytes by default,
 * so the real alignment is passed. */
#include <string.h>

#include "model/ops_cuda/gemm.h"

/* The largest power of two that divides the address, at most 256. */
static uint32_t alignment_of(const void *address) {
    uint32_t alignment = 256;
    while ((uintptr_t)address % alignment != 0) {
        alignment /= 2;
    }
    return alignment;
}

static void destroy_plan(const tide_cublas *cublas, tide_cuda_plan *plan) {
    if (plan->operation != NULL) {
        (void)cublas->lt_operation_destroy(plan->operation); /* no caller could handle a failure */
    }
    struct tide_cublaslt_layout_st *const layouts[] = {plan->a, plan->b, plan->c};
    for (size_t i = 0; i < 3; i++) {
        if (layouts[i] != NULL) {
            (void)cublas->lt_layout_destroy(layouts[i]);
        }
    }
    *plan = (tide_cuda_plan){.has_choice = false};
}

void tide_cuda_plans_fini(tide_ops_cuda *cuda) {
    for (size_t i = 0; i < TIDE_CUDA_PLANS && i < cuda->n_plans; i++) {
        destroy_plan(&cuda->cublas, &cuda->plans[i]);
    }
}

/* The operation and the layouts of plan->key. Returns a cublasStatus_t. */
static int describe_product(const tide_ops_cuda *cuda, tide_cuda_plan *plan) {
    const tide_cublas *cublas = &cuda->cublas;
    const int op_a = plan->key.kind == TIDE_MATMUL_NT ? TIDE_CUBLAS_OP_T : TIDE_CUBLAS_OP_N;
    const int op_b = plan->key.kind == TIDE_MATMUL_TN ? TIDE_CUBLAS_OP_T : TIDE_CUBLAS_OP_N;
    const int in = tide_cuda_gemm_type(plan->key.in);
    const uint64_t m = plan->key.n; /* cuBLAS' m and n */
    const uint64_t n = plan->key.m;
    const uint64_t k = plan->key.k;
    const uint64_t ld_a = op_a == TIDE_CUBLAS_OP_T ? k : m; /* rows of A as stored */
    const uint64_t ld_b = op_b == TIDE_CUBLAS_OP_T ? n : k;
    int result = cublas->lt_operation_create(&plan->operation,
                                             tide_cuda_gemm_compute_type(&cuda->ops, plan->key.in),
                                             TIDE_CUBLAS_R_32F); /* alpha and beta */
    if (result == 0) {
        result = cublas->lt_operation_set(plan->operation, TIDE_CUBLASLT_DESC_TRANSA, &op_a,
                                          sizeof(op_a));
    }
    if (result == 0) {
        result = cublas->lt_operation_set(plan->operation, TIDE_CUBLASLT_DESC_TRANSB, &op_b,
                                          sizeof(op_b));
    }
    if (result == 0) {
        result = cublas->lt_layout_create(&plan->a, in, ld_a, m * k / ld_a, (int64_t)ld_a);
    }
    if (result == 0) {
        result = cublas->lt_layout_create(&plan->b, in, ld_b, n * k / ld_b, (int64_t)ld_b);
    }
    if (result == 0) {
        result = cublas->lt_layout_create(&plan->c, tide_cuda_gemm_type(plan->key.out), m, n,
                                          (int64_t)m);
    }
    return result;
}

static int set_preference(const tide_cublas *cublas, const tide_cuda_plan *plan,
                          struct tide_cublaslt_preference_st *preference) {
    const uint64_t workspace_bytes = plan->key.workspace_bytes;
    /* Like the math mode of the handle (ops_cuda.c): parts of a sum are not rounded to bf16. */
    const uint32_t reductions = TIDE_CUBLASLT_REDUCTION_COMPUTE_TYPE;
    int result = cublas->lt_preference_set(preference, TIDE_CUBLASLT_PREF_WORKSPACE_BYTES,
                                           &workspace_bytes, sizeof(workspace_bytes));
    if (result == 0) {
        result = cublas->lt_preference_set(preference, TIDE_CUBLASLT_PREF_REDUCTION_SCHEMES,
                                           &reductions, sizeof(reductions));
    }
    for (int i = 0; i < 4 && result == 0; i++) {
        result =
            cublas->lt_preference_set(preference, TIDE_CUBLASLT_PREF_ALIGNMENT_A + i,
                                      &plan->key.alignments[i], sizeof(plan->key.alignments[i]));
    }
    return result;
}

/* Lets cuBLASLt choose; an empty choice is not a failure. */
static int choose(const tide_ops_cuda *cuda, tide_cuda_plan *plan) {
    const tide_cublas *cublas = &cuda->cublas;
    struct tide_cublaslt_preference_st *preference = NULL;
    int n_choices = 0;
    int result = cublas->lt_preference_create(&preference);
    if (result != 0) {
        return result;
    }
    result = set_preference(cublas, plan, preference);
    if (result == 0) {
        result = cublas->lt_choose(cuda->handle, plan->operation, plan->a, plan->b, plan->c,
                                   plan->c, preference, 1, &plan->choice, &n_choices);
    }
    (void)cublas->lt_preference_destroy(preference);
    plan->has_choice = result == 0 && n_choices > 0 && plan->choice.status == 0;
    return result == TIDE_CUBLAS_STATUS_NOT_SUPPORTED ? 0 : result;
}

static bool are_same(const tide_cuda_plan_key *x, const tide_cuda_plan_key *y) {
    return x->kind == y->kind && x->m == y->m && x->n == y->n && x->k == y->k && x->in == y->in &&
           x->out == y->out && x->workspace_bytes == y->workspace_bytes &&
           memcmp(x->alignments, y->alignments, sizeof(x->alignments)) == 0;
}

/* The plan of the product, made at its first use. Returns a cublasStatus_t. */
static int find_plan(tide_ops_cuda *cuda, const tide_cuda_plan_key *key,
                     const tide_cuda_plan **ret_plan) {
    for (size_t i = 0; i < TIDE_CUDA_PLANS && i < cuda->n_plans; i++) {
        if (are_same(&cuda->plans[i].key, key)) {
            *ret_plan = &cuda->plans[i];
            return 0;
        }
    }
    tide_cuda_plan *plan = &cuda->plans[cuda->n_plans % TIDE_CUDA_PLANS];
    if (cuda->n_plans >= TIDE_CUDA_PLANS) {
        destroy_plan(&cuda->cublas, plan);
    }
    cuda->n_plans++;
    *plan = (tide_cuda_plan){.key = *key};
    int result = describe_product(cuda, plan);
    if (result == 0) {
        result = choose(cuda, plan);
    }
    if (result != 0) {
        destroy_plan(&cuda->cublas, plan);
        return result;
    }
    *ret_plan = plan;
    return 0;
}

/* Without cuBLASLt. */
static tide_status copy_and_add(tide_ops *ops, const char *name, const tide_cuda_gemm *gemm,
                                const void *addend, tide_error *error) {
    const size_t n_bytes = gemm->m * gemm->n * tide_dtype_bytes(gemm->out.array.dtype);
    const int result = (int)cudaMemcpyAsync(gemm->out.array.data, addend, n_bytes,
                                            cudaMemcpyDeviceToDevice, tide_cuda_stream(ops));
    TIDE_TRY(tide_cuda_launched(ops, name, result, error));
    tide_cuda_gemm onto = *gemm;
    onto.beta = 1;
    return tide_cuda_gemm_run(ops, name, &onto, error);
}

tide_status tide_cuda_gemm_add(tide_ops *ops, const char *name, const tide_cuda_gemm *gemm,
                               const void *addend, tide_error *error) {
    tide_ops_cuda *cuda = (tide_ops_cuda *)(void *)ops;
    const float one = 1;
    TIDE_TRY(tide_cuda_gemm_check(name, gemm, error));
    const void *const a = gemm->b.array.data; /* cuBLAS' A and B: see above */
    const void *const b = gemm->a.array.data;
    void *const out = gemm->out.array.data;
    const tide_cuda_plan *plan = NULL;
    const tide_cuda_plan_key key = {
        .kind = gemm->kind,
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .in = gemm->a.array.dtype,
        .out = gemm->out.array.dtype,
        .alignments = {alignment_of(a), alignment_of(b), alignment_of(addend), alignment_of(out)},
        .workspace_bytes = cuda->workspace_bytes,
    };
    cudaStream_t stream = tide_cuda_stream(ops); /* makes the GPU the current one */
    int result = find_plan(cuda, &key, &plan);
    if (result == 0 && !plan->has_choice) {
        return copy_and_add(ops, name, gemm, addend, error);
    }
    if (result == 0) {
        result = cuda->cublas.lt_matmul(cuda->handle, plan->operation, &one, a, plan->a, b, plan->b,
                                        &one, addend, plan->c, out, plan->c, plan->choice.algorithm,
                                        cuda->workspace, cuda->workspace_bytes, stream);
    }
    return tide_cuda_multiplied(ops, name, result, error);
}
