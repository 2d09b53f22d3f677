/* black_box.h - a recording that is always on, without `tidemark run` (docs/guide/black-box.md).
 *
 *   TIDEMARK_BLACK_BOX        the folder of snapshots. Absent or empty: there is no black box
 *   TIDEMARK_BLACK_BOX_RING   the folder of the logs; default that of the snapshots
 *   TIDEMARK_BLACK_BOX_KEEP   the seconds that a snapshot covers at most; absent: all in the log
 *
 * The log of a process, its ring, is FOLDER/HOST[-rankR]-PID.ring. A second process, `tidemark
 * recover --watch`, waits for the end of this one and writes snapshot and digest, so nothing is
 * done in a signal's handler, and a process that is killed is covered as well. TIDEMARK_LIVE, which
 * `tidemark run` sets, takes precedence.
 */
#ifndef TIDE_LIVE_BLACK_BOX_H
#define TIDE_LIVE_BLACK_BOX_H

#include <stdbool.h>
#include <stddef.h>

/* The path of a new ring of this process; no file of that name, and none that is made of it,
 * exists. False: there is no black box, or the path is too long. */
bool tide_black_box_name(char *ret_path, size_t n_room);

/* The ring is open: links it into the folder of snapshots and starts the second process. */
void tide_black_box_begin(const char *ring);

/* A request for memory failed, and its row is written: the second process makes a snapshot as soon
 * as tensors have their names, or after some seconds. */
void tide_black_box_failed(void);

/* The tensors of this process have their names, and the lines of its program their texts. */
void tide_black_box_named(void);

/* The process ends by itself, and its ring is closed: removes the ring if no request has failed.
 * Otherwise the second process does, when the snapshot is written. */
void tide_black_box_end(void);

/* The process ends now, without its destructors, and its ring stays open: removes the ring if the
 * status is 0 and no request has failed. */
void tide_black_box_leave(int status);

/* For a process just made by fork(): the ring belongs to its parent. */
void tide_black_box_forked(void);

#endif
