/* live_internal.h - what the log of another program's recording needs before it is a document.
 *
 * Such a log (programs/live/) says which bytes were requested, not how large the blocks were, and
 * holds rows that are no events: marks, and calls of the driver.
 */
#ifndef TIDE_CAPTURE_LIVE_INTERNAL_H
#define TIDE_CAPTURE_LIVE_INTERNAL_H

#include "capture/capture_internal.h"
#include "capture/log_contents_internal.h"

#define TIDE_MAX_BLOCK_BYTES (UINT64_C(1) << 50) /* no device has a PiB */

/* live_rows.c. Splits rows of 64 bytes: events stay, what lies behind them goes to the extras,
 * marks and driver rows to tables of their own. Rows of the base likewise. */
TIDE_NODISCARD tide_status tide_live_split(tide_log_contents *contents,
                                           const tide_log_tables *tables);

/* What is known of the blocks, oldest first; nothing in it is impossible. */
typedef struct tide_live_tables {
    tide_event *base; /* borrowed; it is put into another order */
    size_t n_base;
    tide_event *events; /* borrowed */
    size_t n_events;
} tide_live_tables;

/* live_calls.c. What a program without events of PyTorch's took from CUDA becomes events, and what
 * any program pinned of the host's memory, on a device of its own. */
TIDE_NODISCARD tide_status tide_live_take_calls(tide_log_contents *contents,
                                                const tide_log_tables *tables);

/* live_sizes.c. Works out the blocks of the events, forward from the base, as PyTorch's allocator
 * makes them under the settings in the texts of the log. */
TIDE_NODISCARD tide_status tide_live_size_blocks(const tide_live_tables *rows,
                                                 const tide_log_contents *contents,
                                                 const tide_log_tables *tables);

/* live_notes.c. What the log says beside the events that are left, in the snapshot's arena. */
TIDE_NODISCARD tide_status tide_live_hand_over(const tide_log_contents *contents,
                                               const tide_log_tables *tables,
                                               const tide_boundary_fit *fit,
                                               tide_snapshot *snapshot,
                                               tide_recover_notes *ret_notes);

/* live_pools.c. Enters private pools into the document, and tells those of the segments at both
 * ends. */
TIDE_NODISCARD tide_status tide_live_tell_pools(const tide_recover_notes *notes,
                                                const tide_log_contents *contents,
                                                const tide_boundary_fit *fit,
                                                tide_snapshot *snapshot);

#endif
