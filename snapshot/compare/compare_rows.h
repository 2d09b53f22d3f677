/* compare_rows.h - what is alive at the peaks of several runs, aligned by meaning: blocks of one
 * category, scope path, name and call stack are one row, with each run's bytes. Where each run has
 * named blocks of one category, scope path and name from one call stack alone, they are one row
 * even if the stacks of the runs differ: other callers do not make another tensor of it.
 *
 * Addresses, event numbers and steps count for nothing. The numbers of layers are folded: a scope
 * "layer 5" is "layer *", a name "layers.5.attn.q" is "layers.*.attn.q". Call stacks are equal when
 * the functions and the files' own names are, from the innermost frame to the outermost; of blocks
 * without a name, when the lines are, too, as nothing else tells the tensors of one function apart.
 * Of stacks that another program recorded only the frames of the user's own count, if there are any
 * (user_frame.h).
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
    TIDE_LAYER_OTHER, /* neither name nor scope tells */
    TIDE_N_LAYER_KINDS
} tide_layer_kind;

/* "attn", "mlp", "norm", "embedding", "lm_head", "other"; "?" for a number out of range. */
const char *tide_layer_kind_name(int kind);

/* By the first part of the dotted name that tells ("layers.0.attn.q": attn), else by the innermost
 * scope of the path that does ("backward > layer * > ffn": mlp). */
tide_layer_kind tide_layer_kind_of(const char *name, const char *scope_path);

/* How a row of a run stands to the base's. */
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
    const tide_snapshot *snapshot; /* that `stack` belongs to: of the first run that has the row */
    uint32_t stack;                /* of that run's largest such block; TIDE_NONE */
    uint32_t order;                /* of rows: as they were first seen */
    int category;                  /* of the comparison's categories */
    tide_layer_kind kind;          /* by name and scope_path */
    int64_t *bytes;                /* whole blocks, per run; -1: that run was not recorded */
    int64_t *n_blocks;             /* per run; 0 where bytes is -1 */
    int64_t difference_bytes;      /* largest to the base of any run, without its sign */
} tide_compare_row;

/* Bytes of a run by layer kind and category. */
typedef struct tide_compare_kinds {
    const int64_t *bytes[TIDE_N_LAYER_KINDS]; /* of each of the comparison's categories; all -1: not
                                                 recorded */
} tide_compare_kinds;

/* Of each run, the rows' bytes add up to allocated_bytes of its peak, and so do those of its kinds.
 */
typedef struct tide_compare_rows {
    tide_arena arena;       /* all that the pointers below point to */
    tide_compare_row *rows; /* by difference_bytes, then by bytes, the largest first */
    size_t n_rows;
    size_t n_runs;                   /* as the comparison has */
    const tide_compare_kinds *kinds; /* n_runs of them */
} tide_compare_rows;

/* `compare` and its snapshots outlive it; the caller destroys it. */
TIDE_NODISCARD tide_status tide_compare_rows_create(const tide_compare *compare,
                                                    tide_compare_rows **ret_rows);
void tide_compare_rows_destroy(tide_compare_rows *rows);

/* Of run `run` (not 0) against the base. */
tide_row_change tide_compare_row_change(const tide_compare_row *row, size_t run);

#ifdef __cplusplus
}
#endif

#endif
