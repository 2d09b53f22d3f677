/* Finds the largest value of a quantity that fits, by bisection over runs. */
#include "model/run/fit.h"

#include <inttypes.h>
#include <string.h>

/* Values of a search: 1 means multiple_of, 2 means twice that, and so on. */
typedef struct search {
    const tide_fit_question *question; /* borrowed */
    tide_fit_answer *answer;           /* borrowed: the result so far */
    tide_error *error;                 /* borrowed; may be NULL */
} search;

static const char *const QUANTITIES[TIDE_N_RUN_QUANTITIES] = {
    [TIDE_RUN_QUANTITY_BATCH] = "batch",
    [TIDE_RUN_QUANTITY_CONTEXT] = "context",
    [TIDE_RUN_QUANTITY_LAYERS] = "layers",
    [TIDE_RUN_QUANTITY_PRESET] = "model",
};

const char *tide_fit_quantity_name(size_t i) {
    return i < TIDE_N_RUN_QUANTITIES ? QUANTITIES[i] : NULL;
}

int tide_fit_quantity_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_RUN_QUANTITIES; i++) {
        if (strcmp(QUANTITIES[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

tide_status tide_fit_apply(const tide_fit_question *question, uint64_t value,
                           tide_run_config *ret_config, tide_error *error) {
    *ret_config = question->config;
    return tide_run_model_set(&ret_config->workload, question->quantity, value, error);
}

/* Checks that a run may have this value, and computes a lower bound of its bytes. */
static tide_status least_bytes(const search *at, uint64_t value, uint64_t *ret_bytes,
                               tide_error *error) {
    tide_run_config config;
    TIDE_TRY(tide_fit_apply(at->question, value, &config, error));
    *ret_bytes = tide_workload_requested_peak_bytes(tide_run_model_of(&config.workload));
    return TIDE_OK;
}

static bool may_fit(const search *at, uint64_t value) {
    uint64_t n_bytes = 0;
    return least_bytes(at, value, &n_bytes, NULL) == TIDE_OK && n_bytes <= at->answer->usable_bytes;
}

/* Runs a value within these limits. */
static tide_status run_within(const search *at, const tide_run_limits *limits, uint64_t value,
                              bool *ret_fits, tide_run_memory *ret_memory) {
    tide_run_config config;
    TIDE_TRY(tide_fit_apply(at->question, value, &config, at->error));
    config.limits = *limits;
    at->answer->n_runs++;
    return tide_run_try(&config, ret_fits, ret_memory, at->error);
}

/* Runs a value. If it fits, it becomes the answer. */
static tide_status try_value(const search *at, uint64_t value, bool *ret_fits) {
    tide_run_memory memory;
    TIDE_TRY(run_within(at, &at->question->config.limits, value, ret_fits, &memory));
    if (*ret_fits) {
        at->answer->value = value;
        at->answer->memory = memory;
    } else if (at->answer->lowest_unfit == 0 || value < at->answer->lowest_unfit) {
        at->answer->lowest_unfit = value;
    }
    return TIDE_OK;
}

/* The largest multiple, in units, whose lower bound does not exceed the usable bytes; 0: none. The
 * lower bound grows with the value, so bisection finds it. */
static uint64_t largest_that_may_fit(const search *at, uint64_t unit) {
    uint64_t low = 0;
    uint64_t high = 1;
    while (high <= UINT64_MAX / 2 / unit && may_fit(at, high * unit)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (may_fit(at, middle * unit)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Narrows two multiples, of which the lower fits (0: unknown) and the upper does not, to a
 * neighbouring pair with the same property. */
static tide_status bisect(const search *at, uint64_t unit, uint64_t low, uint64_t high,
                          uint64_t *ret_low) {
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        bool fits = false;
        TIDE_TRY(try_value(at, middle * unit, &fits));
        if (fits) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *ret_low = low;
    return TIDE_OK;
}

/* The higher values that are tried: all up to `near`, then every `step`-th up to `last`. */
typedef struct above {
    uint64_t near; /* low + TIDE_FIT_MAX_ABOVE / 2, at most last */
    uint64_t step; /* 1 and more */
    uint64_t last; /* that may fit */
} above;

static above divide_above(uint64_t low, uint64_t last) {
    const uint64_t n = TIDE_FIT_MAX_ABOVE / 2;
    above range = {.near = last - low > n ? low + n : last, .last = last};
    range.step = (last - range.near + n - 1) / n;
    range.step = range.step > 1 ? range.step : 1;
    return range;
}

/* Finds the highest of them that fits; `low` if none does. */
static tide_status try_above(const search *at, uint64_t unit, uint64_t low, const above *range,
                             uint64_t *ret_highest) {
    uint64_t highest = low;
    for (uint64_t n = low + 2; n <= range->last; n += n < range->near ? 1 : range->step) {
        bool fits = false;
        TIDE_TRY(try_value(at, n * unit, &fits));
        highest = fits ? n : highest;
    }
    *ret_highest = highest;
    return TIDE_OK;
}

/* Tries TIDE_FIT_MAX_ABOVE values above the pair that bisection found, up to the last multiple that
 * may fit. If one of them fits, bisection continues from there. */
static tide_status look_above(const search *at, uint64_t unit, uint64_t low, uint64_t last) {
    while (true) {
        const above range = divide_above(low, last);
        uint64_t highest = low;
        at->answer->is_every_one_seen = range.step == 1;
        TIDE_TRY(try_above(at, unit, low, &range, &highest));
        if (highest == low) {
            return TIDE_OK;
        }
        uint64_t end = highest + (highest < range.near ? 1 : range.step);
        TIDE_TRY(bisect(at, unit, highest, end <= last ? end : last + 1, &low));
    }
}

static tide_status find_multiple(const search *at, uint64_t unit) {
    uint64_t last = largest_that_may_fit(at, unit);
    uint64_t low = 0;
    bool fits = false;
    at->answer->is_every_one_seen = true;
    if (last == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(try_value(at, last * unit, &fits));
    if (fits) {
        return TIDE_OK;
    }
    TIDE_TRY(bisect(at, unit, 0, last, &low));
    return look_above(at, unit, low, last);
}

/* Tries the presets from the largest down: they are ordered by parameters, but a later one may need
 * less memory for something else. */
static tide_status find_preset(const search *at) {
    size_t n_presets = 0;
    while (tide_model_preset_name(n_presets) != NULL) {
        n_presets++;
    }
    at->answer->is_every_one_seen = true;
    for (size_t i = n_presets; i > 0; i--) {
        bool fits = false;
        if (may_fit(at, i)) {
            TIDE_TRY(try_value(at, i, &fits));
        }
        if (fits) {
            return TIDE_OK;
        }
    }
    return TIDE_OK;
}

/* Whether a value fits with a memory limit of `units` times TIDE_FIT_GRAIN and no other limit. */
static tide_status fits_in(const search *at, uint64_t value, uint64_t units, bool *ret_fits) {
    tide_run_limits limits = at->question->config.limits;
    tide_run_memory memory;
    limits.ignores_device = true; /* no bound except the memory limit, which is searched for */
    limits.memory_limit_bytes = units * TIDE_FIT_GRAIN;
    return run_within(at, &limits, value, ret_fits, &memory);
}

/* Finds by runs the memory that the next value would need, which is more than the usable bytes. The
 * search begins with its peak without a limit. A limit can make a run need more, for example by
 * garbage collection, so the gap doubles until a run fits. */
static tide_status find_needed(const search *at, uint64_t value) {
    tide_fit_answer *answer = at->answer;
    tide_run_limits limits = at->question->config.limits;
    uint64_t low = answer->usable_bytes / TIDE_FIT_GRAIN;
    bool fits = false;
    limits.ignores_device = true;
    limits.memory_limit_bytes = TIDE_RUN_UNLIMITED;
    TIDE_TRY(run_within(at, &limits, value, &fits, &answer->next_memory));
    uint64_t peak =
        ((uint64_t)answer->next_memory.reserved_peak_bytes + TIDE_FIT_GRAIN - 1) / TIDE_FIT_GRAIN;
    uint64_t gap = peak > low ? peak - low : 1;
    TIDE_TRY(fits_in(at, value, low + gap, &fits));
    while (!fits) {
        if (low + gap > (uint64_t)INT64_MAX / TIDE_FIT_GRAIN) {
            return tide_fail(at->error, TIDE_LIMIT, "no memory limit is enough for %" PRIu64,
                             value);
        }
        low += gap;
        gap *= 2;
        TIDE_TRY(fits_in(at, value, low + gap, &fits));
    }
    uint64_t high = low + gap;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        TIDE_TRY(fits_in(at, value, middle, &fits));
        if (fits) {
            high = middle;
        } else {
            low = middle;
        }
    }
    answer->next_value = value;
    answer->needed_bytes = high * TIDE_FIT_GRAIN;
    return TIDE_OK;
}

tide_status tide_fit_search(const tide_fit_question *question, tide_fit_answer *ret_answer,
                            tide_error *error) {
    search at = {.question = question, .answer = ret_answer, .error = error};
    uint64_t unit = question->quantity == TIDE_RUN_QUANTITY_PRESET ? 1 : question->multiple_of;
    uint64_t n_bytes = 0;
    *ret_answer = (tide_fit_answer){.value = 0};
    TIDE_TRY(
        tide_run_limits_usable(&question->config.limits, &ret_answer->usable_bytes, NULL, error));
    if (ret_answer->usable_bytes == UINT64_MAX) {
        return tide_fail(error, TIDE_INVALID, "%s has no end: everything fits",
                         question->config.limits.device);
    }
    TIDE_TRY(least_bytes(&at, unit, &n_bytes, error));
    if (question->quantity == TIDE_RUN_QUANTITY_PRESET) {
        TIDE_TRY(find_preset(&at));
    } else {
        TIDE_TRY(find_multiple(&at, unit));
    }
    uint64_t next = ret_answer->value + unit;
    if (least_bytes(&at, next, &n_bytes, NULL) != TIDE_OK) {
        return TIDE_OK; /* no run may have more */
    }
    return find_needed(&at, next);
}
