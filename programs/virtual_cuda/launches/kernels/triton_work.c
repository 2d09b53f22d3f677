/* triton_work.c - the row of a launch: what all programs of the grid access together, with the
 * counts of single programs where programs differ. */
#include <math.h>
#include <stdlib.h>

#include "programs/virtual_cuda/launches/kernels/triton_machine_internal.h"

/* The share of loads of tiles that miss the L2 cache, in kernels that multiply. An assumption: its
 * bandwidth is about four times that of the memory. */
#define CACHED_TILES 0.25

/* ---- single programs ---- */

enum { N_SAMPLES = 16 };

/* Programs spread over the grid, at other shares of each axis. */
static void sample_of(const tide_triton_machine *of, size_t i, int64_t *ret_program) {
    static const double SHIFTS[3] = {0.0, 0.382, 0.764};
    for (size_t axis = 0; axis < 3; axis++) {
        double share = ((double)i + 0.5) / N_SAMPLES + SHIFTS[axis];
        share -= share >= 1.0 ? 1.0 : 0.0;
        ret_program[axis] = (int64_t)(share * of->launched->call->grid[axis]);
    }
}

/* Replaces all counts by those of some programs, which are exact where
 * their loops differ. Places that follow from values of the card count as unknown ones, as in the
 * ranges of all programs. */
static bool sample(tide_triton_machine *of, tide_triton_reads *reads) {
    tide_triton_machine one = *of;
    of->other_bytes = of->atomics = of->spilled_bytes = of->products = 0.0;
    of->is_guess = false;
    double counts[TIDE_TRITON_ARGUMENTS][2][2] = {{{0.0}}};
    for (size_t i = 0; i < N_SAMPLES; i++) {
        int64_t program[3];
        sample_of(of, i, program);
        one = (tide_triton_machine){.launched = of->launched,
                                    .program = of->program,
                                    .values = of->values,
                                    .only = program,
                                    .reads = reads};
        if (!tide_triton_run(&one)) {
            return false;
        }
        of->is_guess = of->is_guess || one.is_guess;
        of->other_bytes += one.other_bytes / N_SAMPLES;
        of->atomics += one.atomics / N_SAMPLES;
        of->spilled_bytes += one.spilled_bytes / N_SAMPLES;
        of->products += one.products / N_SAMPLES;
        for (size_t j = 0; j < TIDE_TRITON_ARGUMENTS; j++) {
            for (size_t k = 0; k < 2; k++) {
                counts[j][k][0] += one.reaches[j][k].n_known / N_SAMPLES;
                counts[j][k][1] += one.reaches[j][k].n_unknown / N_SAMPLES;
            }
        }
    }
    for (size_t j = 0; j < TIDE_TRITON_ARGUMENTS; j++) {
        for (size_t k = 0; k < 2; k++) {
            tide_triton_reach *to = &of->reaches[j][k];
            to->n_known = to->is_used ? counts[j][k][0] : 0.0;
            to->n_unknown = counts[j][k][1] + (to->is_used ? 0.0 : counts[j][k][0]);
        }
    }
    return true;
}

/* What a program in the middle of the grid reads more than once: the bytes of the range, and the
 * bytes of its further reads. */
static bool find_again(const tide_triton_machine *of, uint32_t *ret_range, uint32_t *ret_again) {
    int64_t program[3];
    double n_programs = 1.0;
    double all = 0.0;
    double again = 0.0;
    tide_triton_machine one = {
        .launched = of->launched, .program = of->program, .values = of->values, .only = program};
    sample_of(of, N_SAMPLES / 2, program);
    for (size_t i = 0; i < 3; i++) {
        n_programs *= of->launched->call->grid[i];
    }
    if (!tide_triton_run(&one)) {
        return false;
    }
    for (size_t j = 0; j < TIDE_TRITON_ARGUMENTS; j++) {
        const tide_triton_reach *loads = &one.reaches[j][0];
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

/* The bytes from the argument's address to the end of its allocation. */
static double most_of(const tide_triton_machine *of, size_t i) {
    uint64_t address = 0;
    if (of->launched->bytes_from == NULL ||
        !tide_vc_argument(of->launched, i, 0, &address, sizeof(address))) {
        return INFINITY;
    }
    uint64_t n_bytes = of->launched->bytes_from(address);
    return n_bytes > 0 ? (double)n_bytes : INFINITY;
}

/* The bytes of all pointers, each in both directions. A kernel that multiplies tiles loads each of
 * them for several results; those at places that the card computes are mostly in the L2 cache. */
static void add_up(const tide_triton_machine *of, tide_run_launch *row,
                   tide_triton_needs *ret_needs) {
    double of_unknown = of->products > 0.0 ? CACHED_TILES : 1.0;
    double bytes = of->other_bytes + of->spilled_bytes;
    double most = 0.0;
    for (size_t i = 0; i < of->program->n_arguments; i++) {
        for (size_t j = 0; j < 2; j++) {
            const tide_triton_reach *one = &of->reaches[i][j];
            double extent = one->is_used ? (double)one->high - (double)one->low + 1.0 : 0.0;
            double unknown = one->n_unknown * of_unknown;
            double most_unknown = unknown > 0.0 ? most_of(of, i) / one->value_bytes : 0.0;
            ret_needs->unknown_bytes[i] =
                fmax(ret_needs->unknown_bytes[i], unknown * one->value_bytes);
            double n = fmin(extent, one->n_known) + fmin(unknown, most_unknown);
            bytes += n * one->value_bytes;
            most = n > most ? n : most;
        }
    }
    row->bytes = whole(bytes);
    row->elements = whole(most);
    row->flags |= of->is_guess ? TIDE_RUN_GUESSED : 0;
}

static void set_variant(const tide_triton_machine *of, tide_run_launch *row) {
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
    } else if (of->atomics > 0.0) {
        row->k = TIDE_RUN_ADDS;
        row->elements = whole(of->atomics);
    } else if (of->reduces_in_loop) {
        row->k = TIDE_RUN_IN_TURN;
    }
    if (row->k != TIDE_RUN_NO_VARIANT) {
        row->m = n_blocks < (double)UINT32_MAX ? (uint32_t)n_blocks : UINT32_MAX;
    }
}

bool tide_triton_follow(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_run_launch *row, tide_triton_needs *ret_needs) {
    tide_triton_machine of = {.launched = launched, .program = program};
    *ret_needs = (tide_triton_needs){.reads = {.n = 0}};
    of.values = calloc(program->n_values + 1, sizeof(*of.values));
    bool is_followed = of.values != NULL && tide_triton_run(&of) &&
                       (!of.is_uneven || sample(&of, &ret_needs->reads));
    if (is_followed) {
        add_up(&of, row, ret_needs);
        set_variant(&of, row);
    }
    free(of.values);
    return is_followed;
}
