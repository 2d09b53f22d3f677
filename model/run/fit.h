/* fit.h - the largest batch, context, number of layers or preset that fits, by trial.
 *
 * Every answer has been run (programs/runs/run.h): the value in it fits, the next one does not. The
 * closed forms of docs/model/memory-model.md give a lower bound of the memory of a value, so values
 * that cannot fit are never run; the largest of the others is found by bisection. A cache under
 * pressure may handle a larger value but not a smaller one, so TIDE_FIT_MAX_ABOVE of the values
 * above the answer are also tried.
 */
#ifndef TIDE_MODEL_RUN_FIT_H
#define TIDE_MODEL_RUN_FIT_H

#include "model/run/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_FIT_MAX_ABOVE = 128 /* even */ };

/* "batch", "context", "layers", "model"; NULL past the last: the choices of an option. */
const char *tide_fit_quantity_name(size_t i);
/* The quantity (tide_run_quantity) of a name, or -1. */
int tide_fit_quantity_from_name(const char *name);

typedef struct tide_fit_question {
    tide_run_config config;     /* the run and its limits; the varied quantity is replaced */
    tide_run_quantity quantity; /* the varied quantity */
    uint64_t multiple_of;       /* only multiples of it are tried; at least 1; 1 for presets */
} tide_fit_question;

/* Values are of the question's kind. */
typedef struct tide_fit_answer {
    uint64_t usable_bytes;  /* limit of the reserved bytes; UINT64_MAX: no bound */
    uint64_t value;         /* the largest that fits; 0: none fits */
    tide_run_memory memory; /* the memory of that value */
    /* For the next value: */
    uint64_t next_value; /* the smallest larger value that was run and does not fit; 0: none,
                            because no run may have more than `value` */
    tide_run_memory next_memory; /* its memory without a bound */
    uint64_t needed_bytes;  /* usable bytes with which it fits; with TIDE_FIT_GRAIN less it does
                               not */
    uint64_t lowest_unfit;  /* the smallest value that was run and does not fit; 0: none. It may
                               be smaller than `value`, because the cache frees more under
                               pressure */
    size_t n_runs;          /* how many runs were tried */
    bool is_every_one_seen; /* every larger value was run, or its lower bound is too high */
} tide_fit_answer;

#define TIDE_FIT_GRAIN                                                                             \
    ((uint64_t)2 << 20) /* the precision of needed_bytes: the page size of a card */

/* TIDE_INVALID if the limits have no bound, or the workload is not valid with any value. */
TIDE_NODISCARD tide_status tide_fit_search(const tide_fit_question *question,
                                           tide_fit_answer *ret_answer, tide_error *error);

/* The question's run with a value; TIDE_LIMIT, TIDE_INVALID if no run may have that value. */
TIDE_NODISCARD tide_status tide_fit_apply(const tide_fit_question *question, uint64_t value,
                                          tide_run_config *ret_config, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
