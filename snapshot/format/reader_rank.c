/* Which rank of a job the process was. These values are only shown: odd ones are unknown. */
#include "snapshot/format/reader_internal.h"

enum { MAX_GROUPS = 256 };

static int64_t get_number(tide_reader *reader) {
    static const tide_json_odd UNKNOWN = {.unknown = -1};
    return tide_json_get_odd_integer(&reader->json, -1, INT64_MAX, UNKNOWN);
}

static tide_snapshot_group read_group(tide_reader *reader) {
    static const char *const KEYS[] = {"name",     "description", "size",
                                       "position", "first",       "stride"};
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };
    tide_snapshot_group row = {"", "", -1, -1, -1, 0};
    const char **texts[N_KEYS] = {&row.name, &row.description};
    int64_t *numbers[N_KEYS] = {NULL, NULL, &row.size, &row.position, &row.first, &row.stride};
    int field = -1;
    if (!tide_json_enter_odd_object(&reader->json)) {
        return row;
    }
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS, 0)) >= 0) {
        if (texts[field] != NULL) {
            *texts[field] = tide_json_get_odd_text(&reader->json, &reader->snapshot->arena);
        } else {
            *numbers[field] = get_number(reader);
        }
    }
    return row;
}

static void read_groups(tide_reader *reader) {
    tide_snapshot_group *rows =
        tide_arena_alloc(&reader->snapshot->arena, MAX_GROUPS, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for these rows");
        return;
    }
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json)) {
        if (n_rows == MAX_GROUPS) {
            tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at,
                           "more than the limit of %d of them", (int)MAX_GROUPS);
            break;
        }
        rows[n_rows++] = read_group(reader);
    }
    reader->snapshot->rank.groups = rows;
    reader->snapshot->rank.n_groups = n_rows;
}

void tide_read_rank(tide_reader *reader) {
    static const char *const KEYS[] = {"rank", "local_rank", "world_size", "groups"};
    enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };
    tide_snapshot_rank *rank = &reader->snapshot->rank;
    int64_t *numbers[N_KEYS] = {&rank->rank, &rank->local_rank, &rank->world_size, NULL};
    int field = -1;
    if (!tide_json_enter_odd_object(&reader->json)) {
        return;
    }
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS, 0)) >= 0) {
        if (numbers[field] != NULL) {
            *numbers[field] = get_number(reader);
        } else {
            read_groups(reader);
        }
    }
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}
