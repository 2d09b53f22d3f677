/* watchdog.h - PyTorch's NCCL watchdog, which releases the tensors that collectives hold.
 *
 * A collective's work object holds tensors until a thread of PyTorch, the watchdog, has seen that
 * the work is complete. The watchdog looks every 100 ms, so the memory freed before the next
 * allocation depends on the program's speed, and the peak is a range. This file produces the ends
 * of the range. With TIDEMARK_STREAMS "now" the program continues only after the watchdog has
 * looked: the low end. With "late" the watchdog looks only between two steps: the high end of a
 * program whose steps take longer than 100 ms.
 *
 * The thread is recognized by its name, which PyTorch sets since 2.3. It is made to look through
 * the two functions that its wait uses: pthread_cond_timedwait, and C++'s steady_clock::now, by
 * which the wait checks that its time is over.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_WATCHDOG_H
#define TIDE_VIRTUAL_CUDA_NCCL_WATCHDOG_H

#include <stdbool.h>

/* This process has called a collective: the watchdog will have work to look at. */
void tide_vc_watchdog_has_work(void);

/* The program continues, and may allocate: waits until every watchdog has looked since the last
 * collective, for at most 2 s. Quick without a collective. */
void tide_vc_watchdog_settle(void);

/* Whether the calling thread is a watchdog that must not see completed work yet. */
bool tide_vc_watchdog_is_held(void);

/* ---- for python/tidemark, by name ---- */

/* A step of the program is over. */
void tidemark_ranks_step(void);

#endif
