/* The owners of driver memory, the rank, ranges of peaks, inexact figures, private pools, and what
 * was found out at the first failed request. All but the devices are only shown. */
#include "snapshot/format/reader_keys_internal.h"

enum {
    MAX_ACCOUNTS = 256,
    MAX_OWNERS = 1024,
    MAX_GROUPS = 256,
    MAX_RANGES = 256,
    MAX_TYPES = 64,
    MAX_INEXACT = 1024,
    MAX_ASSUMED = 1024,
    MAX_KV_POOLS = 256,
    MAX_XLA = 1024,
    MAX_WORK_AREAS = 256,
    MAX_POOLS = UINT16_MAX,
    MAX_HOLDERS = 64,
    MAX_PROCESSES = 1024
};

void tide_read_document_owners(tide_reader *reader, void *snapshot) {
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_read_object(reader, &tide_readable_owners, snapshot);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_owners_accounts(tide_reader *reader, void *object) {
    static const tide_snapshot_driver_account EMPTY = {.total_bytes = -1,
                                                       .used_at_start_bytes = -1,
                                                       .used_at_peak_bytes = -1,
                                                       .used_at_end_bytes = -1,
                                                       .context_bytes = -1,
                                                       .unmeasured_bytes = -1};
    static const tide_row_rule RULE = {.limit = MAX_ACCOUNTS,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_account};
    tide_snapshot *snapshot = object;
    snapshot->driver_accounts = tide_read_rows(reader, &RULE, &snapshot->n_driver_accounts);
}

void tide_read_owners_rows(tide_reader *reader, void *object) {
    static const tide_snapshot_owner EMPTY = {
        .name = "", .peak_bytes = -1, .end_bytes = -1, .n_allocations = -1};
    static const tide_row_rule RULE = {.limit = MAX_OWNERS,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_owner};
    tide_snapshot *snapshot = object;
    snapshot->owners = tide_read_rows(reader, &RULE, &snapshot->n_owners);
}

void tide_read_document_rank(tide_reader *reader, void *snapshot) {
    if (tide_json_enter_odd_object(&reader->json)) {
        reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
        tide_read_members(reader, &tide_readable_rank, &((tide_snapshot *)snapshot)->rank);
        reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
    }
}

void tide_read_rank_groups(tide_reader *reader, void *object) {
    static const tide_snapshot_group EMPTY = {"", "", -1, -1, -1, 0};
    static const tide_row_rule RULE = {.limit = MAX_GROUPS,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_group,
                                       .is_shown = true};
    tide_snapshot_rank *rank = object;
    rank->groups = tide_read_rows(reader, &RULE, &rank->n_groups);
}

void tide_read_document_peak_range(tide_reader *reader, void *object) {
    static const tide_snapshot_range EMPTY = {-1, -1, -1, -1, -1};
    static const tide_row_rule RULE = {.limit = MAX_RANGES,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_range,
                                       .is_shown = true};
    tide_snapshot *snapshot = object;
    snapshot->ranges = tide_read_rows(reader, &RULE, &snapshot->n_ranges);
}

void tide_read_document_parameter_types(tide_reader *reader, void *object) {
    static const tide_snapshot_type EMPTY = {"", -1, -1};
    static const tide_row_rule RULE = {.limit = MAX_TYPES,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_type,
                                       .is_shown = true};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->parameter_types = tide_read_rows(reader, &RULE, &snapshot->n_parameter_types);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_document_inexact(tide_reader *reader, void *object) {
    static const tide_snapshot_inexact EMPTY = {.call = "", .what = "", .bound_bytes = -1};
    static const tide_row_rule RULE = {.limit = MAX_INEXACT,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_inexact};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->inexact = tide_read_rows(reader, &RULE, &snapshot->n_inexact);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_document_assumed(tide_reader *reader, void *object) {
    static const tide_snapshot_assumed EMPTY = {"", "", -1, -1, -1, -1, -1, -1};
    static const tide_row_rule RULE = {.limit = MAX_ASSUMED,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_assumed};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->assumed = tide_read_rows(reader, &RULE, &snapshot->n_assumed);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_document_kv_pools(tide_reader *reader, void *object) {
    static const tide_snapshot_kv_pool EMPTY = {.library = "",
                                                .card = -1,
                                                .bytes = -1,
                                                .n_tokens = -1,
                                                .n_request_tokens = -1,
                                                .n_requests_percent = -1,
                                                .n_asked_tokens = -1,
                                                .asked_bytes = -1};
    static const tide_row_rule RULE = {.limit = MAX_KV_POOLS,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_kv_pool,
                                       .is_shown = true};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->kv_pools = tide_read_rows(reader, &RULE, &snapshot->n_kv_pools);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_document_xla(tide_reader *reader, void *object) {
    static const tide_snapshot_xla EMPTY = TIDE_SNAPSHOT_NO_XLA;
    static const tide_row_rule RULE = {.limit = MAX_XLA,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_xla,
                                       .is_shown = true};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->xla = tide_read_rows(reader, &RULE, &snapshot->n_xla);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

static void read_pool(tide_reader *reader, void *row) {
    tide_read_pool_id(&reader->json, ((tide_snapshot_pool *)row)->id);
}

void tide_read_document_pools(tide_reader *reader, void *object) {
    static const tide_snapshot_pool EMPTY = {{0, 0}};
    static const tide_row_rule RULE = {
        .limit = MAX_POOLS, .row_bytes = sizeof(EMPTY), .empty = &EMPTY, .read = read_pool};
    tide_snapshot *snapshot = object;
    snapshot->pools = tide_read_rows(reader, &RULE, &snapshot->n_pools);
}

void tide_read_document_at_failure(tide_reader *reader, void *snapshot) {
    if (tide_json_enter_odd_object(&reader->json)) {
        reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
        tide_read_members(reader, &tide_readable_at_failure,
                          &((tide_snapshot *)snapshot)->at_failure);
        reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
    }
}

void tide_read_at_failure_holders(tide_reader *reader, void *object) {
    static const tide_snapshot_holder EMPTY = {"", "", -1, -1, -1, -1};
    static const tide_row_rule RULE = {.limit = MAX_HOLDERS,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_holder,
                                       .is_shown = true};
    tide_snapshot_at_failure *at = object;
    at->holders = tide_read_rows(reader, &RULE, &at->n_holders);
}

void tide_read_at_failure_processes(tide_reader *reader, void *object) {
    static const tide_snapshot_process EMPTY = {-1, -1, ""};
    static const tide_row_rule RULE = {.limit = MAX_PROCESSES,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_process,
                                       .is_shown = true};
    tide_snapshot_at_failure *at = object;
    at->processes = tide_read_rows(reader, &RULE, &at->n_processes);
}

void tide_read_document_work_areas(tide_reader *reader, void *object) {
    static const tide_snapshot_work_areas EMPTY = TIDE_SNAPSHOT_NO_WORK_AREAS;
    static const tide_row_rule RULE = {.limit = MAX_WORK_AREAS,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_work_area,
                                       .is_shown = true};
    tide_snapshot *snapshot = object;
    snapshot->work_areas = tide_read_rows(reader, &RULE, &snapshot->n_work_areas);
}
