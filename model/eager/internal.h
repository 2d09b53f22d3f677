/* internal.h - a small autograd without arithmetic: tensors that share storages, nodes that keep
 * them for backward, and the operators that make both.
 *
 * Errors stick: after the first failure, every operator does nothing and returns an undefined
 * tensor, and functions such as tide_eager_forward return the first failure. A returned tensor is
 * owned by the caller, who drops it where Python's reference would end; arguments are borrowed. */
#ifndef TIDE_MODEL_EAGER_INTERNAL_H
#define TIDE_MODEL_EAGER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "programs/wire/launch_list.h"
#include "model/eager/eager.h"
#include "model/layers/parameters.h"
#include "model/precision.h"

enum {
    TIDE_EAGER_DIMS = 5,
    TIDE_EAGER_INPUTS = 3,
    TIDE_EAGER_OUTPUTS = 2,
    TIDE_EAGER_SAVED = 5,
    TIDE_EAGER_NO_DIM = 255
};

/* The size of an element in bytes identifies its type. One of 16 bits has the type that autocast
 * casts to: bf16 in bf16-mixed, fp16 in fp16-mixed. */
enum {
    TIDE_EAGER_BOOL = 1,
    TIDE_EAGER_16BIT = 2,
    TIDE_EAGER_FP32 = 4,
    TIDE_EAGER_INT32 = 4,
    TIDE_EAGER_FP64 = 8,
    TIDE_EAGER_INT64 = 8
};

/* One allocation, which is released with the last tensor that refers to it. */
typedef struct tide_eager_storage tide_eager_storage;
struct tide_eager_storage {
    tide_eager_storage *next,
        *previous;    /* neighbours in the list of live storages; `next` also links the free ones */
    uint64_t address; /* of the cache */
    uint64_t n_bytes; /* requested */
    uint32_t n_references; /* tensors on it */
    bool is_kept;          /* made by forward or loss of this step, except the loss itself */
};

typedef struct tide_eager_shape {
    size_t sizes[TIDE_EAGER_DIMS]; /* elements, outermost first */
    uint8_t n_dims;                /* 0: a scalar */
    uint8_t n_bytes;               /* of an element */
} tide_eager_shape;

typedef struct tide_eager_node tide_eager_node;

typedef struct tide_eager_tensor {
    tide_eager_storage *storage;     /* holds a reference; NULL: undefined */
    tide_eager_node *node;           /* receives its gradient; NULL: needs none */
    const char *name;                /* static; the part after "layers.N." */
    tide_eager_shape shape;          /* of the view */
    size_t strides[TIDE_EAGER_DIMS]; /* in elements */
    uint8_t output;                  /* which of the node's outputs it is */
    bool is_view; /* a view of another tensor, so autograd must not change it in place */
} tide_eager_tensor;

/* The kind of an operator, for backward; a row of tide_eager_rules. */
typedef enum tide_eager_kind {
    TIDE_EAGER_ACCUMULATE = 0, /* the end of the walk: a parameter's gradient */
    TIDE_EAGER_ADD,
    TIDE_EAGER_ADD_SCALAR,
    TIDE_EAGER_SUB,
    TIDE_EAGER_MUL,
    TIDE_EAGER_DIV,
    TIDE_EAGER_DIV_SCALAR,
    TIDE_EAGER_NEG,
    TIDE_EAGER_EXP,
    TIDE_EAGER_LOG,
    TIDE_EAGER_SIGMOID,
    TIDE_EAGER_RSQRT,
    TIDE_EAGER_SQUARE,
    TIDE_EAGER_SUM,
    TIDE_EAGER_MEAN,
    TIDE_EAGER_MAX,
    TIDE_EAGER_WHERE,
    TIDE_EAGER_BMM,
    TIDE_EAGER_CAST,
    TIDE_EAGER_CLONE,
    TIDE_EAGER_VIEW,
    TIDE_EAGER_PERMUTE,
    TIDE_EAGER_UNBIND,
    TIDE_EAGER_CAT,
    TIDE_EAGER_INDEX,
    TIDE_EAGER_SLICE,
    TIDE_EAGER_GATHER,
    TIDE_EAGER_FLASH,
    TIDE_EAGER_CHECKPOINT,
    TIDE_EAGER_N_KINDS
} tide_eager_kind;

