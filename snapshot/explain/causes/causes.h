/* causes.h - why a run failed or what fills its peak: patterns of facts, each with its sentence,
 * the change in code that removes it, and the cost of that change.
 *
 * A pattern is a rule over the facts. It fires on evidence alone and is silent otherwise; precision
 * comes before recall. docs/reference/causes.md has a paragraph for each, with the public report
 * that it comes from.
 */
#ifndef TIDE_SNAPSHOT_CAUSES_H
#define TIDE_SNAPSHOT_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "common/text/text.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MOST_CAUSES = 3 }; /* that are printed */

/* What a cause explains; a lower tier comes first. */
typedef enum tide_cause_tier {
    TIDE_TIER_ALL = 0, /* the whole failure, whatever else is true */
    TIDE_TIER_GROWTH,  /* growth and fragmentation */
    TIDE_TIER_PEAK,    /* what the peak is made of */
    TIDE_TIER_ADVICE   /* small savings */
} tide_cause_tier;

typedef struct tide_cause {
    const char *id; /* stable: "graph_kept"; JSON and docs have it */
    tide_cause_tier tier;
    double share;        /* of the peak (of a reserved cause: of the reserved peak); orders the
                            causes of a tier, and may exceed 1 */
    bool is_of_reserved; /* it explains reserved bytes, not allocated ones */
    const tide_growth_fact *growth; /* borrowed from the facts; NULL: not a growth */
    int64_t bytes;                  /* that the cause holds; -1: it has no such figure */
    const char *words;              /* the sentences of the cause */
    const char *cure;               /* what to change, in code */
    const char *cost;               /* of the change; "": none */
    const char *changes; /* of `tidemark plan` that are this cure, "linear_loss,chunked_loss"; NULL:
                            none; borrowed, static */
    bool is_offered;     /* the call stacks show that `changes`, a single one, is possible */
} tide_cause;

typedef struct tide_causes {
    tide_arena arena; /* holds the texts and the causes */
    tide_cause *causes;
    size_t n_causes; /* all that fired, most important first */
    size_t room;
} tide_causes;

/* Applies all patterns. The facts must outlive the causes. The caller calls fini, also after a
 * failure. */
TIDE_NODISCARD tide_status tide_causes_init(tide_causes *causes, const tide_facts *facts);
void tide_causes_fini(tide_causes *causes);

/* Adds a cause with its cure and cost, as every command prints it. */
void tide_cause_add_text(const tide_cause *cause, bool is_first, tide_text *to);

/* Whether a setting of the allocator can be the cure: of fragmentation, if that is the first cause
 * of a failure; or of much memory that is reserved and not allocated, unless memory grows. If
 * anything else filled the memory, the program would fail a little later. */
bool tide_causes_admit_setting(const tide_facts *facts, const tide_causes *causes);

/* The cause with an id; NULL: it did not fire. */
const tide_cause *tide_causes_find(const tide_causes *causes, const char *id);

#ifdef __cplusplus
}
#endif

#endif
