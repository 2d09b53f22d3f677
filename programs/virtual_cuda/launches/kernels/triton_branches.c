/* triton_branches.c - which programs of the grid take which branch of an if. Programs are assumed
 * to be spread evenly over the range of the compared value, such as their place in the grid. */
#include "common/assert.h"
#include "programs/virtual_cuda/launches/kernels/triton_machine_internal.h"

/* For a on the other side: "a < b" is "b > a". */
static tide_triton_comparison swapped(tide_triton_comparison of) {
    static const tide_triton_comparison SWAPPED[] = {
        [TIDE_TRITON_EQUAL] = TIDE_TRITON_EQUAL,  [TIDE_TRITON_UNEQUAL] = TIDE_TRITON_UNEQUAL,
        [TIDE_TRITON_LESS] = TIDE_TRITON_GREATER, [TIDE_TRITON_AT_MOST] = TIDE_TRITON_AT_LEAST,
        [TIDE_TRITON_GREATER] = TIDE_TRITON_LESS, [TIDE_TRITON_AT_LEAST] = TIDE_TRITON_AT_MOST};
    return SWAPPED[of];
}

static tide_triton_comparison opposite(tide_triton_comparison of) {
    static const tide_triton_comparison OPPOSITE[] = {
        [TIDE_TRITON_EQUAL] = TIDE_TRITON_UNEQUAL,   [TIDE_TRITON_UNEQUAL] = TIDE_TRITON_EQUAL,
        [TIDE_TRITON_LESS] = TIDE_TRITON_AT_LEAST,   [TIDE_TRITON_AT_MOST] = TIDE_TRITON_GREATER,
        [TIDE_TRITON_GREATER] = TIDE_TRITON_AT_MOST, [TIDE_TRITON_AT_LEAST] = TIDE_TRITON_LESS};
    return OPPOSITE[of];
}

/* The part of a's range for which the comparison with b holds; empty: low is above high. */
static tide_triton_value part_of(tide_triton_comparison comparison, tide_triton_value a,
                                 int64_t b) {
    switch (comparison) {
    case TIDE_TRITON_EQUAL:
        a.low = a.low > b ? a.low : b;
        a.high = a.high < b ? a.high : b;
        break;
    case TIDE_TRITON_LESS:
        a.high = a.high < b - 1 ? a.high : b - 1;
        break;
    case TIDE_TRITON_AT_MOST:
        a.high = a.high < b ? a.high : b;
        break;
    case TIDE_TRITON_GREATER:
        a.low = a.low > b + 1 ? a.low : b + 1;
        break;
    case TIDE_TRITON_AT_LEAST:
        a.low = a.low > b ? a.low : b;
        break;
    default: /* one value less */
        a.low += a.low == b;
        a.high -= a.high == b && a.high >= a.low;
    }
    return a;
}

static double size_of(tide_triton_value a) {
    return a.high >= a.low ? (double)a.high - (double)a.low + 1.0 : 0.0;
}

double tide_triton_share(tide_triton_comparison comparison, tide_triton_value a,
                         tide_triton_value b) {
    if (!a.is_known || !b.is_known) {
        return -1.0;
    }
    if (b.low == b.high) {
        if (comparison == TIDE_TRITON_UNEQUAL) {
            return 1.0 - tide_triton_share(TIDE_TRITON_EQUAL, a, b);
        }
        return size_of(part_of(comparison, a, b.low)) / size_of(a);
    }
    if (a.low == a.high) {
        return tide_triton_share(swapped(comparison), b, a);
    }
    tide_triton_value low = {.is_known = true, .low = b.low, .high = b.low};
    tide_triton_value high = {.is_known = true, .low = b.high, .high = b.high};
    double least = tide_triton_share(comparison, a, low);
    double most = tide_triton_share(comparison, a, high);
    bool is_same = least == most && (least == 0.0 || least == 1.0);
    return is_same && comparison != TIDE_TRITON_EQUAL && comparison != TIDE_TRITON_UNEQUAL ? least
                                                                                           : -1.0;
}

/* The comparison of an if; NULL: its condition is none. */
static const tide_triton_step *comparison_of(const tide_triton_machine *of,
                                             const tide_triton_step *step) {
    TIDE_ASSERT(step != NULL);
    uint32_t at = of->values[step->operands[0]].compared;
    TIDE_ASSERT(at <= of->program->n_steps);
    return at > 0 ? &of->program->steps[at - 1] : NULL;
}

/* Sets the compared value to what it is in a branch: to a part of its range if it is compared with
 * a single value. */
static void narrow(tide_triton_machine *of, const tide_triton_frame *frame, bool is_first) {
    const tide_triton_step *compare = comparison_of(of, &of->program->steps[frame->step]);
    if (frame->narrowed == 0 || compare == NULL) {
        return;
    }
    bool is_left = frame->narrowed == compare->operands[0];
    tide_triton_comparison holds = (tide_triton_comparison)compare->low;
    tide_triton_value with = of->values[compare->operands[is_left ? 1 : 0]];
    holds = is_left ? holds : swapped(holds);
    tide_triton_value part = part_of(is_first ? holds : opposite(holds), frame->before, with.low);
    of->values[frame->narrowed] = size_of(part) > 0.0 ? part : frame->before;
}

void tide_triton_enter_if(tide_triton_machine *of, const tide_triton_step *step,
                          tide_triton_frame *frame) {
    const tide_triton_step *compare = comparison_of(of, step);
    tide_triton_value condition = of->values[step->operands[0]];
    bool is_decided = condition.is_known && condition.low == condition.high;
    double share = is_decided ? (double)(condition.low != 0) : -1.0;
    if (!is_decided && compare != NULL) {
        tide_triton_value a = of->values[compare->operands[0]];
        tide_triton_value b = of->values[compare->operands[1]];
        share = tide_triton_share((tide_triton_comparison)compare->low, a, b);
        bool is_left = a.is_known && b.is_known && b.low == b.high;
        bool is_right = a.is_known && b.is_known && a.low == a.high;
        frame->narrowed = is_left ? compare->operands[0] : is_right ? compare->operands[1] : 0;
        frame->before = of->values[frame->narrowed];
    }
    frame->turns = share >= 0.0 ? share : 1.0; /* unknown: both branches count */
    frame->other_turns = share >= 0.0 ? 1.0 - share : 1.0;
    narrow(of, frame, true);
}

void tide_triton_enter_else(tide_triton_machine *of, tide_triton_frame *frame) {
    frame->turns = frame->other_turns;
    narrow(of, frame, false);
}

void tide_triton_leave_if(tide_triton_machine *of, const tide_triton_frame *frame) {
    if (frame->narrowed != 0) {
        of->values[frame->narrowed] = frame->before;
    }
}
