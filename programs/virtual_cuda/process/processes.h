/* processes.h - whether a process that shares the cards is still alive, and what of the host's
 * memory this one uses.
 */
#ifndef TIDE_VIRTUAL_CUDA_PROCESSES_H
#define TIDE_VIRTUAL_CUDA_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

/* When the process started, in clock ticks after the system did; 0: there is no such process. */
uint64_t tide_vc_start_ticks(uint32_t pid);

/* Whether the process of that number is the one that started then, and has not ended. A zombie
 * counts as ended: its memory is free. */
bool tide_vc_is_alive(uint32_t pid, uint64_t start_ticks);

/* The memory of the host that this process uses: its resident pages. */
uint64_t tide_vc_host_bytes(void);

#endif
