#include "snapshot/steps.h"

#include <stdlib.h>
#include <string.h>

/* Steps by scope while rows are walked. */
typedef struct finder {
    const tide_snapshot *snapshot; /* borrowed */
    tide_steps *steps;             /* borrowed; filled */
    uint32_t *of_scope; /* owned; number of the outermost step around each scope, TIDE_NONE */
    size_t capacity;    /* of the steps */
} finder;

static tide_status number_scopes(finder *find) {
    const tide_snapshot *snapshot = find->snapshot;
    tide_steps *steps = find->steps;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        find->of_scope[i] = row->parent == TIDE_NONE ? TIDE_NONE : find->of_scope[row->parent];
        if (find->of_scope[i] != TIDE_NONE || row->kind != TIDE_SCOPE_STEP) {
            continue;
        }
        tide_step *grown = tide_hostmem_grow(steps->mem, steps->steps, &find->capacity,
                                             steps->n_steps + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        steps->steps = grown;
        steps->steps[steps->n_steps] =
            (tide_step){.scope = (uint32_t)i,
                        .is_warmup = strcmp(tide_snapshot_text(snapshot, row->name), "warmup") == 0,
                        .is_open = row->duration_ns == TIDE_SCOPE_OPEN,
                        .first = SIZE_MAX,
                        .differs = -1,
                        .differs_from = -1};
        find->of_scope[i] = (uint32_t)steps->n_steps++;
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

static void find_rows(finder *find) {
    const tide_snapshot *snapshot = find->snapshot;
    tide_steps *steps = find->steps;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event *row = &snapshot->events[i];
        if (row->device != steps->device || row->scope == TIDE_NONE ||
            find->of_scope[row->scope] == TIDE_NONE) {
            continue;
        }
        tide_step *step = &steps->steps[find->of_scope[row->scope]];
        step->first = step->first == SIZE_MAX ? i : step->first;
        step->last = i;
    }
    if (steps->n_steps > 0) {
        qsort(steps->steps, steps->n_steps, sizeof(*steps->steps), by_first_row);
    }
    while (steps->n_steps > 0 && steps->steps[steps->n_steps - 1].first == SIZE_MAX) {
        steps->n_steps--; /* nothing on this device */
    }
}

static bool is_block_row(const tide_event *row) {
    return row->action <= TIDE_ACTION_FREE_COMPLETED;
}

/* The first row from this one on that is about a block of the device; none: a row behind the step's
 * last. */
static size_t next_row(const tide_snapshot *snapshot, size_t device, const tide_step *step,
                       size_t row) {
    while (row <= step->last &&
           (snapshot->events[row].device != device || !is_block_row(&snapshot->events[row]))) {
        row++;
    }
    return row;
}

static void compare(const tide_snapshot *snapshot, size_t device, const tide_step *before,
                    tide_step *step) {
    size_t a = next_row(snapshot, device, before, before->first);
    size_t b = next_row(snapshot, device, step, step->first);
    step->is_compared = true;
    while (a <= before->last && b <= step->last) {
        const tide_event *x = &snapshot->events[a];
        const tide_event *y = &snapshot->events[b];
        if (x->action != y->action || x->requested_bytes != y->requested_bytes ||
            x->block_bytes != y->block_bytes) {
            break;
        }
        a = next_row(snapshot, device, before, a + 1);
        b = next_row(snapshot, device, step, b + 1);
    }
    step->repeats = a > before->last && b > step->last;
    step->differs = b <= step->last ? (int64_t)b : -1;
    step->differs_from = a <= before->last ? (int64_t)a : -1;
}

/* Bytes and blocks after each step, and its highest. */
static tide_status measure(finder *find, const tide_lifetimes *lifetimes) {
    const tide_snapshot *snapshot = find->snapshot;
    tide_steps *steps = find->steps;
    int64_t *bytes = tide_lifetimes_changes(lifetimes, snapshot->n_events, steps->device, false);
    int64_t *blocks = tide_lifetimes_changes(lifetimes, snapshot->n_events, steps->device, true);
    tide_status status = bytes != NULL && blocks != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 1; status == TIDE_OK && i <= snapshot->n_events; i++) {
        bytes[i] += bytes[i - 1];
        blocks[i] += blocks[i - 1];
    }
    for (size_t s = 0; status == TIDE_OK && s < steps->n_steps; s++) {
        tide_step *step = &steps->steps[s];
        for (size_t i = step->first; i <= step->last; i++) {
            const tide_event *row = &snapshot->events[i];
            if (row->device == steps->device) {
                step->n_rows += is_block_row(row);
                step->n_segment_rows += row->action >= TIDE_ACTION_SEGMENT_ALLOC &&
                                        row->action <= TIDE_ACTION_SEGMENT_UNMAP;
            }
            step->peak_bytes = bytes[i + 1] > step->peak_bytes ? bytes[i + 1] : step->peak_bytes;
        }
        step->end_bytes = bytes[step->last + 1];
        step->end_blocks = blocks[step->last + 1];
    }
    lifetimes->mem->release(lifetimes->mem->ctx, bytes);
    lifetimes->mem->release(lifetimes->mem->ctx, blocks);
    return status;
}

static void compare_all(const finder *find) {
    tide_steps *steps = find->steps;
    const tide_step *before = NULL;
    steps->first_measured = steps->n_steps;
    for (size_t i = 0; i < steps->n_steps; i++) {
        tide_step *step = &steps->steps[i];
        if (step->is_warmup || step->is_open) {
            continue;
        }
        if (before != NULL) {
            compare(find->snapshot, steps->device, before, step);
        } else {
            steps->first_measured = i;
        }
        before = step;
    }
}

tide_status tide_steps_init(tide_steps *steps, const tide_snapshot *snapshot,
                            const tide_lifetimes *lifetimes, size_t device) {
    *steps = (tide_steps){.mem = lifetimes->mem, .device = device};
    finder find = {.snapshot = snapshot, .steps = steps};
    tide_status status = TIDE_NO_MEMORY;
    find.of_scope = tide_hostmem_zeroed(steps->mem, snapshot->n_scopes, sizeof(*find.of_scope));
    if (find.of_scope != NULL) {
        status = number_scopes(&find);
    }
    if (status == TIDE_OK && steps->n_steps > 0) {
        find_rows(&find);
        status = measure(&find, lifetimes);
    }
    if (status == TIDE_OK) {
        compare_all(&find);
    }
    steps->mem->release(steps->mem->ctx, find.of_scope);
    if (status != TIDE_OK) {
        tide_steps_fini(steps);
    }
    return status;
}

void tide_steps_fini(tide_steps *steps) {
    if (steps->mem != NULL) {
        steps->mem->release(steps->mem->ctx, steps->steps);
        *steps = (tide_steps){.mem = steps->mem};
    }
}