/* The destination of a gradient, and its required shape. */
typedef struct tide_eager_edge {
    tide_eager_node *node;  /* NULL: not wanted */
    const char *name;       /* static; of the tensor */
    tide_eager_shape shape; /* of the tensor: gradients are summed and cast to it */
    uint8_t output;         /* index of the tensor among the node's outputs */
} tide_eager_edge;

struct tide_eager_node {
    tide_eager_kind kind;                        /* row of tide_eager_rules */
    uint8_t n_edges;                             /* inputs that may want a gradient */
    tide_eager_edge edges[TIDE_EAGER_INPUTS];    /* in the order of the operator's arguments */
    tide_eager_tensor saved[TIDE_EAGER_SAVED];   /* by PyTorch's names, in their order */
    tide_eager_tensor grads[TIDE_EAGER_OUTPUTS]; /* of its outputs, added up */
    uint8_t permutation[TIDE_EAGER_DIMS]; /* of PERMUTE: the input's dimension; TIDE_EAGER_NO_DIM:
                                             new */
    const char *name;                     /* static; of its output */
    const char *scope;                    /* static; operator's scope */
    int32_t layer;                        /* -1: none */
    size_t parameter;                     /* of ACCUMULATE: row of the table */
};

struct tide_eager {
    tide_eager_config config;                 /* as given */
    const tide_hostmem *mem;                  /* borrowed; the cache's */
    tide_cache *cache;                        /* borrowed; outlives it */
    tide_recorder *recorder;                  /* borrowed; NULL: no scopes */
    tide_status status;                       /* of the first failure */
    tide_error error;                         /* its message */
    tide_arena arena;                         /* memory of nodes and storages, which are reused */
    tide_eager_storage *live;                 /* list, the latest first */
    tide_eager_storage *free_storages;        /* list of storages to reuse */
    tide_eager_node **free_nodes;             /* owned; nodes to reuse */
    size_t n_free_nodes, free_nodes_capacity; /* used and room, in nodes */
    tide_eager_node **tape;                   /* owned; in the order in which they were made */
    size_t n_tape, tape_capacity;             /* used and room, in nodes */
    uint64_t alive_bytes, peak_bytes;         /* requested */
    bool records;                             /* operators make nodes */
    bool autocast;                            /* mixed precision, and within autocast's context */
    bool makes_kept;                          /* new storages belong to forward or loss */
    tide_launch_list *launches;               /* borrowed; NULL: launches are not logged */
    bool in_optimizer;
    bool in_backward; /* on autograd's own thread, which has its own cuBLAS handle */
    tide_scope layer_scope, operator_scope; /* TIDE_NONE: not open */
    int32_t layer;                          /* current; -1: none */
    const char *scope;                      /* static; current operator; NULL: none */
    tide_parameter *parameters;             /* owned; names and shapes */
    size_t n_parameters;                    /* rows of the tables */
    tide_eager_tensor *values;              /* owned, n_parameters, as the four below */
    tide_eager_tensor *casts;               /* autocast's cache */
    tide_eager_tensor *gradients;           /* undefined until backward made them */
    tide_eager_tensor *moments;             /* exp_avg */
    tide_eager_tensor *second_moments;      /* exp_avg_sq */
    tide_eager_tensor rope;                 /* (2, T, D / 2) fp32 */
    tide_eager_tensor tokens, targets;      /* (B, T) int64 */
    tide_eager_tensor workspaces[2];        /* of the program's thread and of autograd's */
    tide_eager_tensor logits, loss;  /* the loop's variables; of a model without a head logits
                                        is the output of ln_final */
    tide_eager_tensor root_gradient; /* of the loss */
    tide_eager_tensor scale,
        growth_tracker;          /* GradScaler's state; undefined before the first loss */
    tide_eager_tensor found_inf; /* GradScaler's, from unscale_ to update; else undefined */
};

