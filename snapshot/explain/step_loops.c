/* The steps that a program names, as a loop: where call stacks show none. */
#include "snapshot/analysis/steps.h"
#include "snapshot/explain/loops.h"

static bool is_complete(const tide_step *step) {
    return !step->is_warmup && !step->is_open;
}

/* Each complete step begins a pass; the row after the last one ends the last pass. */
static tide_status fill(tide_loops *to, const tide_steps *steps, size_t n, tide_loop *ret_loop) {
    uint32_t *starts = tide_hostmem_array(to->mem, n + 1, sizeof(*starts));
    if (starts == NULL) {
        return TIDE_NO_MEMORY;
    }
    n = 0;
    size_t last = 0;
    for (size_t i = 0; i < steps->n_steps; i++) {
        if (is_complete(&steps->steps[i])) {
            starts[n++] = (uint32_t)steps->steps[i].first;
            last = steps->steps[i].last;
        }
    }
    starts[n++] = (uint32_t)last + 1;
    *ret_loop = (tide_loop){.function = TIDE_NONE,
                            .file = TIDE_NONE,
                            .node = TIDE_NONE,
                            .is_steps = true,
                            .starts = starts,
                            .n_starts = n,
                            .end = last + 1};
    return TIDE_OK;
}

static tide_status add(tide_loops *to, const tide_steps *steps) {
    size_t n = 0;
    for (size_t i = 0; i < steps->n_steps; i++) {
        n += is_complete(&steps->steps[i]);
    }
    if (n + 1 < TIDE_LOOP_LEAST_PASSES) {
        return TIDE_OK;
    }
    tide_loop *grown =
        tide_hostmem_grow(to->mem, to->loops, &to->room, to->n_loops + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->loops = grown;
    TIDE_TRY(fill(to, steps, n, &to->loops[to->n_loops]));
    to->n_loops++;
    return TIDE_OK;
}

tide_status tide_loops_add_steps(tide_loops *loops, const tide_snapshot *snapshot,
                                 const tide_lifetimes *lifetimes, size_t device) {
    tide_steps steps;
    tide_status status = tide_steps_init_named(&steps, snapshot, lifetimes, device);
    if (status == TIDE_OK) {
        status = add(loops, &steps);
    }
    tide_steps_fini(&steps);
    return status;
}
