#include "programs/runs/program_fit.h"

#include <inttypes.h>
#include <string.h>

/* A guess goes at most this far beyond the largest value that fits, because two small values
 * predict the bytes of a large one badly; and after this many guesses that did not halve the range,
 * it is halved. */
enum { MOST_TIMES = 8, MAX_SLOW = 3, MAX_POINTS = 16 };

/* A run that fitted. */
typedef struct point {
    uint64_t n;    /* multiple */
    double margin; /* bytes of the card that it left free; below 0: unknown */
} point;

/* Values are counted in multiples: `first` is the lowest. */
typedef struct search {
    const tide_program_fit_question *question;
    tide_program_fit_answer *answer;
    tide_error *error;
    uint64_t low;             /* the largest that fits */
    uint64_t high;            /* the smallest that does not, or one beyond the last */
    bool has_high;            /* it was run */
    point fitted[MAX_POINTS]; /* those that fitted, upwards; the last is `low` */
    size_t n_fitted;
    uint64_t safe; /* the largest that fits with its margin; below `first`: none so far */
    uint64_t near; /* the smallest that was near the limit; 0: none */
    double safe_margin, near_margin; /* bytes that they left beyond what is not measured */
    uint64_t step;                   /* from low or high, if the guess is beyond it */
    size_t n_slow;                   /* runs in a row that left more than half of the range */
} search;

/* What a value that fits leaves. */
static void note_margin(search *at, uint64_t n, const tide_run_result *result) {
    double margin = (double)result->program.margin_bytes - (double)result->program.unmeasured_bytes;
    if (result->program.is_near == 1) {
        at->near_margin = at->near == 0 || n < at->near ? margin : at->near_margin;
        at->near = at->near == 0 || n < at->near ? n : at->near;
    } else if (!at->answer->has_safe || n > at->safe) {
        at->safe = n;
        at->safe_margin = margin;
        at->answer->has_safe = true;
        at->answer->safe_value = n * at->question->multiple_of;
        at->answer->safe_result = *result;
    }
}

static tide_status try_multiple(search *at, uint64_t n, bool *ret_fits) {
    uint64_t value = n * at->question->multiple_of;
    tide_run_result result;
    at->answer->n_runs++;
    at->question->run(at->question->ctx, value, &result);
    bool is_completed = result.outcome == TIDE_OUTCOME_COMPLETED;
    if (is_completed && at->question->most_step_ms > 0.0 && result.program.step_ms < 0.0) {
        at->answer->next_value = value;
        return tide_fail(at->error, TIDE_UNSUPPORTED,
                         "no time of a step can be forecast: more than 5 %% of it is guessed, or "
                         "the program launches nothing; tidemark run --time says which");
    }
    bool is_slow = is_completed && at->question->most_step_ms > 0.0 &&
                   result.program.step_ms > at->question->most_step_ms;
    *ret_fits = is_completed && !is_slow;
    if (*ret_fits) {
        note_margin(at, n, &result);
        at->answer->fits = true;
        at->answer->value = value;
        at->answer->result = result;
        return TIDE_OK;
    }
    if (is_slow || result.outcome == TIDE_OUTCOME_OOM) {
        at->answer->has_next = true;
        at->answer->next_is_slow = is_slow;
        at->answer->next_value = value;
        at->answer->next_result = result;
        return TIDE_OK;
    }
    at->answer->next_value = value;
    return tide_fail(at->error, result.status != TIDE_OK ? result.status : TIDE_DEVICE_FAILED,
                     "%s: %s", tide_outcome_name((int)result.outcome), result.reason);
}

static void move_up(search *at, uint64_t n) {
    at->low = n;
    if (at->n_fitted == MAX_POINTS) { /* the oldest are the least informative */
        memmove(at->fitted, at->fitted + 1, (MAX_POINTS - 1) * sizeof(at->fitted[0]));
        at->n_fitted--;
    }
    at->fitted[at->n_fitted++] =
        (point){.n = n, .margin = (double)at->answer->result.program.margin_bytes};
}

/* How many more multiples would fit, extrapolated from two runs; below 0: unknown. The cache
 * reserves in large pieces, so two neighbours predict badly: the second run is well below the
 * first. */
static double more_by_two(const search *at) {
    const point *last = &at->fitted[at->n_fitted - 1];
    const point *other = &at->fitted[0];
    for (size_t i = 1; i + 1 < at->n_fitted; i++) {
        other = at->fitted[i].n <= last->n - last->n / 4 ? &at->fitted[i] : other;
    }
    bool is_known = last->margin >= 0.0 && other->margin > last->margin && last->n > other->n;
    return is_known ? last->margin / (other->margin - last->margin) * (double)(last->n - other->n)
                    : -1.0;
}

