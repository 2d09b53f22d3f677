/* category_rules_internal.h - the parts of the rules of categories. */
#ifndef TIDE_SNAPSHOT_CATEGORY_RULES_INTERNAL_H
#define TIDE_SNAPSHOT_CATEGORY_RULES_INTERNAL_H

#include <stdbool.h>

#include "common/arena.h"
#include "snapshot/analysis/category_rules.h"
#include "snapshot/analysis/own_rules_friend.h"
#include "snapshot/analysis/stack_signs_friend.h"

typedef enum tide_built_in_rule {
    TIDE_RULE_WORKSPACE = 0,
    TIDE_RULE_COLLECTIVE,
    TIDE_RULE_KV_CACHE,
    TIDE_RULE_LOADED,
    TIDE_RULE_COMPUTE,
    TIDE_RULE_ACCUMULATE,
    TIDE_RULE_OPTIMIZER_STATE,
    TIDE_RULE_OPTIMIZER_SCRATCH,
    TIDE_RULE_PARAMETER,
    TIDE_RULE_MOVED_GRADIENT,
    TIDE_RULE_MOVED_BUFFER,
    TIDE_RULE_FORWARD_KEPT,
    TIDE_RULE_FORWARD,
    TIDE_RULE_BACKWARD,
    TIDE_RULE_BACKWARD_KEPT,
    TIDE_RULE_OLDER_STATE,
    TIDE_RULE_OLDER_GRADIENT,
    TIDE_RULE_OLDER,
    TIDE_RULE_INPUT,
    TIDE_RULE_SAVED,
    TIDE_RULE_STEP,
    TIDE_N_BUILT_IN_RULES
} tide_built_in_rule;

struct tide_rules {
    tide_arena arena;
    tide_own_rule own[TIDE_MAX_OWN_RULES];
    size_t n_own;
};

/* The place of the program at an event. */
typedef struct tide_rule_place {
    uint32_t n_optimizer_calls, n_module_calls; /* times one was entered */
    uint32_t n_steps;                           /* steps begun so far */
    uint32_t found; /* the next event of a backward pass or failed request; TIDE_NONE */
    uint16_t signs;
} tide_rule_place;

/* Facts from the scopes around a row. */
typedef struct tide_rule_scope {
    uint32_t step;  /* scope of the step; TIDE_NONE if there is none */
    uint16_t signs; /* tide_stack_sign */
} tide_rule_scope;

/* The places of all events of a snapshot. */
typedef struct tide_rule_places {
    const tide_hostmem *mem; /* borrowed */
    uint16_t *signs;         /* owned; per stack */
    tide_rule_scope *scopes; /* owned; per scope */
    tide_rule_place *events; /* owned; per event */
    uint8_t *moved;          /* owned; per stack: tide_built_in_rule of blocks moved there */
    uint32_t n_steps;        /* of the snapshot */
    bool has_stacks;         /* the snapshot has call stacks */
} tide_rule_places;

/* category_rules_places.c. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_rule_places_init(tide_rule_places *places,
                                                 const tide_snapshot *snapshot,
                                                 const tide_hostmem *mem);
void tide_rule_places_fini(tide_rule_places *places);

/* The signs of an allocation's call stack and scope; both may be TIDE_NONE. */
unsigned tide_rule_signs(const tide_rule_places *places, uint32_t stack, uint32_t scope);

/* category_rules_moved.c. For every stack, whether Module._apply moves a parameter
 * (TIDE_RULE_PARAMETER), its gradient or a buffer there. The caller releases it; NULL: no memory.
 */
uint8_t *tide_rule_moved(const tide_snapshot *snapshot, const tide_hostmem *mem);

/* The last part of a function's name: "_apply" of "Module._apply". */
const char *tide_last_name(const char *function);

#endif
