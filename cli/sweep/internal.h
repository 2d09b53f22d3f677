/* internal.h - the parts of `tidemark sweep`: its options, the grid that they name, the file of its
 * rows, running the missing cells, joining parts, and the table. The grid and its rows themselves
 * are those of programs/runs/sweep.h.
 *
 * The file is JSON Lines: the first line describes the grid, each further line is the finished row
 * of one cell (docs/guide/sweep.md).
 */
#ifndef TIDE_CLI_SWEEP_INTERNAL_H
#define TIDE_CLI_SWEEP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/files.h"
#include "cli/sweep/options.h"
#include "common/status.h"
#include "report/table.h"
#include "programs/runs/sweep.h"

enum { TIDE_SWEEP_MAX_JOBS = 256 };

/* Reads "I/N" with 1 <= I <= N, such as "2/4". NULL means part 1 of 1. */
TIDE_NODISCARD tide_status tide_sweep_parse_shard(const char *text, size_t *ret_shard,
                                                  size_t *ret_n_shards, tide_error *error);

/* The part that has only the cell of that number, "0" .. n_cells - 1. */
TIDE_NODISCARD tide_status tide_sweep_parse_cell(const char *text, size_t n_cells,
                                                 size_t *ret_shard, size_t *ret_n_shards,
                                                 tide_error *error);
/* Refuses a number of repeats that is 0 or makes too many cells. */
TIDE_NODISCARD tide_status tide_sweep_check_repeats(size_t n_once, uint64_t n_repeats,
                                                    tide_error *error);
/* The first line for this grid on that device (never "auto"). TIDE_INVALID, TIDE_LIMIT if no cell
 * of the grid is valid, or there are too many. The caller deletes it. */
TIDE_NODISCARD tide_status tide_sweep_header(const tide_sweep_options *options, const char *device,
                                             size_t shard, size_t n_shards, cJSON **ret_header,
                                             tide_error *error);

/* ---- a user's command (program.c) ---- */

/* Makes the grid of the command at `arguments`. TIDE_INVALID, TIDE_LIMIT if it is not valid. */
TIDE_NODISCARD tide_status tide_sweep_take_program(tide_sweep_options *options,
                                                   const tide_operands *operands,
                                                   char *const *arguments, tide_error *error);
TIDE_NODISCARD tide_status tide_sweep_program_header(const tide_sweep_options *options,
                                                     size_t shard, size_t n_shards,
                                                     cJSON **ret_header, tide_error *error);
bool tide_sweep_is_program(const tide_sweep *sweep);
/* The columns of the names in the order of the grid, and their cells. */
void tide_sweep_value_columns(const tide_sweep *sweep, tide_table *table);
void tide_sweep_value_cells(const tide_sweep *sweep, const tide_sweep_row *row, tide_table *table);
/* Adds the sentences that readers need for the rows. */
void tide_sweep_say_program(const tide_sweep *sweep, tide_report *report);

/* ---- the file ---- */

/* Reads header and rows. A killed writer may have left an incomplete last line: it is skipped, and
 * *ret_was_cut is set. *ret_good_bytes is the size up to the last whole line. A row that failed or
 * crashed is replaced by a later row of its cell. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_sweep_read(const char *path, tide_sweep *ret_sweep,
                                           size_t *ret_good_bytes, bool *ret_was_cut,
                                           tide_error *error);

/* A file to which finished rows are appended. It is locked, so no second sweep can write to it. */
typedef struct tide_sweep_file {
    int fd;           /* -1: closed */
    const char *path; /* borrowed */
} tide_sweep_file;

/* Makes the file with the sweep's header. If the file exists and `resumes` is true, moves its rows
 * into the sweep. TIDE_INVALID if it exists and `resumes` is false, it is of another grid or part,
 * or another process is writing it. Notes about skipped lines go to stderr. */
TIDE_NODISCARD tide_status tide_sweep_file_open(const char *path, bool resumes, tide_sweep *sweep,
                                                tide_sweep_file *ret_file, tide_error *error);
/* Returns once the row is on disk; on failure, no part of it is. */
TIDE_NODISCARD tide_status tide_sweep_file_append(tide_sweep_file *file, const tide_sweep_row *row,
                                                  tide_error *error);
void tide_sweep_file_close(tide_sweep_file *file);
/* Writes the whole sweep as a new file. TIDE_INVALID if the file exists. */
TIDE_NODISCARD tide_status tide_sweep_write(const char *path, const tide_sweep *sweep,
                                            tide_error *error);

/* The files that the operands of --merge name. */
typedef struct tide_sweep_paths {
    char **paths; /* owned, and so is each of them */
    size_t n;
    size_t capacity; /* of paths */
} tide_sweep_paths;

/* A folder means the files in it whose names end in .jsonl. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_sweep_paths_init(const char *const *paths, size_t n_paths,
                                                 tide_sweep_paths *ret, tide_error *error);
void tide_sweep_paths_fini(tide_sweep_paths *files);

/* Reads a file to be joined; an incomplete row is noted on stderr. The caller calls fini in any
 * case. */
TIDE_NODISCARD tide_status tide_sweep_read_part(const char *path, tide_sweep *ret_part,
                                                tide_error *error);
/* Whether a row is preferred to another one of its cell, independent of their order: a successful
 * row is preferred to a failed one, and a later failure to an earlier one; of two successful rows
 * the earlier one is preferred. */
