#include "cli/figures.h"

void tide_figures_note(const tide_figure *figures, size_t n, const tide_run_result *result,
                       bool *is_shown) {
    for (size_t i = 0; i < n; i++) {
        const tide_field known_by = {.kind = figures[i].field.kind, .offset = figures[i].known_by};
        is_shown[i] = is_shown[i] || tide_as_field(&known_by, result).kind != TIDE_CELL_NONE;
    }
}

void tide_figures_columns(const tide_figure *figures, size_t n, const bool *is_shown,
                          tide_table *table) {
    for (size_t i = 0; i < n; i++) {
        tide_table_fields(table, &figures[i].field, is_shown[i] ? 1 : 0);
    }
}

void tide_figures_cells(const tide_figure *figures, size_t n, const bool *is_shown,
                        const tide_run_result *result, tide_table *table) {
    for (size_t i = 0; i < n; i++) {
        tide_table_cells_of(table, &figures[i].field, is_shown[i] ? 1 : 0, result);
    }
}
