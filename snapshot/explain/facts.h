/* facts.h - what a recording shows about one device, derived once: loops, growth, the peak, the
 * first failed request, the reserved memory. Every sentence of every command rests on these.
 *
 *     stacks, scopes ──> lines of the program ──┬──> loops ──> growth ──┐
 *     lifetimes ────────────────────────────────┴──> peak, failure ─────┴──> causes ──> sentences
 */
#ifndef TIDE_SNAPSHOT_FACTS_H
#define TIDE_SNAPSHOT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/block_lines.h"
#include "snapshot/explain/failure.h"
#include "snapshot/explain/growth.h"
#include "snapshot/explain/inferred_lines.h"
#include "snapshot/explain/loops.h"
#include "snapshot/explain/reserved.h"
#include "snapshot/explain/scope_facts.h"
#include "snapshot/explain/stack_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_facts {
    const tide_snapshot *snapshot;   /* borrowed */
    const tide_lifetimes *lifetimes; /* borrowed; of the snapshot */
    const tide_hostmem *mem;         /* borrowed; of the lifetimes */
    size_t device;                   /* its index */
    const char *card;                /* borrowed; its name as in "virtual:NAME"; "" unknown. That of
                                        the forecast, until the caller sets another */
    bool is_pickle;                  /* PyTorch recorded it: without scopes, and with few names */
    tide_stack_facts stacks;
    tide_scope_facts scopes;
    tide_block_lines lines;
    tide_inferred_lines inferred; /* of a recording of PyTorch's, which has no modules */
    tide_loops loops;
    tide_growth growth;
    int64_t peak_bytes;      /* allocated */
    int64_t peak_event;      /* the row after which it is; -1: before the first */
    uint32_t *peak;          /* owned; indices of the lifetimes alive then, by birth */
    size_t n_peak;           /* of them */
    int64_t parameter_bytes; /* at the peak: parameters, and what constructors of modules made */
    tide_failure failure;    /* the first failed request */
    tide_reserved reserved;  /* when most was reserved; of equal instants, the fullest */
} tide_facts;

/* The caller calls fini, also after a failure. Snapshot and lifetimes must outlive the facts. */
TIDE_NODISCARD tide_status tide_facts_init(tide_facts *facts, const tide_snapshot *snapshot,
                                           const tide_lifetimes *lifetimes, size_t device);
/* The same with lines of the program alone, in less time: enough to group blocks by place. */
TIDE_NODISCARD tide_status tide_facts_init_lines(tide_facts *facts, const tide_snapshot *snapshot,
                                                 const tide_lifetimes *lifetimes, size_t device);
void tide_facts_fini(tide_facts *facts);

/* The block with an index in the lifetimes, and the traits of its call stack. */
static inline const tide_lifetime *tide_facts_block(const tide_facts *facts, uint32_t index) {
    return &facts->lifetimes->lifetimes[index];
}
static inline uint32_t tide_facts_traits(const tide_facts *facts, const tide_lifetime *block) {
    return tide_stack_traits(&facts->stacks, block->stack);
}

#ifdef __cplusplus
}
#endif

#endif
