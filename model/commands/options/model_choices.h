/* model_choices.h - the values of the options that describe a run of our own model. */
#ifndef TIDE_MODEL_COMMANDS_OPTIONS_MODEL_CHOICES_H
#define TIDE_MODEL_COMMANDS_OPTIONS_MODEL_CHOICES_H

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

#ifdef __cplusplus
}
#endif

#endif
