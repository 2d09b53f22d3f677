/* program_fit.h - the largest value of a name with which a user's command fits its card.
 *
 * Each run takes seconds, so the search makes as few as possible: from the low end, it extrapolates
 * the bytes that a value costs from two runs, and bisects if that misleads. Its answer was run: the
 * value fits, and the next one does not. It assumes that a larger value never needs less memory.
 * If the value is near the limit of the card, the largest one that is not is searched, too.
 */
#ifndef TIDE_PROGRAMS_RUNS_PROGRAM_FIT_H
#define TIDE_PROGRAMS_RUNS_PROGRAM_FIT_H

#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_program_fit_question {
    uint64_t low, high;   /* the range of values, inclusive */
    uint64_t multiple_of; /* only multiples of it are tried; at least 1 */
    double most_step_ms;  /* a value whose step is forecast to take longer does not fit; 0: no
                             limit */
    /* Runs a value. `ret_result` then owns no memory. */
    void (*run)(void *ctx, uint64_t value, tide_run_result *ret_result);
    void *ctx; /* borrowed */
} tide_program_fit_question;

typedef struct tide_program_fit_answer {
    bool fits;              /* some value does */
    uint64_t value;         /* the largest that does */
    tide_run_result result; /* of that */
    bool has_next;          /* false: the last value also fits */
    uint64_t next_value;    /* does not fit; after a failure: the value that failed */
    tide_run_result next_result;
    bool next_is_slow; /* it fits the memory, but takes too long */
    /* The largest value that leaves what is not measured (tide_run_of_program.is_near): `value`
     * itself unless that is near the limit. */
    bool has_safe;
    uint64_t safe_value;
    tide_run_result safe_result;
    size_t n_runs;
} tide_program_fit_answer;

/* TIDE_INVALID if no multiple is in the range. A run that neither fits nor runs out of memory ends
 * the search with its reason: TIDE_DEVICE_FAILED, or its own status. */
TIDE_NODISCARD tide_status tide_program_fit_search(const tide_program_fit_question *question,
                                                   tide_program_fit_answer *ret_answer,
                                                   tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