bool tide_sweep_is_preferred(const tide_sweep_row *row, const tide_sweep_row *other);
/* Takes over the names of all cells, which not every file has. */
TIDE_NODISCARD tide_status tide_sweep_take_names(tide_sweep *into, const tide_sweep *from,
                                                 tide_error *error);
/* Completes the names once all cells have rows, so the joined file equals that of a sweep in one
 * process. */
TIDE_NODISCARD tide_status tide_sweep_complete_names(tide_sweep *sweep, tide_error *error);

/* Joins the rows of all files in one sweep of the whole grid. A folder means the files in it whose
 * names end in .jsonl. The sweep does not depend on the order of the paths. Of several rows of a
 * cell that agree, one is kept, and a successful row replaces one that failed or crashed. The
 * message of TIDE_INVALID names the file whose grid differs from the first one's, or the cell whose
 * rows differ in two files. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_sweep_merge(const char *const *paths, size_t n_paths,
                                            tide_sweep *ret_sweep, tide_error *error);

/* Joins the rows of all files in one sweep that runs each cell n_repeats times. The files may
 * contain repeats themselves. The rows of a cell are its repeats in the order in which they were
 * begun; the same row in two files counts once, and rows that failed are kept only if there are too
 * few others. The message of TIDE_INVALID names a file of another grid, or the cell that has more
 * rows than repeats. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_sweep_merge_repeats(const char *const *paths, size_t n_paths,
                                                    uint64_t n_repeats, tide_sweep *ret_sweep,
                                                    tide_error *error);

/* Prints number and name of each cell of this part that has no row, a line each, with a tab between
 * them. */
TIDE_NODISCARD tide_status tide_sweep_list(const tide_sweep *sweep, FILE *out, tide_error *error);
/* Moves the rows of the file, if it exists, into the sweep, without changing or locking it. */
TIDE_NODISCARD tide_status tide_sweep_look(const char *path, tide_sweep *sweep, tide_error *error);

/* ---- running ---- */

/* The path of a cell's snapshot in the folder of --snapshots. */
TIDE_NODISCARD tide_status tide_sweep_name_snapshot(const tide_sweep_options *options,
                                                    const char *name, char path[TIDE_PATH_BYTES],
                                                    tide_error *error);

/* Runs every cell of this part that has no row and appends its row. Ends early, with TIDE_OK, after
 * an interruption. */
TIDE_NODISCARD tide_status tide_sweep_run(const tide_sweep_options *options, const char *device,
                                          tide_device_kind kind, tide_sweep *sweep,
                                          tide_sweep_file *file, tide_error *error);

/* The figures from which the remaining time is estimated. The work of a cell is its floating point
 * operations, or 1 if the device does not compute. */
typedef struct tide_sweep_pace {
    double done_work;    /* of cells that completed */
    double done_s;       /* that they took */
    double missing_work; /* of cells without a row, including the running one */
    double running_s;    /* seconds that the running one has taken so far */
} tide_sweep_pace;

/* Seconds until all cells have a row; -1: unknown, because no cell has completed yet. */
double tide_sweep_left_s(const tide_sweep_pace *pace);
/* "45 s", "12 min", "3 h 20 min"; "" below 0. Returns `text`. */
char *tide_sweep_format_s(double seconds, char text[32]);

/* ---- results ---- */

/* The distinct environments of the rows. */
typedef struct tide_sweep_places {
    tide_run_environment *places; /* owned */
    size_t n_places;
    size_t *of_cell; /* owned; number of each cell's, from 1; 0: no row, or too many places */
} tide_sweep_places;

/* The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_sweep_places_init(const tide_sweep *sweep, tide_sweep_places *ret);
void tide_sweep_places_fini(tide_sweep_places *found);
/* The environment of a cell's run: the last columns of its row for programs, and one sentence each
 * for people. */
void tide_sweep_place_columns(tide_table *table);
void tide_sweep_place_cells(tide_table *table, const tide_run_environment *place);
void tide_sweep_say_places(const tide_sweep_places *found, tide_report *report);

/* Whether the cells are MLPs, whose tokens are rows. */
bool tide_sweep_is_mlp(const tide_sweep *sweep);

/* Whether a list of the whole grid, such as "batches", has several items. The cells that were run
 * may have only one of them. */
bool tide_sweep_varies(const tide_sweep *sweep, const char *list);

/* Adds sentences above the table: the runs, and how to read the figures. `for_people` adds the
 * common values of all rows, which people see in no column. */
void tide_sweep_say(const tide_sweep *sweep, bool for_people, tide_report *report);
/* Reports whether the repeats of each cell agree in their peaks. */
void tide_sweep_say_repeats(const tide_sweep *sweep, tide_report *report);
/* The average of the repeats of a cell without repeats in its number, 0 .. n_distinct - 1: the
 * samples of all, concatenated, or the first that did not complete. Figures other than times are
 * kept if the repeats agree, and unknown otherwise. NULL if no repeat has a row, or without host
 * memory. The caller destroys it. */
tide_sweep_row *tide_sweep_average(const tide_sweep *sweep, size_t cell);
/* Adds the reasons below the table why cells were not supported, failed or crashed. */
void tide_sweep_say_reasons(const tide_sweep *sweep, tide_report *report);

/* Prints the table of the existing rows, in grid order, to `out`. */
TIDE_NODISCARD tide_status tide_sweep_print(const tide_sweep *sweep, tide_format format, FILE *out,
                                            tide_error *error);

#endif
