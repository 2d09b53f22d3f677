/* events.h - events, for those that share them between processes.
 */
#ifndef TIDE_VIRTUAL_CUDA_EVENTS_H
#define TIDE_VIRTUAL_CUDA_EVENTS_H

#include <stdbool.h>

enum { TIDE_VC_EVENT_INTERPROCESS = 4 }; /* cudaEventInterprocess */

/* TIDE_VC_OK, or a status of tide_vc_context, or TIDE_VC_MEMORY. The caller destroys it with
 * cudaEventDestroy. */
int tide_vc_event_new(void **ret_event, unsigned flags);

bool tide_vc_event_is_interprocess(const void *event);

#endif
