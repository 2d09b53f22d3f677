/* run_choices.h - the values of the options that describe a run, for the tables of the commands
 * that have them.
 */
#ifndef TIDE_CLI_RUN_CHOICES_H
#define TIDE_CLI_RUN_CHOICES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The i-th value, NULL past the last, for tide_option.choice_at: the kinds of devices first, then
 * every card. */
const char *tide_choice_device(size_t i);
/* Only those that need no hardware. */
const char *tide_choice_virtual_device(size_t i);
/* The clock that a program sees. */
const char *tide_choice_clock(size_t i);

#ifdef __cplusplus
}
#endif

#endif
