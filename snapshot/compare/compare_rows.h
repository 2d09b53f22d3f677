/* compare_rows.h - the blocks at the peaks of several runs, aligned by meaning: blocks of one
 * category, scope path, name and call stack are one row, with the bytes of each run. Named blocks
 * of one category, scope path and name are one row even if the stacks of the runs differ, if each
 * run has them from only one call stack: other callers do not make another tensor of them.
 *
 * Addresses, event numbers and steps do not count. The numbers of layers are folded: a scope "layer
 * 5" is "layer *", a name "layers.5.attn.q" is "layers.*.attn.q". Call stacks are equal if their
 * functions and file names without folders are, from the innermost frame to the outermost; for
 * blocks without a name, the lines must also be equal, because nothing else distinguishes the
 * tensors of one function. In stacks from another program, only the frames in the user's own code
 * count, if there are any (user_frame.h).
 */
#ifndef TIDE_SNAPSHOT_COMPARE_ROWS_H
#define TIDE_SNAPSHOT_COMPARE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/event.h"
#include "common/status.h"
#include "snapshot/compare/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The part of a model that a block belongs to. */
typedef enum tide_layer_kind {
    TIDE_LAYER_ATTENTION = 0,
    TIDE_LAYER_MLP,
    TIDE_LAYER_NORM,
    TIDE_LAYER_EMBEDDING,
    TIDE_LAYER_LM_HEAD,
    TIDE_LAYER_OTHER, /* known from neither name nor scope */
    TIDE_N_LAYER_KINDS
} tide_layer_kind;

/* "attn", "mlp", "norm", "embedding", "lm_head", "other"; "?" for a number out of range. */
const char *tide_layer_kind_name(int kind);

/* By the first part of the dotted name that has a kind ("layers.0.attn.q": attn), else by the
 * innermost scope of the path that has one ("backward > layer * > ffn": mlp). */
tide_layer_kind tide_layer_kind_of(const char *name, const char *scope_path);

/* How a row of a run compares to the base's. */
typedef enum tide_row_change {
    TIDE_ROW_ABSENT = 0, /* in neither, or one of the two runs was not recorded */
    TIDE_ROW_SAME,       /* as many bytes */
    TIDE_ROW_NEW,        /* the base has no such block */
    TIDE_ROW_GONE,
    TIDE_ROW_GROWN,
    TIDE_ROW_SHRUNK,
    TIDE_N_ROW_CHANGES
} tide_row_change;

/* "new", "gone", "grown", "shrunk", "same"; "" for absent. */
const char *tide_row_change_name(int change);

typedef struct tide_compare_row {
    const char *name;              /* layers folded; "" none */
    const char *scope_path;        /* without steps, layers folded; "" outside every scope */
    const tide_snapshot *snapshot; /* the first run with the row; `stack` is of it */
    uint32_t stack;                /* of that run's largest block of the row; TIDE_NONE */
    uint32_t order;                /* of first appearance among the rows */
    int category;                  /* number in the comparison */
    tide_layer_kind kind;          /* by name and scope_path */
    int64_t *bytes;                /* whole blocks, per run; -1: that run was not recorded */
    int64_t *n_blocks;             /* per run; 0 if bytes is -1 */
    int64_t difference_bytes;      /* largest of any run to the base, without sign */
} tide_compare_row;

/* Bytes of a run by layer kind and category. */
typedef struct tide_compare_kinds {
    const int64_t *bytes[TIDE_N_LAYER_KINDS]; /* of each category of the comparison; all -1: not
                                                 recorded */
} tide_compare_kinds;

/* For each run, the bytes of the rows add up to allocated_bytes of its peak, and so do those of its
 * kinds. */
typedef struct tide_compare_rows {
    tide_arena arena;       /* everything the pointers below point to */
    tide_compare_row *rows; /* by difference_bytes, then by bytes, the largest first */
    size_t n_rows;
    size_t n_runs;                   /* of the comparison */
    const tide_compare_kinds *kinds; /* n_runs */
} tide_compare_rows;

/* `compare` and its snapshots must outlive the rows; the caller destroys them. */
TIDE_NODISCARD tide_status tide_compare_rows_create(const tide_compare *compare,
                                                    tide_compare_rows **ret_rows);
void tide_compare_rows_destroy(tide_compare_rows *rows);

/* The change of run `run` (not 0) against the base. */
tide_row_change tide_compare_row_change(const tide_compare_row *row, size_t run);

#ifdef __cplusplus
}
#endif

#endif
