/* XLA's own figures: PID.xla, whose lines are
 * device<TAB>CARD<TAB>PEAK<TAB>LIMIT<TAB>PROGRAM<TAB>ASKED<TAB>GRAPHS<TAB>AUTOTUNING<TAB>PLACE and
 * array<TAB>BYTES<TAB>NUMBER<TAB>PLACE, in the words of tide_snapshot_xla. GRAPHS and AUTOTUNING
 * are 0 if XLA_FLAGS switch them off. */
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/left/left_friend.h"

enum { N_OF_DEVICE = 7, N_OF_ARRAY = 2, MOST_BYTES = 1 << 20 };

/* Reads the numbers of a line, and what follows them. False: the line is not complete. */
static bool parse(const char *line, tide_snapshot_xla *ret) {
    static const char DEVICE[] = "device\t";
    static const char ARRAY[] = "array\t";
    int64_t numbers[N_OF_DEVICE] = {0};
    bool is_device = strncmp(line, DEVICE, sizeof(DEVICE) - 1) == 0;
    size_t n = is_device ? N_OF_DEVICE : N_OF_ARRAY;
    if (!is_device && strncmp(line, ARRAY, sizeof(ARRAY) - 1) != 0) {
        return false;
    }
    line = strchr(line, '\t') + 1;
    if (!tide_left_parse_numbers(line, n, numbers)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        line = strchr(line, '\t');
        if (line == NULL) {
            return false;
        }
        line++;
    }
    *ret = (tide_snapshot_xla)TIDE_SNAPSHOT_NO_XLA;
    ret->place = line;
    if (is_device) {
        ret->card = numbers[0];
        ret->peak_bytes = numbers[1];
        ret->limit_bytes = numbers[2];
        ret->program_bytes = numbers[3];
        ret->asked_bytes = numbers[4];
        ret->lacks_graphs = numbers[5] == 0;
        ret->lacks_autotuning = numbers[6] == 0;
    } else {
        ret->array_bytes = numbers[0];
        ret->n_arrays = numbers[1];
    }
    return true;
}

/* Adds a row. Ignores one that a killed process did not complete. */
static tide_status add_row(tide_left_list *list, size_t *capacity, int64_t pid, char *line) {
    tide_left_xla row = {.pid = pid};
    if (!parse(line, &row.row)) {
        return TIDE_OK;
    }
    tide_left_xla *rows = tide_hostmem_grow(tide_hostmem_default(), list->xla, capacity,
                                            list->n_xla + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    list->xla = rows;
    row.row.place = tide_arena_text(&list->arena, row.row.place);
    if (row.row.place == NULL) {
        return TIDE_NO_MEMORY;
    }
    rows[list->n_xla++] = row;
    return TIDE_OK;
}

tide_status tide_left_read_xla(const tide_launch *launch, int64_t pid, size_t *capacity,
                               tide_left_list *list, tide_error *error) {
    return tide_left_read_lines(launch, pid, "xla", MOST_BYTES, add_row, capacity, list, error);
}
