/* run_communicators.h - the files `PID.communicators` of a run's folder: the communicators of NCCL
 * that each process has made, and what went through them.
 *
 * The process maps its file while it runs (programs/virtual_cuda/nccl/ledger.c), so that it is
 * whole up to the last call even where the process was killed. The layout is that of this struct on
 * this machine: the file lives as long as the run, and is never carried elsewhere. Its length is
 * that of the struct; parts that nobody wrote are holes.
 */
#ifndef TIDE_COMMON_RUN_COMMUNICATORS_H
#define TIDE_COMMON_RUN_COMMUNICATORS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name in the run's folder, behind the process id. */
#define TIDE_RUN_COMMUNICATORS_SUFFIX ".communicators"
/* In `magic` once the file is made: "tidecom1". */
#define TIDE_RUN_COMMUNICATORS_MAGIC UINT64_C(0x316d6f6365646974)

/* What a call does. */
typedef enum tide_run_exchange {
    TIDE_RUN_ALL_GATHER,
    TIDE_RUN_GATHER,
    TIDE_RUN_ALL_TO_ALL,
    TIDE_RUN_BROADCAST,
    TIDE_RUN_SCATTER,
    TIDE_RUN_ALL_REDUCE,
    TIDE_RUN_REDUCE,
    TIDE_RUN_REDUCE_SCATTER,
    TIDE_RUN_SEND,
    TIDE_RUN_RECEIVE,
    TIDE_RUN_EXCHANGES
} tide_run_exchange;

enum { TIDE_RUN_COMMUNICATORS = 4096, TIDE_RUN_COMMUNICATOR_NAME_BYTES = 96 };

/* A communicator of the process. */
typedef struct tide_run_communicator {
    uint64_t key;          /* the same at all members, and at no others' */
    int32_t rank, n_ranks; /* this process' place, and how many members there are */
    int32_t device;        /* of the process, as the program numbers it */
    int32_t is_destroyed;  /* 1: the program is done with it */
    int64_t first,
        stride; /* the members' ranks of the world, where known and regular; else -1, 0 */
    uint64_t charged_bytes; /* of the card, by TIDEMARK_NCCL_BYTES */
    uint64_t n_calls[TIDE_RUN_EXCHANGES];
    uint64_t n_bytes[TIDE_RUN_EXCHANGES];        /* of this member's larger buffer, added up */
    char name[TIDE_RUN_COMMUNICATOR_NAME_BYTES]; /* that PyTorch gave; "" none */
} tide_run_communicator;

typedef struct tide_run_communicators {
    uint64_t magic;
    int64_t rank;    /* of the world, as the environment's RANK has it; -1 */
    uint64_t n_made; /* above TIDE_RUN_COMMUNICATORS: the rest is only counted */
    tide_run_communicator made[TIDE_RUN_COMMUNICATORS];
} tide_run_communicators;

#ifdef __cplusplus
}
#endif

#endif
