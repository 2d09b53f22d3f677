/* Finds the place in the tree of the list that a pickle is adding to. A container is made before
 * its parent gets it, so all containers around the list are below it on the stack, each followed by
 * the values that are not added to it yet. */
#include "snapshot/pytorch/pickle_internal.h"

static bool is_kind(const tide_pickle_machine *m, size_t at, tide_pickle_kind kind) {
    return tide_pickle_kind_of(m->pickle, m->stack.values[at]) == kind;
}

/* The lowest value of the mark that the value at `at` belongs to. */
static size_t batch_of(const tide_pickle_machine *m, size_t at) {
    size_t i = m->n_marks;
    while (i > 0 && m->marks[i - 1] > at) {
        i--;
    }
    return i > 0 ? m->marks[i - 1] : 0;
}

/* The container that will get the value at `at`, and its key or index there. False: the value is
 * the root, or the order of the file does not show this yet. */
static bool parent_of(const tide_pickle_machine *m, size_t at, size_t *ret_parent,
                      tide_pickle_step *ret_step) {
    size_t first = batch_of(m, at);
    *ret_step = (tide_pickle_step){0};
    if (at == 0) {
        return false;
    }
    if (first > 0 && is_kind(m, first - 1, TIDE_PICKLE_LIST)) {
        *ret_parent = first - 1;
        ret_step->index =
            tide_pickle_items(m->pickle, m->stack.values[first - 1])->n_items + (at - first);
        return true;
    }
    if (first > 0 && is_kind(m, first - 1, TIDE_PICKLE_DICT) && (at - first) % 2 == 1) {
        *ret_parent = first - 1;
        ret_step->key = m->stack.values[at - 1];
        return true;
    }
    if (at > first && is_kind(m, at - 1, TIDE_PICKLE_LIST)) { /* as its only item */
        *ret_parent = at - 1;
        ret_step->index = tide_pickle_items(m->pickle, m->stack.values[at - 1])->n_items;
        return true;
    }
    if (at > first + 1 && is_kind(m, at - 2, TIDE_PICKLE_DICT)) { /* as its only value */
        *ret_parent = at - 2;
        ret_step->key = m->stack.values[at - 1];
        return true;
    }
    return false;
}

tide_status tide_pickle_offer(tide_pickle_machine *m, size_t base, bool *ret_taken) {
    tide_pickle_step steps[TIDE_PICKLE_STEPS];
    size_t n_steps = 0;
    size_t at = base - 1;
    *ret_taken = false;
    tide_pickle_step step;
    while (parent_of(m, at, &at, &step)) {
        if (n_steps == TIDE_PICKLE_STEPS) {
            return TIDE_OK;
        }
        for (size_t i = n_steps; i > 0; i--) {
            steps[i] = steps[i - 1];
        }
        steps[0] = step;
        n_steps++;
    }
    if (at != 0) {
        return TIDE_OK;
    }
    TIDE_TRY(m->taker->take(m->taker->ctx, m->stack.values[base - 1], steps, n_steps,
                            m->stack.values + base, m->stack.n - base, ret_taken));
    if (*ret_taken) {
        m->stack.n = base;
    }
    return TIDE_OK;
}
