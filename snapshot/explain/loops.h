/* loops.h - the loops of a program, seen in the call stacks of its allocations.
 *
 * A loop is a jump back: if a call of a function, whose callers have not changed, allocates at an
 * earlier line than before, a loop has begun anew at that line.
 *
 *     allocations in order        what the walk concludes
 *     main:8                      a call of main
 *     main:8 > step:3             main calls step
 *     main:9                      step has ended
 *     main:8                      back from 9 to 8: the loop main:8-9, its second pass
 *     main:12                     past the last line of the loop: it has ended
 *
 * A loop on one line jumps nowhere. There, the same whole stack with which the stretch on that line
 * began means that a new pass has begun: "passes" are the first allocation of each. Two calls on
 * one line are two stacks if the recording has the instructions.
 *
 * Frames of PyTorch's own modules, optimizers and engine, and all frames below them, are not looked
 * at, so that layers are never taken for passes. Frees are not looked at either: a `with` block
 * frees at its first line. Nor is Python code that autograd calls in a thread of its own: the
 * program's calls go on meanwhile.
 */
#ifndef TIDE_SNAPSHOT_LOOPS_H
#define TIDE_SNAPSHOT_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/explain/stack_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_LOOP_LEAST_PASSES = 4 }; /* with fewer, a loop is not kept */

typedef struct tide_loop {
    uint32_t function, file;       /* strings; TIDE_NONE */
    int32_t first_line, last_line; /* of the function's lines that allocate in the loop */
    uint32_t depth;                /* number of visible frames around its function */
    uint32_t node;                 /* of the stack tree: a line of the loop */
    bool is_one_line;              /* known from repeated stacks: the number of passes is a guess */
    bool is_steps;                 /* of the steps that the program names, not seen in stacks */
    uint32_t *starts;              /* owned; row of the first allocation of each pass, ascending */
    size_t n_starts;
    size_t end; /* the row after its last */
} tide_loop;

typedef struct tide_loops {
    const tide_hostmem *mem; /* borrowed */
    tide_loop *loops;        /* owned; in the order in which they end */
    size_t n_loops;
    size_t room; /* in loops */
} tide_loops;

/* Whether a node of the stack tree is at a line of the loop, in its function. */
bool tide_loop_has_line(const tide_loop *loop, const tide_snapshot *snapshot, uint32_t node);

/* The loops of all allocations of the snapshot. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_loops_init(tide_loops *loops, const tide_stack_facts *facts);
void tide_loops_fini(tide_loops *loops);

/* Adds the complete named steps of a device, without warm-up, as one loop: for recordings whose
 * stacks have no Python, such as those of programs in C. Adds nothing if there are too few. */
TIDE_NODISCARD tide_status tide_loops_add_steps(tide_loops *loops, const tide_snapshot *snapshot,
                                                const tide_lifetimes *lifetimes, size_t device);

#ifdef __cplusplus
}
#endif

#endif
