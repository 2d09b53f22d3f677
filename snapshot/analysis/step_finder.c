#include "snapshot/analysis/step_finder.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"

#define PROFILER_STEP "ProfilerStep#"
#define OPTIMIZER_STEP "Optimizer.step#"

/* Steps by scope while rows are walked. */
typedef struct finder {
    const tide_snapshot *snapshot; /* borrowed */
    tide_steps *steps;             /* borrowed; filled */
    uint32_t *of_scope;            /* owned; per scope, number of its outermost step, TIDE_NONE */
    size_t capacity;               /* of the steps */
    const char *optimizer; /* TIDE_STEPS_OPTIMIZER: the annotation that ends a step; NULL: not yet
                              seen */
} finder;

tide_status tide_steps_add(tide_steps *steps, size_t *capacity, tide_step step) {
    tide_step *grown =
        tide_hostmem_grow(steps->mem, steps->steps, capacity, steps->n_steps + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    steps->steps = grown;
    steps->steps[steps->n_steps++] = step;
    return TIDE_OK;
}

tide_step tide_step_of_scope(uint32_t scope, const tide_scope_row *row, const char *name,
                             int64_t number) {
    return (tide_step){.scope = scope,
                       .number = number,
                       .is_warmup = strcmp(name, "warmup") == 0,
                       .is_open = row->duration_ns == TIDE_SCOPE_OPEN,
                       .first = SIZE_MAX,
                       .differs = -1,
                       .differs_from = -1};
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether a scope is a step by the current source. */
static bool is_step(finder *find, const tide_scope_row *row) {
    const char *name = tide_snapshot_text(find->snapshot, row->name);
    switch (find->steps->source) {
    case TIDE_STEPS_RECORDED:
        return row->kind == TIDE_SCOPE_STEP;
    case TIDE_STEPS_PROFILER:
        return row->kind == TIDE_SCOPE_USER && starts_with(name, PROFILER_STEP);
    default:
        if (row->kind != TIDE_SCOPE_USER || !starts_with(name, OPTIMIZER_STEP)) {
            return false;
        }
        /* A program with several optimizers calls each of them once per step. */
        find->optimizer = find->optimizer == NULL ? name : find->optimizer;
        return strcmp(name, find->optimizer) == 0;
    }
}

static int64_t number_of(const finder *find, const tide_scope_row *row) {
    const char *name = tide_snapshot_text(find->snapshot, row->name);
    if (find->steps->source == TIDE_STEPS_PROFILER) {
        const char *digits = name + sizeof(PROFILER_STEP) - 1;
        size_t n = strspn(digits, "0123456789");
        return n > 0 && n < 19 && digits[n] == '\0' ? strtoll(digits, NULL, 10) : -1;
    }
    return find->steps->source == TIDE_STEPS_RECORDED ? row->index : -1;
}

static tide_status number_scopes(finder *find) {
    const tide_snapshot *snapshot = find->snapshot;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        TIDE_ASSERT(row->parent == TIDE_NONE || row->parent < i);
        find->of_scope[i] = row->parent == TIDE_NONE ? TIDE_NONE : find->of_scope[row->parent];
        if (find->of_scope[i] != TIDE_NONE || !is_step(find, row)) {
            continue;
        }
        find->of_scope[i] = (uint32_t)find->steps->n_steps;
        const char *name = tide_snapshot_text(snapshot, row->name);
        TIDE_TRY(tide_steps_add(find->steps, &find->capacity,
                                tide_step_of_scope((uint32_t)i, row, name, number_of(find, row))));
    }
    return TIDE_OK;
}

static int by_first_row(const void *left, const void *right) {
    const tide_step *a = left;
    const tide_step *b = right;
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return a->scope < b->scope ? -1 : a->scope > b->scope;
}

void tide_steps_sort(tide_steps *steps) {
    if (steps->n_steps > 0) {
        qsort(steps->steps, steps->n_steps, sizeof(*steps->steps), by_first_row);
    }
    while (steps->n_steps > 0 && steps->steps[steps->n_steps - 1].first == SIZE_MAX) {
        steps->n_steps--; /* no rows on this device */
    }
}

static void find_rows(finder *find) {
    const tide_snapshot *snapshot = find->snapshot;
    tide_steps *steps = find->steps;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        uint32_t scope = tide_index_at(&snapshot->events.scope, i);
        if (snapshot->events.device[i] != steps->device || scope == TIDE_NONE ||
            find->of_scope[scope] == TIDE_NONE) {
            continue;
        }
        TIDE_ASSERT(find->of_scope[scope] < steps->n_steps);
        tide_step *step = &steps->steps[find->of_scope[scope]];
        step->first = step->first == SIZE_MAX ? i : step->first;
        step->last = i;
    }
    tide_steps_sort(steps);
}

/* Each scope only ends its step, which begins after the previous one. The first step begins with
 * the recording and includes the program's preparations: it counts as warm-up. */
static void begin_behind_the_last(tide_steps *steps) {
    for (size_t i = steps->n_steps; i-- > 0;) {
        steps->steps[i].first = i > 0 ? steps->steps[i - 1].last + 1 : 0;
        steps->steps[i].number = (int64_t)i;
        steps->steps[i].is_warmup = i == 0;
    }
}

static tide_status find_by(finder *find, tide_step_source source) {
    tide_steps *steps = find->steps;
    steps->source = source;
    steps->n_steps = 0;
    TIDE_TRY(number_scopes(find));
    if (steps->n_steps > 0) {
        find_rows(find);
    }
    if (source == TIDE_STEPS_OPTIMIZER) {
        begin_behind_the_last(steps);
    }
    return TIDE_OK;
}

tide_status tide_steps_find_named(tide_steps *steps, const tide_snapshot *snapshot) {
    finder find = {.snapshot = snapshot, .steps = steps};
    tide_status status = TIDE_OK;
    find.of_scope = tide_hostmem_zeroed(steps->mem, snapshot->n_scopes, sizeof(*find.of_scope));
    if (find.of_scope == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (int source = TIDE_STEPS_RECORDED;
         status == TIDE_OK && steps->n_steps == 0 && source < TIDE_STEPS_INFERRED; source++) {
        status = find_by(&find, (tide_step_source)source);
    }
    steps->mem->release(steps->mem->ctx, find.of_scope);
    return status;
}

tide_status tide_steps_find(tide_steps *steps, const tide_snapshot *snapshot,
                            const tide_lifetimes *lifetimes) {
    TIDE_TRY(tide_steps_find_named(steps, snapshot));
    return steps->n_steps == 0 ? tide_steps_infer(steps, snapshot, lifetimes) : TIDE_OK;
}
