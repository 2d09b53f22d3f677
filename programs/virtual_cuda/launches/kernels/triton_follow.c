/* triton_follow.c - evaluates the address arithmetic of a kernel's text, with ranges instead of
 * numbers. The body of a loop with variables is evaluated twice: first to see by how much an
 * iteration moves them, and then with their ranges in all iterations. */
#include <stdlib.h>

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

typedef struct value {
    bool is_known;
    int64_t low, high;
    uint32_t pointer; /* number of the argument that it points into, from 1 on; 0: a number */
} value;

/* The range accessed through one pointer in one direction. */
typedef struct reach {
    bool is_used; /* at a known place: low to high */
    int64_t low, high;
    double n_known, n_unknown; /* accesses to known places, and to places that the card computes */
    uint32_t value_bytes;
} reach;

/* An open loop, if or reduction. */
typedef struct frame {
    size_t step;       /* of its beginning */
    double turns;      /* iterations, the mean of all programs */
    double most_turns; /* the most of a program */
    bool is_probe;
} frame;

typedef struct machine {
    const tide_vc_launched_kernel *launched;
    const tide_triton_program *program;
    value *values;                           /* owned; by number */
    reach reaches[TIDE_TRITON_ARGUMENTS][2]; /* of loads, of stores */
    double other_bytes;                      /* through pointers of unknown origin */
    double products;                         /* multiplications of matrices */
    uint8_t product_type;                    /* of the last ones */
    bool is_guess;                           /* a loop has an unknown count */
    bool is_uneven;                          /* programs differ in the iterations of a loop */
    bool has_loops;
    const int64_t *only; /* the program to follow; NULL: the ranges of all */
    frame frames[16];
    size_t n_frames, n_probes, next; /* next: the step after this one */
} machine;

/* The share of loads of tiles that miss the L2 cache, in kernels that multiply. An assumption: its
 * bandwidth is about four times that of the memory. */
#define CACHED_TILES 0.25

/* No address is beyond these; products of two of them fit in 64 bits. */
#define FAR INT64_C(0x7fffffff)

static value range(int64_t low, int64_t high) {
    bool is_known = low >= -FAR * 64 && high <= FAR * 64;
    return is_known ? (value){.is_known = true, .low = low, .high = high}
                    : (value){.is_known = false};
}

