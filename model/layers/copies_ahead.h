/* copies_ahead.h - copies of weights that are made a layer ahead, on a stream of their own.
 *
 * In bf16-mixed and fp16-mixed each product reads a copy of its weight. Making the copies needs
 * bandwidth and products need tensor cores, so the copies of the next layer can be made while a
 * layer computes. The cache knows only the operators' stream. Two waits make this safe:
 *
 *   - The casts begin when all work submitted before them is done. By then the optimizer
 *     has written the weights, and nothing reads the former content of the copies' memory.
 *   - The operators continue when the casts are done. From then on, their own order holds: the
 *   copies
 *     are released after their last reader, and the optimizer writes after the casts' reads.
 *
 * Hence tide_copies_ahead_wait must precede the first reader, the release of a copy, and the next
 * write of the weights.
 */
#ifndef TIDE_MODEL_LAYERS_COPIES_AHEAD_H
#define TIDE_MODEL_LAYERS_COPIES_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "device/device.h"
#include "model/layers/linear.h"

typedef struct tide_copies_ahead {
    const tide_linears *linears; /* borrowed; their weights are copied; NULL: no copies are made */
    tide_stream stream;          /* owned; the stream of the casts */
    tide_device_event *begun;    /* owned; recorded on the operators' stream, before the casts */
    tide_device_event *made;     /* owned; recorded on `stream`, after the casts */
    bool is_pending;             /* the operators' stream has not waited for the last casts */
} tide_copies_ahead;

/* Creates stream and events on the device of the linears' operators. If it fails, fini still
 * releases everything. */
TIDE_NODISCARD tide_status tide_copies_ahead_init(tide_copies_ahead *on,
                                                  const tide_linears *linears, tide_error *error);
/* A zeroed struct is allowed. The caller must release the copies first. */
void tide_copies_ahead_fini(tide_copies_ahead *on);

/* Allocates the copies of these weights in this order and submits their casts. None of the copies
 * may be allocated yet, and the caller must have waited for earlier casts. */
TIDE_NODISCARD tide_status tide_copies_ahead_begin(tide_copies_ahead *on, const size_t *weights,
                                                   size_t n_weights, tide_error *error);
/* The operators' stream waits for the casts; the host does not. Does nothing if none was begun. */
TIDE_NODISCARD tide_status tide_copies_ahead_wait(tide_copies_ahead *on, tide_error *error);
/* The same for destructors, where no caller can act on a failure: if it fails, the host waits for
 * the whole device. */
void tide_copies_ahead_drop(tide_copies_ahead *on);

#endif
