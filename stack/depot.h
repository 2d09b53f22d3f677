/* depot.h - call stacks, each stored once and identified by a number.
 *
 * Thread-safe. Looking up a known stack takes no lock; adding one takes the depot's. Numbers are 0,
 * 1, 2, ... in the order of first appearance.
 */
#ifndef TIDE_STACK_DEPOT_H
#define TIDE_STACK_DEPOT_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_stack_depot tide_stack_depot;

/* Called with each new stack before any thread can learn its number, so no row refers to a stack
 * that the listener has not seen. It runs under the depot's lock, so it must not call the depot. */
typedef void tide_stack_listener(void *ctx, uint32_t number, const uint64_t *pcs, size_t n_pcs);

/* `mem` is borrowed and outlives the depot. The caller destroys it. */
TIDE_NODISCARD tide_status tide_stack_depot_create(const tide_hostmem *mem,
                                                   tide_stack_depot **ret_depot);
void tide_stack_depot_destroy(tide_stack_depot *depot);

/* Sets the listener for new stacks. Call it before the first stack is added. `ctx` is borrowed and
 * outlives the depot. */
void tide_stack_depot_set_listener(tide_stack_depot *depot, tide_stack_listener *listener,
                                   void *ctx);

/* The number of a stack of return addresses, innermost first. TIDE_NONE (UINT32_MAX) for an empty
 * stack and when there is no memory for a new one. */
uint32_t tide_stack_depot_intern(tide_stack_depot *depot, const uint64_t *pcs, size_t n_pcs);

/* The hash of a stack is computed from its outermost address inwards, so that stacks with the same
 * outer frames can share that part of the work: begin with TIDE_STACK_HASH_SEED and call
 * tide_stack_hash once for each address. */
#define TIDE_STACK_HASH_SEED UINT64_C(0x9e3779b97f4a7c15)
static inline uint64_t tide_stack_hash(uint64_t outer_hash, uint64_t pc) {
    uint64_t hash = (outer_hash ^ pc) * UINT64_C(0x9fb21c651e98df25);
    return hash ^ hash >> 32;
}

/* The same for a caller that has the hash already. With a wrong hash the stack would get a second
 * number. */
uint32_t tide_stack_depot_intern_hashed(tide_stack_depot *depot, uint64_t hash, const uint64_t *pcs,
                                        size_t n_pcs);

/* The addresses of a stack, innermost first, valid until the depot is destroyed. NULL for an
 * unknown number. For tests that compare single stacks; a recording copies all of them. */
const uint64_t *tide_stack_depot_get(tide_stack_depot *depot, uint32_t number, size_t *ret_n_pcs);

/* Distinct stacks, and the bytes of the stacks and tables. Either may be NULL. */
void tide_stack_depot_get_stats(tide_stack_depot *depot, size_t *ret_n_stacks, size_t *ret_bytes);

/* All stacks as flat arrays that the caller releases to `mem`: stack i is pcs[first[i]] ..
 * pcs[first[i + 1] - 1]. TIDE_NO_MEMORY leaves nothing to release. */
TIDE_NODISCARD tide_status tide_stack_depot_copy(tide_stack_depot *depot, const tide_hostmem *mem,
                                                 uint64_t **ret_pcs, size_t **ret_first,
                                                 size_t *ret_n_stacks);

#ifdef __cplusplus
}
#endif

#endif
