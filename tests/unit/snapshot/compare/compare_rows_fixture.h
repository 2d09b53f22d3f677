/* compare_rows_fixture.h - runs of a few tensors, and the rows of their comparison. For tests that
 * include cmocka.h. */
#ifndef TIDE_TESTS_UNIT_SNAPSHOT_COMPARE_ROWS_FIXTURE_H
#define TIDE_TESTS_UNIT_SNAPSHOT_COMPARE_ROWS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/compare/compare_rows.h"

enum { KIB = 1024, MAX_RUNS = 3 };

/* The names of tensors, as numbers of strings: layers.0.attn.q, layers.1.attn.q, b. */
enum { Q0 = 5, Q1 = 6, NAME_B = 7 };

/* A tensor that is alive at the peak. Scopes: 0 forward, 2 and 4 forward > layer 0 and 1 >
 * attention. Stacks: 1 and 2 main < work at lines 10 and 20, of a file in two folders; 3 work
 * alone; 5 and 6 net.py < mul and net.py < mul_bf16; 7 and 8 these two alone. */
typedef struct tensor {
    uint64_t address, bytes;
    uint32_t name, scope, stack; /* TIDE_NONE: none */
    uint8_t category;
} tensor;

typedef struct rows_comparison {
    tide_compare *compare;
    tide_compare_rows *rows;
} rows_comparison;

enum { ROWS_N_BASE = 3 };
extern const tensor ROWS_BASE[ROWS_N_BASE];

/* The caller destroys the snapshot. mem NULL: the default memory. */
tide_snapshot *rows_make(const tide_hostmem *mem, const tensor *tensors, size_t n);

/* Compares the snapshots, which must outlive the result. */
rows_comparison rows_compare(tide_snapshot *const *snapshots, size_t n);
void rows_finish(rows_comparison *of);

/* The other run has the base's tensors in another order and at other addresses, with one change.
 * Exactly one row may differ, and it has these values. */
void rows_assert_one_difference(const tensor *others, size_t n, tide_row_change change,
                                int64_t base_bytes, int64_t bytes, const char *name);

#endif
