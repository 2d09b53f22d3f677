#include "cli/summary/kernels.h"
#include "common/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int longest_first(const void *a, const void *b) {
    const tide_kernel_row *left = *(const tide_kernel_row *const *)a;
    const tide_kernel_row *right = *(const tide_kernel_row *const *)b;
    if (left->total_ns != right->total_ns) {
        return left->total_ns > right->total_ns ? -1 : 1;
    }
    return (left > right) - (left < right); /* as in the file */
}

static void add_row(tide_table *table, const tide_snapshot *snapshot, const tide_kernel_row *row,
                    double all_ns) {
    const char *path = tide_snapshot_text(snapshot, row->path);
    tide_table_row_begin(table);
    tide_cell_text(table, tide_snapshot_text(snapshot, row->name));
    tide_cell_text(table, path[0] != '\0' ? path : "(outside every scope)");
    tide_cell_count(table, (int64_t)row->n_launches);
    tide_cell_ms(table, (double)row->total_ns * 1e-6);
    tide_cell_ms(table, (double)row->total_ns * 1e-6 / (double)row->n_launches);
    tide_cell_percent(table, all_ns > 0 ? 100.0 * (double)row->total_ns / all_ns : 0.0);
}

static void add_rest(tide_table *table, const tide_kernel_row *const *rows, size_t n,
                     double all_ns) {
    char label[64];
    uint64_t n_launches = 0;
    double total_ns = 0;
    for (size_t i = 0; i < n; i++) {
        n_launches += rows[i]->n_launches;
        total_ns += (double)rows[i]->total_ns;
    }
    snprintf(label, sizeof(label), "(%zu %s)", n, tide_plural(n, "other", "others"));
    tide_table_row_begin(table);
    tide_cell_text(table, label);
    tide_cell_text(table, "");
    tide_cell_count(table, (int64_t)n_launches);
    tide_cell_ms(table, total_ns * 1e-6);
    tide_cell_ms(table, total_ns * 1e-6 / (double)n_launches);
    tide_cell_percent(table, all_ns > 0 ? 100.0 * total_ns / all_ns : 0.0);
}

tide_status tide_summary_kernels(tide_report *report, const tide_snapshot *snapshot, size_t top) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = snapshot->n_kernels;
    double all_ns = 0;
    if (n == 0) {
        return TIDE_OK;
    }
    const tide_kernel_row **rows = tide_hostmem_zeroed(mem, n, sizeof(const tide_kernel_row *));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        rows[i] = &snapshot->kernels[i];
        all_ns += (double)rows[i]->total_ns;
    }
    qsort(rows, n, sizeof(*rows), longest_first);
    tide_table *table = tide_report_table(report, "kernels", "Kernels of the measured steps");
    tide_table_column(table, "kernel", "kernel", false);
    tide_table_column(table, "scope", "scope", false);
    tide_table_column(table, "launches", "launches", true);
    tide_table_column(table, "total_ms", "total", true);
    tide_table_column(table, "mean_ms", "mean", true);
    tide_table_column(table, "share_percent", "share", true);
    for (size_t i = 0; i < n && i < top; i++) {
        add_row(table, snapshot, rows[i], all_ns);
    }
    if (n > top) {
        add_rest(table, rows + top, n - top, all_ns);
    }
    mem->release(mem->ctx, rows);
    return TIDE_OK;
}
