/* order.h - when the work of streams is complete.
 *
 * Work completes immediately, unless TIDEMARK_STREAMS is "late": then it completes only when the
 * host waits for it, for its stream or for its device. A real card is between the two. A program
 * whose memory depends on the order (blocks used by other streams are reused once an event is
 * complete) is therefore run both ways. Unless work completes late, this uses no memory and no
 * lock. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ORDER_H
#define TIDE_VIRTUAL_CUDA_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* The work of a stream, in order. NULL means a stream whose work completes immediately. */
typedef struct tide_vc_timeline tide_vc_timeline;

/* All work of a stream at one moment. The mark keeps the timeline alive. */
typedef struct tide_vc_mark {
    tide_vc_timeline *of; /* NULL: complete */
    uint64_t ticket;
} tide_vc_mark;

bool tide_vc_is_late(void);

/* A blocking stream waits for the null stream, and the null stream for it. NULL also if there is no
 * host memory. */
tide_vc_timeline *tide_vc_timeline_new(int device, bool is_blocking);
tide_vc_timeline *tide_vc_timeline_null(int device);
/* The stream is gone; its work continues. */
void tide_vc_timeline_end(tide_vc_timeline *timeline);

void tide_vc_timeline_work(tide_vc_timeline *timeline);
bool tide_vc_timeline_is_idle(tide_vc_timeline *timeline);

/* Marks the work that the stream has now. The caller ends the mark with tide_vc_mark_end. */
tide_vc_mark tide_vc_mark_now(tide_vc_timeline *timeline);
void tide_vc_mark_end(tide_vc_mark *mark);

/* Whether the work is complete. A program that asks ten thousand times and does nothing else in
 * between is polling: the answer is then yes, as if it had waited, which is reported as inexact. */
bool tide_vc_mark_is_done(tide_vc_mark mark);

/* Later work of the stream comes after the mark. */
void tide_vc_timeline_follow(tide_vc_timeline *timeline, tide_vc_mark mark);

/* The host waits, so pools also free memory (pools.h). */
void tide_vc_wait_mark(tide_vc_mark mark);
void tide_vc_wait_timeline(tide_vc_timeline *timeline);
void tide_vc_wait_device(int device);

#endif
