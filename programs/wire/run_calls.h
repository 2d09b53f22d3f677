/* run_calls.h - the file PID.calls of a run's folder: a process's calls of CUDA's memory pools.
 *
 * PyTorch keeps no history when its allocator is cudaMallocAsync, so the calls themselves are
 * recorded (programs/virtual_cuda/process/calls.c). The file is a tide_run_calls_header and then
 * rows, in the order in which they took effect. The file is longer than the rows: a row of action 0
 * marks their end. A row is complete once its action is set, even if the process was killed.
 */
#ifndef TIDE_WIRE_RUN_CALLS_H
#define TIDE_WIRE_RUN_CALLS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `magic`: "tidecal1". */
#define TIDE_RUN_CALLS_MAGIC UINT64_C(0x316c616365646974)

typedef struct tide_run_calls_header {
    uint64_t magic;
    uint32_t header_bytes, row_bytes; /* of these two structs */
    uint64_t unused[4];
} tide_run_calls_header;

typedef enum tide_run_action {
    TIDE_RUN_NONE = 0,
    TIDE_RUN_ALLOC = 1,  /* a block was given out */
    TIDE_RUN_FREE = 2,   /* a block was returned to its pool */
    TIDE_RUN_GROW = 3,   /* the pool got n_bytes from the card */
    TIDE_RUN_SHRINK = 4, /* the pool returned n_bytes to the card */
    TIDE_RUN_OOM = 5     /* a block of n_bytes was refused */
} tide_run_action;

typedef struct tide_run_call {
    int64_t time_ns;         /* of the host's monotonic clock */
    uint64_t address;        /* of the block; 0: the row is not about a block */
    uint64_t n_bytes;        /* of the block: its size in the pool */
    uint64_t stream;         /* the stream's handle; 0: the default stream, or no stream */
    uint64_t reserved_bytes; /* bytes that this process' pools of the device hold afterwards */
    uint32_t device;         /* as the process numbers it */
    uint32_t action;         /* tide_run_action; written last */
} tide_run_call;

#ifdef __cplusplus
}
#endif

#endif