/* ---- launches.c: these do nothing if launches are not logged; names are static ---- */

void tide_eager_log(tide_eager *e, tide_run_family family, uint64_t bytes, uint64_t elements,
                    const char *name);
/* A kernel that makes each element of `out` from those of `a` and `b` (NULL: none). */
void tide_eager_log_elements(tide_eager *e, const tide_eager_tensor *out,
                             const tide_eager_tensor *a, const tide_eager_tensor *b,
                             const char *name);
/* A kernel that goes through a, and moves a, b (NULL: none) and further bytes once. */
void tide_eager_log_whole(tide_eager *e, tide_run_family family, const tide_eager_tensor *a,
                          const tide_eager_tensor *b, uint64_t more_bytes, const char *name);
void tide_eager_log_where(tide_eager *e, const tide_eager_tensor *out, const tide_eager_tensor *a,
                          const tide_eager_tensor *condition);
void tide_eager_log_copy(tide_eager *e, const tide_eager_tensor *a);
void tide_eager_log_fill(tide_eager *e, uint64_t n_bytes); /* cudaMemset */

/* A factor of a product: of each batch (n_rows, n_columns), of which either is contiguous. */
typedef struct tide_eager_matrix {
    size_t n_rows, n_columns;
    bool is_transposed; /* the rows are contiguous in memory, and not the columns */
} tide_eager_matrix;
/* Of a tensor (batches, rows, columns), or of that with rows and columns exchanged. */
tide_eager_matrix tide_eager_matrix_of(const tide_eager_tensor *tensor, bool transposes);
void tide_eager_log_product(tide_eager *e, const tide_eager_matrix *a, const tide_eager_matrix *b,
                            size_t n_batches, uint8_t n_bytes);

/* ---- tensor.c ---- */

/* Bytes of the cache with the name "layers.N.NAME" and `suffix`. */
tide_eager_storage *tide_eager_storage_new(tide_eager *e, uint64_t n_bytes, tide_category category,
                                           const char *name, const char *suffix);
/* A new row-major tensor with its own storage. */
tide_eager_tensor tide_eager_new(tide_eager *e, const tide_eager_shape *shape,
                                 tide_category category, const char *name, const char *suffix);
/* The same with the memory layout of `like` if `like` is dense, else row-major. */
tide_eager_tensor tide_eager_new_like(tide_eager *e, const tide_eager_tensor *like, uint8_t n_bytes,
                                      tide_category category, const char *name, const char *suffix);
/* Another reference to the same tensor. */
tide_eager_tensor tide_eager_retain(const tide_eager_tensor *tensor);
/* Ends the reference; the tensor is undefined afterwards. */
void tide_eager_drop(tide_eager *e, tide_eager_tensor *tensor);
/* Replaces `*tensor` by `value` and drops the old tensor after that, as a Python assignment does.
 */
void tide_eager_assign(tide_eager *e, tide_eager_tensor *tensor, tide_eager_tensor value);
size_t tide_eager_count(const tide_eager_shape *shape);
tide_eager_shape tide_eager_shape_of(uint8_t n_bytes, uint8_t n_dims, const size_t *sizes);
bool tide_eager_same_sizes(const tide_eager_shape *a, const tide_eager_shape *b);
/* Whether the strides are those of a row-major array, ignoring dimensions of size 1. */
bool tide_eager_is_contiguous(const tide_eager_tensor *tensor);
/* Whether the tensor covers its memory without gaps or repeats, in any order of dimensions. */
bool tide_eager_is_dense(const tide_eager_tensor *tensor);
/* The strides of `tensor` viewed with other sizes; false if that needs a copy. */
bool tide_eager_view_strides(const tide_eager_tensor *tensor, const tide_eager_shape *shape,
                             size_t *ret_strides);
