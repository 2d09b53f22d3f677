#include "programs/wire/launch_list.h"

#include "common/assert.h"

enum { MOST_ROWS = 1 << 18, MOST_STEPS = 1000 };

void tide_launch_list_init(tide_launch_list *list, const tide_hostmem *mem) {
    *list = (tide_launch_list){.mem = mem};
    tide_strings_init(&list->texts, mem);
}

void tide_launch_list_fini(tide_launch_list *list) {
    if (list->mem != NULL) {
        list->mem->release(list->mem->ctx, list->rows);
        tide_strings_fini(&list->texts);
    }
    *list = (tide_launch_list){.mem = NULL};
}

tide_status tide_launch_list_add(tide_launch_list *list, const char *name, int64_t host_ns,
                                 tide_run_launch row) {
    if (list->is_quiet || list->is_full) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_strings_intern(&list->texts, name, &row.name));
    tide_run_launch *rows =
        tide_hostmem_grow(list->mem, list->rows, &list->room, list->n_rows + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_ASSERT(host_ns >= 0); /* rows are in the order of their times */
    list->clock_ns += list->is_free ? 0 : host_ns;
    row.host_ns = list->clock_ns;
    list->rows = rows;
    list->rows[list->n_rows++] = row;
    return TIDE_OK;
}

tide_status tide_launch_list_mark(tide_launch_list *list, const char *name) {
    return list != NULL ? tide_launch_list_add(list, name, 0,
                                               (tide_run_launch){.kind = TIDE_RUN_LAUNCH_MARK})
                        : TIDE_OK;
}

tide_status tide_launch_list_begin_step(tide_launch_list *list) {
    if (list == NULL) {
        return TIDE_OK;
    }
    list->is_full = list->is_full || list->n_rows >= MOST_ROWS || list->n_steps >= MOST_STEPS;
    list->n_steps++;
    return tide_launch_list_mark(list, "step begins");
}
