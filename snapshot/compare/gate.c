#include "snapshot/compare/gate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/nearest.h"
#include "common/text/plural.h"
#include "common/text/text.h"

enum { FIGURE_BYTES = 48, REASON_BYTES = 192 };

#define EXAMPLE "for example 'peak_allocated > +2%%'"

typedef enum quantity_number {
    PEAK_ALLOCATED = 0,
    PEAK_REQUESTED,
    PEAK_ACTIVE,
    PEAK_RESERVED,
    END_ALLOCATED,
    N_ALLOCS,
    N_DEVICE_ALLOCS,
    TIME,
    CATEGORY,
    N_QUANTITIES
} quantity_number;

static const struct {
    const char *shown;  /* in messages and help */
    const char *prefix; /* before a name; NULL: `shown` is the whole quantity */
    tide_gate_unit unit;
} QUANTITIES[N_QUANTITIES] = {
    {"peak_allocated", NULL, TIDE_GATE_BYTES},      {"peak_requested", NULL, TIDE_GATE_BYTES},
    {"peak_active", NULL, TIDE_GATE_BYTES},         {"peak_reserved", NULL, TIDE_GATE_BYTES},
    {"end_allocated", NULL, TIDE_GATE_BYTES},       {"n_allocs", NULL, TIDE_GATE_COUNT},
    {"n_device_allocs", NULL, TIDE_GATE_COUNT},     {"time_PHASE", "time_", TIDE_GATE_MS},
    {"category:NAME", "category:", TIDE_GATE_BYTES}};

const char *tide_gate_quantity(size_t i) {
    return i < N_QUANTITIES ? QUANTITIES[i].shown : NULL;
}

/* ---- reading a condition ---- */

static const char *quantity_at(const void *ctx, size_t i) {
    (void)ctx;
    return tide_gate_quantity(i);
}

static const char *category_at(const void *ctx, size_t i) {
    (void)ctx;
    return i < TIDE_N_CATEGORIES ? tide_category_name((int)i) : NULL;
}

/* The message of every mistake: "at character N WHAT; for example ...". */
static tide_status wrong(const tide_gate *gate, const char *at, tide_error *error,
                         const char *what) {
    return tide_fail(error, TIDE_INVALID, "at character %zu %s; " EXAMPLE,
                     (size_t)(at - gate->text) + 1, what);
}

static tide_status no_quantity(const tide_gate *gate, const char *at, const char *word,
                               tide_error *error) {
    char text[TIDE_NEAREST_TEXT];
    char what[TIDE_NEAREST_TEXT + 32];
    const tide_words quantities = {.word_at = quantity_at};
    snprintf(what, sizeof(what), "is an unknown quantity %s",
             tide_unknown_word(&quantities, word, text));
    return wrong(gate, at, error, what);
}

/* A file may have categories of its own, so only a name that is almost a known one is refused here.
 */
static tide_status parse_category(const tide_gate *gate, const char *at, tide_error *error) {
    char text[TIDE_NEAREST_TEXT];
    char what[TIDE_NEAREST_TEXT + 64];
    const tide_words categories = {.word_at = category_at};
    if (tide_category_from_name(gate->name) >= 0 ||
        tide_nearest_word(&categories, gate->name) == NULL) {
        return TIDE_OK;
    }
    snprintf(what, sizeof(what), "is an unknown category %s; a file may have others",
             tide_unknown_word(&categories, gate->name, text));
    return wrong(gate, at, error, what);
}

static tide_status parse_quantity(tide_gate *gate, const char **at, tide_error *error) {
    const char *start = *at + strspn(*at, " \t");
    size_t n = strcspn(start, " \t<>=!");
    char word[TIDE_GATE_TEXT_BYTES];
    snprintf(word, sizeof(word), "%.*s", (int)n, start);
    *at = start + n;
    for (int i = 0; i < N_QUANTITIES; i++) {
        const char *prefix = QUANTITIES[i].prefix;
        size_t n_prefix = prefix != NULL ? strlen(prefix) : 0;
        if (prefix == NULL ? strcmp(word, QUANTITIES[i].shown) != 0
                           : strncmp(word, prefix, n_prefix) != 0) {
            continue;
        }
        if (prefix != NULL && (n == n_prefix || n - n_prefix >= TIDE_GATE_NAME_BYTES)) {
            break;
        }
        gate->quantity = i;
        gate->unit = QUANTITIES[i].unit;
        snprintf(gate->name, sizeof(gate->name), "%.63s", prefix != NULL ? word + n_prefix : "");
        return i == CATEGORY ? parse_category(gate, start + n_prefix, error) : TIDE_OK;
    }
    return no_quantity(gate, start, word, error);
}

