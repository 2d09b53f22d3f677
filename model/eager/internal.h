/* internal.h - a small autograd without arithmetic: tensors that share storages, nodes that
 * keep them for backward, and the operators that make both.
 *
 * Errors stick: after the first failure every operator does nothing and returns an undefined
 * tensor, and tide_eager_forward and its like return what was first. A tensor that a function
 * returns is owned by the caller, who drops it where Python's reference would end; arguments are
 * borrowed.
 */
#ifndef TIDE_MODEL_EAGER_INTERNAL_H
#define TIDE_MODEL_EAGER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "model/eager/eager.h"
#include "model/parameters.h"

enum {
    TIDE_EAGER_DIMS = 5,
    TIDE_EAGER_INPUTS = 3,
    TIDE_EAGER_OUTPUTS = 2,
    TIDE_EAGER_SAVED = 5,
    TIDE_EAGER_NO_DIM = 255
};

/* An element's type is told by its bytes. */
enum { TIDE_EAGER_BOOL = 1, TIDE_EAGER_BF16 = 2, TIDE_EAGER_FP32 = 4, TIDE_EAGER_INT64 = 8 };

/* One allocation; the address lives as long as somebody refers to it. */
typedef struct tide_eager_storage tide_eager_storage;
struct tide_eager_storage {
    tide_eager_storage *next,
        *previous;         /* in the list of live ones; `next` in the list of free ones */
    uint64_t address;      /* of the cache */
    uint64_t n_bytes;      /* requested */
    uint32_t n_references; /* tensors on it */
    bool is_kept;          /* made by forward or loss of this step, the loss aside */
};

typedef struct tide_eager_shape {
    size_t sizes[TIDE_EAGER_DIMS]; /* elements, outermost first */
    uint8_t n_dims;                /* 0: a scalar */
    uint8_t n_bytes;               /* of an element */
} tide_eager_shape;

typedef struct tide_eager_node tide_eager_node;

typedef struct tide_eager_tensor {
    tide_eager_storage *storage;     /* holds a reference; NULL: undefined */
    tide_eager_node *node;           /* that its gradient goes to; NULL: needs none */
    const char *name;                /* static; what follows "layers.N." */
    tide_eager_shape shape;          /* of a view, as it is seen */
    size_t strides[TIDE_EAGER_DIMS]; /* in elements */
    uint8_t output;                  /* which of the node's outputs it is */
    bool is_view;                    /* made from another tensor, which autograd then knows by it */
} tide_eager_tensor;

