/* kernel.c - the time of a kernel: that of its bytes, at the share of the bandwidth that kernels of
 * its family or variant reach, or that of computing the addresses of its elements. */
#include <math.h>
#include <stddef.h>

#include "programs/step_time/work_internal.h"

/* The properties of a family. The share is a member of the constants. */
typedef struct family {
    const char *name;
    size_t share;            /* offset in tide_time_constants */
    bool computes_addresses; /* its threads compute an address for each element */
    bool is_guess;           /* the work of its kernels is unknown */
} family;

#define SHARE(member) offsetof(tide_time_constants, member)

static const family FAMILIES[TIDE_RUN_N_FAMILIES] = {
    [TIDE_RUN_OTHER] = {"unknown", SHARE(strided_share), false, true},
    [TIDE_RUN_VECTORISED] = {"elementwise", SHARE(vectorised_share), false, false},
    [TIDE_RUN_CASTING] = {"elementwise, casts", SHARE(casting_share), true, false},
    [TIDE_RUN_STRIDED] = {"elementwise, strided", SHARE(strided_share), true, false},
    [TIDE_RUN_REDUCTION] = {"reduction", SHARE(reduction_share), false, false},
    [TIDE_RUN_SOFTMAX] = {"softmax", SHARE(reduction_share), false, false},
    [TIDE_RUN_NORM] = {"norm", SHARE(reduction_share), false, false},
    [TIDE_RUN_LOSS] = {"loss", SHARE(reduction_share), false, false},
    [TIDE_RUN_DROPOUT] = {"dropout", SHARE(casting_share), false, false},
    [TIDE_RUN_GATHER_ROWS] = {"gather", SHARE(strided_share), true, false},
    [TIDE_RUN_SCATTER_ROWS] = {"scatter", SHARE(strided_share), true, false},
    [TIDE_RUN_MULTI_TENSOR] = {"multi-tensor", SHARE(vectorised_share), false, false},
    [TIDE_RUN_SORT] = {"sort", SHARE(strided_share), false, false},
    [TIDE_RUN_SCAN] = {"scan", SHARE(reduction_share), false, false},
    [TIDE_RUN_GENERATED] = {"Triton", SHARE(generated_share), false, false},
    [TIDE_RUN_LIBRARY] = {"library", SHARE(reduction_share), false, true},
    [TIDE_RUN_OWN] = {"tidemark elements", SHARE(vectorised_share), false, false},
    [TIDE_RUN_ATTENTION_PARTS] = {"attention, parts", SHARE(reduction_share), false, false},
    [TIDE_RUN_DEPTHWISE] = {"depthwise convolution", SHARE(strided_share), true, false},
    [TIDE_RUN_OWN_ROWS] = {"tidemark rows", SHARE(reduction_share), false, false},
    [TIDE_RUN_FOURIER] = {"Fourier transform", SHARE(strided_share), false, false},
    [TIDE_RUN_QUANTIZED] = {"quantized", SHARE(reduction_share), false, false},
};

const char *tide_time_family_name(tide_run_family which) {
    return (size_t)which < TIDE_RUN_N_FAMILIES ? FAMILIES[which].name : "?";
}

/* A variant replaces the share of its family. */
typedef struct variant {
    size_t share;
    double again;  /* the factor of the bytes if rows are read again from memory; 0: they are not */
    double blocks; /* of a multiprocessor at the same time, each with a row; 0: no such rows */
} variant;

/* A block of softmax reads its row three times, for the maximum, the sum and the result; with
 * gradients, twice. A layer norm reads it twice. The later passes find the row in the L2 cache,
 * unless the rows in work at the same time fill too much of it. */