bool tide_gate_take_operator(const char **at, tide_gate_operator *ret_operator) {
    *at += strspn(*at, " \t");
    size_t n = strspn(*at, "<>=!");
    bool with_equal = n == 2 && (*at)[1] == '=';
    if ((n != 1 && !with_equal) || ((*at)[0] != '<' && (*at)[0] != '>')) {
        return false;
    }
    *ret_operator = (*at)[0] == '>' ? (with_equal ? TIDE_GATE_AT_LEAST : TIDE_GATE_ABOVE)
                                    : (with_equal ? TIDE_GATE_AT_MOST : TIDE_GATE_BELOW);
    *at += n;
    return true;
}

static tide_status parse_operator(tide_gate *gate, const char **at, tide_error *error) {
    return tide_gate_take_operator(at, &gate->op)
               ? TIDE_OK
               : wrong(gate, *at, error, "an operator is missing: >, >=, < or <=");
}

void tide_gate_trim(const char *text, char ret_text[TIDE_GATE_TEXT_BYTES]) {
    snprintf(ret_text, TIDE_GATE_TEXT_BYTES, "%s", text + strspn(text, " \t"));
    for (size_t n = strlen(ret_text); n > 0 && (ret_text[n - 1] == ' ' || ret_text[n - 1] == '\t');
         n--) {
        ret_text[n - 1] = '\0';
    }
}

/* Skips digits with at most one point and returns the text after them; NULL if there are none. */
static const char *parse_number(const char *text, double *ret_number) {
    size_t n = strspn(text, "0123456789.");
    char *end = NULL;
    if (n == 0) {
        return NULL;
    }
    *ret_number = strtod(text, &end);
    return end == text + n && isfinite(*ret_number) ? end + strspn(end, " \t") : NULL;
}

bool tide_gate_is_percent(const char *text, double *ret_percent) {
    const char *unit = parse_number(text, ret_percent);
    return unit != NULL && strcmp(unit, "%") == 0;
}

static bool parse_ms(const char *text, double *ret_ms) {
    static const struct {
        const char *name;
        double ms;
    } UNITS[] = {{"ms", 1.0}, {"s", 1000.0}, {"us", 0.001}};
    double number = 0.0;
    const char *unit = parse_number(text, &number);
    for (size_t i = 0; unit != NULL && i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (strcmp(unit, UNITS[i].name) == 0) {
            *ret_ms = number * UNITS[i].ms;
            return true;
        }
    }
    return false;
}

static bool parse_amount(tide_gate_unit unit, const char *text, double *ret_amount) {
    uint64_t n_bytes = 0;
    switch (unit) {
    case TIDE_GATE_MS:
        return parse_ms(text, ret_amount);
    case TIDE_GATE_BYTES:
        if (tide_bytes_parse(text, &n_bytes, NULL) != TIDE_OK) {
            return false;
        }
        *ret_amount = (double)n_bytes;
        return true;
    default:
        return text[strspn(text, "0123456789")] == '\0' && parse_number(text, ret_amount) != NULL;
    }
}

static tide_status parse_bound(tide_gate *gate, const char *at, tide_error *error) {
    static const char *const WANTED[] = {
        "a bound is missing: +2% or -2% of the base, +100MiB or -100MiB from it, or 24GiB",
        "a bound is missing: +2% or -2% of the base, +3ms or -3ms from it, or 150ms",
        "a bound is missing: +2% or -2% of the base, +10 or -10 from it, or 1200"};
    char number[TIDE_GATE_TEXT_BYTES];
    at += strspn(at, " \t");
    double sign = at[0] == '-' ? -1.0 : 1.0;
    bool is_signed = at[0] == '+' || at[0] == '-';
    const char *start = at + (is_signed ? 1 : 0);
    tide_gate_trim(start, number);
    double value = 0.0;
    if (tide_gate_is_percent(number, &value)) {
        if (!is_signed) {
            return wrong(gate, at, error, "a percentage needs its sign, + or -");
        }
        gate->bound = TIDE_GATE_PERCENT;
    } else if (parse_amount(gate->unit, number, &value)) {
        gate->bound = is_signed ? TIDE_GATE_CHANGE : TIDE_GATE_ABSOLUTE;
    } else {
        return wrong(gate, at, error, WANTED[gate->unit]);
    }
    gate->value = sign * value;
    return TIDE_OK;
}

tide_status tide_gate_parse(const char *text, tide_gate *ret_gate, tide_error *error) {
    tide_gate gate = {.quantity = 0};
    if (strlen(text) >= sizeof(gate.text)) {
        return tide_fail(error, TIDE_INVALID, "longer than %zu characters; " EXAMPLE,
                         sizeof(gate.text) - 1);
    }
    snprintf(gate.text, sizeof(gate.text), "%s", text);
    const char *at = gate.text;
    TIDE_TRY(parse_quantity(&gate, &at, error));
    TIDE_TRY(parse_operator(&gate, &at, error));
    TIDE_TRY(parse_bound(&gate, at, error));
    *ret_gate = gate;
    return TIDE_OK;
}