static uint64_t within(uint64_t n, uint64_t least, uint64_t most) {
    return n < least ? least : n > most ? most : n;
}

/* The value to try next, between low and high. A guess beyond one of them is usually nearly right:
 * then the values next to that one are tried, in steps that double. */
static uint64_t choose(search *at) {
    uint64_t least = at->low + 1;
    uint64_t most = at->high - 1;
    uint64_t farthest = at->low > UINT64_MAX / MOST_TIMES ? UINT64_MAX : at->low * MOST_TIMES;
    uint64_t middle = at->has_high ? within(at->low + (at->high - at->low) / 2, least, most) : most;
    double n_more = more_by_two(at);
    if (n_more < 0.0 || at->n_slow >= MAX_SLOW) {
        return at->has_high ? middle : within(2 * at->low, least, most);
    }
    uint64_t guess = n_more < (double)(farthest - at->low) ? at->low + (uint64_t)n_more : farthest;
    if (guess > at->low && (guess < at->high || !at->has_high)) {
        return within(guess, least, most);
    }
    uint64_t step = at->step;
    at->step *= 2;
    return guess <= at->low ? within(at->low + step, least, middle)
                            : within(at->high > step ? at->high - step : 0, middle, most);
}

static tide_status narrow(search *at) {
    while (at->high - at->low > 1) {
        uint64_t n = choose(at);
        uint64_t width = at->high - at->low;
        bool fits = false;
        TIDE_TRY(try_multiple(at, n, &fits));
        if (fits) {
            move_up(at, n);
        } else {
            at->high = n;
            at->has_high = true;
        }
        at->n_slow = at->n_slow < MAX_SLOW && at->has_high && at->high - at->low > width / 2
                         ? at->n_slow + 1
                         : 0;
    }
    return TIDE_OK;
}

/* A value between the last with its margin and the first near the limit: interpolated in two of
 * three steps, because the cache reserves in large pieces, and otherwise in the middle. */
static uint64_t choose_safe(const search *at, size_t n_steps) {
    uint64_t width = at->near - at->safe;
    double share = 0.5;
    if (n_steps % 3 != 2 && at->answer->has_safe && at->safe_margin > at->near_margin) {
        share = at->safe_margin / (at->safe_margin - at->near_margin);
    }
    uint64_t more = share > 0.0 && share < 1.0 ? (uint64_t)(share * (double)width) : width / 2;
    return at->safe + within(more, 1, width - 1);
}

static tide_status find_safe(search *at) {
    for (size_t n_steps = 0; at->near > at->safe + 1; n_steps++) {
        uint64_t n = choose_safe(at, n_steps);
        uint64_t value = n * at->question->multiple_of;
        tide_run_result result;
        at->answer->n_runs++;
        at->question->run(at->question->ctx, value, &result);
        if (result.outcome == TIDE_OUTCOME_COMPLETED) {
            note_margin(at, n, &result);
        } else if (result.outcome == TIDE_OUTCOME_OOM) {
            at->near = n; /* although a larger value fitted */
        } else {
            at->answer->next_value = value;
            return tide_fail(at->error,
                             result.status != TIDE_OK ? result.status : TIDE_DEVICE_FAILED,
                             "%s: %s", tide_outcome_name((int)result.outcome), result.reason);
        }
    }
    return TIDE_OK;
}

tide_status tide_program_fit_search(const tide_program_fit_question *question,
                                    tide_program_fit_answer *ret_answer, tide_error *error) {
    uint64_t unit = question->multiple_of > 0 ? question->multiple_of : 1;
    uint64_t first = question->low / unit + (question->low % unit != 0);
    uint64_t last = question->high / unit;
    search at = {.question = question,
                 .answer = ret_answer,
                 .error = error,
                 .low = first,
                 .high = last + 1,
                 .safe = first > 0 ? first - 1 : 0,
                 .step = 1};
    bool fits = false;
    *ret_answer = (tide_program_fit_answer){.fits = false};
    tide_run_result_init(&ret_answer->result);
    tide_run_result_init(&ret_answer->next_result);
    tide_run_result_init(&ret_answer->safe_result);
    if (question->multiple_of == 0 || first > last) {
        return tide_fail(error, TIDE_INVALID,
                         "no multiple of %" PRIu64 " is between %" PRIu64 " and %" PRIu64,
                         question->multiple_of, question->low, question->high);
    }
    TIDE_TRY(try_multiple(&at, first, &fits));
    if (!fits) {
        return TIDE_OK;
    }
    move_up(&at, first);
    TIDE_TRY(narrow(&at));
    return ret_answer->result.program.is_near == 1 ? find_safe(&at) : TIDE_OK;
}
