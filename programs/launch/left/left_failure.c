/* The part of PID.json about the first failed request (python/tidemark/failure.py). */
#include "programs/launch/left/left_friend.h"

enum { MOST_ROWS = 64 };

#define MOST_AMOUNT 0x1p62

static int64_t integer(const cJSON *in, const char *key) {
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(in, key);
    bool is_amount =
        cJSON_IsNumber(found) && found->valuedouble >= 0 && found->valuedouble <= MOST_AMOUNT;
    return is_amount ? (int64_t)found->valuedouble : -1;
}

/* NULL: no memory. */
static const char *text(tide_arena *arena, const cJSON *in, const char *key) {
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(in, key));
    return tide_arena_text(arena, found != NULL ? found : "");
}

static size_t n_rows(const cJSON *list) {
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    return n < MOST_ROWS ? (size_t)n : MOST_ROWS;
}

static tide_status read_holders(tide_arena *arena, const cJSON *list,
                                tide_snapshot_at_failure *ret) {
    size_t n = n_rows(list);
    tide_snapshot_holder *rows = tide_arena_alloc(arena, n, sizeof(*rows));
    const cJSON *from = n > 0 ? list->child : NULL;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++, from = from->next) {
        rows[i] = (tide_snapshot_holder){.name = text(arena, from, "name"),
                                         .place = text(arena, from, "place"),
                                         .held_bytes = integer(from, "held"),
                                         .own_bytes = integer(from, "own"),
                                         .n_tensors = integer(from, "tensors"),
                                         .n_graphs = integer(from, "graphs")};
        if (rows[i].name == NULL || rows[i].place == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    ret->holders = rows;
    ret->n_holders = n;
    return TIDE_OK;
}

static tide_status read_processes(tide_arena *arena, const cJSON *list,
                                  tide_snapshot_at_failure *ret) {
    size_t n = n_rows(list);
    tide_snapshot_process *rows = tide_arena_alloc(arena, n, sizeof(*rows));
    const cJSON *from = n > 0 ? list->child : NULL;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++, from = from->next) {
        rows[i] = (tide_snapshot_process){.pid = integer(from, "pid"),
                                          .used_bytes = integer(from, "used"),
                                          .name = text(arena, from, "name")};
        if (rows[i].name == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    ret->processes = rows;
    ret->n_processes = n;
    return TIDE_OK;
}

tide_status tide_left_read_failure(tide_arena *arena, const cJSON *in,
                                   const tide_snapshot_at_failure **ret) {
    tide_snapshot_at_failure *found = NULL;
    int64_t device = integer(in, "device");
    if (device < 0) {
        return TIDE_OK;
    }
    found = tide_arena_alloc(arena, 1, sizeof(*found));
    if (found == NULL) {
        return TIDE_NO_MEMORY;
    }
    *found = (tide_snapshot_at_failure){.device = device,
                                        .allocated_bytes = integer(in, "allocated"),
                                        .collected_bytes = integer(in, "collected"),
                                        .n_not_asked = integer(in, "not_asked")};
    TIDE_TRY(read_holders(arena, cJSON_GetObjectItemCaseSensitive(in, "holders"), found));
    TIDE_TRY(read_processes(arena, cJSON_GetObjectItemCaseSensitive(in, "processes"), found));
    *ret = found;
    return TIDE_OK;
}
