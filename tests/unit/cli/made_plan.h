/* made_plan.h - a plan made by hand, as a search would leave it: a checkpoint makes the program
 * fit, and fused makes it faster.
 */
#ifndef TIDE_TESTS_MADE_PLAN_H
#define TIDE_TESTS_MADE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/plan/internal.h"

#define GIB ((int64_t)1 << 30)

enum { MADE_UNCHANGED = 0, MADE_LIMITED, MADE_CHECKPOINT, MADE_FUSED, MADE_BOTH, MADE_PROOF };
enum { MADE_RUNS = 24, MADE_CANDIDATES = 24, MADE_TEXT = 65536, MADE_PATH = 256 };

typedef struct made_plan {
    tide_plan_options options;
    tide_plan plan;
    tide_plan_run rows[MADE_RUNS];
    tide_plan_candidate candidates[MADE_CANDIDATES];
    tide_snapshot snapshot;
    tide_plan_report_input input;
    char folder[MADE_PATH]; /* "": none was made */
    char text[MADE_TEXT];   /* what was printed last */
} made_plan;

/* The plan of two changes; two more candidates did not run. */
void made_plan_init(made_plan *of);

/* A complete run without a limit: peaks in GiB, time in ms. */
tide_plan_run made_plan_run(const char *changes, int64_t allocated, int64_t reserved, double ms);
tide_plan_candidate made_plan_candidate(const char *name, tide_plan_state state, size_t row);

/* Adds a change that ran alone, and returns its candidate. */
tide_plan_candidate *made_plan_add(made_plan *of, const char *name, int64_t allocated, double ms);

/* Prints the report as text, for people or whole. Returns of->text. */
const char *made_plan_print(made_plan *of, bool is_whole);

/* Makes a folder with a snapshot of a run that has these lines to paste. */
void made_plan_save_lines(made_plan *of, size_t row, const tide_snapshot_setting *facts,
                          size_t n_facts);
/* Removes the folder and its files. */
void made_plan_remove(made_plan *of);

#endif