/* The suffix of a cast tensor's name: ".fp32", ".bf16" or ".fp16"; of a gradient's, ".grad.bf16".
 */
const char *tide_eager_cast_suffix(const tide_eager *e, uint8_t n_bytes, bool is_gradient);
/* Opens the scope of the following operators (NULL: none). It stays open until the next call. */
void tide_eager_enter(tide_eager *e, int32_t layer, const char *scope);

/* ---- ops.c ---- */

/* The name and category of an operator's result: an activation if backward needs it or the caller
 * keeps it, a temporary if forward releases it. */
typedef struct tide_eager_label {
    const char *name;       /* static; the part after "layers.N." */
    tide_category category; /* of its bytes */
} tide_eager_label;

static inline tide_eager_label tide_eager_kept(const char *name) {
    return (tide_eager_label){name, TIDE_ACTIVATION};
}

static inline tide_eager_label tide_eager_passing(const char *name) {
    return (tide_eager_label){name, TIDE_TEMPORARY};
}

tide_eager_tensor tide_eager_unary(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                   tide_eager_label label);
tide_eager_tensor tide_eager_binary(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                    const tide_eager_tensor *b, tide_eager_label label);
/* Over the last dimension, which stays with size 1. */
tide_eager_tensor tide_eager_reduce(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                    tide_eager_label label);
/* The mean of all elements. */
tide_eager_tensor tide_eager_mean_all(tide_eager *e, const tide_eager_tensor *a,
                                      tide_eager_label label);
/* The largest of the last dimension, which stays with size 1; the caller also owns the indices. */
tide_eager_tensor tide_eager_max(tide_eager *e, const tide_eager_tensor *a, tide_eager_label label,
                                 const char *indices_name, tide_eager_tensor *ret_indices);
/* where(condition, a, scalar). */
tide_eager_tensor tide_eager_where(tide_eager *e, const tide_eager_tensor *condition,
                                   const tide_eager_tensor *a, tide_eager_label label);
tide_eager_tensor tide_eager_bmm(tide_eager *e, const tide_eager_tensor *a,
                                 const tide_eager_tensor *b, tide_eager_label label);
tide_eager_tensor tide_eager_cast(tide_eager *e, const tide_eager_tensor *a, uint8_t n_bytes,
                                  const char *name);
/* Casts as autocast does: to 16 bits if it is on; the copy of a parameter comes from autocast's
 * cache. */
tide_eager_tensor tide_eager_autocast(tide_eager *e, const tide_eager_tensor *a, const char *name);
tide_eager_tensor tide_eager_view(tide_eager *e, const tide_eager_tensor *a,
                                  const tide_eager_shape *shape);
/* A view if possible, else a view of a copy. */
tide_eager_tensor tide_eager_reshape(tide_eager *e, const tide_eager_tensor *a,
                                     const tide_eager_shape *shape, tide_eager_label label);
/* Dimension i of the result is permutation[i] of `a`, or a new one of size 1 (TIDE_EAGER_NO_DIM).
 */
tide_eager_tensor tide_eager_permute(tide_eager *e, const tide_eager_tensor *a, uint8_t n_dims,
                                     const uint8_t *permutation);
/* Along the first dimension, of size 2. */
void tide_eager_unbind(tide_eager *e, const tide_eager_tensor *a, tide_eager_tensor ret_parts[2]);
/* Along the last dimension. */
tide_eager_tensor tide_eager_cat(tide_eager *e, const tide_eager_tensor *a,
                                 const tide_eager_tensor *b, tide_eager_label label);
/* Rows of a table: weight[indices, :]. has_slice: the slice is an operator of its own. */
tide_eager_tensor tide_eager_index(tide_eager *e, const tide_eager_tensor *weight,
                                   const tide_eager_tensor *indices, bool has_slice,
                                   tide_eager_label label);
