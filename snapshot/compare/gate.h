/* gate.h - conditions on a comparison of runs: parses them, and checks whether they hold.
 *
 * QUANTITY OPERATOR BOUND, such as "peak_allocated > +2%"
 *
 * Operators: > >= < <=. A bound with a sign is relative to the base's figure ("+2%", "-5%",
 * "+100MiB",
 * "+3ms", "+10"), without one it is absolute ("24GiB", "150ms", "12"). Bytes are sizes as
 * everywhere, times need a unit (s, ms, us), counts have none.
 */
#ifndef TIDE_SNAPSHOT_GATE_H
#define TIDE_SNAPSHOT_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "snapshot/compare/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_GATE_NAME_BYTES = 64, TIDE_GATE_TEXT_BYTES = 160, TIDE_GATE_WORDS_BYTES = 512 };

typedef enum tide_gate_unit { TIDE_GATE_BYTES = 0, TIDE_GATE_MS, TIDE_GATE_COUNT } tide_gate_unit;

typedef enum tide_gate_operator {
    TIDE_GATE_ABOVE = 0,
    TIDE_GATE_AT_LEAST,
    TIDE_GATE_BELOW,
    TIDE_GATE_AT_MOST
} tide_gate_operator;

/* The value to which a bound is added. */
typedef enum tide_gate_bound {
    TIDE_GATE_ABSOLUTE = 0, /* from 0 */
    TIDE_GATE_CHANGE,       /* from the base's figure */
    TIDE_GATE_PERCENT       /* from the base's figure, in percent of it */
} tide_gate_bound;

typedef struct tide_gate {
    char text[TIDE_GATE_TEXT_BYTES]; /* as written */
    int quantity;                    /* index in the table of quantities */
    char name[TIDE_GATE_NAME_BYTES]; /* of the phase or category; "" if there is none */
    tide_gate_unit unit;             /* of the figure */
    tide_gate_operator op;
    tide_gate_bound bound;
    double value; /* the bound with its sign: bytes, ms, a count or percent */
} tide_gate;

typedef enum tide_gate_verdict {
    TIDE_GATE_PASSES = 0,
    TIDE_GATE_HOLDS,  /* the condition holds: the gate is missed */
    TIDE_GATE_UNKNOWN /* a file lacks the figure */
} tide_gate_verdict;

typedef struct tide_gate_result {
    tide_gate_verdict verdict;
    double figure, base, limit;        /* in the gate's unit; -1: unknown */
    char words[TIDE_GATE_WORDS_BYTES]; /* one line with the figures */
} tide_gate_result;

/* Reads a condition. TIDE_INVALID: the message names the place in the text and gives an example. */
TIDE_NODISCARD tide_status tide_gate_parse(const char *text, tide_gate *ret_gate,
                                           tide_error *error);

/* Checks run `run` (not 0) against the base. A condition on the forecast of a step (time_step)
 * holds only if the ranges of the two do not overlap, or, with an absolute bound, if the whole
 * range is on that side of the bound. Does not use figures of a run whose peak may have been
 * higher: it ran out of memory, stopped early, or lost events. Bytes are exact up to 2^53. */
tide_gate_result tide_gate_judge(const tide_gate *gate, const tide_compare *compare, size_t run);

/* ---- parts of the grammar, for conditions on other quantities (ranks.h) ---- */

/* Takes an operator and the blanks before it. False if there is none at *at, which then points
 * after the blanks. */
bool tide_gate_take_operator(const char **at, tide_gate_operator *ret_operator);
/* Copies the text without blanks around it, cut to the room. */
void tide_gate_trim(const char *text, char ret_text[TIDE_GATE_TEXT_BYTES]);
/* Whether a text is a percentage without a sign. */
bool tide_gate_is_percent(const char *text, double *ret_percent);
bool tide_gate_compares(tide_gate_operator op, double figure, double limit);

/* The i-th quantity as in the help ("time_PHASE"); NULL after the last. */
const char *tide_gate_quantity(size_t i);

#ifdef __cplusplus
}
#endif

#endif
