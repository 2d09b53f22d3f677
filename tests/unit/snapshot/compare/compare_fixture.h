/* compare_fixture.h - runs with known bytes per category, for tests of the sentences that compare
 * them.
 */
#ifndef TIDE_TESTS_UNIT_SNAPSHOT_COMPARE_FIXTURE_H
#define TIDE_TESTS_UNIT_SNAPSHOT_COMPARE_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/compare/compare.h"

enum { COMPARE_MAX_RUNS = 3 };

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* A run with given bytes per category, all alive at the peak, then, with `oom_bytes`, an oom row.
 */
typedef struct made_run {
    const char *precision;
    uint64_t bytes[TIDE_N_CATEGORIES];
    uint64_t oom_bytes; /* bytes of the request that failed; 0: the run completes */
    uint32_t scope; /* scope of the last event: 1 is optimizer > adamw, 3 is backward > attention */
    double step_ms; /* 0: not computed */
    int64_t context; /* tokens in a sequence */
    int64_t d_model;
} made_run;

typedef struct comparison {
    tide_snapshot *snapshots[COMPARE_MAX_RUNS];
    size_t n_runs;
    tide_compare *compare;
} comparison;

/* The snapshot of a run. The caller destroys it. */
tide_snapshot *compare_make(const made_run *of);

/* The comparison of runs a.json.gz, b.json.gz and c.json.gz, or the first of them. */
comparison compare_runs(const made_run *runs, size_t n_runs);
void compare_finish(comparison *of);

#endif
