/* writer_friend.h - a snapshot document for the page.
 */
#ifndef TIDE_SNAPSHOT_WRITER_FRIEND_H
#define TIDE_SNAPSHOT_WRITER_FRIEND_H

#include "snapshot/format/json_writer.h"
#include "snapshot/document/snapshot.h"

/* Writes all keys of the document but the summary; addresses count in bytes. */
void tide_write_without_summary(tide_json_writer *json, const tide_snapshot *snapshot);

#endif
