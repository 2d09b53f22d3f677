/* cupti_internal.h - the functions of CUPTI that we use, as a table.
 *
 * The library is opened only when a kernel trace is created. Tests open one of their own. The
 * declarations are ours, so compiling needs no CUDA toolkit; if there is one, a test compares them
 * with its header. Every function returns a CUptiResult, 0 for success.
 */
#ifndef TIDE_RECORDER_CUPTI_INTERNAL_H
#define TIDE_RECORDER_CUPTI_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of enumerations that are part of CUPTI's interface, named as CUPTI names them. */
enum {
    TIDE_CUPTI_ACTIVITY_KIND_DRIVER = 4,
    TIDE_CUPTI_ACTIVITY_KIND_RUNTIME = 5,
    TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
    TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39,
    TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 = 3,
    TIDE_CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1,
    TIDE_CUPTI_ERROR_MAX_LIMIT_REACHED = 12, /* no further record in a buffer */
    TIDE_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
    TIDE_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    TIDE_CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
    TIDE_CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED = 41,
    TIDE_CUPTI_RECORD_ALIGNMENT = 8
};

/* The first part of CUpti_ActivityKernel, which is the same in all versions since the third: later
 * versions add fields at the end. Fields without a comment are not used. */
typedef struct tide_cupti_kernel {
    uint32_t kind; /* CONCURRENT_KERNEL */
    uint8_t configuration[12];
    uint64_t start_ns; /* on CUPTI's clock */
    uint64_t end_ns;   /* on CUPTI's clock */
    uint64_t completed_ns;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t local_bytes_per_thread, local_bytes;
    uint32_t correlation; /* number of the call that launched it */
    int64_t grid_number;
    const char *name; /* mangled; owned by CUPTI, valid until the process ends */
} tide_cupti_kernel;

typedef struct tide_cupti_external {
    uint32_t kind;          /* EXTERNAL_CORRELATION */
    uint32_t external_kind; /* CUSTOM0 is ours */
    uint64_t external;      /* the innermost number on the stack at the time of the call */
    uint32_t correlation;   /* number of the call */
    uint32_t reserved;
} tide_cupti_external;

typedef void (*tide_cupti_request)(uint8_t **ret_buffer, size_t *ret_n_bytes,
                                   size_t *ret_max_records);
typedef void (*tide_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t n_bytes,
                                    size_t n_valid_bytes);

typedef struct tide_cupti {
    int (*register_callbacks)(tide_cupti_request request, tide_cupti_complete complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush_all)(uint32_t flags);
    int (*get_next_record)(uint8_t *buffer, size_t n_valid_bytes, void **record);
    int (*push_external)(int kind, uint64_t id);
    int (*pop_external)(int kind, uint64_t *ret_id);
    int (*get_result_string)(int result, const char **ret_text);
} tide_cupti;

/* Opens the library that TIDEMARK_CUPTI names, or libcupti.so.13 or .12 from the loader's or the
 * toolkit's places. The message of TIDE_UNSUPPORTED lists the names tried. The library is never
 * closed, because its threads would continue in unmapped code. */
TIDE_NODISCARD tide_status tide_cupti_load(tide_cupti *ret_table, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
