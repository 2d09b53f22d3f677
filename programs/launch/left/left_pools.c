/* The caches of keys and values of servers of language models: PID.pool, whose lines are
 * LIBRARY<TAB>BYTES<TAB>TOKENS<TAB>REQUEST<TAB>ASKED<TAB>ASKED
 * BYTES<TAB>REQUESTS<TAB>FITTED<TAB>CARD, in the words of tide_snapshot_kv_pool; REQUESTS is in
 * percent, and FITTED is 1 or 0. */
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/left/left_friend.h"

enum { N_NUMBERS = 8, MOST_BYTES = 1 << 20 };

/* Adds a row. Ignores one that a killed process did not complete. */
static tide_status add_row(tide_left_list *list, size_t *capacity, int64_t pid, char *line) {
    int64_t numbers[N_NUMBERS];
    char *rest = strchr(line, '\t');
    if (rest == NULL || !tide_left_parse_numbers(rest + 1, N_NUMBERS, numbers)) {
        return TIDE_OK;
    }
    *rest = '\0';
    tide_left_pool *rows = tide_hostmem_grow(tide_hostmem_default(), list->pools, capacity,
                                             list->n_pools + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    list->pools = rows;
    rows[list->n_pools] = (tide_left_pool){.pid = pid,
                                           .row = {.library = tide_arena_text(&list->arena, line),
                                                   .card = numbers[7],
                                                   .bytes = numbers[0],
                                                   .n_tokens = numbers[1],
                                                   .n_request_tokens = numbers[2],
                                                   .is_fitted = numbers[6] == 1,
                                                   .n_requests_percent = numbers[5],
                                                   .n_asked_tokens = numbers[3],
                                                   .asked_bytes = numbers[4]}};
    if (rows[list->n_pools].row.library == NULL) {
        return TIDE_NO_MEMORY;
    }
    list->n_pools++;
    return TIDE_OK;
}

tide_status tide_left_read_pools(const tide_launch *launch, int64_t pid, size_t *capacity,
                                 tide_left_list *list, tide_error *error) {
    return tide_left_read_lines(launch, pid, "pool", MOST_BYTES, add_row, capacity, list, error);
}

static int compare(const void *a, const void *b) {
    int64_t left = ((const tide_left_pool *)a)->pid;
    int64_t right = ((const tide_left_pool *)b)->pid;
    return (left > right) - (left < right);
}

void tide_left_sort_pools(tide_left_list *list) {
    if (list->n_pools > 1) {
        qsort(list->pools, list->n_pools, sizeof(*list->pools), compare);
    }
}

void tide_left_drop_survived(const tide_launch *launch, tide_left_list *list) {
    bool has_failed = launch->exit_status != 0 || launch->signal_number != 0;
    bool has_pool = false;
    size_t n = 0;
    for (size_t i = 0; i < list->n_pools; i++) {
        has_pool = has_pool || list->pools[i].row.asked_bytes < 0;
    }
    for (size_t i = 0; i < list->n_pools; i++) {
        if (list->pools[i].row.asked_bytes < 0 || (has_failed && !has_pool)) {
            list->pools[n++] = list->pools[i];
        }
    }
    list->n_pools = n;
    for (size_t i = 0; i < list->n_xla; i++) {
        list->xla[i].row.asked_bytes = has_failed ? list->xla[i].row.asked_bytes : -1;
    }
}
