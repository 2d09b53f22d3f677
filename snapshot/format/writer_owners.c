/* Whose memory it is at the driver's level, the rank, ranges of peaks, and private pools: keys that
 * are left out where the recording does not know. */
#include "snapshot/document/owners.h"
#include "snapshot/format/writer_friend.h"

static void write_account(tide_json_writer *json, const tide_snapshot *snapshot,
                          const tide_snapshot_driver_account *account) {
    int64_t unexplained = 0;
    tide_json_begin_object(json);
    tide_json_key_integer(json, "device", account->device);
    tide_json_key_integer(json, "total_bytes", account->total_bytes);
    tide_json_key_integer(json, "used_at_start_bytes", account->used_at_start_bytes);
    tide_json_key_integer(json, "used_at_peak_bytes", account->used_at_peak_bytes);
    tide_json_key_integer(json, "used_at_end_bytes", account->used_at_end_bytes);
    tide_json_key_integer(json, "context_bytes", account->context_bytes);
    if (tide_owners_unexplained(snapshot, account->device, &unexplained)) {
        tide_json_key_integer(json, "unexplained_at_peak_bytes", unexplained);
    }
    tide_json_end_object(json);
}

static void write_owner(tide_json_writer *json, const tide_snapshot_owner *owner) {
    tide_json_begin_object(json);
    tide_json_key_text(json, "name", owner->name);
    tide_json_key_integer(json, "device", owner->device);
    tide_json_key_integer(json, "peak_bytes", owner->peak_bytes);
    tide_json_key_integer(json, "end_bytes", owner->end_bytes);
    tide_json_key_integer(json, "allocations", owner->n_allocations);
    tide_json_end_object(json);
}

void tide_write_owners(tide_json_writer *json, const tide_snapshot *snapshot) {
    if (snapshot->n_driver_accounts == 0 && snapshot->n_owners == 0) {
        return;
    }
    tide_json_key(json, "owners");
    tide_json_begin_object(json);
    tide_json_key(json, "accounts");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_driver_accounts; i++) {
        write_account(json, snapshot, &snapshot->driver_accounts[i]);
    }
    tide_json_end_array(json);
    tide_json_key(json, "rows");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_owners; i++) {
        write_owner(json, &snapshot->owners[i]);
    }
    tide_json_end_array(json);
    tide_json_end_object(json);
    tide_json_line(json);
}

void tide_write_rank_keys(tide_json_writer *json, const tide_snapshot_rank *rank) {
    tide_json_key_integer(json, "rank", rank->rank);
    tide_json_key_integer(json, "local_rank", rank->local_rank);
    tide_json_key_integer(json, "world_size", rank->world_size);
    tide_json_key(json, "groups");
    tide_json_begin_array(json);
    for (size_t i = 0; i < rank->n_groups; i++) {
        const tide_snapshot_group *group = &rank->groups[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "name", group->name);
        tide_json_key_text(json, "description", group->description);
        tide_json_key_integer(json, "size", group->size);
        tide_json_key_integer(json, "position", group->position);
        tide_json_key_integer(json, "first", group->first);
        tide_json_key_integer(json, "stride", group->stride);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

void tide_write_ranges(tide_json_writer *json, const tide_snapshot *snapshot) {
    if (snapshot->n_ranges == 0) {
        return;
    }
    tide_json_key(json, "peak_range");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_ranges; i++) {
        const tide_snapshot_range *range = &snapshot->ranges[i];
        tide_json_begin_object(json);
        tide_json_key_integer(json, "device", range->device);
        tide_json_key_integer(json, "allocated_low_bytes", range->allocated_low_bytes);
        tide_json_key_integer(json, "allocated_high_bytes", range->allocated_high_bytes);
        tide_json_key_integer(json, "reserved_low_bytes", range->reserved_low_bytes);
        tide_json_key_integer(json, "reserved_high_bytes", range->reserved_high_bytes);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

void tide_write_pools(tide_json_writer *json, const tide_snapshot *snapshot) {
    if (snapshot->n_pools == 0) {
        return;
    }
    tide_json_key(json, "pools");
    tide_json_begin_array(json);
    for (size_t i = 0; i < snapshot->n_pools; i++) {
        tide_json_begin_array(json);
        tide_json_integer(json, snapshot->pools[i].id[0]);
        tide_json_integer(json, snapshot->pools[i].id[1]);
        tide_json_end_array(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}
