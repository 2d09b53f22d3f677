/* stack_signs_friend.h - what the functions of a call stack say about the block that is allocated
 * or released there: the one reading of stacks for the rules of categories and the engine of facts.
 */
#ifndef TIDE_SNAPSHOT_STACK_SIGNS_FRIEND_H
#define TIDE_SNAPSHOT_STACK_SIGNS_FRIEND_H

#include <stdint.h>

#include "common/hostmem.h"
#include "snapshot/document/snapshot.h"

/* Signs of the functions of a stack, or of the scopes around a row. */
typedef enum tide_stack_sign {
    TIDE_SIGN_MODULE = 1,       /* within a call of a module */
    TIDE_SIGN_BACKWARD = 2,     /* within the engine of autograd */
    TIDE_SIGN_ACCUMULATE = 4,   /* AccumulateGrad, which makes the gradients of parameters */
    TIDE_SIGN_OPTIMIZER = 8,    /* within an optimizer's step */
    TIDE_SIGN_STATE = 16,       /* in a function that makes an optimizer's state */
    TIDE_SIGN_WORKSPACE = 32,   /* work areas of cuBLAS, cuBLASLt, cuDNN */
    TIDE_SIGN_COLLECTIVE = 64,  /* of torch.distributed, called by no module */
    TIDE_SIGN_PARAMETER = 128,  /* in a function that makes or moves a module's parameters */
    TIDE_SIGN_ZERO_GRAD = 256,  /* in a function that drops gradients */
    TIDE_SIGN_FORWARD = 512,    /* within the phase "forward" of a step */
    TIDE_SIGN_NATIVE = 1024,    /* the stack has frames of native code */
    TIDE_SIGN_ANNOTATED = 2048, /* within PyTorch's annotation of an optimizer's step */
    TIDE_SIGN_CLOSURE = 4096,   /* called by an optimizer, with passes of its own */
    TIDE_SIGN_GENERATES = 8192, /* within code that only generates text, and trains nothing */
    TIDE_SIGN_CACHE = 16384,    /* in code that makes or extends a cache of keys and values */
    TIDE_SIGN_BUFFER = 32768    /* a buffer of llama.cpp: with TIDE_SIGN_PARAMETER of its weights */
} tide_stack_sign;

/* The signs of every stack of a snapshot, from its own frame and its callers'. The caller releases
 * them; NULL: no memory. */
uint16_t *tide_stack_signs(const tide_snapshot *snapshot, const tide_hostmem *mem);

#endif
