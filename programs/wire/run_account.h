/* run_account.h - the file `account` of a run's folder: the memory that each process of a run on
 * virtual cards has allocated on each card.
 *
 * Every process of the run that uses a card maps it (programs/virtual_cuda/card/account.c, which
 * makes it); the command reads it when the run is over. Its layout is that of this struct on this
 * machine: the file lives as long as the run and never leaves the machine.
 *
 * Each slot sums the memory of one process, so the memory of a killed process can be released: its
 * slot still has its process ID and start time, and the next process that needs memory or looks at
 * the account finds that no such process lives. All fields are changed under `lock`, which survives
 * a killed holder: the next holder adds up the devices again from the slots.
 */
#ifndef TIDE_WIRE_RUN_ACCOUNT_H
#define TIDE_WIRE_RUN_ACCOUNT_H

#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The variable that holds the path of the run's folder. */
#define TIDE_RUN_FOLDER_VARIABLE "TIDEMARK_RUN_FOLDER"
#define TIDE_RUN_ACCOUNT_NAME "account"

/* The number of the process' node in a cluster. Nodes other than 0 have an account of their own,
 * named with a dot and this number: "account.7". */
#define TIDE_RUN_NODE_VARIABLE "TIDEMARK_NODE"

/* `magic` once everything else is written: "tideacc1". */
#define TIDE_RUN_ACCOUNT_MAGIC UINT64_C(0x3163636165646974)

enum { TIDE_RUN_DEVICES = 64, TIDE_RUN_PROCESSES = 512, TIDE_RUN_EXPORTS = 8192 };

/* A card of the run, by its number on the machine. Peaks are of all processes together. */
typedef struct tide_run_device {
    uint64_t total_bytes;        /* as the runtime reports it; 0: no process made a context on it */
    uint64_t used_bytes;         /* of all processes, with contexts and libraries */
    uint64_t context_bytes;      /* of these: contexts and libraries */
    uint64_t peak_bytes;         /* the highest used_bytes */
    uint64_t peak_context_bytes; /* context_bytes at that moment */
    uint64_t n_refused;          /* allocations that did not fit */
    uint64_t refused_bytes;      /* the last of them */
    uint64_t n_contexts;         /* that were ever made */
    uint64_t spill_bytes;        /* allocated beyond total_bytes, in the host's memory; 0: none */
    uint64_t n_spilled;          /* allocations that brought the bytes in use above total_bytes */
    uint64_t n_launches;         /* of kernels, by all processes; changed without the lock */
} tide_run_device;

/* A process that made a context. */
typedef struct tide_run_process {
    uint32_t pid; /* 0: the slot is free */
    uint32_t unused;
    uint64_t start_ticks;                     /* as in /proc/PID/stat, field 22 */
    uint64_t used_bytes[TIDE_RUN_DEVICES];    /* with context and libraries */
    uint64_t context_bytes[TIDE_RUN_DEVICES]; /* of these: context and libraries */
    uint64_t peak_bytes[TIDE_RUN_DEVICES];    /* the highest used_bytes */
    uint8_t has_context[TIDE_RUN_DEVICES];    /* 1: on that device */
} tide_run_process;

/* Memory that a process offers to others by a handle. */
typedef struct tide_run_export {
    uint64_t id;      /* in the handle; 0: free. Never used twice in a run */
    uint64_t address; /* in the process that offers it */
    uint64_t n_bytes;
    uint32_t slot; /* of that process */
    uint32_t device;
} tide_run_export;

typedef struct tide_run_account {
    uint64_t magic;       /* written last; any other value: not complete yet */
    pthread_mutex_t lock; /* robust and shared between processes */
    uint64_t n_ids;       /* given to exports */
    uint32_t n_slots;     /* slots from here on were never used */
    uint32_t n_exports;   /* the same of exports */
    tide_run_device devices[TIDE_RUN_DEVICES];
    tide_run_process processes[TIDE_RUN_PROCESSES];
    tide_run_export exports[TIDE_RUN_EXPORTS];
} tide_run_account;

#ifdef __cplusplus
}
#endif

#endif
