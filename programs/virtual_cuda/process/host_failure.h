/* host_failure.h - the machine that the program runs on had no memory for the virtual card's own
 * tables, or for host memory that the program asked the card for.
 *
 * That is no failure of the card: a program must not take it for one, and neither must the answer
 * of the run. Each kind is said once, with the limit of the process that explains it (ulimit -v,
 * ulimit -d). Thread-safe; not with a lock of this module held.
 */
#ifndef TIDE_VIRTUAL_CUDA_HOST_FAILURE_H
#define TIDE_VIRTUAL_CUDA_HOST_FAILURE_H

/* `what` the host had no memory for: "the list of allocations"; static. Returns
 * TIDE_VC_OPERATING_SYSTEM, CUDA's error for a call of the operating system that failed. */
int tide_vc_host_failed(const char *what);

/* The process would have more device memory than there are addresses (address.h). Returns the
 * same. */
int tide_vc_addresses_failed(void);

#endif
