/* calls.h - reads PID.calls (programs/wire/run_calls.h): the process' calls of CUDA's memory pools,
 * which replace a history if PyTorch's allocator is cudaMallocAsync.
 */
#ifndef TIDE_LAUNCH_CALLS_H
#define TIDE_LAUNCH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "programs/wire/run_account.h"
#include "programs/wire/run_calls.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pools of a device. */
typedef struct tide_calls_device {
    uint64_t used_bytes, used_peak_bytes; /* of allocated blocks */
    size_t used_peak_row;                 /* the first row that reached the peak */
    uint64_t reserved_peak_bytes;         /* held by the pools */
    size_t n_allocs, n_frees, n_refused;
} tide_calls_device;

typedef struct tide_calls {
    const tide_hostmem *mem; /* borrowed; outlives this */
    tide_run_call *rows;     /* owned; as recorded; NULL if there are none */
    size_t n_rows;
    tide_calls_device devices[TIDE_RUN_DEVICES]; /* as the process numbers them */
} tide_calls;

/* Reads the file. TIDE_IO: it cannot be read. TIDE_FORMAT: it is another kind of file, or a row
 * makes no sense; the message names the row. The caller calls tide_calls_fini. */
TIDE_NODISCARD tide_status tide_calls_read(const tide_hostmem *mem, const char *path,
                                           tide_calls *ret_calls, tide_error *error);
void tide_calls_fini(tide_calls *calls);

#ifdef __cplusplus
}
#endif

#endif
