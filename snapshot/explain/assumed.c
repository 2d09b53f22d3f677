#include "snapshot/explain/assumed.h"

#include <string.h>

#include "snapshot/document/owners.h"

static bool has_more(const tide_snapshot_assumed *row) {
    return row->possible > row->given_most && row->all_bytes > 0;
}

/* If the bytes of a row are unknown, all rows share theirs equally. */
static int64_t most_rows(const tide_snapshot_assumed *row, int64_t left_bytes) {
    int64_t n_more = row->possible - row->given_most;
    int64_t row_bytes = row->row_bytes > 0 ? row->row_bytes
                        : n_more > 0       ? row->all_bytes / n_more
                                           : 0;
    int64_t n = row->given_most + (row_bytes > 0 ? left_bytes / row_bytes : 0);
    return n < row->possible ? n : row->possible - 1;
}

/* Not beyond the largest number. */
static int64_t sum(int64_t a, int64_t b) {
    return a < INT64_MAX - b ? a + b : INT64_MAX;
}

void tide_assumed_limit_add(tide_assumed_limit *limit, const tide_snapshot_assumed *row) {
    if (has_more(row)) {
        limit->n_reads++;
        limit->all_bytes = sum(limit->all_bytes, row->all_bytes);
    }
}

tide_assumed_limit tide_assumed_limit_of(const tide_snapshot_assumed *rows, size_t n_rows,
                                         int64_t left_bytes) {
    tide_assumed_limit limit = {.left_bytes = left_bytes};
    for (size_t i = 0; i < n_rows; i++) {
        bool is_larger = limit.row == NULL || rows[i].all_bytes > limit.row->all_bytes;
        limit.row = has_more(&rows[i]) && is_larger ? &rows[i] : limit.row;
        tide_assumed_limit_add(&limit, &rows[i]);
    }
    limit.fits_with_all = left_bytes < 0 || limit.all_bytes <= left_bytes;
    if (limit.fits_with_all || limit.row->all_bytes <= left_bytes) {
        limit.row = NULL;
    } else {
        limit.most_rows = most_rows(limit.row, left_bytes);
    }
    return limit;
}

int64_t tide_assumed_left_bytes(const tide_snapshot *snapshot, size_t device) {
    bool is_known = device < snapshot->n_devices &&
                    strcmp(snapshot->devices[device].kind, "virtual") == 0 &&
                    strcmp(snapshot->run.outcome, TIDE_SNAPSHOT_COMPLETED) == 0;
    return is_known ? tide_owners_left(snapshot, device) : -1;
}
