/* live_internal.h - the steps that turn the log of another program's recording into a document.
 *
 * Such a log (programs/live/) has the requested bytes, not the sizes of the blocks, and holds rows
 * that are not events: marks, and calls of the driver.
 */
#ifndef TIDE_CAPTURE_LIVE_INTERNAL_H
#define TIDE_CAPTURE_LIVE_INTERNAL_H

#include "capture/capture_internal.h"
#include "capture/log_contents_internal.h"

#define TIDE_MAX_BLOCK_BYTES (UINT64_C(1) << 50) /* no device has a PiB */

/* live_rows.c. Splits rows of 64 bytes: events stay, the bytes after them go to the extras, and
 * marks and driver rows to tables of their own. Rows of the base likewise. */
TIDE_NODISCARD tide_status tide_live_split(tide_log_contents *contents,
                                           const tide_log_tables *tables);

/* live_window.c. Before the split: drops the rows that are older than the newest by more than the
 * log's own window (the text live.keep_s), and adds what they left alive to the base. */
TIDE_NODISCARD tide_status tide_live_cut(tide_log_contents *contents, const tide_log_tables *tables,
                                         tide_recover_report *report);

/* The known events of the blocks, oldest first, without impossible ones. */
typedef struct tide_live_tables {
    tide_event *base; /* borrowed; gets reordered */
    size_t n_base;
    tide_event *events; /* borrowed */
    size_t n_events;
} tide_live_tables;

/* live_calls.c. Turns calls into events: CUDA memory of a program without PyTorch events, and the
 * pinned host memory of any program, on a device of its own. */
TIDE_NODISCARD tide_status tide_live_take_calls(tide_log_contents *contents,
                                                const tide_log_tables *tables);

/* live_settings.c. The settings of PyTorch's allocator in the log's texts, on top of the defaults.
 * False if it has none. The second function states all of them in the document, unless it has none.
 */
bool tide_live_read_settings(const tide_log_tables *tables, tide_cache_config *ret_config);
TIDE_NODISCARD tide_status tide_live_set_settings(const tide_log_tables *tables,
                                                  tide_snapshot *snapshot);

/* live_sizes.c. Computes the blocks of the events, forward from the base, as PyTorch's allocator
 * makes them under the settings in the texts of the log. */
TIDE_NODISCARD tide_status tide_live_size_blocks(const tide_live_tables *rows,
                                                 const tide_log_contents *contents,
                                                 const tide_log_tables *tables);

/* live_notes.c. The log's other data on the remaining events, in the snapshot's arena. */
TIDE_NODISCARD tide_status tide_live_hand_over(const tide_log_contents *contents,
                                               const tide_log_tables *tables,
                                               const tide_boundary_fit *fit,
                                               tide_snapshot *snapshot,
                                               tide_recover_notes *ret_notes);

/* live_pools.c. Enters private pools into the document, and sets those of the segments at both
 * ends. */
TIDE_NODISCARD tide_status tide_live_tell_pools(const tide_recover_notes *notes,
                                                const tide_log_contents *contents,
                                                const tide_boundary_fit *fit,
                                                tide_snapshot *snapshot);

#endif
