/* triton_follow.c - evaluates the address arithmetic of a kernel's text, with ranges instead of
 * numbers. The body of a loop with variables is evaluated twice: first to see by how much an
 * iteration moves them, and then with their ranges in all iterations. */
#include "programs/virtual_cuda/launches/kernels/triton_machine_internal.h"

/* No address is beyond these; products of two of them fit in 64 bits. */
#define FAR INT64_C(0x7fffffff)

static tide_triton_value range(int64_t low, int64_t high) {
    bool is_known = low >= -FAR * 64 && high <= FAR * 64;
    return is_known ? (tide_triton_value){.is_known = true, .low = low, .high = high}
                    : (tide_triton_value){.is_known = false};
}

static tide_triton_value of_product(tide_triton_value a, tide_triton_value b) {
    bool fits = a.low >= -FAR && a.high <= FAR && b.low >= -FAR && b.high <= FAR;
    if (!fits) {
        return (tide_triton_value){.is_known = false};
    }
    int64_t corners[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    tide_triton_value of = {.low = corners[0], .high = corners[0]};
    for (size_t i = 1; i < 4; i++) {
        of.low = corners[i] < of.low ? corners[i] : of.low;
        of.high = corners[i] > of.high ? corners[i] : of.high;
    }
    return range(of.low, of.high);
}

static tide_triton_value hull(tide_triton_value a, tide_triton_value b) {
    tide_triton_value of = range(a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
    of.pointer = a.pointer == b.pointer ? a.pointer : 0;
    of.is_estimate = a.is_estimate || b.is_estimate;
    return of;
}

/* Only for non-negative numbers and constant divisors, as in indices. */
static tide_triton_value of_division(tide_triton_value a, tide_triton_value b, bool is_remainder) {
    if (b.low != b.high || b.low <= 0 || a.low < 0) {
        return (tide_triton_value){.is_known = false};
    }
    if (!is_remainder) {
        return range(a.low / b.low, a.high / b.low);
    }
    bool is_whole = a.high - a.low >= b.low || a.low % b.low > a.high % b.low;
    return is_whole ? range(0, b.low - 1) : range(a.low % b.low, a.high % b.low);
}

/* Non-negative numbers only. */
static tide_triton_value of_bits(tide_triton_code code, tide_triton_value a, tide_triton_value b) {
    enum { MOST_SHIFT = 31 };
    if (a.low < 0 || b.low < 0) {
        return (tide_triton_value){.is_known = false};
    }
    switch (code) {
    case TIDE_TRITON_AND:
        return range(0, a.high < b.high ? a.high : b.high);
    case TIDE_TRITON_OR:
        return range(a.low > b.low ? a.low : b.low, a.high + b.high);
    default:
        if (b.low != b.high || b.high > MOST_SHIFT) {
            return (tide_triton_value){.is_known = false};
        }
        return code == TIDE_TRITON_SHIFT_RIGHT
                   ? range(a.low >> b.low, a.high >> b.low)
                   : of_product(a, range(INT64_C(1) << b.low, INT64_C(1) << b.low));
    }
}

static tide_triton_value computed(tide_triton_code code, tide_triton_value a, tide_triton_value b) {
    switch (code) {
    case TIDE_TRITON_ADD:
        return range(a.low + b.low, a.high + b.high);
    case TIDE_TRITON_SUBTRACT:
        return range(a.low - b.high, a.high - b.low);
    case TIDE_TRITON_MULTIPLY:
        return of_product(a, b);
    case TIDE_TRITON_DIVIDE:
    case TIDE_TRITON_REMAINDER:
        return of_division(a, b, code == TIDE_TRITON_REMAINDER);
    case TIDE_TRITON_LEAST:
        return range(a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high);
    case TIDE_TRITON_MOST:
        return range(a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
    case TIDE_TRITON_AND:
    case TIDE_TRITON_OR:
    case TIDE_TRITON_SHIFT_LEFT:
    case TIDE_TRITON_SHIFT_RIGHT:
        return of_bits(code, a, b);
    default:
        return (tide_triton_value){.is_known = false};
    }
}

/* Of operands of which one is unknown: a count from the card is at most the other one. */
static tide_triton_value estimated(tide_triton_code code, tide_triton_value a,
                                   tide_triton_value b) {
    tide_triton_value known = a.is_known ? a : b;
    bool is_bound = code == TIDE_TRITON_LEAST || code == TIDE_TRITON_AND;
    tide_triton_value of = is_bound && known.is_known && known.high >= 0
                               ? range(0, known.high)
                               : (tide_triton_value){.is_known = false};
    of.is_estimate = of.is_known;
    return of;
}

static tide_triton_value result_of(const tide_triton_step *step, tide_triton_value a,
                                   tide_triton_value b) {
    tide_triton_value of =
        a.is_known && b.is_known ? computed(step->code, a, b) : estimated(step->code, a, b);
    if (!of.is_known && step->high > step->low) {
        of = range(step->low, step->high);
    }
    of.pointer = a.pointer != 0 ? a.pointer : b.pointer;
    of.is_estimate = of.is_estimate || a.is_estimate || b.is_estimate;
    return of;
}

static tide_triton_value compared(const tide_triton_machine *of, size_t i) {
    const tide_triton_step *step = &of->program->steps[i];
    double share = tide_triton_share((tide_triton_comparison)step->low,
                                     of->values[step->operands[0]], of->values[step->operands[1]]);
    tide_triton_value made = range(share == 1.0, share != 0.0);
    made.compared = (uint32_t)i + 1;
    return made;
}

/* How often the current step runs in all programs. */
static double runs_of(const tide_triton_machine *of) {
    double n = 1.0;
    for (size_t i = 0; i < 3; i++) {
        n *= of->launched->call->grid[i];
    }
    for (size_t i = 0; i < of->n_frames; i++) {
        n *= of->frames[i].turns;
    }
    return n;
}

/* Whether no program runs the current step. */
static bool is_in_untaken_branch(const tide_triton_machine *of) {
    for (size_t i = 0; i < of->n_frames; i++) {
        bool is_if = of->program->steps[of->frames[i].step].code == TIDE_TRITON_IF;
        if (is_if && of->frames[i].turns == 0.0) {
            return true;
        }
    }
    return false;
}

static void access(tide_triton_machine *of, const tide_triton_step *step, bool is_store) {
    tide_triton_value place = of->values[step->operands[0]];
    double n = runs_of(of) * (double)step->n_values;
    if (of->n_probes > 0 || is_in_untaken_branch(of)) {
        return;
    }
    if (place.pointer == 0) {
        of->other_bytes += n * step->value_bytes;
        return;
    }
    tide_triton_reach *to = &of->reaches[place.pointer - 1][is_store];
    to->value_bytes = step->value_bytes;
    if (!place.is_known) {
        to->n_unknown += n;
        return;
    }
    to->low = !to->is_used || place.low < to->low ? place.low : to->low;
    to->high = !to->is_used || place.high > to->high ? place.high : to->high;
    to->n_known += n;
    to->is_used = true;
}

static void access_memory(tide_triton_machine *of, const tide_triton_step *step) {
    if (step->code == TIDE_TRITON_ATOMIC && of->n_probes == 0) {
        of->atomics += runs_of(of) * (double)step->n_values;
    }
    if (step->code != TIDE_TRITON_STORE) {
        access(of, step, false);
    }
    if (step->code != TIDE_TRITON_LOAD) {
        access(of, step, true);
    }
}

/* The value of a number that decides what a program does, as the card has it. */
static tide_triton_value read_value(const tide_triton_machine *of, const tide_triton_step *step) {
    tide_triton_value unknown = result_of(step, (tide_triton_value){.is_known = false},
                                          (tide_triton_value){.is_known = false});
    tide_triton_value place = of->values[step->operands[0]];
    uint64_t address = 0;
    if (of->reads == NULL || !step->decides || step->n_values != 1 || of->n_probes > 0 ||
        is_in_untaken_branch(of) || !place.is_known || place.low != place.high ||
        place.pointer == 0 ||
        !tide_vc_argument(of->launched, place.pointer - 1, 0, &address, sizeof(address))) {
        return unknown;
    }
    uint64_t at = (uint64_t)(place.low * step->value_bytes);
    tide_triton_read made = {.address = address + at,
                             .at = at,
                             .argument = place.pointer - 1,
                             .n_bytes = step->value_bytes};
    made.is_known = tide_triton_read_value(of->launched, &made);
    if (of->reads->n < TIDE_TRITON_READS) {
        of->reads->of[of->reads->n] = made;
    }
    of->reads->n++;
    return made.is_known ? range(made.value, made.value) : unknown;
}

bool tide_triton_read_value(const tide_vc_launched_kernel *launched, tide_triton_read *of) {
    int32_t word = 0;
    int64_t value = 0;
    bool is_long = of->n_bytes == sizeof(value);
    void *to = is_long ? (void *)&value : (void *)&word;
    bool is_read = launched->read_value != NULL && (is_long || of->n_bytes == sizeof(word)) &&
                   launched->read_value(of->address, of->n_bytes, to);
    of->value = is_read ? (is_long ? value : word) : 0;
    return is_read;
}

/* ---- loops ---- */

/* The place of a range's middle; programs and their rows spread evenly over it. */
static double middle(tide_triton_value of) {
    return 0.5 * ((double)of.low + (double)of.high);
}

/* The iterations, and the range of the loop's number in them. Unknown: one. */
static void count_turns(tide_triton_machine *of, const tide_triton_step *step,
                        tide_triton_frame *to) {
    tide_triton_value low = of->values[step->operands[0]];
    tide_triton_value high = of->values[step->operands[1]];
    tide_triton_value by = of->values[step->operands[2]];
    if (!low.is_known || !high.is_known || !by.is_known || by.low <= 0) {
        of->is_guess = of->is_guess || !is_in_untaken_branch(of);
        of->is_uneven = true;
        of->values[step->result] = (tide_triton_value){.is_known = false};
        return;
    }
    bool is_estimate = low.is_estimate || high.is_estimate;
    of->is_guess = of->is_guess || (is_estimate && !is_in_untaken_branch(of));
    bool is_exact = low.low == low.high && high.low == high.high;
    bool is_empty = high.high <= low.low;
    int64_t n_further = is_empty ? 0 : (high.high - 1 - low.low) / by.low;
    of->values[step->result] = range(low.low, low.low + n_further * by.low);
    double mean = (middle(high) - middle(low)) / (double)by.low;
    to->most_turns = is_empty ? 0.0 : (double)n_further + 1.0;
    to->turns = is_empty || is_exact ? to->most_turns : mean > 0.0 ? mean : 0.0;
    of->is_uneven = of->is_uneven || !is_exact;
}

/* Values of a block that its threads have no registers for go to memory and back with each
 * operation: one of them alone takes more than a thread can have. */
static double spilled(const tide_triton_machine *of, const tide_triton_step *step) {
    enum { REGISTERS = 255 }; /* of a thread, since compute capability 3.5 */
    double n_threads = 1.0;
    for (size_t i = 0; i < 3; i++) {
        n_threads *= of->launched->call->block[i];
    }
    bool has_room = (double)step->n_values <= REGISTERS * n_threads;
    return has_room ? 0.0 : runs_of(of) * (double)step->n_values * step->value_bytes;
}

static bool is_in_loop(const tide_triton_machine *of) {
    for (size_t i = 0; i < of->n_frames; i++) {
        if (of->program->steps[of->frames[i].step].result != 0) {
            return true;
        }
    }
    return false;
}

/* False: the loops nest too deep. */
static bool begin_loop(tide_triton_machine *of, size_t i, const tide_triton_step *step) {
    enum { MOST_PROBES = 3 }; /* each doubles the work */
    bool is_loop = step->code == TIDE_TRITON_FOR && step->result != 0;
    if (of->n_frames == sizeof(of->frames) / sizeof(of->frames[0])) {
        return false;
    }
    tide_triton_frame *made = &of->frames[of->n_frames++];
    *made = (tide_triton_frame){.step = i, .turns = 1.0, .most_turns = 1.0};
    of->reduces_in_loop = of->reduces_in_loop || (step->n_values == 1 && is_in_loop(of));
    of->has_loops = of->has_loops || is_loop;
    if (step->code == TIDE_TRITON_IF) {
        tide_triton_enter_if(of, step, made);
    }
    if (is_loop) {
        count_turns(of, step, made);
    }
    made->is_probe = is_loop && step->high > step->low && of->n_frames <= MOST_PROBES;
    of->n_probes += made->is_probe;
    for (int64_t j = step->low; is_loop && j < step->high; j++) {
        const tide_triton_link *link = &of->program->links[j];
        of->values[link->variable] = of->values[link->first];
        of->values[link->variable].is_known = made->is_probe && of->values[link->first].is_known;
    }
    return true;
}

/* The range of a variable that each iteration moves by the same amount. */
static tide_triton_value moved(tide_triton_value first, tide_triton_value next, double turns) {
    int64_t by = next.low - first.low;
    double far = turns > 1.0 ? (double)by * (turns - 1.0) : 0.0; /* in the last iteration */
    bool is_even = first.is_known && next.is_known && first.pointer == next.pointer &&
                   by == next.high - first.high && far < (double)FAR * 64 &&
                   far > (double)FAR * -64;
    int64_t all = is_even ? (int64_t)far : 0;
    tide_triton_value of =
        is_even ? range(first.low + (all < 0 ? all : 0), first.high + (all > 0 ? all : 0))
                : (tide_triton_value){.is_known = false};
    of.pointer = first.pointer;
    return of;
}

static void end_loop(tide_triton_machine *of) {
    if (of->n_frames == 0) {
        return;
    }
    tide_triton_frame *top = &of->frames[of->n_frames - 1];
    const tide_triton_step *step = &of->program->steps[top->step];
    if (!top->is_probe) {
        of->n_frames--;
        if (step->code == TIDE_TRITON_IF) {
            tide_triton_leave_if(of, top);
        }
        return;
    }
    for (int64_t j = step->low; j < step->high; j++) {
        const tide_triton_link *link = &of->program->links[j];
        tide_triton_value next =
            link->next != 0 ? of->values[link->next] : (tide_triton_value){.is_known = false};
        of->values[link->variable] = moved(of->values[link->first], next, top->most_turns);
    }
    top->is_probe = false;
    of->n_probes--;
    of->next = top->step + 1;
}

/* ---- steps ---- */

static bool do_step(tide_triton_machine *of, size_t i) {
    const tide_triton_step *step = &of->program->steps[i];
    tide_triton_value a = of->values[step->operands[0]];
    tide_triton_value b = of->values[step->operands[1]];
    tide_triton_value *to = &of->values[step->result];
    size_t axis = step->low >= 0 && step->low < 3 ? (size_t)step->low : 0;
    int64_t n_programs = of->launched->call->grid[axis];
    switch (step->code) {
    case TIDE_TRITON_CONSTANT:
        *to = range(step->low, step->low);
        break;
    case TIDE_TRITON_PROGRAM:
        *to = of->only != NULL ? range(of->only[axis], of->only[axis]) : range(0, n_programs - 1);
        break;
    case TIDE_TRITON_PROGRAMS:
        *to = range(n_programs, n_programs);
        break;
    case TIDE_TRITON_RANGE:
        *to = range(step->low, step->high - 1);
        break;
    case TIDE_TRITON_SAME:
        *to = a.is_known ? a : result_of(step, a, a);
        break;
    case TIDE_TRITON_SELECT:
        a = of->values[step->operands[2]];
        *to = a.is_known && b.is_known ? hull(a, b) : result_of(step, b, a);
        break;
    case TIDE_TRITON_DOT:
        of->products += of->n_probes > 0 ? 0.0 : runs_of(of) * (double)step->n_values;
        of->product_type = step->type;
        break;
    case TIDE_TRITON_COMPARE:
        *to = compared(of, i);
        break;
    case TIDE_TRITON_COMPUTE:
        of->spilled_bytes += of->n_probes == 0 ? spilled(of, step) : 0.0;
        break;
    case TIDE_TRITON_LOAD:
    case TIDE_TRITON_STORE:
    case TIDE_TRITON_ATOMIC:
        access_memory(of, step);
        *to = read_value(of, step);
        break;
    case TIDE_TRITON_FOR:
    case TIDE_TRITON_IF:
        return begin_loop(of, i, step);
    case TIDE_TRITON_ELSE:
        if (of->n_frames > 0 &&
            of->program->steps[of->frames[of->n_frames - 1].step].code == TIDE_TRITON_IF) {
            tide_triton_enter_else(of, &of->frames[of->n_frames - 1]);
        }
        break;
    case TIDE_TRITON_END:
        end_loop(of);
        break;
    default:
        *to = result_of(step, a, b);
    }
    return true;
}

static bool read_arguments(tide_triton_machine *of) {
    for (size_t i = 0; i < of->program->n_arguments; i++) {
        int64_t number = 0;
        uint32_t n_bytes = of->program->arguments[i].n_bytes;
        if (of->program->arguments[i].pointed_bytes > 0) {
            of->values[i + 1] = (tide_triton_value){.is_known = true, .pointer = (uint32_t)i + 1};
            continue;
        }
        if (n_bytes > sizeof(number) || !tide_vc_argument(of->launched, i, 0, &number, n_bytes)) {
            return false;
        }
        number = n_bytes == 4 ? (int32_t)number : number;
        of->values[i + 1] = range(number, number);
    }
    return true;
}

bool tide_triton_run(tide_triton_machine *of) {
    bool is_followed = read_arguments(of);
    for (size_t i = 0; i < of->program->n_steps && is_followed; i = of->next) {
        of->next = i + 1;
        is_followed = do_step(of, i);
        of->values[0] = (tide_triton_value){.is_known = false}; /* values without a name */
    }
    return is_followed;
}
