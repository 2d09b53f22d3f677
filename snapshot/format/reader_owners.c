/* Whose memory it is at the driver's level, and private pools. The bytes of owners are only shown:
 * odd values are unknown. */
#include "snapshot/format/reader_internal.h"

enum { MAX_ACCOUNTS = 256, MAX_OWNERS = 1024, MAX_POOLS = UINT16_MAX };

static uint32_t get_device(tide_reader *reader) {
    return (uint32_t)tide_json_get_integer(&reader->json, 0, UINT8_MAX);
}

static int64_t get_number(tide_reader *reader) {
    static const tide_json_odd UNKNOWN = {.unknown = -1};
    return tide_json_get_odd_integer(&reader->json, -1, INT64_MAX, UNKNOWN);
}

/* Rows of an array, of at most `limit`. */
typedef struct row_list {
    void *rows; /* in the arena */
    size_t n_rows;
} row_list;

/* The rows of an array of which each is read by `read` into the place it is given. */
static row_list read_rows(tide_reader *reader, size_t limit, size_t row_bytes,
                          void (*read)(tide_reader *reader, void *row)) {
    row_list found = {.n_rows = 0};
    char *rows = NULL; /* owned */
    size_t capacity = 0;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json)) {
        if (found.n_rows == limit) {
            tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at,
                           "more than the limit of %zu of them", limit);
            break;
        }
        char *grown = tide_hostmem_grow(reader->mem, rows, &capacity, found.n_rows + 1, row_bytes);
        if (grown == NULL) {
            tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at,
                           "no memory for these rows");
            break;
        }
        rows = grown;
        read(reader, rows + found.n_rows * row_bytes);
        found.n_rows++;
    }
    found.rows = tide_arena_copy(&reader->snapshot->arena, rows, found.n_rows, row_bytes);
    if (found.rows == NULL) {
        found.n_rows = 0;
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for these rows");
    }
    reader->mem->release(reader->mem->ctx, rows);
    return found;
}

static void read_account(tide_reader *reader, void *ret_row) {
    static const char *const KEYS[] = {"device",
                                       "total_bytes",
                                       "used_at_start_bytes",
                                       "used_at_peak_bytes",
                                       "used_at_end_bytes",
                                       "context_bytes"};
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };
    tide_snapshot_driver_account row = {.total_bytes = -1,
                                        .used_at_start_bytes = -1,
                                        .used_at_peak_bytes = -1,
                                        .used_at_end_bytes = -1,
                                        .context_bytes = -1};
    int64_t *numbers[N_KEYS] = {NULL,
                                &row.total_bytes,
                                &row.used_at_start_bytes,
                                &row.used_at_peak_bytes,
                                &row.used_at_end_bytes,
                                &row.context_bytes};
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS, 1)) >= 0) {
        if (field == 0) {
            row.device = get_device(reader);
        } else {
            *numbers[field] = get_number(reader);
        }
    }
    *(tide_snapshot_driver_account *)ret_row = row;
}

static void read_owner(tide_reader *reader, void *ret_row) {
    static const char *const KEYS[] = {"device", "name", "peak_bytes", "end_bytes", "allocations"};
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };
    tide_snapshot_owner row = {.name = "", .peak_bytes = -1, .end_bytes = -1, .n_allocations = -1};
    int64_t *numbers[N_KEYS] = {NULL, NULL, &row.peak_bytes, &row.end_bytes, &row.n_allocations};
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS, 1)) >= 0) {
        if (field == 0) {
            row.device = get_device(reader);
        } else if (field == 1) {
            row.name = tide_json_get_odd_text(&reader->json, &reader->snapshot->arena);
        } else {
            *numbers[field] = get_number(reader);
        }
    }
    *(tide_snapshot_owner *)ret_row = row;
}

void tide_read_owners(tide_reader *reader) {
    static const char *const KEYS[] = {"accounts", "rows"};
    tide_snapshot *snapshot = reader->snapshot;
    int field = -1;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, 2, 0)) >= 0) {
        if (field == 0) {
            row_list found =
                read_rows(reader, MAX_ACCOUNTS, sizeof(*snapshot->driver_accounts), read_account);
            snapshot->driver_accounts = found.rows;
            snapshot->n_driver_accounts = found.n_rows;
        } else {
            row_list found = read_rows(reader, MAX_OWNERS, sizeof(*snapshot->owners), read_owner);
            snapshot->owners = found.rows;
            snapshot->n_owners = found.n_rows;
        }
    }
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

static void read_pool(tide_reader *reader, void *ret_row) {
    tide_snapshot_pool row = {{0, 0}};
    tide_read_pool_id(&reader->json, row.id);
    *(tide_snapshot_pool *)ret_row = row;
}

void tide_read_pools(tide_reader *reader) {
    row_list found = read_rows(reader, MAX_POOLS, sizeof(*reader->snapshot->pools), read_pool);
    reader->snapshot->pools = found.rows;
    reader->snapshot->n_pools = found.n_rows;
}
