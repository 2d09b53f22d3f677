/* writer_friend.h - parts of a snapshot document for its neighbours.
 */
#ifndef TIDE_SNAPSHOT_WRITER_FRIEND_H
#define TIDE_SNAPSHOT_WRITER_FRIEND_H

#include "snapshot/format/json_writer.h"
#include "snapshot/document/snapshot.h"

/* All keys of the document but the summary; addresses count in bytes. */
void tide_write_without_summary(tide_json_writer *json, const tide_snapshot *snapshot);

/* The members of the key "rank". */
void tide_write_rank_keys(tide_json_writer *json, const tide_snapshot_rank *rank);

#endif
