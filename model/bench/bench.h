/* bench.h - benchmarks of the parts that cost a run time: the list of benchmarks, their settings
 * and their results.
 *
 * A caller chooses a benchmark with tide_bench_at, creates a run with its settings, and measures.
 * The run then holds the results as data: groups of variants, rows of cases, records, targets and
 * sentences. The library neither prints nor makes tables; the caller does.
 *
 * Variants of one thing are measured in turn within each round, and the order rotates from round to
 * round, so a machine that slows down meanwhile is slower for all of them; ratios are computed
 * within a round.
 *
 * Not thread-safe.
 */
#ifndef TIDE_MODEL_BENCH_BENCH_H
#define TIDE_MODEL_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/bench/result.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "programs/runs/environment.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_BENCH_NOT_GIVEN UINT64_MAX /* a number that the benchmark chooses */

/* The measurement to make. All texts are borrowed until the run is destroyed. */
typedef struct tide_bench_settings {
    size_t n_rounds; /* samples of each variant or case, 1..TIDE_BENCH_MAX_ROUNDS */
    bool is_brief;   /* little work in a sample: for tests; the figures are meaningless */

    /* Called with the name of each case before it is measured; NULL: none. */
    void (*show)(void *ctx, const char *text);
    void *show_ctx; /* the caller's, passed to `show` */

    /* Only for benchmarks of a device. */
    const char *device; /* a spec for tide_device_open */
    uint64_t sizes[TIDE_BENCH_MAX_SIZES];
    size_t n_sizes; /* 0: the benchmark's own sizes for the device */
    const char *dtypes[TIDE_BENCH_MAX_DTYPES];
    size_t n_dtypes; /* 0: the benchmark's own types */
    const char *vary[TIDE_BENCH_MAX_VARIED];
    size_t n_vary;               /* mlp-scaling: the varied quantities; 0: all */
    uint64_t batch;              /* rows; or TIDE_BENCH_NOT_GIVEN, like the next three */
    uint64_t dim, layers, steps; /* of the MLP */
    uint64_t warmup;             /* calls before the first sample */
    uint64_t calls;              /* in a sample */
    bool no_flush;               /* caches are not flushed between samples */
    double peak_tflops;          /* the rate that is 100 %; 0: the card's stated rate */
    double target;               /* the figure must reach this; 0: no target */
} tide_bench_settings;

/* The settings that a benchmark uses. */
enum {
    TIDE_BENCH_TAKES_DEVICE = 1 << 0, /* and warmup, calls, records */
    TIDE_BENCH_TAKES_SIZES = 1 << 1,
    TIDE_BENCH_TAKES_DTYPE = 1 << 2,
    TIDE_BENCH_TAKES_BATCH = 1 << 3,
    TIDE_BENCH_TAKES_MODEL = 1 << 4, /* dim, layers, steps */
    TIDE_BENCH_TAKES_VARY = 1 << 5,
    TIDE_BENCH_TAKES_FLUSH = 1 << 6,
    TIDE_BENCH_TAKES_PEAK = 1 << 7,
    TIDE_BENCH_TAKES_TARGET = 1 << 8,
    TIDE_BENCH_TAKES_GATE = 1 << 9 /* it has bounds of the project's own (targets) */
};

/* Samples, and calls before the first one, of a benchmark that states nothing else. */
enum { TIDE_BENCH_ROUNDS = 15, TIDE_BENCH_WARMUP = 3 };

/* A measurement: its settings and its results. tide_bench_run_destroy releases what it owns. */
typedef struct tide_bench_run {
    const tide_hostmem *mem;             /* borrowed */
    const tide_bench_settings *settings; /* borrowed */

    tide_bench_note
        notes[TIDE_BENCH_MAX_NOTES]; /* sentences, in order; further ones are left out */
    size_t n_notes;

    tide_bench_group groups[TIDE_BENCH_MAX_GROUPS];
    tide_bench_group_set sets[TIDE_BENCH_MAX_GROUP_SETS]; /* they divide up the groups, in order */
    size_t n_groups, n_sets;

    tide_bench_heading heading;               /* of the rows; title NULL: there are none */
    tide_bench_row rows[TIDE_BENCH_MAX_ROWS]; /* cases in the order of measurement */
    size_t n_rows;
    size_t n_unfit; /* rows of cases for which the device had no memory */
    tide_bench_exponent exponents[TIDE_BENCH_MAX_VARIED];
    size_t n_exponents;

    tide_bench_target targets[TIDE_BENCH_MAX_TARGETS];
    size_t n_targets; /* further ones are left out */

    tide_bench_record records[TIDE_BENCH_MAX_RECORDS];
    size_t n_records; /* further ones are left out */

    tide_run_environment environment; /* of all records; only of benchmarks of a device */
    int64_t flush_bytes;              /* written between samples; -1: none */
    int64_t started_unix_us;
} tide_bench_run;

struct tide_bench_subject; /* subject_internal.h */

/* A benchmark. */
typedef struct tide_bench {
    const char *name;                         /* "allocator" */
    const char *summary;                      /* description of the measurement, one line */
    const struct tide_bench_subject *subject; /* one operation at several sizes; NULL: `run` */
    tide_status (*run)(tide_bench_run *run, tide_error *error);
    /* The benchmarks that it consists of, up to NULL: the caller measures each in a run of its own,
     * and one that fails does not stop the others. NULL if it is measured itself. */
    const struct tide_bench *const *parts;
    unsigned
        takes; /* TIDE_BENCH_TAKES_...; with a subject, tide_bench_takes derives them from it */
    size_t n_rounds, n_warmup; /* defaults of its own; 0: TIDE_BENCH_ROUNDS, TIDE_BENCH_WARMUP */
} tide_bench;

/* Benchmark i; NULL past the last. */
const tide_bench *tide_bench_at(size_t i);

/* The settings that a benchmark takes: a set of TIDE_BENCH_TAKES_... */
unsigned tide_bench_takes(const tide_bench *bench);

/* An empty run. The caller destroys it. */
TIDE_NODISCARD tide_status tide_bench_run_create(const tide_hostmem *mem,
                                                 const tide_bench_settings *settings,
                                                 tide_bench_run **ret_run);
void tide_bench_run_destroy(tide_bench_run *run);

/* Measures a benchmark without parts, once for each run. The message of TIDE_INVALID names an
 * invalid setting. Results from before a failure are kept. */
TIDE_NODISCARD tide_status tide_bench_run_measure(tide_bench_run *run, const tide_bench *bench,
                                                  tide_error *error);

/* A target is missed if it was not measured or is above its bound. */
bool tide_bench_target_is_met(const tide_bench_target *target);
bool tide_bench_some_target_is_missed(const tide_bench_run *run);
/* A record misses the target of the settings only if it is judged by it. */
bool tide_bench_record_is_missed(const tide_bench_run *run, const tide_bench_record *record);
bool tide_bench_some_record_is_missed(const tide_bench_run *run);
/* The target of a record: that of the settings, or else the stated one. 0: none. */
double tide_bench_record_target(const tide_bench_run *run, const tide_bench_record *record);
/* Whether tide_bench_record_target is the stated one, which never decides on missed records. */
bool tide_bench_record_target_is_stated(const tide_bench_run *run, const tide_bench_record *record);
/* Whether the device of that name is the card of the stated targets. */
bool tide_bench_is_stated_card(const char *device_name);
/* "bf16" as spelled in records and by PyTorch: "bfloat16". */
const char *tide_bench_record_dtype(const char *dtype);

#ifdef __cplusplus
}
#endif

#endif