/* ---- checking a condition ---- */

/* Whether the bytes and counts of a run may not be final, with the reason. */
static bool is_incomplete(const tide_compare_run *run, char reason[REASON_BYTES]) {
    const char *outcome = run->snapshot->run.outcome;
    if (run->device == NULL) {
        snprintf(reason, REASON_BYTES, "it has no recorded allocations");
    } else if (run->is_oom) {
        snprintf(reason, REASON_BYTES, "it ran out of memory: its figures say how far it came");
    } else if (run->snapshot->n_dropped > 0) {
        snprintf(reason, REASON_BYTES, "its log lost %" PRIu64 " %s: its figures may be too low",
                 run->snapshot->n_dropped,
                 tide_plural(run->snapshot->n_dropped, "event", "events"));
    } else if (strcmp(outcome, TIDE_SNAPSHOT_STOPPED) == 0 ||
               strcmp(outcome, TIDE_SNAPSHOT_CRASHED) == 0) {
        snprintf(reason, REASON_BYTES, "it %s before its end: its figures may be too low", outcome);
    } else {
        return false;
    }
    return true;
}

/* The forecast of a run whose step is the quantity; NULL for other quantities, and if the times
 * were measured. */
static const tide_snapshot_forecast *forecast_of(const char *phase, const tide_compare_run *run) {
    const tide_snapshot_forecast *forecast = &run->snapshot->forecast;
    return strcmp(phase, "step") == 0 && forecast->card[0] != '\0' ? forecast : NULL;
}

/* Whether the time of a run cannot be compared with the base's, with the reason. */
static bool differs_in_kind(const tide_compare *compare, const tide_compare_run *run, size_t i,
                            char reason[REASON_BYTES]) {
    const tide_compare_run *base = &compare->runs[0];
    const char *phase = run->times[i].name;
    if (base->times[i].ms.median < 0.0) {
        return false;
    }
    if ((forecast_of(phase, run) == NULL) != (forecast_of(phase, base) == NULL)) {
        snprintf(reason, REASON_BYTES, "one of the two times is a forecast, the other is measured");
    } else if (run->times[i].by_host != base->times[i].by_host) {
        snprintf(reason, REASON_BYTES,
                 "its times are by another clock than the base's (device against host)");
    } else {
        return false;
    }
    return true;
}

/* The time of a phase; -1 with the reason. */
static double time_of(const tide_compare *compare, const tide_compare_run *run, const char *phase,
                      char reason[REASON_BYTES]) {
    snprintf(reason, REASON_BYTES, "it has no phase %s", phase);
    for (size_t i = 0; i < compare->n_times; i++) {
        const tide_compare_time *time = &run->times[i];
        if (strcmp(time->name, phase) != 0) {
            continue;
        }
        const tide_snapshot_forecast *forecast = forecast_of(phase, run);
        if (time->ms.median < 0.0) {
            snprintf(reason, REASON_BYTES, "its times were not computed");
        } else if (forecast != NULL && (forecast->low_ms < 0.0 || forecast->high_ms < 0.0)) {
            snprintf(reason, REASON_BYTES, "its forecast has no upper end: too much is guessed");
            return -1.0;
        } else if (differs_in_kind(compare, run, i, reason)) {
            return -1.0;
        }
        return time->ms.median;
    }
    return -1.0;
}

/* The bytes of a category; -1 with the reason. */
static double category_bytes_of(const tide_compare *compare, const tide_compare_run *run,
                                const char *name, char reason[REASON_BYTES]) {
    for (size_t i = 0; i < compare->n_categories; i++) {
        if (strcmp(compare->categories[i], name) == 0) {
            return (double)run->category_bytes[i];
        }
    }
    snprintf(reason, REASON_BYTES, "none of the files has a category %s", name);
    return -1.0;
}

/* The figure of a run, in the gate's unit; -1 with the reason. */
static double figure_of(const tide_gate *gate, const tide_compare *compare, size_t index,
                        char reason[REASON_BYTES]) {
    const tide_compare_run *run = &compare->runs[index];
    if (gate->quantity == TIME) {
        return time_of(compare, run, gate->name, reason);
    }
    if (is_incomplete(run, reason)) {
        return -1.0;
    }
    if (gate->quantity == CATEGORY) {
        return category_bytes_of(compare, run, gate->name, reason);
    }
    const int64_t *counts = run->device->counts;
    const int64_t figures[N_QUANTITIES] = {[PEAK_ALLOCATED] = run->allocated_bytes,
                                           [PEAK_REQUESTED] = run->requested_bytes,
                                           [PEAK_ACTIVE] = run->active_bytes,
                                           [PEAK_RESERVED] = run->reserved_bytes,
                                           [END_ALLOCATED] = run->device->end.allocated_bytes,
                                           [N_ALLOCS] = counts[TIDE_ACTION_ALLOC],
                                           [N_DEVICE_ALLOCS] = counts[TIDE_ACTION_SEGMENT_ALLOC] +
                                                               counts[TIDE_ACTION_SEGMENT_MAP]};
    return (double)figures[gate->quantity];
}

