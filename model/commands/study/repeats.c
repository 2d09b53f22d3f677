/* Cells that are run several times: each repeat has its rows, and the cell itself the samples of
 * all of them. */
#include <stdio.h>
#include <string.h>

#include "cli/figures.h"
#include "model/commands/study/internal.h"

static const tide_figure TIMES[] = {TIDE_FIGURE_TIMES};

enum { N_TIMES = sizeof(TIMES) / sizeof(TIMES[0]) };

/* ---- running ---- */

tide_status tide_study_repeats_init(tide_study_work *work, tide_study_cell *cell,
                                    tide_error *error) {
    size_t n = work->options->repeats;
    if (n == 1) {
        return TIDE_OK;
    }
    cell->repeats = tide_hostmem_zeroed(tide_hostmem_default(), n, sizeof(*cell->repeats));
    for (size_t i = 0; cell->repeats != NULL && i < n; i++) {
        tide_run_result_init(&cell->repeats[i]);
    }
    return cell->repeats != NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu repeats", n);
}

void tide_study_repeats_fini(const tide_study_work *work, tide_study_cell *cell) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; cell->repeats != NULL && i < work->options->repeats; i++) {
        tide_run_result_fini(&cell->repeats[i]);
    }
    mem->release(mem->ctx, cell->repeats);
    cell->repeats = NULL;
}

void tide_study_run_repeats(const tide_study_work *work, const tide_run_hooks *hooks,
                            tide_study_cell *cell) {
    size_t n = 0;
    while (n < work->options->repeats) {
        tide_run_in_subprocess(&cell->config, hooks, NULL, &cell->repeats[n]);
        if (cell->repeats[n++].outcome != TIDE_OUTCOME_COMPLETED) {
            break; /* the next would end the same way, or the user stopped it */
        }
    }
    cell->n_repeated = n;
    tide_run_result_join(cell->repeats, n, &cell->result);
}

/* ---- the table ---- */

static void add_row(const tide_study_table *to, const tide_study_cell *cell, const char *which,
                    const tide_run_result *result, const bool *is_shown) {
    tide_study_row_begin(to, cell);
    TIDE_CELLS(to->table, tide_as_text(which));
    tide_figures_cells(TIMES, N_TIMES, is_shown, result, to->table);
}

void tide_study_add_repeats(tide_study_work *work) {
    bool is_shown[N_TIMES] = {false};
    if (work->options->repeats == 1) {
        return;
    }
    for (size_t i = 0; i < work->n_run; i++) {
        tide_figures_note(TIMES, N_TIMES, &work->cells[i].result, is_shown);
    }
    const tide_study_table to =
        tide_study_table_of(work, tide_study_columns_of(work), "repeats",
                            "times of each repeat; the average is that of all samples");
    tide_table_column(to.table, "repeat", "repeat", false);
    tide_figures_columns(TIMES, N_TIMES, is_shown, to.table);
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_study_cell *cell = &work->cells[i];
        for (size_t r = 0; r < cell->n_repeated; r++) {
            add_row(&to, cell, tide_report_text(&work->report, "%zu", r + 1), &cell->repeats[r],
                    is_shown);
        }
        add_row(&to, cell, "average", &cell->result, is_shown);
    }
}
