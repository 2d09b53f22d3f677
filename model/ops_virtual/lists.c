/* Operators over all parameters: one launch for up to 64 of them (ops_cuda/tensor_list.h), those of
 * one type after the other. */
#include "model/ops_virtual/launches_internal.h"

enum { LIST_TENSORS = 64 };

/* The parameters that a kernel processes, and its bytes for each. */
typedef struct list {
    const char *name;
    tide_run_family family;
    size_t n_chunk;       /* elements of a block */
    uint64_t extra_bytes; /* that each launch reads or writes besides */
    /* Bytes of the parameter that are read and written; 0: it is not in the list. */
    uint64_t (*bytes_of)(const tide_parameter_arrays *of, int which);
    int which; /* its last argument */
} list;

/* Cuts lists like tide_list_each: when entries or the blocks of a grid are full. */
static tide_status launch_lists(const tide_ops *ops, const list *of,
                                const tide_parameter_arrays *parameters, size_t n_parameters) {
    uint64_t bytes = 0;
    uint64_t elements = 0;
    uint64_t n_blocks = 0;
    size_t n_tensors = 0;
    for (size_t i = 0; i < n_parameters; i++) {
        uint64_t of_parameter = of->bytes_of(&parameters[i], of->which);
        uint64_t n = parameters[i].n_elements;
        uint64_t n_chunks = (n + of->n_chunk - 1) / of->n_chunk;
        if (n == 0 || of_parameter == 0) {
            continue;
        }
        if (n_tensors == LIST_TENSORS || n_blocks + n_chunks > INT32_MAX) {
            TIDE_TRY(
                tide_launch_kernel(ops, of->name, of->family, bytes + of->extra_bytes, elements));
            bytes = elements = n_blocks = n_tensors = 0;
        }
        bytes += of_parameter;
        elements += n;
        n_blocks += n_chunks;
        n_tensors++;
    }
    return n_tensors > 0
               ? tide_launch_kernel(ops, of->name, of->family, bytes + of->extra_bytes, elements)
               : TIDE_OK;
}

/* A gradient of one type, read and written. */
static uint64_t gradient_twice(const tide_parameter_arrays *of, int dtype) {
    return (int)of->gradient.dtype == dtype ? 2 * tide_launch_bytes(of->gradient, of->n_elements)
                                            : 0;
}

/* In this order (clip.cu, unscale.cu). */
static const tide_dtype TYPES[] = {TIDE_FP32, TIDE_FP16, TIDE_BF16};
enum { N_TYPES = sizeof(TYPES) / sizeof(TYPES[0]) };

/* unscale.cu: reads and writes the gradients. found_inf is written only if one is infinite. */
tide_status tide_launches_of_unscale(const tide_ops *ops, const tide_unscale *call) {
    for (size_t i = 0; i < N_TYPES; i++) {
        const list of = {"tide_unscale_kernel", TIDE_RUN_OWN, 1 << 14, 0,
                         gradient_twice,        (int)TYPES[i]};
        TIDE_TRY(launch_lists(ops, &of, call->parameters, call->n_parameters));
    }
    return TIDE_OK;
}

/* clip.cu: reads the norm, reads and writes the gradients. If the norm is not above the limit, the
 * kernels return immediately, but the norm is unknown here: the gradients are assumed to be
 * clipped. */
tide_status tide_launches_of_clip(const tide_ops *ops, const tide_clip *call) {
    for (size_t i = 0; i < N_TYPES; i++) {
        const list of = {"tide_clip_kernel",   TIDE_RUN_OWN,   1 << 14,
                         tide_launch_words(1), gradient_twice, (int)TYPES[i]};
        TIDE_TRY(launch_lists(ops, &of, call->parameters, call->n_parameters));
    }
    return TIDE_OK;
}

/* A gradient, and one partial sum for each of its chunks. */
static uint64_t gradient_and_sums(const tide_parameter_arrays *of, int n_chunk) {
    uint64_t chunk = (uint64_t)n_chunk;
    return tide_launch_bytes(of->gradient, of->n_elements) +
           tide_launch_words((of->n_elements + chunk - 1) / chunk);
}

/* global_norm.cu. Partials: reads the gradients, writes the partial sums. Total: reads them, writes
 * the norm. */
tide_status tide_launches_of_global_norm(const tide_ops *ops, const tide_global_norm *call) {
    const list partials = {"tide_norm_partials_kernel", TIDE_RUN_OWN_ROWS, TIDE_NORM_CHUNK, 0,
                           gradient_and_sums,           TIDE_NORM_CHUNK};
    size_t n_sums = tide_ops_norm_scratch_elements(call->parameters, call->n_parameters);
    TIDE_TRY(launch_lists(ops, &partials, call->parameters, call->n_parameters));
    return tide_launch_kernel(ops, "tide_norm_total_kernel", TIDE_RUN_OWN_ROWS,
                              tide_launch_words(n_sums + 1), n_sums);
}

/* Kinds of parameters by the types of their four arrays, in the order of adamw.cu. */
enum { ALL_FP32 = 0, ALL_BF16, MIXED, N_KINDS };

static int kind_of(const tide_parameter_arrays *of) {
    const tide_dtype types[] = {of->parameter.dtype, of->gradient.dtype, of->exp_avg.dtype,
                                of->exp_avg_sq.dtype};
    bool are_one = types[1] == types[0] && types[2] == types[0] && types[3] == types[0];
    return are_one && types[0] == TIDE_FP32   ? ALL_FP32
           : are_one && types[0] == TIDE_BF16 ? ALL_BF16
                                              : MIXED;
}

/* Reads parameter, gradient and both moments, writes all but the gradient. */
static uint64_t adamw_bytes(const tide_parameter_arrays *of, int kind) {
    size_t n = of->n_elements;
    return kind_of(of) == kind
               ? tide_launch_bytes(of->gradient, n) +
                     2 * (tide_launch_bytes(of->parameter, n) + tide_launch_bytes(of->exp_avg, n) +
                          tide_launch_bytes(of->exp_avg_sq, n))
               : 0;
}

/* adamw.cu; each launch reads found_inf and step_size, if they exist. */
tide_status tide_launches_of_adamw(const tide_ops *ops, const tide_adamw *call) {
    const uint64_t extra_bytes = (call->found_inf != NULL ? tide_launch_words(1) : 0) +
                                 (call->step_size != NULL ? tide_launch_words(1) : 0);
    for (int kind = 0; kind < N_KINDS; kind++) {
        const list of = {"tide_adamw_kernel", TIDE_RUN_OWN, 1 << 13,
                         extra_bytes,         adamw_bytes,  kind};
        TIDE_TRY(launch_lists(ops, &of, call->parameters, call->n_parameters));
    }
    return TIDE_OK;
}
