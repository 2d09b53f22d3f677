/* adamw.c - the assignment's AdamW: a Python loop over the parameters that makes new moments in
 * every step. A tensor in a local variable stays alive until the next parameter's tensor replaces
 * it. */
#include "model/eager/internal.h"

static tide_eager_tensor alike(tide_eager *e, size_t i, tide_category category,
                               const char *suffix) {
    if (e->status != TIDE_OK) {
        return (tide_eager_tensor){0};
    }
    return tide_eager_new(e, &e->values[i].shape, category, e->parameters[i].name, suffix);
}

static tide_eager_tensor scratch(tide_eager *e, size_t i, const char *suffix) {
    return alike(e, i, TIDE_TEMPORARY, suffix);
}

/* A kernel that makes a tensor of one like it, and of two. */
static void once(tide_eager *e, const tide_eager_tensor *made) {
    tide_eager_log_elements(e, made, made, NULL, "unary");
}

static void twice(tide_eager *e, const tide_eager_tensor *made) {
    tide_eager_log_elements(e, made, made, made, "binary");
}

/* p -= lr * weight_decay * p */
static void decay(tide_eager *e, size_t i) {
    tide_eager_tensor product = scratch(e, i, ".decay");
    once(e, &product);  /* a product with a number */
    twice(e, &product); /* subtracted in place */
    tide_eager_drop(e, &product);
}

/* state.get("m", zeros_like(p)): Python evaluates the default in any case, so the zeros are made in
 * every step; they become the state in the first one. */
static void get_state(tide_eager *e, size_t i, const tide_eager_tensor *state, const char *suffix,
                      tide_eager_tensor *local) {
    bool is_first = state->storage == NULL;
    tide_eager_tensor zeros = alike(e, i, is_first ? TIDE_OPTIMIZER_STATE : TIDE_TEMPORARY, suffix);
    tide_eager_log_elements(e, &zeros, NULL, NULL, "fill");
    if (!is_first) {
        tide_eager_drop(e, &zeros);
    }
    tide_eager_assign(e, local, is_first ? zeros : tide_eager_retain(state));
}

/* b1 * m + (1 - b1) * grad */
static tide_eager_tensor first_moment(tide_eager *e, size_t i) {
    tide_eager_tensor a = scratch(e, i, ".exp_avg.scaled");
    once(e, &a);
    tide_eager_tensor b = scratch(e, i, ".grad.scaled");
    once(e, &b);
    tide_eager_tensor sum = alike(e, i, TIDE_OPTIMIZER_STATE, ".exp_avg");
    twice(e, &sum);
    tide_eager_drop(e, &a);
    tide_eager_drop(e, &b);
    return sum;
}

/* b2 * v + (1 - b2) * square(grad) */
static tide_eager_tensor second_moment(tide_eager *e, size_t i) {
    tide_eager_tensor a = scratch(e, i, ".exp_avg_sq.scaled");
    once(e, &a);
    tide_eager_tensor square = scratch(e, i, ".grad.square");
    once(e, &square);
    tide_eager_tensor b = scratch(e, i, ".grad.square.scaled");
    once(e, &b);
    tide_eager_drop(e, &square);
    tide_eager_tensor sum = alike(e, i, TIDE_OPTIMIZER_STATE, ".exp_avg_sq");
    twice(e, &sum);
    tide_eager_drop(e, &a);
    tide_eager_drop(e, &b);
    return sum;
}

/* p -= alpha * m / (sqrt(v) + eps) */
static void update(tide_eager *e, size_t i) {
    tide_eager_tensor numerator = scratch(e, i, ".exp_avg.step");
    once(e, &numerator);
    tide_eager_tensor root = scratch(e, i, ".exp_avg_sq.root");
    once(e, &root);
    tide_eager_tensor denominator = scratch(e, i, ".exp_avg_sq.root_eps");
    once(e, &denominator);
    tide_eager_drop(e, &root);
    tide_eager_tensor quotient = scratch(e, i, ".step");
    twice(e, &quotient); /* a quotient of two */
    twice(e, &quotient); /* subtracted in place */
    tide_eager_drop(e, &numerator);
    tide_eager_drop(e, &denominator);
    tide_eager_drop(e, &quotient);
}

void tide_eager_adamw(tide_eager *e) {
    bool decays_first = e->config.edition != TIDE_EDITION_2025;
    tide_eager_tensor m = {0}; /* the former moments, which the loop's locals still hold */
    tide_eager_tensor v = {0};
    tide_eager_enter(e, -1, "adamw");
    for (size_t i = 0; i < e->n_parameters && e->status == TIDE_OK; i++) {
        if (decays_first) {
            decay(e, i);
        }
        get_state(e, i, &e->moments[i], ".exp_avg", &m);
        get_state(e, i, &e->second_moments[i], ".exp_avg_sq", &v);
        tide_eager_assign(e, &e->moments[i], first_moment(e, i));
        tide_eager_assign(e, &e->second_moments[i], second_moment(e, i));
        update(e, i);
        if (!decays_first) {
            decay(e, i);
        }
    }
    tide_eager_drop(e, &m);
    tide_eager_drop(e, &v);
}
