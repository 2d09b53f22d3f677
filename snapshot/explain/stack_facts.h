/* stack_facts.h - what the call stacks of a snapshot show about their allocations: which code of
 * PyTorch is in them, which lines are the program's, and the part in which the program's loops can
 * be seen.
 *
 * Stacks are a tree, parents first, so every fact of a stack follows from its parent's and from one
 * frame: one pass over the tree finds all of them.
 */
#ifndef TIDE_SNAPSHOT_STACK_FACTS_H
#define TIDE_SNAPSHOT_STACK_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Code that a stack passes through; bits. */
typedef enum tide_stack_trait {
    TIDE_IN_FORWARD = 1 << 0,     /* a call of a torch.nn.Module */
    TIDE_IN_GRADIENT = 1 << 1,    /* autograd's engine, in frames of C++ */
    TIDE_IN_OPTIMIZER = 1 << 2,   /* torch.optim */
    TIDE_IN_MODULE_INIT = 1 << 3, /* a constructor of torch.nn, or torch.nn.init */
    TIDE_IN_INIT = 1 << 4,        /* any constructor */
    TIDE_IN_CONVERSION = 1 << 5,  /* Module.to, .half, .cuda, ... */
    TIDE_IN_DOUBLE = 1 << 6,      /* Module.double */
    TIDE_IN_DEEPCOPY = 1 << 7,    /* copy.deepcopy */
    TIDE_IN_LOAD = 1 << 8,        /* torch.load, safetensors */
    TIDE_IN_LBFGS = 1 << 9,       /* torch.optim.LBFGS */
    TIDE_IN_FOREACH = 1 << 10,    /* an optimizer's code for lists of tensors */
    TIDE_IN_DDP = 1 << 11,        /* DistributedDataParallel's buckets */
    TIDE_IN_RECOMPUTE = 1 << 12,  /* checkpoint computes again */
    TIDE_IN_ATTENTION = 1 << 13,  /* torch's multi_head_attention_forward */
    TIDE_IN_WORKER = 1 << 14,     /* a worker of a DataLoader */
    TIDE_IN_EMPTY_CACHE = 1 << 15,
    TIDE_IN_CAPTURE = 1 << 16, /* torch.cuda.graphs */
    TIDE_IN_TORCH = 1 << 17,   /* code of PyTorch below which no loop is the program's */
    TIDE_IN_LAYERS = 1 << 18,  /* torch.nn, torch.optim, torch.autograd, checkpoint, loading */
    TIDE_HAS_PYTHON = 1 << 19
} tide_stack_trait;

typedef struct tide_stack_facts {
    const tide_snapshot *snapshot; /* borrowed */
    const tide_hostmem *mem;       /* borrowed */
    uint32_t *traits;              /* owned; of each stack, bits of tide_stack_trait */
    uint32_t *visible; /* owned; of each stack, the innermost node with a Python frame that no frame
                          of TIDE_IN_TORCH encloses; TIDE_NONE */
    uint32_t *program; /* owned; of each stack, the innermost node with a frame of the program;
                          TIDE_NONE */
    uint32_t *python;  /* owned; of each stack, the innermost node with a Python frame; TIDE_NONE */
    bool has_python;   /* some stack has a Python frame */
} tide_stack_facts;

/* The caller calls fini, also after a failure. The snapshot must outlive the facts. */
TIDE_NODISCARD tide_status tide_stack_facts_init(tide_stack_facts *facts,
                                                 const tide_snapshot *snapshot,
                                                 const tide_hostmem *mem);
void tide_stack_facts_fini(tide_stack_facts *facts);

/* The traits of a stack; 0 for TIDE_NONE. */
uint32_t tide_stack_traits(const tide_stack_facts *facts, uint32_t stack);

/* The next visible node outwards of a visible node; the next node of the program outwards of one
 * of the program. TIDE_NONE: there is none. */
uint32_t tide_stack_visible_caller(const tide_stack_facts *facts, uint32_t node);
uint32_t tide_stack_program_caller(const tide_stack_facts *facts, uint32_t node);

/* The innermost line of the program in a stack, as a node; TIDE_NONE: there is none. */
uint32_t tide_stack_program(const tide_stack_facts *facts, uint32_t stack);

#ifdef __cplusplus
}
#endif

#endif
