/* trial_internal.h - between running a trial, handing it over, and its result as JSON.
 */
#ifndef TIDE_CLI_TRIAL_INTERNAL_H
#define TIDE_CLI_TRIAL_INTERNAL_H

#include "cli/trial.h"

/* "forward", "backward", "optimizer", "step". */
const char *tide_trial_phase_name(size_t phase);
/* TIDE_TIMED_...; -1. */
int tide_trial_phase_from_name(const char *name);

/* Fills what follows from samples, tokens, flops and the stated peak. */
void tide_trial_derive(tide_trial_result *result);

/* Sets outcome, status and reason: the first line of `message`, the status' own text where it is
 * empty. */
void tide_trial_fail(tide_trial_result *result, tide_trial_outcome outcome, tide_status status,
                     const char *message);

/* What is known without a run: the program and the host. */
void tide_trial_describe_program(tide_trial_environment *ret);

/* The command line that hands `config` over, TIDE_TRIAL_COMMAND and what follows; the last one is
 * NULL. The caller deletes all of it by tide_trial_arguments_release. NULL: no host memory. */
char **tide_trial_arguments(const tide_trial_config *config);
void tide_trial_arguments_release(char **arguments);

#endif