bool tide_gate_compares(tide_gate_operator op, double figure, double limit) {
    switch (op) {
    case TIDE_GATE_ABOVE:
        return figure > limit;
    case TIDE_GATE_AT_LEAST:
        return figure >= limit;
    case TIDE_GATE_BELOW:
        return figure < limit;
    default:
        return figure <= limit;
    }
}

static const char *figure_text(const tide_gate *gate, double figure, char text[FIGURE_BYTES]) {
    char bytes[TIDE_BYTES_TEXT];
    if (gate->unit == TIDE_GATE_MS) {
        snprintf(text, FIGURE_BYTES, "%.3f ms", figure);
    } else if (gate->unit == TIDE_GATE_BYTES) {
        snprintf(text, FIGURE_BYTES, "%s", tide_bytes_format((int64_t)figure, bytes));
    } else {
        snprintf(text, FIGURE_BYTES, "%.0f", figure);
    }
    return text;
}

/* "b has 1.02 GiB, a 1.00 GiB (+2.34 %, +25165824 bytes)" */
static void say_figures(const tide_gate *gate, const tide_compare *compare, size_t run,
                        tide_gate_result *result) {
    static const char *const UNITS[] = {" bytes", " ms", ""};
    char own[FIGURE_BYTES];
    char base[FIGURE_BYTES];
    tide_text to = tide_text_in(result->words, sizeof(result->words));
    tide_text_add(&to, "%.128s has %s", compare->runs[run].name,
                  figure_text(gate, result->figure, own));
    if (result->base < 0.0) {
        return;
    }
    double change = result->figure - result->base;
    tide_text_add(&to, ", %.128s %s (", compare->runs[0].name,
                  figure_text(gate, result->base, base));
    if (result->base > 0.0) {
        tide_text_add(&to, "%+.2f %%, ", 100.0 * change / result->base);
    }
    tide_text_add(&to, "%+.*f%s)", gate->unit == TIDE_GATE_MS ? 3 : 0, change, UNITS[gate->unit]);
}

/* A forecast is a range. A condition on the step holds only if the whole range is on its side: of
 * an absolute bound, or of the base's range. */
static bool is_certain(const tide_gate *gate, const tide_compare *compare, size_t run,
                       double limit) {
    bool is_upper = gate->op == TIDE_GATE_ABOVE || gate->op == TIDE_GATE_AT_LEAST;
    const tide_snapshot_forecast *base = &compare->runs[0].snapshot->forecast;
    const tide_snapshot_forecast *own =
        gate->quantity == TIME ? forecast_of(gate->name, &compare->runs[run]) : NULL;
    if (own == NULL) {
        return true;
    }
    if (gate->bound == TIDE_GATE_ABSOLUTE) {
        return tide_gate_compares(gate->op, is_upper ? own->low_ms : own->high_ms, limit);
    }
    return is_upper ? own->low_ms > base->high_ms : own->high_ms < base->low_ms;
}

tide_gate_result tide_gate_judge(const tide_gate *gate, const tide_compare *compare, size_t run) {
    tide_gate_result result = {.verdict = TIDE_GATE_UNKNOWN, .limit = -1.0};
    char own_reason[REASON_BYTES] = "";
    char base_reason[REASON_BYTES] = "";
    result.figure = figure_of(gate, compare, run, own_reason);
    result.base = figure_of(gate, compare, 0, base_reason);
    if (result.figure < 0.0) {
        snprintf(result.words, sizeof(result.words), "%.128s cannot be judged, as %s",
                 compare->runs[run].name, own_reason);
        return result;
    }
    if (result.base < 0.0 && gate->bound != TIDE_GATE_ABSOLUTE) {
        snprintf(result.words, sizeof(result.words),
                 "%.128s cannot be judged by its base %.128s: %s", compare->runs[run].name,
                 compare->runs[0].name, base_reason);
        return result;
    }
    result.limit = gate->bound == TIDE_GATE_ABSOLUTE ? gate->value
                   : gate->bound == TIDE_GATE_CHANGE
                       ? result.base + gate->value
                       : result.base + result.base * gate->value / 100.0;
    result.verdict = tide_gate_compares(gate->op, result.figure, result.limit) &&
                             is_certain(gate, compare, run, result.limit)
                         ? TIDE_GATE_HOLDS
                         : TIDE_GATE_PASSES;
    say_figures(gate, compare, run, &result);
    return result;
}