/* One element of each row. */
tide_eager_tensor tide_eager_gather(tide_eager *e, const tide_eager_tensor *a,
                                    const tide_eager_tensor *indices, tide_eager_label label);
/* A node with the operator's inputs, or NULL if no input wants a gradient. */
tide_eager_node *tide_eager_record(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                   const tide_eager_tensor *b, const char *name);
/* A node at which gradients end: it has no edges. */
tide_eager_node *tide_eager_record_input(tide_eager *e, const char *name);
/* The leaf node of parameter `i`. */
tide_eager_node *tide_eager_leaf(tide_eager *e, size_t i);
/* Allocates cuBLAS' workspace of the current thread at the thread's first product. */
void tide_eager_use_workspace(tide_eager *e);

/* ---- einsum.c ---- */

/* torch.einsum of two arrays, letters as there: "bsd", "od" -> "bso". */
tide_eager_tensor tide_eager_einsum(tide_eager *e, const tide_eager_tensor *a,
                                    const char *a_letters, const tide_eager_tensor *b,
                                    const char *b_letters, const char *out_letters,
                                    tide_eager_label label);

/* ---- rules.c ---- */

typedef struct tide_eager_rule {
    /* The gradients of the inputs that an edge wants, from those of the outputs. */
    void (*backward)(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret_grads);
} tide_eager_rule;

extern const tide_eager_rule tide_eager_rules[TIDE_EAGER_N_KINDS];

/* ---- variants.c: the assignment's replacements of its first code ---- */

/* torch.utils.checkpoint (use_reentrant=True) around a block: x -> its output. */
tide_eager_tensor tide_eager_checkpoint(tide_eager *e, int32_t layer, const tide_eager_tensor *x);
void tide_eager_back_checkpoint(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret_grads);
/* scaled_dot_product_attention of (B, H, T, D) arrays. */
tide_eager_tensor tide_eager_flash(tide_eager *e, const tide_eager_tensor *q,
                                   const tide_eager_tensor *k, const tide_eager_tensor *v);
void tide_eager_back_flash(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret_grads);

/* ---- engine.c ---- */

/* Walks back over the nodes recorded since the tape had n_kept nodes, and forgets them. */
void tide_eager_run_backward(tide_eager *e, size_t n_kept);
/* Forgets them without walking. */
void tide_eager_forget(tide_eager *e, size_t n_kept);
/* Adds the gradient of a node's output to the gradients that have arrived. Takes ownership of the
 * gradient. */
void tide_eager_send(tide_eager *e, tide_eager_node *node, uint8_t output, tide_eager_tensor *grad);

/* ---- model.c ---- */

/* x -> block's output; x is borrowed. */
tide_eager_tensor tide_eager_block(tide_eager *e, int32_t layer, const tide_eager_tensor *x);
void tide_eager_model_forward(tide_eager *e);
void tide_eager_model_loss(tide_eager *e);
/* Ends autocast's context and releases its cache. */
void tide_eager_end_autocast(tide_eager *e);

/* ---- reduce.c ---- */

/* The scratch memory on the card of a sum of n_rows rows of n_columns fp32 numbers. */
void tide_eager_sum_scratch(tide_eager *e, size_t n_rows, size_t n_columns, const char *name);

/* ---- scaler.c: GradScaler, in fp16-mixed; otherwise these change nothing ---- */

/* scaler.scale(loss), or the loss itself. */
tide_eager_tensor tide_eager_scaled_loss(tide_eager *e);
/* The part of scaler.step(optimizer) before the optimizer's step. */
void tide_eager_unscale(tide_eager *e);
/* scaler.update() */
void tide_eager_update_scale(tide_eager *e);

/* ---- adamw.c ---- */

void tide_eager_adamw(tide_eager *e);

#endif
