/* made_snapshot.h - a snapshot of rows that a test defines, for tests whose figures are known in
 * advance. tests/support/synthetic.h makes the rows of whole training runs instead.
 */
#ifndef TIDE_TESTS_SUPPORT_MADE_SNAPSHOT_H
#define TIDE_TESTS_SUPPORT_MADE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

/* The tables that events refer to. All are borrowed and must outlive the snapshot; missing tables
 * are empty. */
typedef struct made_tables {
    const char *const *strings;
    size_t n_strings;
    const tide_scope_row *scopes;
    size_t n_scopes;
    const tide_frame_row *frames;
    size_t n_frames;
    const tide_stack_row *stacks;
    size_t n_stacks;
    size_t n_devices; /* at most MADE_MAX_DEVICES; each has one stream */
} made_tables;

enum { MADE_MAX_DEVICES = 2 };

/* A snapshot of virtual devices with copies of these events. `mem` is NULL for
 * the default heap. The test fails if there is no memory. The caller destroys the snapshot. */
tide_snapshot *made_snapshot(const tide_hostmem *mem, const made_tables *tables,
                             const tide_event *events, size_t n_events);

/* A row of device 0 without a stack, a scope or a name. */
tide_event made_event(tide_action action, uint64_t address, uint64_t requested_bytes,
                      uint64_t block_bytes);

#endif
