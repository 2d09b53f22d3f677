/* picture.h - checks that a snapshot shows one instant: its events, applied to its start, give its
 * end, block by block.
 */
#ifndef TIDE_TEST_PICTURE_H
#define TIDE_TEST_PICTURE_H

#include "snapshot/document/snapshot.h"

/* Returns NULL if it does, otherwise a sentence that names the error; the text is static or in a
 * static buffer. */
const char *picture_check(const tide_snapshot *snapshot);

/* Loads the file, checks the above and its tables (validate.h), and fails the cmocka test on any
 * error. The caller destroys the snapshot. */
tide_snapshot *picture_load(const char *path);

#endif
