/* growth_words.h - growth in words and figures: the same for every command.
 */
#ifndef TIDE_SNAPSHOT_GROWTH_WORDS_H
#define TIDE_SNAPSHOT_GROWTH_WORDS_H

#include <stdint.h>

#include "common/text/text.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "iteration"; "pass" of a loop on one line; "step" of steps that the program names. */
const char *tide_growth_round(const tide_growth_fact *fact);

/* Adds "validate (c01.py:13-15)". */
void tide_growth_add_loop(const tide_facts *facts, const tide_loop *loop, tide_text *to);

/* Adds "The loop at validate (c01.py:13-15) keeps 1.29 GiB on each iteration, 7.75 GiB in 6 so
 * far". */
void tide_growth_add_kept(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to);

/* Adds ", 99 % of it allocated at validate (c01.py:14), `losses.append(loss)`"; nothing if no line
 * is known. */
void tide_growth_add_line(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to);

/* Adds "by 1.29 GiB on each iteration of the loop at validate (c01.py:13-15), in 6 so far, 99 % of
 * it allocated at validate (c01.py:14)". */
void tide_growth_add_words(const tide_facts *facts, const tide_growth_fact *fact, tide_text *to);

/* The bytes that each further pass of the loop adds, on average. */
int64_t tide_growth_each(const tide_growth_fact *fact);

#ifdef __cplusplus
}
#endif

#endif
