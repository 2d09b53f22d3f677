/* time_runs.h - the forecasts of time of several runs, next to their table: whether they exist, and
 * how many of their launches are guessed.
 */
#ifndef TIDE_CLI_TIME_RUNS_H
#define TIDE_CLI_TIME_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/words/time_words.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero at first. */
typedef struct tide_time_runs {
    size_t n;                         /* runs with a forecast */
    size_t n_unknown;                 /* of these: an older version wrote no number of guesses */
    size_t n_guessing;                /* of these: some launch of the step is guessed */
    int64_t most_guessed, n_launches; /* of the step with the most guessed launches */
} tide_time_runs;

/* A run without a forecast adds nothing. */
void tide_time_runs_add(tide_time_runs *to, const tide_run_result *result);

/* "times: forecast, a model: ..." for runs of tidemark's own model on that virtual device, whose
 * columns have the likely time of a step, the ends of its range, and its bottleneck. Without a
 * forecast: the reason. */
void tide_time_runs_words(const tide_time_runs *of, const char *device,
                          char ret_words[TIDE_TIME_WORDS]);

/* "the forecast is a model: no launch is guessed; ..." for runs of a command with a forecast on
 * that device, "virtual:h100-80". */
void tide_time_runs_command_words(const tide_time_runs *of, const char *device,
                                  char ret_words[TIDE_TIME_WORDS]);

#ifdef __cplusplus
}
#endif

#endif
