/* growth.h - whether the memory of a run grows from step to step: one rule for all commands.
 *
 * A line of the program grows if most steps leave blocks of it that are never freed. Only
 * steps that the recording names count: scopes of the kind step, annotations of PyTorch's profiler,
 * and steps of an optimizer. Calls of a module do not count, because their sizes differ for good
 * reasons. The rule prefers silence to a guess; docs/guide/explain.md describes it.
 */
#ifndef TIDE_SNAPSHOT_GROWTH_H
#define TIDE_SNAPSHOT_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "common/text/text.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_GROWTH_LEAST_STEPS = 5 }; /* with fewer, growth is unknown */

/* A line of the program that keeps more in every step, or nearly every step. */
typedef struct tide_growth_line {
    uint32_t frame;         /* the user's frame */
    uint32_t stack;         /* of one of its blocks */
    int64_t kept_bytes;     /* of blocks that are alive at the end of the last measured step */
    int64_t bytes_per_step; /* their mean over the steps since the first that keeps any */
    size_t n_steps;         /* measured steps that allocated these blocks */
    size_t n_since;         /* measured steps from the first of these on */
    size_t first_step;      /* the first of these; index in the list of steps */
} tide_growth_line;

typedef struct tide_growth {
    const tide_hostmem *mem; /* borrowed */
    bool is_known;           /* there are enough named steps */
    tide_growth_line *lines; /* owned; the growing lines, fastest first */
    size_t n_lines;
    int64_t bytes_per_step; /* of all lines; 0: nothing grows, or unknown */
    size_t last_step;       /* the last measured one; index in the list of steps */
} tide_growth;

/* `lifetimes` are of the snapshot, `steps` of one of its devices. The caller calls fini, also after
 * a failure. */
TIDE_NODISCARD tide_status tide_growth_init(tide_growth *growth, const tide_snapshot *snapshot,
                                            const tide_lifetimes *lifetimes,
                                            const tide_steps *steps);
void tide_growth_fini(tide_growth *growth);

/* Adds "by 6.00 MiB a step at append_loss (metrics.py:17), in 60 of 60 steps since step 0", for up
 * to two lines; adds nothing if nothing grows. */
void tide_growth_add(const tide_growth *growth, const tide_snapshot *snapshot,
                     const tide_steps *steps, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
