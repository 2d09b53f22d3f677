/* at_failure.h - what a process found out when its first request for memory failed, which no event
 * shows (python/tidemark/failure.py).
 */
#ifndef TIDE_SNAPSHOT_AT_FAILURE_H
#define TIDE_SNAPSHOT_AT_FAILURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A variable or an attribute of the program that held tensors. Unknown numbers are -1. */
typedef struct tide_snapshot_holder {
    const char *name;  /* "losses", "Trainer.history" */
    const char *place; /* whose it is: "validate (c01.py:12)", "module __main__"; "": an object's */
    int64_t held_bytes; /* of the storages that its tensors and their graphs hold */
    int64_t own_bytes;  /* of the elements of its tensors */
    int64_t n_tensors;  /* of those that were asked about */
    int64_t n_graphs;   /* of them have a graph of autograd */
} tide_snapshot_holder;

/* Another process that the driver (NVML) listed for the device. */
typedef struct tide_snapshot_process {
    int64_t pid;        /* -1: unknown */
    int64_t used_bytes; /* of the device; -1: unknown */
    const char *name;   /* its program's file; "": unknown, or left out */
} tide_snapshot_process;

typedef struct tide_snapshot_at_failure {
    int64_t device;          /* of the request: its index; -1: nothing is known, here and below */
    int64_t allocated_bytes; /* before the collection */
    int64_t collected_bytes; /* that Python's garbage collection freed, in a copy of the process */
    const tide_snapshot_holder *holders; /* most bytes first */
    size_t n_holders;
    int64_t n_not_asked; /* tensors that the time did not suffice for */
    const tide_snapshot_process *processes;
    size_t n_processes;
} tide_snapshot_at_failure;

#ifdef __cplusplus
}
#endif

#endif
