/* The owners of driver memory, the rank, ranges of peaks, inexact figures, private pools, and what
 * was found out at the first failed request. Keys of unknown values are left out. */
#include "snapshot/document/owners.h"
#include "snapshot/format/writer_keys_internal.h"

void tide_write_document_owners(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    if (snapshot->n_driver_accounts > 0 || snapshot->n_owners > 0) {
        tide_write_object(writer, key, &tide_writable_owners, snapshot);
        tide_json_line(writer->json);
    }
}

void tide_write_owners_accounts(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->driver_accounts, snapshot->n_driver_accounts,
                                sizeof(*snapshot->driver_accounts)};
    tide_write_rows(writer, key, &tide_writable_account, list);
}

void tide_write_account_unexplained_at_peak_bytes(const tide_writer *writer, const char *key,
                                                  const void *account) {
    uint32_t device = ((const tide_snapshot_driver_account *)account)->device;
    int64_t unexplained = 0;
    if (tide_owners_unexplained(writer->snapshot, device, &unexplained)) {
        tide_json_key_integer(writer->json, key, unexplained);
    }
}

void tide_write_owners_rows(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->owners, snapshot->n_owners, sizeof(*snapshot->owners)};
    tide_write_rows(writer, key, &tide_writable_owner, list);
}

void tide_write_document_rank(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    if (tide_snapshot_has_rank(snapshot)) {
        tide_write_object(writer, key, &tide_writable_rank, &snapshot->rank);
        tide_json_line(writer->json);
    }
}

void tide_write_rank_groups(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_rank *rank = object;
    const tide_row_list list = {rank->groups, rank->n_groups, sizeof(*rank->groups)};
    tide_write_rows(writer, key, &tide_writable_group, list);
}

void tide_write_document_peak_range(const tide_writer *writer, const char *key,
                                    const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->ranges, snapshot->n_ranges, sizeof(*snapshot->ranges)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_range, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_parameter_types(const tide_writer *writer, const char *key,
                                         const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->parameter_types, snapshot->n_parameter_types,
                                sizeof(*snapshot->parameter_types)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_type, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_inexact(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->inexact, snapshot->n_inexact, sizeof(*snapshot->inexact)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_inexact, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_assumed(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->assumed, snapshot->n_assumed, sizeof(*snapshot->assumed)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_assumed, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_kv_pools(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->kv_pools, snapshot->n_kv_pools,
                                sizeof(*snapshot->kv_pools)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_kv_pool, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_xla(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->xla, snapshot->n_xla, sizeof(*snapshot->xla)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_xla, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_work_areas(const tide_writer *writer, const char *key,
                                    const void *object) {
    const tide_snapshot *snapshot = object;
    const tide_row_list list = {snapshot->work_areas, snapshot->n_work_areas,
                                sizeof(*snapshot->work_areas)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_work_area, list);
        tide_json_line(writer->json);
    }
}

void tide_write_document_pools(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot *snapshot = object;
    tide_json_writer *json = writer->json;
    if (snapshot->n_pools == 0) {
        return;
    }
    tide_json_key(json, key);
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

void tide_write_document_at_failure(const tide_writer *writer, const char *key,
                                    const void *object) {
    const tide_snapshot *snapshot = object;
    if (snapshot->at_failure.device >= 0) {
        tide_write_object(writer, key, &tide_writable_at_failure, &snapshot->at_failure);
        tide_json_line(writer->json);
    }
}

void tide_write_at_failure_holders(const tide_writer *writer, const char *key, const void *object) {
    const tide_snapshot_at_failure *at = object;
    const tide_row_list list = {at->holders, at->n_holders, sizeof(*at->holders)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_holder, list);
    }
}

void tide_write_at_failure_processes(const tide_writer *writer, const char *key,
                                     const void *object) {
    const tide_snapshot_at_failure *at = object;
    const tide_row_list list = {at->processes, at->n_processes, sizeof(*at->processes)};
    if (list.n_rows > 0) {
        tide_write_rows(writer, key, &tide_writable_process, list);
    }
}
