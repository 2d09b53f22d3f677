/* triton_follow.c - evaluates the address arithmetic of a kernel's text, with ranges instead of
 * numbers. */
#include <stdlib.h>

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

typedef struct value {
    bool is_known;
    int64_t low, high;
    uint32_t pointer; /* number of the argument that it points into, from 1 on; 0: a number */
} value;

/* The range accessed through one pointer in one direction. */
typedef struct reach {
    bool is_used, is_known;
    int64_t low, high;
    uint64_t n_accesses;
} reach;

typedef struct machine {
    const tide_vc_launched_kernel *launched;
    const tide_triton_program *program;
    value *values;                           /* owned; by number */
    reach reaches[TIDE_TRITON_ARGUMENTS][2]; /* of loads, of stores */
    uint64_t turns[16];                      /* iterations of the open loops */
    size_t n_loops;
} machine;

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

static value computed(tide_triton_code code, value a, value b) {
    switch (code) {
    case TIDE_TRITON_ADD: {
        value of = range(a.low + b.low, a.high + b.high);
        of.pointer = a.pointer != 0 ? a.pointer : b.pointer;
        return of;
    }
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
    default:
        return (value){.is_known = false};
    }
}

/* Saturates, because an invalid text may overflow. */
static uint64_t product(uint64_t a, uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static uint64_t sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void access(machine *of, const tide_triton_step *step) {
    value place = of->values[step->operands[0]];
    uint64_t n = step->n_values;
    for (size_t i = 0; i < 3; i++) {
        n = product(n, of->launched->call->grid[i]);
    }
    for (size_t i = 0; i < of->n_loops; i++) {
        n = product(n, of->turns[i]);
    }
    if (place.pointer == 0) {
        return;
    }
    reach *to = &of->reaches[place.pointer - 1][step->code == TIDE_TRITON_STORE];
    to->is_known = place.is_known && (to->is_known || !to->is_used);
    to->low = !to->is_used || place.low < to->low ? place.low : to->low;
    to->high = !to->is_used || place.high > to->high ? place.high : to->high;
    to->n_accesses = sum(to->n_accesses, n);
    to->is_used = true;
}

/* False: the loops nest too deep. A loop without a result is an if or a reduction. */
static bool begin_loop(machine *of, const tide_triton_step *step) {
    value low = of->values[step->operands[0]];
    value high = of->values[step->operands[1]];
    value by = of->values[step->operands[2]];
    uint64_t turns = 1;
    if (of->n_loops == sizeof(of->turns) / sizeof(of->turns[0])) {
        return false;
    }
    if (step->result != 0 && low.is_known && high.is_known && by.is_known && by.low > 0) {
        bool is_empty = high.high <= low.low;
        int64_t n_behind = is_empty ? 0 : (high.high - 1 - low.low) / by.low;
        of->values[step->result] = range(low.low, low.low + n_behind * by.low);
        turns = is_empty ? 0 : (uint64_t)n_behind + 1;
    }
    of->turns[of->n_loops++] = turns;
    return true;
}

static bool do_step(machine *of, const tide_triton_step *step) {
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
        *to = range(0, n_programs - 1);
        break;
    case TIDE_TRITON_PROGRAMS:
        *to = range(n_programs, n_programs);
        break;
    case TIDE_TRITON_RANGE:
        *to = range(step->low, step->high - 1);
        break;
    case TIDE_TRITON_SAME:
        *to = a;
        break;
    case TIDE_TRITON_SELECT:
        a = of->values[step->operands[2]];
        *to = a.is_known && b.is_known ? hull(a, b) : (value){.is_known = false};
        break;
    case TIDE_TRITON_LOAD:
    case TIDE_TRITON_STORE:
        access(of, step);
        break;
    case TIDE_TRITON_FOR:
        return begin_loop(of, step);
    case TIDE_TRITON_END:
        of->n_loops -= of->n_loops > 0;
        break;
    default:
        *to = a.is_known && b.is_known ? computed(step->code, a, b)
                                       : (value){.pointer = a.pointer != 0 ? a.pointer : b.pointer};
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

/* The bytes of all pointers, each in both directions. */
static void add_up(const machine *of, tide_run_launch *row) {
    for (size_t i = 0; i < of->program->n_arguments; i++) {
        for (size_t j = 0; j < 2; j++) {
            const reach *one = &of->reaches[i][j];
            uint64_t n = one->n_accesses;
            uint64_t extent = (uint64_t)(one->high - one->low) + 1;
            n = one->is_used && one->is_known && extent < n ? extent : n;
            row->bytes = sum(row->bytes, product(n, of->program->arguments[i].pointed_bytes));
            row->elements = n > row->elements ? n : row->elements;
        }
    }
}

bool tide_triton_follow(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_run_launch *row) {
    machine of = {.launched = launched, .program = program};
    of.values = calloc(program->n_values + 1, sizeof(*of.values));
    bool is_followed = of.values != NULL && read_arguments(&of);
    for (size_t i = 0; i < program->n_steps && is_followed; i++) {
        is_followed = do_step(&of, &program->steps[i]);
        of.values[0] = (value){.is_known = false}; /* values without a name */
    }
    if (is_followed) {
        add_up(&of, row);
    }
    free(of.values);
    return is_followed;
}
