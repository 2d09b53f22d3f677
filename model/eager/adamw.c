/* eager_adamw.c - the assignment's AdamW: a Python loop over the parameters that makes new moments
 * in every step. What it keeps in locals lives until the next parameter's takes its place.
 */
#include "model/eager/internal.h"

static eager_tensor alike(tide_eager *e, size_t i, tide_category category, const char *suffix) {
    if (e->status != TIDE_OK) {
        return (eager_tensor){0};
    }
    return eager_new(e, &e->values[i].shape, category, e->parameters[i].name, suffix);
}

static eager_tensor scratch(tide_eager *e, size_t i, const char *suffix) {
    return alike(e, i, TIDE_TEMPORARY, suffix);
}

/* p -= lr * weight_decay * p */
static void decay(tide_eager *e, size_t i) {
    eager_tensor product = scratch(e, i, ".decay");
    eager_drop(e, &product);
}

/* state.get("m", zeros_like(p)): the zeros are made in any case, and are the state where there is
 * none yet. */
static void get_state(tide_eager *e, size_t i, const eager_tensor *state, const char *suffix,
                      eager_tensor *local) {
    bool is_first = state->storage == NULL;
    eager_tensor zeros = alike(e, i, is_first ? TIDE_OPTIMIZER_STATE : TIDE_TEMPORARY, suffix);
    if (!is_first) {
        eager_drop(e, &zeros);
    }
    eager_assign(e, local, is_first ? zeros : eager_retain(state));
}

/* b1 * m + (1 - b1) * grad */
static eager_tensor first_moment(tide_eager *e, size_t i) {
    eager_tensor a = scratch(e, i, ".exp_avg.scaled");
    eager_tensor b = scratch(e, i, ".grad.scaled");
    eager_tensor sum = alike(e, i, TIDE_OPTIMIZER_STATE, ".exp_avg");
    eager_drop(e, &a);
    eager_drop(e, &b);
    return sum;
}

/* b2 * v + (1 - b2) * square(grad) */
static eager_tensor second_moment(tide_eager *e, size_t i) {
    eager_tensor a = scratch(e, i, ".exp_avg_sq.scaled");
    eager_tensor square = scratch(e, i, ".grad.square");
    eager_tensor b = scratch(e, i, ".grad.square.scaled");
    eager_drop(e, &square);
    eager_tensor sum = alike(e, i, TIDE_OPTIMIZER_STATE, ".exp_avg_sq");
    eager_drop(e, &a);
    eager_drop(e, &b);
    return sum;
}

/* p -= alpha * m / (sqrt(v) + eps) */
static void update(tide_eager *e, size_t i) {
    eager_tensor numerator = scratch(e, i, ".exp_avg.step");
    eager_tensor root = scratch(e, i, ".exp_avg_sq.root");
    eager_tensor denominator = scratch(e, i, ".exp_avg_sq.root_eps");
    eager_drop(e, &root);
    eager_tensor quotient = scratch(e, i, ".step");
    eager_drop(e, &numerator);
    eager_drop(e, &denominator);
    eager_drop(e, &quotient);
}

void eager_adamw(tide_eager *e) {
    bool decays_first = e->config.edition != TIDE_EDITION_2025;
    eager_tensor m = {0}; /* the moments before the step: locals of the loop */
    eager_tensor v = {0};
    eager_enter(e, -1, "adamw");
    for (size_t i = 0; i < e->n_parameters && e->status == TIDE_OK; i++) {
        if (decays_first) {
            decay(e, i);
        }
        get_state(e, i, &e->moments[i], ".exp_avg", &m);
        get_state(e, i, &e->second_moments[i], ".exp_avg_sq", &v);
        eager_assign(e, &e->moments[i], first_moment(e, i));
        eager_assign(e, &e->second_moments[i], second_moment(e, i));
        update(e, i);
        if (!decays_first) {
            decay(e, i);
        }
    }
    eager_drop(e, &m);
    eager_drop(e, &v);
}
