/* Between which figures the peaks of a device lie. These values are only shown: odd ones are
 * unknown. */
#include "snapshot/format/reader_internal.h"

enum { MAX_ROWS = 256 };

static tide_snapshot_range read_row(tide_reader *reader) {
    static const char *const KEYS[] = {"device", "allocated_low_bytes", "allocated_high_bytes",
                                       "reserved_low_bytes", "reserved_high_bytes"};
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };
    static const tide_json_odd UNKNOWN = {.unknown = -1};
    tide_snapshot_range row = {-1, -1, -1, -1, -1};
    int64_t *numbers[N_KEYS] = {&row.device, &row.allocated_low_bytes, &row.allocated_high_bytes,
                                &row.reserved_low_bytes, &row.reserved_high_bytes};
    int field = -1;
    if (!tide_json_enter_odd_object(&reader->json)) {
        return row;
    }
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS, 0)) >= 0) {
        *numbers[field] = tide_json_get_odd_integer(&reader->json, -1, INT64_MAX, UNKNOWN);
    }
    return row;
}

void tide_read_ranges(tide_reader *reader) {
    tide_snapshot_range *rows = tide_arena_alloc(&reader->snapshot->arena, MAX_ROWS, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for these rows");
        return;
    }
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json)) {
        if (n_rows == MAX_ROWS) {
            tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at,
                           "more than the limit of %d of them", (int)MAX_ROWS);
            break;
        }
        rows[n_rows++] = read_row(reader);
    }
    reader->snapshot->ranges = rows;
    reader->snapshot->n_ranges = n_rows;
}
