/* run_choices.h - the values of the options that describe a run, for the tables of the commands
 * that have them.
 */
#ifndef TIDE_CLI_RUN_CHOICES_H
#define TIDE_CLI_RUN_CHOICES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The i-th value, NULL past the last, for tide_option.choice_at. */
const char *tide_choice_size(size_t i);
const char *tide_choice_workload(size_t i);
const char *tide_choice_mode(size_t i);
const char *tide_choice_precision(size_t i);
const char *tide_choice_attention(size_t i);
const char *tide_choice_recompute(size_t i);
const char *tide_choice_emulate(size_t i);
const char *tide_choice_edition(size_t i);
/* The kinds of devices first, then every card. */
const char *tide_choice_device(size_t i);
/* Only those that need no hardware. */
const char *tide_choice_virtual_device(size_t i);
/* The clock that a program sees. */
const char *tide_choice_clock(size_t i);

#ifdef __cplusplus
}
#endif

#endif
