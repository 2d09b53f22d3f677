/* time_words.h - a forecast of time in words: `tidemark time` and `tidemark run --time` say the
 * same.
 *
 * No time is said without its range, and what was guessed of it is always said with it.
 */
#ifndef TIDE_CLI_TIME_WORDS_H
#define TIDE_CLI_TIME_WORDS_H

#include <stddef.h>

#include "programs/step_time/forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TIME_WORDS = TIDE_TIME_HOST_WORDS };

/* "331 to 428 ms", or "at least 331 ms": the range of a step, or of a program without steps. */
void tide_time_words_range(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* "a step takes 372 ms (331 to 428): GPU busy 355 ms, host 48 ms; bound by the GPU; model FLOPs
 * utilisation 41 %". */
void tide_time_words_step(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* "forward 118 ms, backward 229 ms, optimizer 21 ms"; "" where no phase is known. */
void tide_time_words_phases(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* What was guessed, and what was never compared with published times. */
void tide_time_words_basis(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* What the host's time rests on: a calibration, of which machine and day, or none. */
void tide_time_words_host(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* "times: not computed (...)" for a virtual device, with the reason: its card has no sourced rates,
 * or it is no card's. */
void tide_time_words_none(const char *device, char ret_words[TIDE_TIME_WORDS]);

#ifdef __cplusplus
}
#endif

#endif
