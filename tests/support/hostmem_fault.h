/* hostmem_fault.h - a heap for tests that fails the n-th call and counts what was not released.
 */
#ifndef TIDE_TESTS_SUPPORT_HOSTMEM_FAULT_H
#define TIDE_TESTS_SUPPORT_HOSTMEM_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/hostmem.h"

/* Not thread-safe. */
typedef struct tide_hostmem_fault {
    tide_hostmem mem; /* hand out &fault->mem; its context is the fault, which must not move */
    size_t fail_call; /* this call of alloc or resize fails, counted from 1; 0: none */
    bool fails_on;    /* all later calls fail also */
    size_t n_calls;   /* calls of alloc and resize so far */
    size_t n_live;    /* pieces of memory not released yet */
} tide_hostmem_fault;

void tide_hostmem_fault_init(tide_hostmem_fault *fault, size_t fail_call);

#endif
