/* internal.h - the parts of `tidemark time`. */
#ifndef TIDE_CLI_TIME_INTERNAL_H
#define TIDE_CLI_TIME_INTERNAL_H

#include "cli/words/time_words.h"
#include "report/table.h"

/* The whole report: a sentence or two for each card, and the tables. The first card is the base of
 * ratios. At most n_kernels rows of kernels a card. */
void tide_time_report(tide_report *report, const tide_time_forecast *forecasts, size_t n_cards,
                      size_t n_kernels);

/* families.c: the families of the step's kernels, longest time first, each with the number of
 * comparisons with published times, the cards they were on, their median error, and the interval of
 * measured over forecast that holds 80 of 100. */
void tide_time_add_families(tide_report *report, const tide_time_forecast *of);

#endif
