/* The values that a process assumed: PID.assumed (programs/wire/run_assumed.h). */
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/left/left_friend.h"
#include "programs/wire/run_assumed.h"

enum { N_NUMBERS = 6 };

/* Adds a row. Ignores one that a killed process did not complete. */
static tide_status add_row(tide_left_list *list, size_t *capacity, int64_t pid, char *line) {
    int64_t numbers[N_NUMBERS];
    char *what = strchr(line, '\t');
    char *rest = what != NULL ? strchr(what + 1, '\t') : NULL;
    if (rest == NULL || !tide_left_parse_numbers(rest + 1, N_NUMBERS, numbers)) {
        return TIDE_OK;
    }
    *what++ = '\0'; /* may be empty, as the place may */
    *rest = '\0';
    tide_left_assumed *rows = tide_hostmem_grow(tide_hostmem_default(), list->assumed, capacity,
                                                list->n_assumed + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    list->assumed = rows;
    rows[list->n_assumed] =
        (tide_left_assumed){.pid = pid,
                            .row = {.place = tide_arena_text(&list->arena, line),
                                    .what = tide_arena_text(&list->arena, what),
                                    .given_least = numbers[0],
                                    .given_most = numbers[1],
                                    .possible = numbers[2],
                                    .n_times = numbers[3],
                                    .row_bytes = numbers[4],
                                    .all_bytes = numbers[5]}};
    const tide_snapshot_assumed *row = &rows[list->n_assumed].row;
    list->n_assumed += row->place != NULL && row->what != NULL;
    return row->place != NULL && row->what != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_left_read_assumed(const tide_launch *launch, int64_t pid, size_t *capacity,
                                   tide_left_list *list, tide_error *error) {
    enum { MOST_BYTES = TIDE_RUN_ASSUMED_ROWS * TIDE_RUN_ASSUMED_ROW_BYTES };
    return tide_left_read_lines(launch, pid, "assumed", MOST_BYTES, add_row, capacity, list, error);
}

/* The rows that may take most memory more come first, then those read most often. */
static int compare(const void *a, const void *b) {
    const tide_snapshot_assumed *left = &((const tide_left_assumed *)a)->row;
    const tide_snapshot_assumed *right = &((const tide_left_assumed *)b)->row;
    if (left->all_bytes != right->all_bytes) {
        return left->all_bytes > right->all_bytes ? -1 : 1;
    }
    if ((left->possible > 0) != (right->possible > 0)) {
        return left->possible > 0 ? -1 : 1;
    }
    if (left->n_times != right->n_times) {
        return left->n_times > right->n_times ? -1 : 1;
    }
    int places = strcmp(left->place, right->place);
    return places != 0 ? places : strcmp(left->what, right->what);
}

void tide_left_sort_assumed(tide_left_list *list) {
    if (list->n_assumed > 1) {
        qsort(list->assumed, list->n_assumed, sizeof(*list->assumed), compare);
    }
}