static value of_product(value a, value b) {
    bool fits = a.low >= -FAR && a.high <= FAR && b.low >= -FAR && b.high <= FAR;
    if (!fits) {
        return (value){.is_known = false};
    }
    int64_t corners[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    value of = {.low = corners[0], .high = corners[0]};
    for (size_t i = 1; i < 4; i++) {
        of.low = corners[i] < of.low ? corners[i] : of.low;
        of.high = corners[i] > of.high ? corners[i] : of.high;
    }
    return range(of.low, of.high);
}

static value hull(value a, value b) {
    value of = range(a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
    of.pointer = a.pointer == b.pointer ? a.pointer : 0;
    return of;
}

/* Only for non-negative numbers and constant divisors, as in indices. */
static value of_division(value a, value b, bool is_remainder) {
    if (b.low != b.high || b.low <= 0 || a.low < 0) {
        return (value){.is_known = false};
    }
    if (!is_remainder) {
        return range(a.low / b.low, a.high / b.low);
    }
    bool is_whole = a.high - a.low >= b.low || a.low % b.low > a.high % b.low;
    return is_whole ? range(0, b.low - 1) : range(a.low % b.low, a.high % b.low);
}

/* Non-negative numbers only. */
static value of_bits(tide_triton_code code, value a, value b) {
    enum { MOST_SHIFT = 31 };
    if (a.low < 0 || b.low < 0) {
        return (value){.is_known = false};
    }
    switch (code) {
    case TIDE_TRITON_AND:
        return range(0, a.high < b.high ? a.high : b.high);
    case TIDE_TRITON_OR:
        return range(a.low > b.low ? a.low : b.low, a.high + b.high);
    default:
        if (b.low != b.high || b.high > MOST_SHIFT) {
            return (value){.is_known = false};
        }
        return code == TIDE_TRITON_SHIFT_RIGHT
                   ? range(a.low >> b.low, a.high >> b.low)
                   : of_product(a, range(INT64_C(1) << b.low, INT64_C(1) << b.low));
    }
}

static value computed(tide_triton_code code, value a, value b) {
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
        return (value){.is_known = false};
    }
}

/* Of operands of which one is unknown: a count from the card is at most the other one. */
static value estimated(tide_triton_code code, value a, value b) {
    value known = a.is_known ? a : b;
    bool is_bound = code == TIDE_TRITON_LEAST || code == TIDE_TRITON_AND;
    return is_bound && known.is_known && known.high >= 0 ? range(0, known.high)
                                                         : (value){.is_known = false};
}

static value result_of(const tide_triton_step *step, value a, value b) {
    value of = a.is_known && b.is_known ? computed(step->code, a, b) : estimated(step->code, a, b);
    if (!of.is_known && step->high > step->low) {
        of = range(step->low, step->high);
    }
    of.pointer = a.pointer != 0 ? a.pointer : b.pointer;
    return of;
}

/* How often the current step runs in all programs. */
static double runs_of(const machine *of) {
    double n = 1.0;
    for (size_t i = 0; i < 3; i++) {
        n *= of->launched->call->grid[i];
    }
    for (size_t i = 0; i < of->n_frames; i++) {
        n *= of->frames[i].turns;
    }
    return n;
}

static void access(machine *of, const tide_triton_step *step) {
    value place = of->values[step->operands[0]];
    double n = runs_of(of) * (double)step->n_values;
    if (of->n_probes > 0) {
        return;
    }
    if (place.pointer == 0) {
        of->other_bytes += n * step->value_bytes;
        return;
    }
    reach *to = &of->reaches[place.pointer - 1][step->code == TIDE_TRITON_STORE];
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

/* ---- loops ---- */

/* The place of a range's middle; programs and their rows spread evenly over it. */
static double middle(value of) {
    return 0.5 * ((double)of.low + (double)of.high);
}

/* The iterations, and the range of the loop's number in them. Unknown: one. */
static void count_turns(machine *of, const tide_triton_step *step, frame *to) {
    value low = of->values[step->operands[0]];
    value high = of->values[step->operands[1]];
    value by = of->values[step->operands[2]];
    if (!low.is_known || !high.is_known || !by.is_known || by.low <= 0) {
        of->is_guess = true;
        return;
    }
    bool is_exact = low.low == low.high && high.low == high.high;
    bool is_empty = high.high <= low.low;
    int64_t n_behind = is_empty ? 0 : (high.high - 1 - low.low) / by.low;
    of->values[step->result] = range(low.low, low.low + n_behind * by.low);
    double mean = (middle(high) - middle(low)) / (double)by.low;
    to->most_turns = is_empty ? 0.0 : (double)n_behind + 1.0;
    to->turns = is_empty || is_exact ? to->most_turns : mean > 0.0 ? mean : 0.0;
    of->is_uneven = of->is_uneven || !is_exact;
}

/* False: the loops nest too deep. */
static bool begin_loop(machine *of, size_t i, const tide_triton_step *step) {
    enum { MOST_PROBES = 3 }; /* each doubles the work */
    bool is_loop = step->result != 0;
    if (of->n_frames == sizeof(of->frames) / sizeof(of->frames[0])) {
        return false;
    }
    frame *made = &of->frames[of->n_frames++];
    *made = (frame){.step = i, .turns = 1.0, .most_turns = 1.0};
    of->has_loops = of->has_loops || is_loop;
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
static value moved(value first, value next, double turns) {
    int64_t by = next.low - first.low;
    double far = turns > 1.0 ? (double)by * (turns - 1.0) : 0.0; /* in the last iteration */
    bool is_even = first.is_known && next.is_known && first.pointer == next.pointer &&
                   by == next.high - first.high && far < (double)FAR * 64 &&
                   far > (double)FAR * -64;
    int64_t all = is_even ? (int64_t)far : 0;
    value of = is_even ? range(first.low + (all < 0 ? all : 0), first.high + (all > 0 ? all : 0))
                       : (value){.is_known = false};
    of.pointer = first.pointer;
    return of;
}

static void end_loop(machine *of) {
    if (of->n_frames == 0) {
        return;
    }
    frame *top = &of->frames[of->n_frames - 1];
    if (!top->is_probe) {
        of->n_frames--;
        return;
    }
    const tide_triton_step *step = &of->program->steps[top->step];
    for (int64_t j = step->low; j < step->high; j++) {
        const tide_triton_link *link = &of->program->links[j];
        value next = link->next != 0 ? of->values[link->next] : (value){.is_known = false};
        of->values[link->variable] = moved(of->values[link->first], next, top->most_turns);
    }
    top->is_probe = false;
    of->n_probes--;
    of->next = top->step + 1;
}

/* ---- steps ---- */

static bool do_step(machine *of, size_t i) {
    const tide_triton_step *step = &of->program->steps[i];
    value a = of->values[step->operands[0]];
    value b = of->values[step->operands[1]];
    value *to = &of->values[step->result];
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
    case TIDE_TRITON_LOAD:
    case TIDE_TRITON_STORE:
        access(of, step);
        *to = result_of(step, (value){.is_known = false}, (value){.is_known = false});
        break;
    case TIDE_TRITON_FOR:
        return begin_loop(of, i, step);
    case TIDE_TRITON_END:
        end_loop(of);
        break;
    default:
        *to = result_of(step, a, b);
    }
    return true;
}

static bool read_arguments(machine *of) {
    for (size_t i = 0; i < of->program->n_arguments; i++) {
        int64_t number = 0;
        uint32_t n_bytes = of->program->arguments[i].n_bytes;
        if (of->program->arguments[i].pointed_bytes > 0) {
            of->values[i + 1] = (value){.is_known = true, .pointer = (uint32_t)i + 1};
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

static bool run(machine *of) {
    bool is_followed = read_arguments(of);
    for (size_t i = 0; i < of->program->n_steps && is_followed; i = of->next) {
        of->next = i + 1;
        is_followed = do_step(of, i);
        of->values[0] = (value){.is_known = false}; /* values without a name */
    }
    return is_followed;
}

/* ---- single programs ---- */

enum { N_SAMPLES = 5 };

/* Programs spread over the grid, at other shares of each axis. */
static void sample_of(const machine *of, size_t i, int64_t *ret_program) {
    static const double SHIFTS[3] = {0.0, 0.382, 0.764};
    for (size_t axis = 0; axis < 3; axis++) {
        double share = ((double)i + 0.5) / N_SAMPLES + SHIFTS[axis];
        share -= share >= 1.0 ? 1.0 : 0.0;
        ret_program[axis] = (int64_t)(share * of->launched->call->grid[axis]);
    }
}

/* Replaces the counts of accesses and products by those of some programs, which are exact where
 * their loops differ. */
static bool sample(machine *of) {
    double products = 0.0;
    machine one = *of;
    double counts[TIDE_TRITON_ARGUMENTS][2][2] = {{{0.0}}};
    for (size_t i = 0; i < N_SAMPLES; i++) {
        int64_t program[3];
        sample_of(of, i, program);
        one = (machine){.launched = of->launched,
                        .program = of->program,
                        .values = of->values,
                        .only = program};
        if (!run(&one)) {
            return false;
        }
        products += one.products / N_SAMPLES;
        for (size_t j = 0; j < TIDE_TRITON_ARGUMENTS; j++) {
            for (size_t k = 0; k < 2; k++) {
                counts[j][k][0] += one.reaches[j][k].n_known / N_SAMPLES;
                counts[j][k][1] += one.reaches[j][k].n_unknown / N_SAMPLES;
            }
        }
    }
    of->products = products;
    for (size_t j = 0; j < TIDE_TRITON_ARGUMENTS; j++) {
        for (size_t k = 0; k < 2; k++) {
            of->reaches[j][k].n_known = counts[j][k][0];
            of->reaches[j][k].n_unknown = counts[j][k][1];
        }
    }
    return true;
}

/* What a program in the middle of the grid reads more than once: the bytes of the range, and the
 * bytes of its further reads. */
static bool find_again(const machine *of, uint32_t *ret_range, uint32_t *ret_again) {
    int64_t program[3];
    double n_programs = 1.0;
    double all = 0.0;
    double again = 0.0;
    machine one = {
        .launched = of->launched, .program = of->program, .values = of->values, .only = program};
    sample_of(of, N_SAMPLES / 2, program);
    for (size_t i = 0; i < 3; i++) {
        n_programs *= of->launched->call->grid[i];
    }
    if (!run(&one)) {
        return false;
    }
    for (size_t j = 0; j < TIDE_TRITON_ARGUMENTS; j++) {
        const reach *loads = &one.reaches[j][0];
        double extent = (double)loads->high - (double)loads->low + 1.0;
        double n = loads->n_known / n_programs;
        if (loads->is_used && n > extent) {
            all += extent * loads->value_bytes;
            again += (n - extent) * loads->value_bytes;
        }
    }
    *ret_range = all < (double)UINT32_MAX ? (uint32_t)all : UINT32_MAX;
    *ret_again = again < (double)UINT32_MAX ? (uint32_t)again : UINT32_MAX;
    return again > 0.0;
}

/* ---- the row ---- */

/* Saturates, because an invalid text may overflow. */
static uint64_t whole(double n) {
    return n < (double)INT64_MAX ? (uint64_t)n : INT64_MAX;
}

/* The bytes of all pointers, each in both directions. A kernel that multiplies tiles loads each of
 * them for several results; those at places that the card computes are mostly in the L2 cache. */
static void add_up(const machine *of, tide_run_launch *row) {
    double of_unknown = of->products > 0.0 ? CACHED_TILES : 1.0;
    double bytes = of->other_bytes;
    double most = 0.0;
    for (size_t i = 0; i < of->program->n_arguments; i++) {
        for (size_t j = 0; j < 2; j++) {
            const reach *one = &of->reaches[i][j];
            double extent = one->is_used ? (double)one->high - (double)one->low + 1.0 : 0.0;
            double n =
                (extent < one->n_known ? extent : one->n_known) + one->n_unknown * of_unknown;
            bytes += n * one->value_bytes;
            most = n > most ? n : most;
        }
    }
    row->bytes = whole(bytes);
    row->elements = whole(most);
    row->flags |= of->is_guess ? TIDE_RUN_GUESSED : 0;
}

static void set_variant(const machine *of, tide_run_launch *row) {
    double n_blocks = 1.0;
    uint32_t n_range = 0;
    uint32_t n_again = 0;
    for (size_t i = 0; i < 3; i++) {
        n_blocks *= of->launched->call->grid[i];
    }
    if (of->products > 0.0) {
        row->k = TIDE_RUN_MULTIPLIES;
        row->elements = whole(of->products);
        row->type = of->product_type;
    } else if (of->has_loops && find_again(of, &n_range, &n_again)) {
        row->k = TIDE_RUN_READS_AGAIN;
        row->n = n_range;
        row->count = n_again;
    }
    if (row->k != TIDE_RUN_NO_VARIANT) {
        row->m = n_blocks < (double)UINT32_MAX ? (uint32_t)n_blocks : UINT32_MAX;
    }
}

bool tide_triton_follow(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_run_launch *row) {
    machine of = {.launched = launched, .program = program};
    of.values = calloc(program->n_values + 1, sizeof(*of.values));
    bool is_followed = of.values != NULL && run(&of) && (!of.is_uneven || sample(&of));
    if (is_followed) {
        add_up(&of, row);
        set_variant(&of, row);
    }
    free(of.values);
    return is_followed;
}
