/* report.h - the report of `tidemark summary`, without the command around it: the program prints
 * it, and the page's engine (snapshot/wasm) returns it.
 */
#ifndef TIDE_CLI_SUMMARY_REPORT_H
#define TIDE_CLI_SUMMARY_REPORT_H

#include "cli/summary/view.h"

/* The contents of the report. */
typedef struct tide_summary_plan {
    const char *path;           /* the file's name, for sentences; borrowed */
    const char *rules;          /* file with the user's category rules; NULL; borrowed */
    tide_summary_choice choice; /* the device and the instant */
    tide_tree_plan tree;        /* n_keys 0: no tree */
    size_t top;                 /* rows of the tables of scopes, stacks and blocks */
    bool fragmentation;         /* the part about it */
    bool steps, leaks;          /* the parts about them */
    bool is_text;               /* as in tide_summary_view */
    bool is_for_programs;       /* as in tide_summary_view */
} tide_summary_plan;

/* Makes the view and fills the report, which borrows texts of the view. The caller finishes the
 * view after the report in any case. TIDE_FORMAT: the snapshot has no device. */
TIDE_NODISCARD tide_status tide_summary_fill(tide_summary_view *view, tide_report *report,
                                             const tide_snapshot *snapshot,
                                             const tide_summary_plan *plan, tide_error *error);

#endif
