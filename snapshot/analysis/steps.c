#include "snapshot/analysis/steps.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/assert.h"
#include "snapshot/analysis/step_finder.h"

static bool is_block_action(uint8_t action) {
    return action <= TIDE_ACTION_FREE_COMPLETED;
}

/* The first row from this one on about a block of the device; a row after the step's last if there
 * is none. */
static size_t next_row(const tide_snapshot *snapshot, size_t device, const tide_step *step,
                       size_t row) {
    while (row <= step->last && (snapshot->events.device[row] != device ||
                                 !is_block_action(snapshot->events.action[row]))) {
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
        const tide_event x = tide_event_at(snapshot, a);
        const tide_event y = tide_event_at(snapshot, b);
        if (x.action != y.action || x.requested_bytes != y.requested_bytes ||
            x.block_bytes != y.block_bytes) {
            break;
        }
        a = next_row(snapshot, device, before, a + 1);
        b = next_row(snapshot, device, step, b + 1);
    }
    step->repeats = a > before->last && b > step->last;
    step->differs = b <= step->last ? (int64_t)b : -1;
    step->differs_from = a <= before->last ? (int64_t)a : -1;
}

/* Sets the bytes and blocks after each step, and its highest bytes. */
static tide_status measure(tide_steps *steps, const tide_snapshot *snapshot,
                           const tide_lifetimes *lifetimes) {
    int64_t *bytes = tide_lifetimes_changes(lifetimes, snapshot->n_events, steps->device, false);
    int64_t *blocks = tide_lifetimes_changes(lifetimes, snapshot->n_events, steps->device, true);
    tide_status status = bytes != NULL && blocks != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 1; status == TIDE_OK && i <= snapshot->n_events; i++) {
        bytes[i] += bytes[i - 1];
        blocks[i] += blocks[i - 1];
    }
    for (size_t s = 0; status == TIDE_OK && s < steps->n_steps; s++) {
        tide_step *step = &steps->steps[s];
        TIDE_ASSERT(step->last < snapshot->n_events);
        for (size_t i = step->first; i <= step->last; i++) {
            const tide_event row = tide_event_at(snapshot, i);
            if (row.device == steps->device) {
                step->n_rows += is_block_action(row.action);
                step->n_segment_rows += tide_action_is_of_segment(row.action);
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

static void compare_all(tide_steps *steps, const tide_snapshot *snapshot) {
    const tide_step *before = NULL;
    steps->first_measured = steps->n_steps;
    for (size_t i = 0; i < steps->n_steps; i++) {
        tide_step *step = &steps->steps[i];
        if (step->is_warmup || step->is_open) {
            continue;
        }
        if (before != NULL) {
            compare(snapshot, steps->device, before, step);
        } else {
            steps->first_measured = i;
        }
        before = step;
    }
}

/* Fills in the figures of the steps, unless finding them failed. */
static tide_status fill(tide_steps *steps, const tide_snapshot *snapshot,
                        const tide_lifetimes *lifetimes, tide_status status) {
    if (status == TIDE_OK && steps->n_steps > 0) {
        status = measure(steps, snapshot, lifetimes);
    }
    if (status == TIDE_OK) {
        compare_all(steps, snapshot);
    } else {
        tide_steps_fini(steps);
    }
    return status;
}

tide_status tide_steps_init(tide_steps *steps, const tide_snapshot *snapshot,
                            const tide_lifetimes *lifetimes, size_t device) {
    *steps = (tide_steps){.mem = lifetimes->mem, .device = device};
    return fill(steps, snapshot, lifetimes, tide_steps_find(steps, snapshot, lifetimes));
}

tide_status tide_steps_init_named(tide_steps *steps, const tide_snapshot *snapshot,
                                  const tide_lifetimes *lifetimes, size_t device) {
    *steps = (tide_steps){.mem = lifetimes->mem, .device = device};
    return fill(steps, snapshot, lifetimes, tide_steps_find_named(steps, snapshot));
}

void tide_step_name(const tide_snapshot *snapshot, const tide_step *step, char *ret_text,
                    size_t n_room) {
    bool is_recorded =
        step->scope != TIDE_NONE && snapshot->scopes[step->scope].kind == TIDE_SCOPE_STEP;
    const char *name =
        is_recorded ? tide_snapshot_text(snapshot, snapshot->scopes[step->scope].name) : "step";
    if (step->number < 0) {
        snprintf(ret_text, n_room, "%.64s", name);
    } else {
        snprintf(ret_text, n_room, "%.64s %" PRId64, name, step->number);
    }
}

void tide_steps_fini(tide_steps *steps) {
    if (steps->mem != NULL) {
        steps->mem->release(steps->mem->ctx, steps->steps);
        *steps = (tide_steps){.mem = steps->mem};
    }
}
