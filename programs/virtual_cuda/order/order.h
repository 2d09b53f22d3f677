/* order.h - when the work of streams is complete.
 *
 * At once, unless TIDEMARK_STREAMS is "late": then it is complete only when the host waits for it,
 * for its stream or its device. A real card is between the two, so that a program whose memory
 * depends on it (blocks that other streams use are reused once an event is complete) is run both
 * ways. Nothing here takes memory or a lock unless work completes late. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ORDER_H
#define TIDE_VIRTUAL_CUDA_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* The work of a stream, in order. NULL stands for one whose work is complete at once. */
typedef struct tide_vc_timeline tide_vc_timeline;

/* All that a stream had to do at one moment. It holds the timeline. */
typedef struct tide_vc_mark {
    tide_vc_timeline *of; /* NULL: complete */
    uint64_t ticket;
} tide_vc_mark;

bool tide_vc_is_late(void);

/* A stream that is `blocking` waits for the null stream, and the null stream for it. NULL also
 * where there is no host memory. */
tide_vc_timeline *tide_vc_timeline_new(int device, bool is_blocking);
tide_vc_timeline *tide_vc_timeline_null(int device);
/* The stream is gone; its work goes on. */
void tide_vc_timeline_end(tide_vc_timeline *timeline);

void tide_vc_timeline_work(tide_vc_timeline *timeline);
bool tide_vc_timeline_is_idle(tide_vc_timeline *timeline);

/* Marks what the stream has to do now. The caller ends the mark with tide_vc_mark_end. */
tide_vc_mark tide_vc_mark_now(tide_vc_timeline *timeline);
void tide_vc_mark_end(tide_vc_mark *mark);

/* Whether it is complete. A program that asks ten thousand times and does nothing else in between
 * polls: it is then answered yes, as if it had waited, which is said. */
bool tide_vc_mark_is_done(tide_vc_mark mark);

/* What the stream does from now on comes after the mark. */
void tide_vc_timeline_follow(tide_vc_timeline *timeline, tide_vc_mark mark);

/* The host waits; so pools give back memory, too (pools.h). */
void tide_vc_wait_mark(tide_vc_mark mark);
void tide_vc_wait_timeline(tide_vc_timeline *timeline);
void tide_vc_wait_device(int device);

#endif
