/* environment.h - the machine, device and software of a run. */
#ifndef TIDE_PROGRAMS_RUNS_ENVIRONMENT_H
#define TIDE_PROGRAMS_RUNS_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"
#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are "" and numbers -1 if unknown. */
typedef struct tide_run_environment {
    char device_kind[16];             /* cuda, cpu, virtual */
    char device_name[128];            /* as named by the driver */
    int64_t device_total_bytes;       /* capacity; -1: unlimited, or the host's */
    int compute_capability;           /* 90 for 9.0 */
    int driver_version;               /* the CUDA version that the driver supports: 12080 */
    int runtime_version;              /* of cudart: 12080 */
    char driver[64];                  /* the driver's own version: "570.86.15" */
    int sm_clock_khz;                 /* highest */
    int memory_clock_khz;             /* highest */
    int memory_bus_bits;              /* width of the bus to the memory */
    char computed_by[TIDE_HOST_TEXT]; /* kernels, libraries, threads; "" if nothing computes */
    char tool[64];                    /* "tidemark 0.1.0" */
    char build[128];                  /* build type and compiler */
    tide_host_info host;              /* the machine */
} tide_run_environment;

/* Makes an environment in which everything is unknown. */
void tide_run_environment_init(tide_run_environment *environment);

/* Fills in the device, and the kernels and libraries that computed. */
void tide_run_environment_set_device(tide_run_environment *environment,
                                     const tide_device_info *device, const char *computed_by);

/* Fills in this program and this machine. Reads a few files of /proc. */
void tide_run_environment_set_program(tide_run_environment *environment);

/* True if both may be the same environment, because everything that both state is equal; `place`
 * then has the values that either states. */
bool tide_run_environment_join(tide_run_environment *place, const tide_run_environment *other);

#ifdef __cplusplus
}
#endif

#endif
