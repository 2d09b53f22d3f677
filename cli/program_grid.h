/* program_grid.h - a user's command on command lines of `fit` and `sweep`: its words, the names
 * that are replaced in it, and the cards on which it runs.
 */
#ifndef TIDE_CLI_PROGRAM_GRID_H
#define TIDE_CLI_PROGRAM_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/program_options.h"
#include "common/status.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PROGRAM_MAX_NAMES = 8,
    TIDE_PROGRAM_MAX_CARDS = 16,
    TIDE_PROGRAM_NAME_BYTES = 32,
    TIDE_PROGRAM_HOST_BYTES = 3 * TIDE_CALIBRATION_TEXT + 16,
    TIDE_PROGRAM_STEPS = 3 /* the default */
};

/* A name and its values. */
typedef struct tide_program_set {
    char name[TIDE_PROGRAM_NAME_BYTES];
    tide_option_list values; /* texts only */
} tide_program_set;

/* Cards and values; a cell for each combination. The last name varies fastest. */
typedef struct tide_program_grid {
    char *const *arguments; /* borrowed: the command, NULL-terminated; NULL: none */
    char *command;          /* owned: the same in the form of programs/runs/workload.h */
    char cards[TIDE_PROGRAM_MAX_CARDS][TIDE_RUN_NAME_BYTES]; /* "virtual:h100-80" */
    size_t n_cards;
    tide_program_set sets[TIDE_PROGRAM_MAX_NAMES];
    size_t n_sets;
    uint64_t n_steps; /* 0: each run continues to its end, or as far as the options allow */
    tide_program_options options;
    char own_calibration[TIDE_PATH_BYTES]; /* of a forecast of time; "": none */
    char host[TIDE_PROGRAM_HOST_BYTES];    /* the machine that --host names; "": none */
    uint64_t memory_limit_bytes;           /* of each card; TIDE_RUN_UNLIMITED: the card's memory */
    uint64_t spill_bytes;                  /* of each card, in the host's memory; 0: none */
} tide_program_grid;

/* Takes the user's command. Declare its names first. TIDE_INVALID if there is none, it cannot run
 * on a virtual card, or none of its arguments has a declared name. The caller calls fini in any
 * case. */
TIDE_NODISCARD tide_status tide_program_take_command(tide_program_grid *grid,
                                                     char *const *arguments, const char *option,
                                                     tide_error *error);
void tide_program_grid_fini(tide_program_grid *grid);

/* Adds the cards of "virtual:a,virtual:b"; NULL, which means that none was named, is refused. */
TIDE_NODISCARD tide_status tide_program_add_cards(tide_program_grid *grid, const char *text,
                                                  tide_error *error);
/* Declares "batch=8,16". */
TIDE_NODISCARD tide_status tide_program_add_set(tide_program_grid *grid, const char *text,
                                                tide_error *error);
/* Declares "batch=1..4096", without a value yet. */
TIDE_NODISCARD tide_status tide_program_add_range(tide_program_grid *grid, const char *text,
                                                  uint64_t *ret_low, uint64_t *ret_high,
                                                  tide_error *error);

/* Takes the number of steps or calls, the reads, and the host of the time forecast. Call it after
 * the cards; without steps and calls, runs take TIDE_PROGRAM_STEPS. `has_steps`: n_steps was
 * given. */
TIDE_NODISCARD tide_status tide_program_take_options(tide_program_grid *grid, const char *command,
                                                     const tide_program_options *options,
                                                     bool has_steps, uint64_t n_steps,
                                                     tide_error *error);

size_t tide_program_n_cells(const tide_program_grid *grid);
/* The run of a cell. Borrows the grid's texts. */
void tide_program_configure(const tide_program_grid *grid, size_t cell,
                            tide_run_config *ret_config);

#ifdef __cplusplus
}
#endif

#endif
