/* instant.h - finds an instant of a recording from a text: an event, a time, or the peak within a
 * scope.
 */
#ifndef TIDE_SNAPSHOT_INSTANT_H
#define TIDE_SNAPSHOT_INSTANT_H

#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the row of the device's instant; the instant is after that row. `text` is one of
 *   1234                   after that row of the event table
 *   12.5ms, 1.2s           the last row up to that time since recording began (s, ms, us, ns)
 *   start, peak, end, oom  before the first row, where most bytes are allocated, after the last
 *                          row, at the first time that memory ran out
 *   step[2] > backward     where most bytes are allocated within the scope, the first on ties: NAME
 *                          or NAME[NUMBER] of scopes that enclose each other, with any scopes in
 *                          between; of several such scopes the highest
 * TIDE_INVALID: the message names what the file has instead. */
TIDE_NODISCARD tide_status tide_instant_find(const tide_snapshot *snapshot,
                                             const tide_lifetimes *lifetimes, size_t device,
                                             const char *text, int64_t *ret_event,
                                             tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
