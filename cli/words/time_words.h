/* time_words.h - a forecast of time in words: `tidemark time` and `tidemark run --time` print the
 * same.
 *
 * Every time is printed with its range and with the part of it that was guessed.
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

/* "GPU busy 355 ms (320 to 391) in a step, which takes 372 ms (331 to 428): host 48 ms; bound by
 * the GPU; model FLOPs utilisation 41 %". The card's time comes first, because the host's is that
 * of another machine. */
void tide_time_words_step(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* "forward 118 ms, backward 229 ms, optimizer 21 ms"; "" if no phase is known. */
void tide_time_words_phases(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* The parts that were compared with published times, never compared, and guessed. */
void tide_time_words_basis(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* The basis of the host's time: a calibration, with its machine and day, or none; and whether this
 * machine was busy. */
void tide_time_words_host(const tide_time_forecast *forecast, char ret_words[TIDE_TIME_WORDS]);

/* "times: not computed (...)" for a virtual device, with the reason: its card has no sourced rates,
 * or it has no card. */
void tide_time_words_none(const char *device, char ret_words[TIDE_TIME_WORDS]);

#ifdef __cplusplus
}
#endif

#endif
