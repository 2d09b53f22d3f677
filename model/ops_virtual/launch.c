/* The rows of a launch log that all operators write, with the host time of a launch. */
#include "programs/wire/stated_host.h"
#include "model/ops_virtual/launches_internal.h"

enum {
    KERNEL_NS = TIDE_STATED_KERNEL_NS + TIDE_STATED_OWN_NS,
    PRODUCT_NS = TIDE_STATED_PRODUCT_NS + TIDE_STATED_OWN_NS
};

tide_status tide_launch_kernel(const tide_ops *ops, const char *name, tide_run_family family,
                               uint64_t bytes, uint64_t elements) {
    const tide_run_launch row = {.kind = TIDE_RUN_KERNEL,
                                 .family = (uint8_t)family,
                                 .stream = ops->stream,
                                 .bytes = bytes,
                                 .elements = elements};
    return tide_launch_list_add(ops->launches, name, KERNEL_NS, row);
}

static tide_run_type type_of(tide_dtype dtype) {
    return dtype == TIDE_BF16   ? TIDE_RUN_BF16
           : dtype == TIDE_FP16 ? TIDE_RUN_FP16
           : dtype == TIDE_INT8 ? TIDE_RUN_INT8
                                : TIDE_RUN_FP32;
}

tide_status tide_launch_product(const tide_ops *ops, const tide_launch_gemm *gemm) {
    const tide_ops_virtual *own = (const tide_ops_virtual *)(const void *)ops;
    bool is_tf32 = gemm->in == TIDE_FP32 && own->rounds_to_tf32;
    /* cuBLAS is column-major, so ops_cuda/matmul.c swaps the factors, and m and n with them. */
    unsigned flags = (gemm->kind == TIDE_MATMUL_NT ? TIDE_RUN_TRANSPOSED_A : 0U) |
                     (gemm->kind == TIDE_MATMUL_TN ? TIDE_RUN_TRANSPOSED_B : 0U);
    const tide_run_launch row = {.kind = TIDE_RUN_PRODUCT,
                                 .stream = ops->stream,
                                 .bytes = gemm->addend_bytes,
                                 .m = (uint32_t)gemm->n,
                                 .n = (uint32_t)gemm->m,
                                 .k = (uint32_t)gemm->k,
                                 .count = (uint32_t)gemm->count,
                                 .type = (uint8_t)(is_tf32 ? TIDE_RUN_TF32 : type_of(gemm->in)),
                                 .out_type = (uint8_t)type_of(gemm->out),
                                 .flags = (uint8_t)flags};
    return tide_launch_list_add(ops->launches, NULL, PRODUCT_NS, row);
}

tide_status tide_launch_fused(const tide_ops *ops, const tide_launch_attention *attention) {
    unsigned flags = TIDE_RUN_CAUSAL | (attention->is_backward ? TIDE_RUN_BACKWARD : 0U);
    const tide_run_launch row = {.kind = TIDE_RUN_ATTENTION,
                                 .family = TIDE_RUN_OWN,
                                 .stream = ops->stream,
                                 .bytes = attention->bytes,
                                 .elements = attention->n_products,
                                 .m = (uint32_t)attention->T,
                                 .n = (uint32_t)attention->T,
                                 .k = (uint32_t)attention->D,
                                 .count = (uint32_t)(attention->B * attention->H),
                                 .type = (uint8_t)attention->type,
                                 .out_type = (uint8_t)attention->type,
                                 .flags = (uint8_t)flags};
    return tide_launch_list_add(ops->launches, attention->name, KERNEL_NS, row);
}

/* The stated host time of an event is that of a kernel's launch, which is longer. */
tide_status tide_ops_note_event(tide_ops *ops, tide_run_launch_kind kind, tide_stream stream,
                                uint64_t number, tide_error *error) {
    const tide_run_launch row = {.kind = (uint8_t)kind, .stream = stream, .bytes = number};
    return ops->launches == NULL
               ? TIDE_OK
               : tide_launch_list_noted(tide_launch_list_add(ops->launches, NULL, KERNEL_NS, row),
                                        error);
}