/* What an operator was, for backward; rows of TIDE_EAGER_RULES. */
typedef enum tide_eager_kind {
    TIDE_EAGER_ACCUMULATE = 0, /* the end of the way: a parameter's gradient */
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

/* Where a gradient goes, and what it must look like there. */
typedef struct tide_eager_edge {
    tide_eager_node *node;  /* NULL: nobody wants it */
    const char *name;       /* static; of the tensor */
    tide_eager_shape shape; /* of the tensor: gradients are summed and cast to it */
    uint8_t output;         /* which of the node's outputs the tensor was */
} tide_eager_edge;

struct tide_eager_node {
    tide_eager_kind kind;                     /* row of TIDE_EAGER_RULES */
    uint8_t n_edges;                          /* inputs that may want a gradient */
    tide_eager_edge edges[TIDE_EAGER_INPUTS]; /* in the order of the operator's arguments */
    tide_eager_tensor
        saved[TIDE_EAGER_SAVED]; /* by the names that PyTorch gives them, in their order */
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
    tide_error error;                         /* the same for people */
    tide_arena arena;                         /* nodes and storages, which are used again */
    tide_eager_storage *live;                 /* list, the latest first */
    tide_eager_storage *free_storages;        /* list of those to use again */
    tide_eager_node **free_nodes;             /* owned; nodes to use again */
    size_t n_free_nodes, free_nodes_capacity; /* used and room, in nodes */
    tide_eager_node **tape;                   /* owned; in the order in which they were made */
    size_t n_tape, tape_capacity;             /* used and room, in nodes */
    uint64_t alive_bytes, peak_bytes;         /* requested */
    bool records;                             /* operators make nodes */
    bool autocast;                            /* bf16-mixed, and within autocast's context */
    bool makes_kept;                          /* what is made now belongs to forward or loss */
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
    tide_eager_tensor logits, loss;         /* the loop's variables */
    tide_eager_tensor root_gradient;        /* of the loss */
};

/* ---- tensor.c ---- */

/* Bytes of the cache with the name "layers.N.NAME" and `suffix`. */
tide_eager_storage *tide_eager_storage_new(tide_eager *e, uint64_t n_bytes, tide_category category,
                                           const char *name, const char *suffix);
/* A tensor of its own, row-major. */
tide_eager_tensor tide_eager_new(tide_eager *e, const tide_eager_shape *shape,
                                 tide_category category, const char *name, const char *suffix);
/* The same with the order of dimensions that `like` has in memory where that is dense. */
tide_eager_tensor tide_eager_new_like(tide_eager *e, const tide_eager_tensor *like, uint8_t n_bytes,
                                      tide_category category, const char *name, const char *suffix);
/* Another reference to the same tensor. */
tide_eager_tensor tide_eager_retain(const tide_eager_tensor *tensor);
/* Ends the reference; the tensor is undefined afterwards. */
void tide_eager_drop(tide_eager *e, tide_eager_tensor *tensor);
/* Drops `*tensor`, as an assignment does once the new value is there. */
void tide_eager_assign(tide_eager *e, tide_eager_tensor *tensor, tide_eager_tensor value);
size_t tide_eager_count(const tide_eager_shape *shape);
tide_eager_shape tide_eager_shape_of(uint8_t n_bytes, uint8_t n_dims, const size_t *sizes);
bool tide_eager_same_sizes(const tide_eager_shape *a, const tide_eager_shape *b);
/* Strides are those of a row-major array, dimensions of size 1 aside. */
bool tide_eager_is_contiguous(const tide_eager_tensor *tensor);
/* Every element once, in any order of dimensions. */
bool tide_eager_is_dense(const tide_eager_tensor *tensor);
/* The strides of `tensor` seen with other sizes; false where that takes a copy. */
bool tide_eager_view_strides(const tide_eager_tensor *tensor, const tide_eager_shape *shape,
                             size_t *ret_strides);
/* Scope of what follows; NULL: none. Stays open until another one is entered. */
void tide_eager_enter(tide_eager *e, int32_t layer, const char *scope);

/* ---- ops.c ---- */

/* What the result of an operator is called, and what its bytes are for: activation where backward
 * needs it (or the caller gets it), temporary where forward lets it go. */
typedef struct tide_eager_label {
    const char *name;       /* static; what follows "layers.N." */
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
/* The largest of the last dimension, which stays with size 1; the indices are the caller's, too. */
tide_eager_tensor tide_eager_max(tide_eager *e, const tide_eager_tensor *a, tide_eager_label label,
                                 const char *indices_name, tide_eager_tensor *ret_indices);
/* where(condition, a, scalar). */
tide_eager_tensor tide_eager_where(tide_eager *e, const tide_eager_tensor *condition,
                                   const tide_eager_tensor *a, tide_eager_label label);
tide_eager_tensor tide_eager_bmm(tide_eager *e, const tide_eager_tensor *a,
                                 const tide_eager_tensor *b, tide_eager_label label);
tide_eager_tensor tide_eager_cast(tide_eager *e, const tide_eager_tensor *a, uint8_t n_bytes,
                                  const char *name);
/* autocast's: to bf16 where that is on, and a parameter's from its cache. */
tide_eager_tensor tide_eager_autocast(tide_eager *e, const tide_eager_tensor *a, const char *name);
tide_eager_tensor tide_eager_view(tide_eager *e, const tide_eager_tensor *a,
                                  const tide_eager_shape *shape);
/* A view where that is possible, else of a copy. */
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
/* Rows of a table: weight[indices, :], where the slice is an operator of its own or not. */
tide_eager_tensor tide_eager_index(tide_eager *e, const tide_eager_tensor *weight,
                                   const tide_eager_tensor *indices, bool has_slice,
                                   tide_eager_label label);
/* One element of each row. */
tide_eager_tensor tide_eager_gather(tide_eager *e, const tide_eager_tensor *a,
                                    const tide_eager_tensor *indices, tide_eager_label label);
/* A node with the operator's inputs, where one of them wants a gradient; else NULL. */
tide_eager_node *tide_eager_record(tide_eager *e, tide_eager_kind kind, const tide_eager_tensor *a,
                                   const tide_eager_tensor *b, const char *name);
/* A node that gradients end at, with the edges of none. */
tide_eager_node *tide_eager_record_input(tide_eager *e, const char *name);
/* The node that leaves of the graph have: parameter `i`. */
tide_eager_node *tide_eager_leaf(tide_eager *e, size_t i);
/* cuBLAS' workspace on the thread at hand, at its first product there. */
void tide_eager_use_workspace(tide_eager *e);

/* ---- einsum.c ---- */

/* torch.einsum of two arrays, letters as there: "bsd", "od" -> "bso". */
tide_eager_tensor tide_eager_einsum(tide_eager *e, const tide_eager_tensor *a,
                                    const char *a_letters, const tide_eager_tensor *b,
                                    const char *b_letters, const char *out_letters,
                                    tide_eager_label label);

/* ---- rules.c ---- */

typedef struct tide_eager_rule {
    /* The gradients of the inputs, as far as edges want them, from those of the outputs. */
    void (*backward)(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret_grads);
} tide_eager_rule;

extern const tide_eager_rule TIDE_EAGER_RULES[TIDE_EAGER_N_KINDS];

/* ---- variants.c: what the assignment has students put in the place of its own code ---- */

/* torch.utils.checkpoint (use_reentrant=True) around a block: x -> its output. */
tide_eager_tensor tide_eager_checkpoint(tide_eager *e, int32_t layer, const tide_eager_tensor *x);
void tide_eager_back_checkpoint(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret_grads);
/* scaled_dot_product_attention of (B, H, T, D) arrays. */
tide_eager_tensor tide_eager_flash(tide_eager *e, const tide_eager_tensor *q,
                                   const tide_eager_tensor *k, const tide_eager_tensor *v);
void tide_eager_back_flash(tide_eager *e, tide_eager_node *node, tide_eager_tensor *ret_grads);

/* ---- engine.c ---- */

/* Walks back over what was recorded since the tape had n_kept nodes, and forgets it. */
void tide_eager_run_backward(tide_eager *e, size_t n_kept);
/* Forgets it without walking. */
void tide_eager_forget(tide_eager *e, size_t n_kept);
/* The gradient of a node's output: added to what is there. Takes the gradient. */
void tide_eager_send(tide_eager *e, tide_eager_node *node, uint8_t output, tide_eager_tensor *grad);

/* ---- model.c ---- */

/* x -> block's output; x is borrowed. */
tide_eager_tensor tide_eager_block(tide_eager *e, int32_t layer, const tide_eager_tensor *x);
void tide_eager_model_forward(tide_eager *e);
void tide_eager_model_loss(tide_eager *e);
/* Autocast's context ends, and its cache with it. */
void tide_eager_end_autocast(tide_eager *e);

/* ---- adamw.c ---- */

void tide_eager_adamw(tide_eager *e);

#endif
