#include "fake_cublas/fake_cublas_internal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulator/device_memory.h"
#include "fake_cudart/fake_cudart.h"
#include "model/bf16.h"
#include "model/fp16.h"

static tide_fake_cublas state;

tide_fake_cublas *tide_fake_cublas_state(void) {
    return &state;
}

void tide_fake_cublas_reset(void) {
    state = (tide_fake_cublas){.math_mode = -1, .compute_type = -1};
}

int tide_fake_cublas_mistake(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(state.mistake, sizeof(state.mistake), format, arguments);
    va_end(arguments);
    state.n_mistakes++;
    return status;
}

/* The answer of cuBLAS to a failure of the runtime. */
static int enter(const char *function) {
    switch (tide_fake_cudart_enter_beside(function)) {
    case cudaSuccess:
        return 0;
    case cudaErrorMemoryAllocation:
        return TIDE_CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
        return TIDE_CUBLAS_STATUS_NOT_INITIALIZED;
    default:
        return TIDE_CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

static int create(struct cublasContext **ret_handle) {
    int status = enter("cublasCreate");
    if (status != 0) {
        return status;
    }
    struct cublasContext *handle = calloc(1, sizeof(*handle));
    if (handle == NULL) {
        return TIDE_CUBLAS_STATUS_ALLOC_FAILED;
    }
    state.n_handles++;
    *ret_handle = handle;
    return 0;
}

static int destroy(struct cublasContext *handle) {
    free(handle);
    state.n_handles--;
    return 0;
}

static int get_version(struct cublasContext *handle, int *ret_version) {
    (void)handle;
    *ret_version = 130100;
    return 0;
}

static int set_stream(struct cublasContext *handle, struct CUstream_st *stream) {
    int status = enter("cublasSetStream");
    handle->stream = stream;
    handle->workspace = NULL;
    return status;
}

static int set_workspace(struct cublasContext *handle, void *workspace, size_t n_bytes) {
    int status = enter("cublasSetWorkspace");
    if (status != 0) {
        return status;
    }
    if ((uintptr_t)workspace % 256 != 0 || !tide_device_memory_holds(workspace, n_bytes)) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE,
                                        "workspace %p of %zu bytes", workspace, n_bytes);
    }
    handle->workspace = workspace;
    state.workspace_bytes = n_bytes;
    return 0;
}

static int set_math_mode(struct cublasContext *handle, int mode) {
    (void)handle;
    state.math_mode = mode;
    return enter("cublasSetMathMode");
}

static const char *get_status_string(int status) {
    switch (status) {
    case TIDE_CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case TIDE_CUBLAS_STATUS_ALLOC_FAILED:
        return "the resource allocation failed";
    case TIDE_CUBLAS_STATUS_INVALID_VALUE:
        return "an invalid value was used";
    case TIDE_CUBLAS_STATUS_EXECUTION_FAILED:
        return "the function failed to launch on the GPU";
    case TIDE_CUBLAS_STATUS_NOT_SUPPORTED:
        return "the functionality is not supported";
    default:
        return "another status";
    }
}

static size_t bytes_of(int type) {
    return type == TIDE_CUBLAS_R_32F ? 4 : 2;
}

int tide_fake_cublas_check(const char *name, const tide_fake_operand *x, int n_batches) {
    if (x->ld < (x->n_rows > 1 ? x->n_rows : 1)) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE, "ld%s = %d for %d rows",
                                        name, x->ld, x->n_rows);
    }
    if (x->n_rows == 0 || x->n_columns == 0) {
        return 0;
    }
    for (long long i = 0; i < n_batches; i++) {
        const char *begin = (const char *)x->data + i * x->stride * (long long)bytes_of(x->type);
        size_t n_elements = (size_t)(x->n_columns - 1) * (size_t)x->ld + (size_t)x->n_rows;
        if (!tide_device_memory_holds(begin, n_elements * bytes_of(x->type))) {
            return tide_fake_cublas_mistake(
                TIDE_CUBLAS_STATUS_EXECUTION_FAILED,
                "%s: %zu elements at %p, of batch %lld, are not device memory", name, n_elements,
                (const void *)begin, i);
        }
    }
    return 0;
}

