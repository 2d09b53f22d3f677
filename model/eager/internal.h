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

enum { EAGER_DIMS = 5, EAGER_INPUTS = 3, EAGER_OUTPUTS = 2, EAGER_SAVED = 5, EAGER_NO_DIM = 255 };

/* An element's type is told by its bytes. */
enum { EAGER_BOOL = 1, EAGER_BF16 = 2, EAGER_FP32 = 4, EAGER_INT64 = 8 };

/* One allocation; the address lives as long as somebody refers to it. */
typedef struct eager_storage eager_storage;
struct eager_storage {
    eager_storage *next, *previous; /* in the list of live ones; `next` in the list of free ones */
    uint64_t address;               /* of the cache */
    uint64_t n_bytes;               /* requested */
    uint32_t n_references;          /* tensors on it */
    bool is_kept;                   /* made by forward or loss of this step, the loss aside */
};

typedef struct eager_shape {
    size_t sizes[EAGER_DIMS]; /* elements, outermost first */
    uint8_t n_dims;           /* 0: a scalar */
    uint8_t n_bytes;          /* of an element */
} eager_shape;

typedef struct eager_node eager_node;

typedef struct eager_tensor {
    eager_storage *storage;     /* holds a reference; NULL: undefined */
    eager_node *node;           /* that its gradient goes to; NULL: needs none */
    const char *name;           /* static; what follows "layers.N." */
    eager_shape shape;          /* of a view, as it is seen */
    size_t strides[EAGER_DIMS]; /* in elements */
    uint8_t output;             /* which of the node's outputs it is */
    bool is_view;               /* made from another tensor, which autograd then knows by it */
} eager_tensor;

/* What an operator was, for backward; rows of EAGER_RULES. */
typedef enum eager_kind {
    EAGER_ACCUMULATE = 0, /* the end of the way: a parameter's gradient */
    EAGER_ADD,
    EAGER_ADD_SCALAR,
    EAGER_SUB,
    EAGER_MUL,
    EAGER_DIV,
    EAGER_DIV_SCALAR,
    EAGER_NEG,
    EAGER_EXP,
    EAGER_LOG,
    EAGER_SIGMOID,
    EAGER_RSQRT,
    EAGER_SQUARE,
    EAGER_SUM,
    EAGER_MEAN,
    EAGER_MAX,
    EAGER_WHERE,
    EAGER_BMM,
    EAGER_CAST,
    EAGER_CLONE,
    EAGER_VIEW,
    EAGER_PERMUTE,
    EAGER_UNBIND,
    EAGER_CAT,
    EAGER_INDEX,
    EAGER_SLICE,
    EAGER_GATHER,
    EAGER_FLASH,
    EAGER_CHECKPOINT,
    EAGER_N_KINDS
} eager_kind;

/* Where a gradient goes, and what it must look like there. */
typedef struct eager_edge {
    eager_node *node;  /* NULL: nobody wants it */
    const char *name;  /* static; of the tensor */
    eager_shape shape; /* of the tensor: gradients are summed and cast to it */
    uint8_t output;    /* which of the node's outputs the tensor was */
} eager_edge;

struct eager_node {
    eager_kind kind;                   /* row of EAGER_RULES */
    uint8_t n_edges;                   /* inputs that may want a gradient */
    eager_edge edges[EAGER_INPUTS];    /* in the order of the operator's arguments */
    eager_tensor saved[EAGER_SAVED];   /* by the names that PyTorch gives them, in their order */
    eager_tensor grads[EAGER_OUTPUTS]; /* of its outputs, added up */
    uint8_t permutation[EAGER_DIMS];   /* of PERMUTE: the input's dimension; EAGER_NO_DIM: new */
    const char *name;                  /* static; of its output */
    const char *scope;                 /* static; operator's scope */
    int32_t layer;                     /* -1: none */
    size_t parameter;                  /* of ACCUMULATE: row of the table */
};

