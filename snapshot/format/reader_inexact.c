/* What the recording could not know exactly. These rows are only shown: odd values are unknown. */
#include "snapshot/format/reader_internal.h"

enum { MAX_ROWS = 1024 };

static const char *get_text(tide_reader *reader) {
    return tide_json_get_odd_text(&reader->json, &reader->snapshot->arena);
}

static tide_snapshot_inexact read_row(tide_reader *reader) {
    static const char *const KEYS[] = {"call", "what", "bound_bytes", "refused"};
    static const tide_json_odd UNKNOWN = {.unknown = -1};
    tide_snapshot_inexact row = {.call = "", .what = "", .bound_bytes = -1};
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, sizeof(KEYS) / sizeof(KEYS[0]), 0)) >=
           0) {
        if (field == 0) {
            row.call = get_text(reader);
        } else if (field == 1) {
            row.what = get_text(reader);
        } else if (field == 2) {
            row.bound_bytes = tide_json_get_odd_integer(&reader->json, -1, INT64_MAX, UNKNOWN);
        } else {
            row.is_refused = tide_json_get_odd_boolean(&reader->json);
        }
    }
    return row;
}

void tide_read_inexact(tide_reader *reader) {
    tide_snapshot_inexact *rows =
        tide_arena_alloc(&reader->snapshot->arena, MAX_ROWS, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for these rows");
        return;
    }
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json)) {
        if (n_rows == MAX_ROWS) {
            tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at,
                           "more than the limit of %d of them", (int)MAX_ROWS);
            break;
        }
        rows[n_rows++] = read_row(reader);
    }
    reader->snapshot->inexact = rows;
    reader->snapshot->n_inexact = n_rows;
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}
