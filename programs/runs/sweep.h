/* sweep.h - a grid of runs and their known rows.
 *
 * The header is a JSON object that describes the whole grid: format, version, shard, shards, grid
 * and the names of its cells (docs/guide/sweep.md). A file of a single cell has only the number of
 * cells, because thousands of such files would repeat all names. A row belongs to one cell by its
 * number and its name.
 */
#ifndef TIDE_PROGRAMS_RUNS_SWEEP_H
#define TIDE_PROGRAMS_RUNS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "common/status.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_SWEEP_MAX_CELLS = 10000, TIDE_SWEEP_VERSION = 1 };

#define TIDE_SWEEP_FORMAT "tidemark-sweep" /* the header's format */

/* The known result of one cell of the grid. */
typedef struct tide_sweep_row {
    size_t cell;                                                /* its place in the grid, from 0 */
    char name[TIDE_RUN_NAME_BYTES];                             /* small-train-c128-b4-fp32 */
    char size[32];                                              /* preset, or "custom" */
    char mode[32], precision[32], attention[32], recompute[32]; /* as on the command line; an MLP
                                                                   has "" for the last two */
    int64_t context_length, batch_size;                         /* context of an MLP: 0 */
    char values[TIDE_RUN_VALUES_BYTES]; /* of a program: "batch=8,ctx=1024"; "" for others */
    char device[TIDE_RUN_NAME_BYTES];   /* of a program; "" for others, whose grid has only one */
    tide_run_result result;             /* owned */
} tide_sweep_row;

typedef struct tide_sweep {
    cJSON *header;         /* owned: the first line of the file */
    const char **names;    /* owned, n_cells; the texts are the header's; NULL: none */
    size_t n_cells;        /* of the whole grid, repeats included */
    size_t n_repeats;      /* how often each cell of the grid is run; the whole grid is run once
                              before any cell is repeated: cell i is repeat i / (n_cells /
                              n_repeats) + 1 */
    size_t shard;          /* which part this is, 1 .. n_shards */
    size_t n_shards;       /* cell i belongs to part i % n_shards + 1 */
    tide_sweep_row **rows; /* owned, n_cells in grid order; NULL: no row yet */
    size_t n_rows;         /* number of rows that are there */
} tide_sweep;

/* A sweep without rows. Takes ownership of the header in any case; the message of TIDE_FORMAT names
 * its fault. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_sweep_init(tide_sweep *sweep, cJSON *header, tide_error *error);
void tide_sweep_fini(tide_sweep *sweep);
bool tide_sweep_owns(const tide_sweep *sweep, size_t cell);
/* The number of cells without repeats. */
size_t tide_sweep_n_distinct(const tide_sweep *sweep);
/* Appends the repeat to the name of a cell: "small-train-c128-b4-fp32-repeat-2". A name that leaves
 * no room is cut. */
void tide_sweep_name_repeat(char name[TIDE_RUN_NAME_BYTES], size_t repeat);
/* Removes the repeat from the name of a cell of the sweep. */
void tide_sweep_name_once(const tide_sweep *sweep, size_t cell, char name[TIDE_RUN_NAME_BYTES]);
/* The name of a cell, from the header or else from its row; "" if neither has it. */
const char *tide_sweep_cell_name(const tide_sweep *sweep, size_t cell);
/* Whether the header has the names of all cells. */
bool tide_sweep_has_names(const tide_sweep *sweep);
/* Adds `names`, a JSON array of n_cells texts, to a header without names. Takes ownership of
 * `names` in any case. TIDE_FORMAT if a row has a different name. */
TIDE_NODISCARD tide_status tide_sweep_set_names(tide_sweep *sweep, cJSON *names, tide_error *error);
/* The number of cells in this part, and the number of those without a row. */
size_t tide_sweep_n_owned(const tide_sweep *sweep);
size_t tide_sweep_n_missing(const tide_sweep *sweep);
/* TIDE_INVALID, naming the difference, unless both are of the same grid. */
TIDE_NODISCARD tide_status tide_sweep_check_same(const tide_sweep *sweep, const tide_sweep *other,
                                                 tide_error *error);

/* An empty row for the cell of that configuration; NULL without host memory. */
tide_sweep_row *tide_sweep_row_create(size_t cell, const tide_run_workload *workload);
void tide_sweep_row_destroy(tide_sweep_row *row);
/* The caller deletes it; NULL without host memory. */
cJSON *tide_sweep_row_to_json(const tide_sweep_row *row);
TIDE_NODISCARD tide_status tide_sweep_row_from_json(const cJSON *json, tide_sweep_row **ret_row,
                                                    tide_error *error);
/* Whether both rows have the same result, ignoring when and where each was run, and its host
 * memory. Also false without host memory for the comparison. */
bool tide_sweep_row_agrees(const tide_sweep_row *row, const tide_sweep_row *other);
/* Takes ownership of the row on success. TIDE_FORMAT if the grid lacks the cell. TIDE_INVALID if
 * the cell already has a row. */
TIDE_NODISCARD tide_status tide_sweep_add(tide_sweep *sweep, tide_sweep_row *row,
                                          tide_error *error);
/* Whether it failed or crashed, so another try may end differently. */
bool tide_sweep_is_failed(const tide_sweep_row *row);
/* Forgets the rows that failed or crashed; returns their number. */
size_t tide_sweep_forget_failed(tide_sweep *sweep);

#ifdef __cplusplus
}
#endif

#endif
