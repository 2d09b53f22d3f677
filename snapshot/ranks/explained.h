/* explained.h - what `tidemark explain` derives from a recording, as a digest has it: the failure,
 * what grows, the causes and the sentences, all from one set of facts.
 */
#ifndef TIDE_SNAPSHOT_EXPLAINED_H
#define TIDE_SNAPSHOT_EXPLAINED_H

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/explain/facts.h"
#include "snapshot/ranks/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts and lists are in the arena, and refer to nothing else. */
TIDE_NODISCARD tide_status tide_explained_make(const tide_facts *facts, tide_arena *arena,
                                               tide_digest_explained *ret_explained);

#ifdef __cplusplus
}
#endif

#endif