static bool are_supported(const tide_fake_product *p) {
    if (p->a.type != p->b.type) {
        return false;
    }
    if (p->a.type == TIDE_CUBLAS_R_32F) {
        return p->c.type == TIDE_CUBLAS_R_32F &&
               (p->compute_type == TIDE_CUBLAS_COMPUTE_32F ||
                p->compute_type == TIDE_CUBLAS_COMPUTE_32F_FAST_TF32);
    }
    return (p->a.type == TIDE_CUBLAS_R_16BF || p->a.type == TIDE_CUBLAS_R_16F) &&
           p->compute_type == TIDE_CUBLAS_COMPUTE_32F &&
           (p->c.type == TIDE_CUBLAS_R_32F || p->c.type == p->a.type);
}

static int check_product(const tide_fake_product *p) {
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->n_batches < 0) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_INVALID_VALUE, "(%d, %d, %d) times %d",
                                        p->m, p->n, p->k, p->n_batches);
    }
    if (!are_supported(p)) {
        return tide_fake_cublas_mistake(TIDE_CUBLAS_STATUS_NOT_SUPPORTED,
                                        "types %d, %d, %d computed as %d", p->a.type, p->b.type,
                                        p->c.type, p->compute_type);
    }
    int status = tide_fake_cublas_check("a", &p->a, p->n_batches);
    if (status == 0) {
        status = tide_fake_cublas_check("b", &p->b, p->n_batches);
    }
    return status == 0 ? tide_fake_cublas_check("c", &p->c, p->n_batches) : status;
}

/* Rounds a number to TF32; infinity and NaN stay. */
static float shorten_to_tf32(float x) {
    if (state.tf32 == TIDE_FAKE_TF32_AS_BF16) {
        return tide_bf16_to_fp32(tide_fp32_to_bf16(x));
    }
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((bits & UINT32_C(0x7F800000)) != UINT32_C(0x7F800000)) {
        if (state.tf32 == TIDE_FAKE_TF32_NEAREST) {
            bits += UINT32_C(0xFFF) + ((bits >> 13) & 1U);
        }
        bits &= ~UINT32_C(0x1FFF);
    }
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static float load(const tide_fake_operand *x, long long batch, int row, int column) {
    const long long i = batch * x->stride + (long long)column * x->ld + row;
    return x->type == TIDE_CUBLAS_R_16BF  ? tide_bf16_to_fp32(((const uint16_t *)x->data)[i])
           : x->type == TIDE_CUBLAS_R_16F ? tide_fp16_to_fp32(((const uint16_t *)x->data)[i])
                                          : ((const float *)x->data)[i];
}

/* Element (row, column) of op(X). */
static float load_op(const tide_fake_product *p, const tide_fake_operand *x, long long batch,
                     int row, int column) {
    float number = x->is_transposed ? load(x, batch, column, row) : load(x, batch, row, column);
    return p->compute_type == TIDE_CUBLAS_COMPUTE_32F_FAST_TF32 ? shorten_to_tf32(number) : number;
}

static void multiply(const tide_fake_product *p, void *c, long long batch) {
    for (int j = 0; j < p->n; j++) {
        for (int i = 0; i < p->m; i++) {
            float sum = 0;
            for (int l = 0; l < p->k; l++) {
                sum += load_op(p, &p->a, batch, i, l) * load_op(p, &p->b, batch, l, j);
            }
            sum *= *p->alpha;
            if (*p->beta != 0) {
                sum += *p->beta * load(&p->c, batch, i, j);
            }
            const long long at = batch * p->c.stride + (long long)j * p->c.ld + i;
            if (p->c.type == TIDE_CUBLAS_R_16BF) {
                ((uint16_t *)c)[at] = tide_fp32_to_bf16(sum);
            } else if (p->c.type == TIDE_CUBLAS_R_16F) {
                ((uint16_t *)c)[at] = tide_fp32_to_fp16(sum);
            } else {
                ((float *)c)[at] = sum;
            }
        }
    }
}

static const char *type_name(int type) {
    return type == TIDE_CUBLAS_R_16BF ? "bf16" : type == TIDE_CUBLAS_R_16F ? "fp16" : "fp32";
}

/* "GEMM 128 x 64 x 32, 1 times, TN, tf32 to fp32". */
static void tell(const tide_fake_product *p) {
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    bool is_tf32 = p->compute_type == TIDE_CUBLAS_COMPUTE_32F_FAST_TF32;
    char what[160];
    if (fake->launched != NULL) {
        (void)snprintf(what, sizeof(what), "GEMM %d x %d x %d, %d times, %c%c, %s to %s", p->m,
                       p->n, p->k, p->n_batches, p->a.is_transposed ? 'T' : 'N',
                       p->b.is_transposed ? 'T' : 'N', is_tf32 ? "tf32" : type_name(p->a.type),
                       type_name(p->c.type));
        fake->launched(fake->launched_ctx, what);
    }
}

static int run_now(struct cublasContext *handle, const char *function, const tide_fake_product *p,
                   void *c) {
    tell(p);
    int status = enter(function);
    if (status == 0) {
        status = check_product(p);
    }
    if (status != 0) {
        return status;
    }
    state.n_products++;
    state.n_without_workspace += handle->workspace == NULL;
    state.compute_type = p->compute_type;
    for (long long batch = 0; batch < p->n_batches; batch++) {
        multiply(p, c, batch);
    }
    return 0;
}

/* A product that runs later, with the factors that the host gave in the call. */
typedef struct kept_product {
    struct cublasContext *handle; /* borrowed */
    const char *function;         /* static */
    tide_fake_product of;         /* its factors are those below */
    float alpha, beta;
    void *c; /* the result */
} kept_product;

static int run_kept(void *work) {
    kept_product *kept = work;
    kept->of.alpha = &kept->alpha;
    kept->of.beta = &kept->beta;
    return run_now(kept->handle, kept->function, &kept->of, kept->c);
}

int tide_fake_cublas_run(struct cublasContext *handle, const char *function,
                         const tide_fake_product *p, void *c) {
    kept_product *kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        abort();
    }
    *kept = (kept_product){handle, function, *p, *p->alpha, *p->beta, c};
    if (tide_device_keeps(handle->stream, run_kept, free, kept)) {
        return check_product(p);
    }
    free(kept);
    return run_now(handle, function, p, c);
}

