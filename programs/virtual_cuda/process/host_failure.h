/* host_failure.h - the host ran out of memory: for the virtual card's own tables, or for host
 * memory that the program asked the card for.
 *
 * This is not an out-of-memory error of the card, and neither the program nor the run's answer may
 * take it for one. Each kind is reported once, with the limit of the process that explains it
 * (ulimit -v, ulimit -d). Thread-safe; do not call it with a lock of this module held.
 */
#ifndef TIDE_VIRTUAL_CUDA_HOST_FAILURE_H
#define TIDE_VIRTUAL_CUDA_HOST_FAILURE_H

/* `what` needed the memory: "the list of allocations"; static. Returns TIDE_VC_OPERATING_SYSTEM,
 * CUDA's error for a failed call of the operating system. */
int tide_vc_host_failed(const char *what);

/* The process would have more device memory than there are addresses (address.h). Returns the same
 * status. */
int tide_vc_addresses_failed(void);

#endif
