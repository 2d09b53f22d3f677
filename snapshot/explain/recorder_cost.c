#include "snapshot/explain/recorder_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"
#include "snapshot/document/scope_paths.h"

/* The last scope "step N"; n_scopes: none. */
static size_t last_step(const tide_snapshot *snapshot) {
    for (size_t i = snapshot->n_scopes; i > 0; i--) {
        const tide_scope_row *scope = &snapshot->scopes[i - 1];
        if (scope->kind == TIDE_SCOPE_STEP &&
            strcmp(tide_snapshot_text(snapshot, scope->name), "step") == 0) {
            return i - 1;
        }
    }
    return snapshot->n_scopes;
}

/* Whether the scope is in a phase of the step: the timed part of a step excludes its releases at
 * the end, outside every phase. Also false below the depth of a path, because a file with endlessly
 * nested scopes would take as long for each of its events. */
static bool is_in_phase(const tide_snapshot *snapshot, uint32_t scope, size_t step) {
    bool in_phase = false;
    for (int i = 0; i < TIDE_SCOPE_PATH_DEPTH && scope != TIDE_NONE && scope > step; i++) {
        in_phase = in_phase || snapshot->scopes[scope].kind == TIDE_SCOPE_PHASE;
        scope = snapshot->scopes[scope].parent;
    }
    return in_phase && scope == step;
}

static int64_t count_events(const tide_snapshot *snapshot) {
    size_t step = last_step(snapshot);
    int64_t n_events = 0;
    if (step == snapshot->n_scopes || snapshot->n_events == 0) {
        return -1;
    }
    if (snapshot->n_dropped > 0 &&
        (strcmp(snapshot->full_policy, "keep-newest") != 0 ||
         snapshot->events.time_ns[0] > snapshot->scopes[step].begin_ns)) {
        return -1; /* events of the step are missing */
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n_events += is_in_phase(snapshot, tide_index_at(&snapshot->events.scope, i), step);
    }
    return n_events;
}

/* The mean time of a step; -1: not measured. */
static double mean_step_ms(const tide_snapshot_timing *timing) {
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        if (strcmp(phase->name, "step") == 0) {
            return tide_statistics_of(phase->host_ms, phase->n_samples).mean;
        }
    }
    return -1.0;
}

static int compare_shares(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* How many of n sorted samples to leave out at each end for the rest to contain the median of their
 * distribution with 95 % confidence, whatever the distribution: the k-th smallest is above the
 * median as often as fewer than k of n coins show heads, which must be below 2.5 %. With fewer than
 * TIDE_RECORDER_MIN_PAIRS samples even the full range is below 95 %. */
static size_t n_outside(size_t n) {
    double term = ldexp(1.0, -(int)n); /* of 0 heads; n is at most 1000, so this is not denormal */
    double sum = term;
    size_t k = 0;
    while (sum <= 0.025) {
        term *= (double)(n - k) / (double)(k + 1);
        sum += term;
        k++;
    }
    return k > 0 ? k - 1 : 0;
}

static void compare_pairs(const tide_snapshot_timing *timing, tide_recorder_cost *cost) {
    double shares[TIDE_RECORDER_MAX_PAIRS];
    size_t n = timing->n_recorder_pairs;
    for (size_t i = 0; i < n; i++) {
        if (n > TIDE_RECORDER_MAX_PAIRS || !(timing->recorded_step_ms[i] > 0.0) ||
            !(timing->unrecorded_step_ms[i] > 0.0)) {
            return; /* from a damaged file: not measured */
        }
        shares[i] = 1.0 - timing->unrecorded_step_ms[i] / timing->recorded_step_ms[i];
    }
    if (n == 0) {
        return;
    }
    qsort(shares, n, sizeof(shares[0]), compare_shares);
    size_t outside = n_outside(n);
    cost->n_pairs = n;
    cost->pair_share = (shares[(n - 1) / 2] + shares[n / 2]) / 2.0;
    cost->low_share = shares[outside];
    cost->high_share = shares[n - 1 - outside];
}

tide_recorder_cost tide_recorder_cost_of(const tide_snapshot *snapshot) {
    tide_recorder_cost cost = {.n_events = count_events(snapshot),
                               .ns_per_event = snapshot->timing.recorder_ns_per_event,
                               .step_ms = mean_step_ms(&snapshot->timing),
                               .event_share = -1.0};
    if (cost.n_events >= 0 && cost.ns_per_event >= 0.0 && cost.step_ms > 0.0) {
        cost.event_share = (double)cost.n_events * cost.ns_per_event * 1e-6 / cost.step_ms;
    }
    compare_pairs(&snapshot->timing, &cost);
    return cost;
}

bool tide_recorder_cost_shows(const tide_recorder_cost *cost) {
    return cost->n_pairs >= TIDE_RECORDER_MIN_PAIRS && cost->low_share > 0.0;
}
