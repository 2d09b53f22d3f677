/* internal.h - the parts of `tidemark time`. */
#ifndef TIDE_CLI_TIME_INTERNAL_H
#define TIDE_CLI_TIME_INTERNAL_H

#include "cli/words/time_words.h"
#include "report/table.h"

/* The whole report: a sentence or two for each card, and the tables. The first card is the base of
 * ratios. At most n_kernels rows of kernels a card. */
void tide_time_report(tide_report *report, const tide_time_forecast *forecasts, size_t n_cards,
                      size_t n_kernels);

#endif
