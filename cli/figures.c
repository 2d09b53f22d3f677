#include "cli/figures.h"

#include <string.h>

static double real_at(const tide_run_result *result, size_t offset) {
    double value = 0.0;
    memcpy(&value, (const char *)result + offset, sizeof(value));
    return value;
}

static int64_t bytes_at(const tide_run_result *result, size_t offset) {
    int64_t value = 0;
    memcpy(&value, (const char *)result + offset, sizeof(value));
    return value;
}

bool tide_figure_is_known(const tide_figure *figure, const tide_run_result *result) {
    return figure->kind == TIDE_FIGURE_BYTES ? bytes_at(result, figure->known_by) >= 0
                                             : real_at(result, figure->known_by) >= 0.0;
}

void tide_figure_column(const tide_figure *figure, tide_table *table) {
    tide_table_column(table, figure->key, figure->title, true);
}

void tide_figure_cell(const tide_figure *figure, const tide_run_result *result, tide_table *table) {
    if (figure->kind == TIDE_FIGURE_BYTES) {
        tide_cell_bytes(table, bytes_at(result, figure->offset));
        return;
    }
    double value = real_at(result, figure->offset);
    if (figure->kind == TIDE_FIGURE_MS) {
        tide_cell_ms(table, value);
    } else if (value < 0.0) {
        tide_cell_none(table);
    } else if (figure->kind == TIDE_FIGURE_TERA) {
        tide_cell_ratio(table, value * 1e-12);
    } else if (figure->kind == TIDE_FIGURE_RATE) {
        tide_cell_count(table, (int64_t)(value + 0.5));
    } else {
        tide_cell_percent(table, 100.0 * value);
    }
}