static const variant VARIANTS[TIDE_RUN_N_VARIANTS] = {
    [TIDE_RUN_BY_WARP] = {SHARE(rows_share), 0.0, 0.0},
    [TIDE_RUN_BY_WARP_BACKWARD] = {SHARE(rows_share), 0.0, 0.0},
    [TIDE_RUN_BY_BLOCK_ONCE] = {SHARE(rows_share), 0.0, 2.0},
    [TIDE_RUN_BY_BLOCK] = {SHARE(rows_share), 2.0, 2.0},
    [TIDE_RUN_BY_BLOCK_BACKWARD] = {SHARE(rows_share), 5.0 / 3.0, 2.0},
    [TIDE_RUN_LAYER] = {SHARE(rows_share), 3.0 / 2.0, 16.0},
    [TIDE_RUN_LAYER_BACKWARD] = {SHARE(rows_share), 5.0 / 3.0, 16.0},
    [TIDE_RUN_LAYER_PARAMETERS] = {SHARE(reduction_share), 0.0, 0.0},
    [TIDE_RUN_GROUPS] = {SHARE(moments_share), 0.0, 0.0},
    [TIDE_RUN_COLUMNS] = {SHARE(reduction_share), 0.0, 0.0},
    [TIDE_RUN_SEGMENTS] = {SHARE(rows_share), 0.0, 0.0},
    [TIDE_RUN_SINGLE_ELEMENTS] = {SHARE(rows_share), 0.0, 0.0},
    [TIDE_RUN_INDEXED_ROWS] = {SHARE(strided_share), 0.0, 0.0},
    [TIDE_RUN_PARTIAL_SUMS] = {SHARE(partial_sums_share), 0.0, 0.0},
    [TIDE_RUN_DIVISIONS] = {SHARE(vectorised_share), 0.0, 0.0},
    [TIDE_RUN_MULTIPLIES] = {SHARE(vectorised_share), 0.0, 0.0},
    [TIDE_RUN_READS_AGAIN] = {SHARE(generated_share), 0.0, 1.0},
    [TIDE_RUN_ADDS] = {SHARE(generated_share), 0.0, 0.0},
    [TIDE_RUN_IN_TURN] = {SHARE(generated_turns_share), 0.0, 0.0},
};
/* Rows in work that fill more of the L2 cache than this are read again from memory. */
#define CACHED_SHARE 0.5
#define VALUE_BYTES 4.0 /* of a value that is kept for a later pass */
/* A gather or scatter of single elements whose neighbours share a sector moves a value of 4 bytes
 * twice, an index of 8, and a fourth more. */
#define NEAR_BYTES 20.0
/* Of the rate of a library's product: FlashAttention-2's share on an A100 (attention.c) over the
 * share of cuBLAS. Not fitted. */
#define OWN_PRODUCTS_SHARE 0.85

static double member(const tide_time_constants *constants, size_t offset) {
    return *(const double *)(const void *)((const char *)constants + offset);
}

/* With the bytes of passes that do not find their data in the cache. */
static double bytes_of(const tide_time_card *card, const tide_run_launch *row) {
    const variant *of = &VARIANTS[row->k];
    double bytes = (double)row->bytes;
    if (row->k == TIDE_RUN_SINGLE_ELEMENTS) {
        return fmin(bytes, NEAR_BYTES * (double)row->elements);
    }
    if (row->k == TIDE_RUN_READS_AGAIN) {
        double in_work = card->n_multiprocessors * of->blocks * row->n;
        bool is_cached = in_work <= CACHED_SHARE * card->cache_bytes;
        return bytes + (is_cached ? 0.0 : (double)row->m * row->count);
    }
    double in_work = card->n_multiprocessors * of->blocks * VALUE_BYTES * row->n;
    double room = CACHED_SHARE * card->cache_bytes;
    double missed = of->again > 0.0 && in_work > room ? 1.0 - room / in_work : 0.0;
    return bytes * (1.0 + (of->again - 1.0) * missed);
}

