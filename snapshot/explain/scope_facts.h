/* scope_facts.h - what the scopes of a snapshot show about the allocations in them: the phase, the
 * module and the node of autograd. Scopes are parents first, so one pass finds all.
 */
#ifndef TIDE_SNAPSHOT_SCOPE_FACTS_H
#define TIDE_SNAPSHOT_SCOPE_FACTS_H

#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_scope_phase {
    TIDE_PHASE_NONE = 0,
    TIDE_PHASE_FORWARD,
    TIDE_PHASE_BACKWARD,
    TIDE_PHASE_OPTIMIZER,
    TIDE_PHASE_OTHER
} tide_scope_phase;

typedef struct tide_scope_facts {
    const tide_hostmem *mem; /* borrowed */
    uint8_t *phase;          /* owned; of each scope: the innermost, tide_scope_phase */
    uint32_t *module;        /* owned; of each scope: string, the outermost layer; TIDE_NONE */
    uint32_t *node;          /* owned; of each scope: string, the outermost operator of autograd's
                                ("LogSoftmaxBackward0"); TIDE_NONE */
} tide_scope_facts;

/* The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_scope_facts_init(tide_scope_facts *facts,
                                                 const tide_snapshot *snapshot,
                                                 const tide_hostmem *mem);
void tide_scope_facts_fini(tide_scope_facts *facts);

/* The same for a scope that may be TIDE_NONE. */
tide_scope_phase tide_phase_of(const tide_scope_facts *facts, uint32_t scope);
uint32_t tide_module_of(const tide_scope_facts *facts, uint32_t scope);
uint32_t tide_node_of(const tide_scope_facts *facts, uint32_t scope);

/* A place of the program: a call stack, a module and a node of autograd, as one key of a map. */
uint64_t tide_place_key(const tide_scope_facts *facts, uint32_t stack, uint32_t scope);

#ifdef __cplusplus
}
#endif

#endif
