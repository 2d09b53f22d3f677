#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_ops_cpu_need_floats(const char *operator_name, const tide_array *arrays,
                                     size_t n_arrays, tide_error *error) {
    for (size_t i = 0; i < n_arrays; i++) {
        tide_dtype dtype = arrays[i].dtype;
        if (dtype != TIDE_FP32 && dtype != TIDE_BF16 && dtype != TIDE_FP16) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "%s: array %zu of %zu is %s, and device cpu computes on fp32, "
                             "bf16 and fp16 only: pass it as one of these",
                             operator_name, i + 1, n_arrays, tide_dtype_name(dtype));
        }
    }
    return TIDE_OK;
}

static void close_ops(tide_ops *ops) {
    ops->mem->release(ops->mem->ctx, tide_ops_cpu_of(ops)->scratch);
    ops->mem->release(ops->mem->ctx, ops); /* the first member of what was allocated */
}

static const char *describe(const tide_ops *ops) {
    return tide_ops_cpu_of(ops)->description;
}

#define OPERATOR_ENTRY(x) .x = tide_cpu_##x,
static const tide_ops_table CPU_TABLE = {
    .close = close_ops, .describe = describe, TIDE_OPERATORS(OPERATOR_ENTRY)};
#undef OPERATOR_ENTRY

static tide_status check_precision(tide_precision precision, tide_error *error) {
    switch (precision) {
    case TIDE_PRECISION_FP32:
    case TIDE_PRECISION_BF16_MIXED:
    case TIDE_PRECISION_BF16_TRUE:
    case TIDE_PRECISION_FP16_MIXED:
        return TIDE_OK;
    case TIDE_PRECISION_TF32:
    case TIDE_N_PRECISIONS:
        break;
    }
    return tide_fail(
        error, TIDE_UNSUPPORTED,
        "precision %s needs the tensor cores of a GPU, and device cpu has none: it "
        "computes fp32, bf16-mixed, bf16-true and fp16-mixed; --device virtual answers for "
        "memory",
        tide_precision_name((int)precision));
}

/* Allocates matmul's panels and the sums of a block of a bf16 or fp16 out. Untouched pages use no
 * memory. */
static bool alloc_scratch(tide_ops_cpu *cpu) {
    const tide_hostmem *mem = cpu->ops.mem;
    size_t n_a = (size_t)(TIDE_OPS_CPU_GEMM_M + TIDE_GEMM_MAX_ROWS) * TIDE_GEMM_K;
    size_t n_b = (size_t)(TIDE_OPS_CPU_GEMM_N + TIDE_GEMM_MAX_COLUMNS) * TIDE_GEMM_K;
    size_t n_sums = (size_t)TIDE_OPS_CPU_GEMM_M * (size_t)TIDE_OPS_CPU_GEMM_N;
    size_t line = 64 / sizeof(float); /* panels begin at a cache line */
    cpu->scratch = mem->alloc(mem->ctx, (n_a + n_b + n_sums + line) * sizeof(float));
    if (cpu->scratch == NULL) {
        return false;
    }
    cpu->packed_a = cpu->scratch + (line - (uintptr_t)cpu->scratch / sizeof(float) % line) % line;
    cpu->packed_b = cpu->packed_a + n_a;
    cpu->sums = cpu->packed_b + n_b;
    return true;
}

static int available_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

tide_status tide_ops_cpu_open(const tide_hostmem *mem, tide_device *device,
                              tide_precision precision, tide_ops **ret_ops, tide_error *error) {
    TIDE_TRY(check_precision(precision, error));
    const tide_cpu_kernels *kernels = NULL;
    TIDE_TRY(tide_cpu_kernels_choose(&kernels, error));
    tide_ops_cpu *cpu = tide_hostmem_zeroed(mem, 1, sizeof(*cpu));
    if (cpu == NULL) {
        goto fail_memory;
    }
    cpu->ops = (tide_ops){.table = &CPU_TABLE, .mem = mem, .device = device, .stream = 0};
    cpu->kernels = kernels;
    cpu->gemm = kernels->gemm;
    if (!alloc_scratch(cpu)) {
        goto fail_memory;
    }
    cpu->n_threads = available_threads();
    (void)snprintf(cpu->description, sizeof(cpu->description), "%s kernels, %d thread%s",
                   kernels->name, cpu->n_threads, cpu->n_threads == 1 ? "" : "s");
    *ret_ops = &cpu->ops;
    return TIDE_OK;

fail_memory:
    mem->release(mem->ctx, cpu);
    return tide_fail(error, TIDE_NO_MEMORY,
                     "the host has no memory left for the operators of device cpu");
}