/* Blocks that wait for their rows leave the memory idle, unless a multiprocessor has others. */
static bool has_share(const tide_time_card *card, const tide_run_launch *row) {
    bool has_others = row->k == TIDE_RUN_IN_TURN && row->m > card->n_multiprocessors;
    return row->k != TIDE_RUN_NO_VARIANT && !has_others;
}

/* The loads of up to three operands hide the arithmetic of their addresses. */
#define USUAL_POINTERS 4.0

/* Cycles of a multiprocessor for the addresses of an element; 0: they are hidden. */
static double cycles_of(const tide_time_constants *constants, const tide_run_launch *row) {
    if (row->k == TIDE_RUN_ADDS) {
        return constants->atomic_cycles;
    }
    if (row->k == TIDE_RUN_DIVISIONS) {
        return row->m * constants->division_cycles;
    }
    if (!FAMILIES[row->family].computes_addresses || row->k == TIDE_RUN_SINGLE_ELEMENTS) {
        return 0.0;
    }
    if (row->k == TIDE_RUN_INDEXED_ROWS) {
        return constants->indexed_rows_cycles;
    }
    if (row->family != TIDE_RUN_STRIDED || row->count == 0) {
        return 1.0 / constants->issue_rate;
    }
    double more = row->count > USUAL_POINTERS ? row->count - USUAL_POINTERS : 0.0;
    return constants->strided_cycles + more * constants->pointer_cycles;
}

/* Products that kernels compute themselves reach less than a library's: they convert or reduce
 * their factors between the tiles. A whole wave of blocks runs at a time. Below 0: the card states
 * no rate for the type. */
static double multiply_us(const tide_time_constants *constants, const tide_time_card *card,
                          const tide_run_launch *row) {
    double stated = tide_time_card_flops(card, row->type) * 1e-6; /* FLOP a microsecond */
    double share = tide_time_share_of_peak(constants, card, row) * OWN_PRODUCTS_SHARE;
    double waves = ceil(row->m / (double)card->n_multiprocessors) * card->n_multiprocessors;
    double idle = row->m > 0 ? waves / row->m : 1.0;
    return stated > 0.0 ? 2.0 * (double)row->elements * idle / (stated * share) : -1.0;
}

tide_work_time tide_time_kernel_work(const tide_time_constants *constants,
                                     const tide_time_card *card, const tide_run_launch *row) {
    const family *of = &FAMILIES[row->family];
    const variant *how = &VARIANTS[row->k];
    double share = member(constants, has_share(card, row) ? how->share : of->share);
    double memory = tide_time_memory_us(constants, card, bytes_of(card, row), share);
    double cycles = cycles_of(constants, row);
    double issue = cycles > 0.0 ? (double)row->elements * cycles /
                                      (card->n_multiprocessors * card->clock_hz * 1e-6)
                                : 0.0;
    bool has_rows = how->blocks > 0.0 && row->k != TIDE_RUN_READS_AGAIN;
    double rows =
        has_rows ? constants->row_us * row->m / (card->n_multiprocessors * how->blocks) : 0.0;
    bool multiplies = row->k == TIDE_RUN_MULTIPLIES;
    double compute = multiplies ? multiply_us(constants, card, row) : 0.0;
    double work = fmax(fmax(memory, issue) + rows, compute);
    tide_work_time time = {.us = constants->kernel_us + work,
                           .flops = multiplies ? 2.0 * (double)row->elements : 0.0};
    time.bound = constants->kernel_us > work ? TIDE_TIME_BY_LAUNCH
                 : compute >= work           ? TIDE_TIME_BY_GEMM
                 : issue > memory            ? TIDE_TIME_BY_ADDRESSES
                                             : TIDE_TIME_BY_MEMORY;
    bool is_guess = of->is_guess || compute < 0.0 || (row->flags & TIDE_RUN_GUESSED) != 0;
    time.basis = is_guess ? TIDE_TIME_GUESSED : TIDE_TIME_UNCOMPARED;
    return time;
}
