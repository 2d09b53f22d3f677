/* compare.h - runs side by side, the first being the base: the memory at each peak by category, the
 * peaks, the times, and in words what sets the peaks and how the other settings change them.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_H
#define TIDE_SNAPSHOT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/statistics.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_COMPARE_MAX_RUNS = 64 };

typedef struct tide_compare_input {
    const char *label;             /* borrowed; such as the file's name */
    const tide_snapshot *snapshot; /* borrowed; outlives the comparison */
    const char *name;              /* borrowed; distinguishes the run. NULL in any input: all names
                                      are made from settings and labels */
} tide_compare_input;

/* One phase by the device's clock, or by the host's if the device has none. */
typedef struct tide_compare_time {
    const char *name;      /* of the phase */
    tide_statistics ms;    /* all -1: not computed */
    size_t n_samples;      /* of `samples` */
    const double *samples; /* in ms, below 0: not measured; borrowed from the snapshot */
    bool by_host;          /* the host's clock: the device has none */
    tide_ratio to_base;    /* of the means; -1 if one was not computed */
} tide_compare_time;

typedef struct tide_compare_run {
    const char *name; /* distinguishes it: "bf16-mixed", else from the label */
    const char *label;
    const tide_snapshot *snapshot; /* borrowed */
    const tide_summary_device
        *device; /* with the highest peak; NULL: nothing was recorded, bytes are -1 */
    const char *const *categories; /* names, of the comparison */
    size_t n_categories;           /* in `categories` */
    const uint32_t *category_of;   /* the comparison's number of each category of the snapshot */
    const int64_t *category_bytes; /* at the peak, of each category of the comparison; they add up
                                      to allocated_bytes */
    int64_t requested_bytes;       /* each is the highest of the run */
    int64_t allocated_bytes;
    int64_t active_bytes;
    int64_t reserved_bytes;
    int dominant; /* the category with most bytes at the peak; tide_compare_is_dominant */
    bool is_oom;  /* the run ended because the device had no memory left */
    const tide_compare_time *times; /* as many as the comparison has */
} tide_compare_run;

typedef struct tide_compare {
    tide_arena arena;         /* everything not marked as owned */
    tide_compare_run *runs;   /* n_runs; the base first */
    tide_summary **summaries; /* owned; one per run */
    size_t n_runs;
    const char *const *categories; /* names: the known ones, then those of any file */
    size_t n_categories;
    size_t n_times;       /* phases of all runs, in order of appearance */
    const char *sentence; /* what sets the peaks, and what differs, in words */
} tide_compare;

/* Takes 1 to TIDE_COMPARE_MAX_RUNS runs, else TIDE_LIMIT. The caller destroys the comparison. */
TIDE_NODISCARD tide_status tide_compare_create(const tide_compare_input *inputs, size_t n_inputs,
                                               tide_compare **ret_compare, tide_error *error);
void tide_compare_destroy(tide_compare *compare);

/* The rank of the run, as in its digest; -1: unknown. */
int64_t tide_compare_rank(const tide_compare_run *run);

/* Whether the runs are ranks of one job: with ranks different from the base's, the same command,
 * and the same world size if both are known. */
bool tide_compare_is_of_ranks(const tide_compare *compare);

/* "optimizer state", "activations": the words for a category of the comparison in a sentence; for a
 * file's own category, its name. */
const char *tide_compare_category_words(const tide_compare_run *run, int category);

/* Whether a category has as many bytes at the peak as `dominant`, or up to 1 % less. Naming only
 * the first of nearly equal categories would mislead. */
bool tide_compare_is_dominant(const tide_compare_run *run, size_t category);
/* "parameters and gradients": all dominant categories; at most n_room - 1 bytes. */
void tide_compare_dominant_words(const tide_compare_run *run, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