static tide_fake_operand operand_of(const void *data, int type, int ld, long long stride, int op,
                                    int n_rows, int n_columns) {
    const bool is_transposed = op == TIDE_CUBLAS_OP_T;
    return (tide_fake_operand){.data = data,
                               .type = type,
                               .ld = ld,
                               .stride = stride,
                               .is_transposed = is_transposed,
                               .n_rows = is_transposed ? n_columns : n_rows,
                               .n_columns = is_transposed ? n_rows : n_columns};
}

static int gemm_strided_batched_ex(struct cublasContext *handle, int op_a, int op_b, int m, int n,
                                   int k, const void *alpha, const void *a, int type_a, int lda,
                                   long long stride_a, const void *b, int type_b, int ldb,
                                   long long stride_b, const void *beta, void *c, int type_c,
                                   int ldc, long long stride_c, int n_batches, int compute_type,
                                   int algorithm) {
    (void)algorithm;
    const tide_fake_product p = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .n_batches = n_batches,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .a = operand_of(a, type_a, lda, stride_a, op_a, m, k),
                                 .b = operand_of(b, type_b, ldb, stride_b, op_b, k, n),
                                 .c = operand_of(c, type_c, ldc, stride_c, TIDE_CUBLAS_OP_N, m, n),
                                 .compute_type = compute_type};
    return tide_fake_cublas_run(handle, "cublasGemmStridedBatchedEx", &p, c);
}

static int gemm_ex(struct cublasContext *handle, int op_a, int op_b, int m, int n, int k,
                   const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b,
                   int ldb, const void *beta, void *c, int type_c, int ldc, int compute_type,
                   int algorithm) {
    (void)algorithm;
    const tide_fake_product p = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .n_batches = 1,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .a = operand_of(a, type_a, lda, 0, op_a, m, k),
                                 .b = operand_of(b, type_b, ldb, 0, op_b, k, n),
                                 .c = operand_of(c, type_c, ldc, 0, TIDE_CUBLAS_OP_N, m, n),
                                 .compute_type = compute_type};
    return tide_fake_cublas_run(handle, "cublasGemmEx", &p, c);
}

tide_status tide_cublas_load(tide_cublas *ret_table, tide_error *error) {
    (void)error;
    *ret_table = (tide_cublas){
        .create = create,
        .destroy = destroy,
        .get_version = get_version,
        .set_stream = set_stream,
        .set_workspace = set_workspace,
        .set_math_mode = set_math_mode,
        .get_status_string = get_status_string,
        .gemm_ex = gemm_ex,
        .gemm_strided_batched_ex = gemm_strided_batched_ex,
    };
    tide_fake_cublaslt_fill(ret_table);
    return TIDE_OK;
}
