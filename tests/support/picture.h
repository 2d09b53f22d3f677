/* picture.h - whether a snapshot is the picture of one instant: its events, applied to its start,
 * give its end, block by block.
 */
#ifndef TIDE_TEST_PICTURE_H
#define TIDE_TEST_PICTURE_H

#include "snapshot/snapshot.h"

/* NULL: it is. Else what is wrong, for people; static, or in a buffer of this function's. */
const char *picture_check(const tide_snapshot *snapshot);

/* Loads the file, checks that and the tables (validate.h), and fails the cmocka test otherwise. The
 * caller destroys the snapshot. */
tide_snapshot *picture_load(const char *path);

#endif
