/* writer_friend.h - the parts of a snapshot document, each written by its own file.
 */
#ifndef TIDE_SNAPSHOT_WRITER_FRIEND_H
#define TIDE_SNAPSHOT_WRITER_FRIEND_H

#include "snapshot/format/json_writer.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

/* The keys from "format" to "loss_scaling": all but the summary and the tables. */
void tide_write_head(tide_json_writer *json, const tide_snapshot *snapshot, uint64_t unit_bytes);

/* The key "summary" with its value. */
void tide_write_summary(tide_json_writer *json, const tide_summary *summary);

/* The keys "owners" and "pools" with their values; nothing where the recording has none. */
void tide_write_owners(tide_json_writer *json, const tide_snapshot *snapshot);
void tide_write_ranges(tide_json_writer *json, const tide_snapshot *snapshot);
void tide_write_forecast(tide_json_writer *json, const tide_snapshot_forecast *forecast);
void tide_write_pools(tide_json_writer *json, const tide_snapshot *snapshot);

/* The members of the key "rank". */
void tide_write_rank_keys(tide_json_writer *json, const tide_snapshot_rank *rank);

/* Keys and columns of strings, frames, stacks, scopes, pools, start, end, events and oom. Addresses
 * are divided by unit_bytes. */
void tide_write_tables(tide_json_writer *json, const tide_snapshot *snapshot, uint64_t unit_bytes);

#endif
