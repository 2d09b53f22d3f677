/* block_lines.h - the line of the program that a block belongs to: the one grouping of all
 * commands.
 *
 * A block that the forward pass or other code of the program made belongs to the innermost line of
 * the program in its call stack. A block of the backward pass has no line of its own, because
 * autograd's threads run no code of the program: it belongs to the line of its module's last
 * forward allocation before it, or of the nearest enclosing module that allocated. The recorder
 * counts operators after a module's call as the module's. The activations that the backward pass
 * frees next show them: if code outside of all modules made the next one, after the module's last
 * call, the block belongs to that code.
 */
#ifndef TIDE_SNAPSHOT_BLOCK_LINES_H
#define TIDE_SNAPSHOT_BLOCK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/scope_facts.h"
#include "snapshot/explain/stack_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A forward allocation of a module. */
typedef struct tide_module_call {
    uint32_t module; /* string */
    uint32_t born;   /* as in tide_lifetime */
    uint32_t node;   /* of the stack tree: the innermost line of the program */
} tide_module_call;

typedef struct tide_block_lines {
    const tide_stack_facts *stacks; /* borrowed */
    const tide_scope_facts *scopes; /* borrowed */
    tide_module_call *calls;        /* owned; by module, then by birth */
    size_t n_calls;
    tide_map module_of;   /* hash of a module's name -> string */
    uint32_t *next_freed; /* owned; of each row: the lifetime of the activation that the backward
                             pass frees next; TIDE_NONE */
    const tide_lifetimes *lifetimes; /* borrowed */
    size_t n_rows;
} tide_block_lines;

/* The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_block_lines_init(tide_block_lines *lines,
                                                 const tide_stack_facts *stacks,
                                                 const tide_scope_facts *scopes,
                                                 const tide_lifetimes *lifetimes);
void tide_block_lines_fini(tide_block_lines *lines);

/* Whether the backward pass made the block. */
bool tide_block_is_backward(const tide_block_lines *lines, const tide_lifetime *block);

/* Whether a forward pass made the block. */
bool tide_block_is_forward(const tide_block_lines *lines, const tide_lifetime *block);

/* The node of the stack tree with the block's line; TIDE_NONE: unknown. */
uint32_t tide_block_line(const tide_block_lines *lines, const tide_lifetime *block);

#ifdef __cplusplus
}
#endif

#endif