struct tide_eager {
    tide_eager_config config;                 /* as given */
    const tide_hostmem *mem;                  /* borrowed; the cache's */
    tide_cache *cache;                        /* borrowed; outlives it */
    tide_recorder *recorder;                  /* borrowed; NULL: no scopes */
    tide_status status;                       /* of the first failure */
    tide_error error;                         /* the same for people */
    tide_arena arena;                         /* nodes and storages, which are used again */
    eager_storage *live;                      /* list, the latest first */
    eager_storage *free_storages;             /* list of those to use again */
    eager_node **free_nodes;                  /* owned; nodes to use again */
    size_t n_free_nodes, free_nodes_capacity; /* used and room, in nodes */
    eager_node **tape;                        /* owned; in the order in which they were made */
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
    eager_tensor *values;                   /* owned, n_parameters, as the four below */
    eager_tensor *casts;                    /* autocast's cache */
    eager_tensor *gradients;                /* undefined until backward made them */
    eager_tensor *moments;                  /* exp_avg */
    eager_tensor *second_moments;           /* exp_avg_sq */
    eager_tensor rope;                      /* (2, T, D / 2) fp32 */
    eager_tensor tokens, targets;           /* (B, T) int64 */
    eager_tensor workspaces[2];             /* of the program's thread and of autograd's */
    eager_tensor logits, loss;              /* the loop's variables */
    eager_tensor root_gradient;             /* of the loss */
};

/* ---- eager_tensor.c ---- */

/* Bytes of the cache with the name "layers.N.NAME" and `suffix`. */
eager_storage *eager_storage_new(tide_eager *e, uint64_t n_bytes, tide_category category,
                                 const char *name, const char *suffix);
/* A tensor of its own, row-major. */
eager_tensor eager_new(tide_eager *e, const eager_shape *shape, tide_category category,
                       const char *name, const char *suffix);
/* The same with the order of dimensions that `like` has in memory where that is dense. */
eager_tensor eager_new_like(tide_eager *e, const eager_tensor *like, uint8_t n_bytes,
                            tide_category category, const char *name, const char *suffix);
/* Another reference to the same tensor. */
eager_tensor eager_retain(const eager_tensor *tensor);
/* Ends the reference; the tensor is undefined afterwards. */
void eager_drop(tide_eager *e, eager_tensor *tensor);
/* Drops `*tensor`, as an assignment does once the new value is there. */
void eager_assign(tide_eager *e, eager_tensor *tensor, eager_tensor value);
size_t eager_count(const eager_shape *shape);
eager_shape eager_shape_of(uint8_t n_bytes, uint8_t n_dims, const size_t *sizes);
bool eager_same_sizes(const eager_shape *a, const eager_shape *b);
/* Strides are those of a row-major array, dimensions of size 1 aside. */
bool eager_is_contiguous(const eager_tensor *tensor);
/* Every element once, in any order of dimensions. */
bool eager_is_dense(const eager_tensor *tensor);
/* The strides of `tensor` seen with other sizes; false where that takes a copy. */
bool eager_view_strides(const eager_tensor *tensor, const eager_shape *shape, size_t *ret_strides);
/* Scope of what follows; NULL: none. Stays open until another one is entered. */
void eager_enter(tide_eager *e, int32_t layer, const char *scope);

/* ---- eager_ops.c ---- */

/* What the result of an operator is called, and what its bytes are for: activation where backward
 * needs it (or the caller gets it), temporary where forward lets it go. */
typedef struct eager_label {
    const char *name;       /* static; what follows "layers.N." */
    tide_category category; /* of its bytes */
} eager_label;

static inline eager_label eager_kept(const char *name) {
    return (eager_label){name, TIDE_ACTIVATION};
}

static inline eager_label eager_passing(const char *name) {
    return (eager_label){name, TIDE_TEMPORARY};
}

eager_tensor eager_unary(tide_eager *e, eager_kind kind, const eager_tensor *a, eager_label label);
eager_tensor eager_binary(tide_eager *e, eager_kind kind, const eager_tensor *a,
                          const eager_tensor *b, eager_label label);
/* Over the last dimension, which stays with size 1. */
eager_tensor eager_reduce(tide_eager *e, eager_kind kind, const eager_tensor *a, eager_label label);
/* The mean of all elements. */
eager_tensor eager_mean_all(tide_eager *e, const eager_tensor *a, eager_label label);
/* The largest of the last dimension, which stays with size 1; the indices are the caller's, too. */
eager_tensor eager_max(tide_eager *e, const eager_tensor *a, eager_label label,
                       const char *indices_name, eager_tensor *ret_indices);
/* where(condition, a, scalar). */
eager_tensor eager_where(tide_eager *e, const eager_tensor *condition, const eager_tensor *a,
                         eager_label label);
eager_tensor eager_bmm(tide_eager *e, const eager_tensor *a, const eager_tensor *b,
                       eager_label label);
