/* snapshot_words.h - parts of a snapshot as words on one line, for reports, and the parts of it
 * that several reports share. Texts are cut if there is no room.
 */
#ifndef TIDE_CLI_SNAPSHOT_WORDS_H
#define TIDE_CLI_SNAPSHOT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/table.h"
#include "snapshot/document/implementation.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/steps.h"
#include "snapshot/analysis/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "tidemark's own model in C, small, train, fp32, flash, batch 4, context 128, on virtual (H100,
 * 79.11 GiB)" */
void tide_words_run(const tide_snapshot *snapshot, char *ret_text, size_t n_room);

/* "step 1, optimizer > adamw"; "" outside every scope. */
void tide_words_peak_place(const tide_summary_peak *peak, char *ret_text, size_t n_room);

/* The path of a scope, or "(outside every scope)" for "". */
const char *tide_words_scope(const char *path);

/* "50.0 % optimizer_state, 25.0 % parameter": the largest first. */
void tide_words_categories(const tide_summary_peak *peak, char *ret_text, size_t n_room);

/* "attention (model/layers/forward.c:120) < layer (...)": at most max_frames, innermost first. */
void tide_words_stack(const tide_snapshot *snapshot, uint32_t stack, size_t max_frames,
                      char *ret_text, size_t n_room);

/* The same as a text of the report. */
const char *tide_report_stack(tide_report *report, const tide_snapshot *snapshot, uint32_t stack,
                              size_t max_frames);

/* The source of the steps, as the end of a sentence: "; the steps are those of PyTorch's profiler";
 * "" for steps that the recording itself names. */
const char *tide_words_steps(tide_report *report, const tide_steps *steps);

/* "requested", "allocated", ...: a total of TIDE_MAX_REQUESTED, ... */
const char *tide_words_total(int total);
/* What the total counts, and until which instant. The totals do not end at the same instant, so a
 * total of smaller sizes may be higher. */
const char *tide_words_total_rule(int total);

/* "recorder: 0.012 % of a step by its cost per event (510 events of 600 ns); recording on and off:
 * not distinguishable from 0 within ± 0.8 % (3 pairs of steps)"; "" if nothing was measured. */
void tide_words_recorder(const tide_snapshot *snapshot, char *ret_text, size_t n_room);

enum { TIDE_LOST_TEXT = 128 };

/* "51 events were lost because the log was full (keep-newest)"; "" if none were lost. */
void tide_words_lost(const tide_snapshot *snapshot, char ret_text[TIDE_LOST_TEXT]);

/* Types that the cpu device emulates, as bits of a set. */
enum { TIDE_EMULATED_BF16 = 1, TIDE_EMULATED_FP16 = 2 };
/* Those of a precision, by its name. */
unsigned tide_emulated_types(const char *precision);
/* Those in which the device of the run computed, so its times are meaningless. */
unsigned tide_words_emulated(const tide_snapshot *snapshot);

/* The table "categories": the live bytes at the peak. */
void tide_report_categories(tide_report *report, const char *title, const tide_summary_peak *peak);

/* Sentences that several reports have. `name` is the run's name among several; NULL: there is only
 * one. */

/* Explains what these types on the cpu, which are fp32 with rounding, mean for a card. Adds nothing
 * for an empty set. */
void tide_say_emulated(tide_report *report, unsigned types, const char *name);
/* States that the run was not recorded to its end; adds nothing if it was. */
void tide_say_unfinished(tide_report *report, const tide_snapshot *snapshot, const char *name);

#ifdef __cplusplus
}
#endif

#endif
