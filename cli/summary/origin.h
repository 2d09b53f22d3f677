/* origin.h - the parts of `tidemark summary` about recordings of other programs: the source of the
 * figures, and the live memory by line of the user's program, in place of categories.
 */
#ifndef TIDE_CLI_SUMMARY_ORIGIN_H
#define TIDE_CLI_SUMMARY_ORIGIN_H

#include <stdbool.h>

#include "cli/summary/verdict.h"
#include "cli/summary/view.h"
#include "snapshot/analysis/summary.h"

/* Whether none of the blocks alive at the instant has a category. */
bool tide_summary_lacks_categories(const tide_summary_peak *peak);

/* Adds sentences about the recording; none for our own. */
void tide_summary_say_origin(const tide_summary_view *of);

/* The blocks alive at the instant by line of the program: `top` rows, and the others in one. */
void tide_summary_user_frames(const tide_summary_view *of, const tide_verdict *verdict);

/* A place in words, for a cell: "forward (model.py:15)", "(from before the recording)", "(no call
 * stack)". */
const char *tide_summary_place(const tide_summary_view *of, const tide_verdict *verdict,
                               const tide_place *place);

#endif