eager_tensor eager_cast(tide_eager *e, const eager_tensor *a, uint8_t n_bytes, const char *name);
/* autocast's: to bf16 where that is on, and a parameter's from its cache. */
eager_tensor eager_autocast(tide_eager *e, const eager_tensor *a, const char *name);
eager_tensor eager_view(tide_eager *e, const eager_tensor *a, const eager_shape *shape);
/* A view where that is possible, else of a copy. */
eager_tensor eager_reshape(tide_eager *e, const eager_tensor *a, const eager_shape *shape,
                           eager_label label);
/* Dimension i of the result is permutation[i] of `a`, or a new one of size 1 (EAGER_NO_DIM). */
eager_tensor eager_permute(tide_eager *e, const eager_tensor *a, uint8_t n_dims,
                           const uint8_t *permutation);
/* Along the first dimension, of size 2. */
void eager_unbind(tide_eager *e, const eager_tensor *a, eager_tensor ret_parts[2]);
/* Along the last dimension. */
eager_tensor eager_cat(tide_eager *e, const eager_tensor *a, const eager_tensor *b,
                       eager_label label);
/* Rows of a table: weight[indices, :], where the slice is an operator of its own or not. */
eager_tensor eager_index(tide_eager *e, const eager_tensor *weight, const eager_tensor *indices,
                         bool has_slice, eager_label label);
/* One element of each row. */
eager_tensor eager_gather(tide_eager *e, const eager_tensor *a, const eager_tensor *indices,
                          eager_label label);
/* A node with the operator's inputs, where one of them wants a gradient; else NULL. */
eager_node *eager_record(tide_eager *e, eager_kind kind, const eager_tensor *a,
                         const eager_tensor *b, const char *name);
/* A node that gradients end at, with the edges of none. */
eager_node *eager_record_input(tide_eager *e, const char *name);
/* The node that leaves of the graph have: parameter `i`. */
eager_node *eager_leaf(tide_eager *e, size_t i);
/* cuBLAS' workspace on the thread at hand, at its first product there. */
void eager_use_workspace(tide_eager *e);

/* ---- eager_einsum.c ---- */

/* torch.einsum of two arrays, letters as there: "bsd", "od" -> "bso". */
eager_tensor eager_einsum(tide_eager *e, const eager_tensor *a, const char *a_letters,
                          const eager_tensor *b, const char *b_letters, const char *out_letters,
                          eager_label label);

/* ---- eager_rules.c ---- */

typedef struct eager_rule {
    /* The gradients of the inputs, as far as edges want them, from those of the outputs. */
    void (*backward)(tide_eager *e, eager_node *node, eager_tensor *ret_grads);
} eager_rule;

extern const eager_rule EAGER_RULES[EAGER_N_KINDS];

/* ---- eager_variants.c: what the assignment has students put in the place of its own code ---- */

/* torch.utils.checkpoint (use_reentrant=True) around a block: x -> its output. */
eager_tensor eager_checkpoint(tide_eager *e, int32_t layer, const eager_tensor *x);
void eager_back_checkpoint(tide_eager *e, eager_node *node, eager_tensor *ret_grads);
/* scaled_dot_product_attention of (B, H, T, D) arrays. */
eager_tensor eager_flash(tide_eager *e, const eager_tensor *q, const eager_tensor *k,
                         const eager_tensor *v);
void eager_back_flash(tide_eager *e, eager_node *node, eager_tensor *ret_grads);

/* ---- eager_engine.c ---- */

/* Walks back over what was recorded since the tape had n_kept nodes, and forgets it. */
void eager_run_backward(tide_eager *e, size_t n_kept);
/* Forgets it without walking. */
void eager_forget(tide_eager *e, size_t n_kept);
/* The gradient of a node's output: added to what is there. Takes the gradient. */
void eager_send(tide_eager *e, eager_node *node, uint8_t output, eager_tensor *grad);

/* ---- eager_model.c ---- */

/* x -> block's output; x is borrowed. */
eager_tensor eager_block(tide_eager *e, int32_t layer, const eager_tensor *x);
void eager_model_forward(tide_eager *e);
void eager_model_loss(tide_eager *e);
/* Autocast's context ends, and its cache with it. */
void eager_end_autocast(tide_eager *e);

/* ---- eager_adamw.c ---- */

void eager_adamw(tide_eager *e);

#endif
