/* copies_ahead.h - copies of weights that are made a layer ahead, on a stream of their own.
 *
 * In bf16-mixed and fp16-mixed each product reads a copy of its weight. To make the copies takes
 * bandwidth, and products take tensor cores, so that the copies of the next layer can be made while
 * a layer computes. The cache knows of one stream, that of the operators. Two waits make this safe:
 *
 *   - The casts begin when everything is done that was submitted before them. By then the optimizer
 *     has written the weights, and nothing reads what lay in the copies' memory before.
 *   - The operators go on when the casts are done. From then on their own order holds: the copies
 *     are released behind their last reader, and the optimizer writes behind the casts' reads.
 *
 * Hence tide_copies_ahead_wait stands before the first reader, before a copy is released, and
 * before the weights are written again.
 */
#ifndef TIDE_MODEL_COPIES_AHEAD_H
#define TIDE_MODEL_COPIES_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "device/device.h"
#include "model/linear.h"

typedef struct tide_copies_ahead {
    const tide_linears *linears; /* borrowed; their weights are copied; NULL: no copies are made */
    tide_stream stream;          /* owned; what the casts are ordered on */
    tide_device_event *begun;    /* owned; recorded on the operators' stream, before the casts */
    tide_device_event *made;     /* owned; recorded on `stream`, behind the casts */
    bool is_pending;             /* the operators' stream has not waited for the last casts */
} tide_copies_ahead;

/* Creates stream and events on the device of the linears' operators. When it fails, fini takes
 * back what was made. */
TIDE_NODISCARD tide_status tide_copies_ahead_init(tide_copies_ahead *on,
                                                  const tide_linears *linears, tide_error *error);
/* A struct of zeros may be given, too. The caller has released the copies before. */
void tide_copies_ahead_fini(tide_copies_ahead *on);

/* Allocates the copies of these weights in this order and submits their casts. None of the copies
 * is allocated yet, and the caller has waited for what was begun before. */
TIDE_NODISCARD tide_status tide_copies_ahead_begin(tide_copies_ahead *on, const size_t *weights,
                                                   size_t n_weights, tide_error *error);
/* The operators' stream waits for the casts; the host does not. Does nothing if none was begun. */
TIDE_NODISCARD tide_status tide_copies_ahead_wait(tide_copies_ahead *on, tide_error *error);
/* The same for destructors, where no caller can act on a failure: if it fails, the host waits for
 * the whole device. */
void tide_copies_ahead_drop(tide_copies_ahead *on);

#endif
