/* limits.h - the limits within which a run must fit: a device, the allocator's settings and a
 * memory limit.
 */
#ifndef TIDE_PROGRAMS_RUNS_LIMITS_H
#define TIDE_PROGRAMS_RUNS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/status.h"
#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_RUN_UNLIMITED UINT64_MAX

typedef struct tide_run_limits {
    const char *device;          /* borrowed: a spec for tide_device_open; never "auto" */
    uint64_t memory_limit_bytes; /* limit of the reserved bytes; TIDE_RUN_UNLIMITED: no limit */
    const char *alloc_conf;      /* borrowed; settings added to $TIDEMARK_ALLOC_CONF; NULL: none */
    uint64_t spill_bytes; /* on a virtual card: further bytes in the host's memory; 0: none */
    bool ignores_device;  /* on the virtual device: neither its capacity nor a fraction of it limits
                             the run; only memory_limit_bytes does */
} tide_run_limits;

/* The settings of a cache within these limits: the environment's, then alloc_conf, then the memory
 * limit. TIDE_INVALID, TIDE_UNSUPPORTED for a setting that is not valid. */
TIDE_NODISCARD tide_status tide_run_limits_cache(const tide_run_limits *limits,
                                                 tide_cache_config *ret_cache, tide_error *error);

/* Opens the device. The caller closes it. */
TIDE_NODISCARD tide_status tide_run_limits_open(const tide_run_limits *limits,
                                                tide_device **ret_device, tide_error *error);

/* The bytes that a cache may reserve there: the device's total minus context and libraries, plus
 * the bytes that may spill to the host, or the memory limit if that is lower; UINT64_MAX: no bound.
 * `ret_info` may be NULL. */
TIDE_NODISCARD tide_status tide_run_limits_usable(const tide_run_limits *limits,
                                                  uint64_t *ret_usable_bytes,
                                                  tide_device_info *ret_info, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
