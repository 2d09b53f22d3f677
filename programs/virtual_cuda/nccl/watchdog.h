/* watchdog.h - PyTorch's watchdog of NCCL, which lets go what collectives hold.
 *
 * A collective's work object holds tensors until a thread of PyTorch's, the watchdog, has seen that
 * the work is complete. It looks every 100 ms, so that what is freed before the next allocation
 * depends on how fast the program is: the peak is a range. Here the ends of the range can be had:
 * with TIDEMARK_STREAMS "now" the program goes on only when the watchdog has looked, the low end;
 * with "late" it looks only between two steps, the high end of a program whose steps take longer
 * than 100 ms.
 *
 * The thread is known by its name, which PyTorch gives it from 2.3 on. It is made to look by the
 * two functions that its wait is made of: pthread_cond_timedwait, and steady_clock::now of C++,
 * which the wait asks whether its time is really over.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_WATCHDOG_H
#define TIDE_VIRTUAL_CUDA_NCCL_WATCHDOG_H

#include <stdbool.h>

/* This process has called a collective: the watchdog will have something to look at. */
void tide_vc_watchdog_has_work(void);

/* The program goes on, and may allocate: waits until every watchdog has looked since the last
 * collective, for at most 2 s. Quick where there was none. */
void tide_vc_watchdog_settle(void);

/* Whether the calling thread is a watchdog that is not to see yet what is complete. */
bool tide_vc_watchdog_is_held(void);

/* ---- for python/tidemark, by name ---- */

/* A step of the program is over. */
void tidemark_ranks_step(void);

#endif
