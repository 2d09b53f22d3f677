#include "cli/summary/kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/words/snapshot_words.h"
#include "common/text/plural.h"

static int longest_first(const void *a, const void *b) {
    const tide_kernel_row *left = *(const tide_kernel_row *const *)a;
    const tide_kernel_row *right = *(const tide_kernel_row *const *)b;
    if (left->total_ns != right->total_ns) {
        return left->total_ns > right->total_ns ? -1 : 1;
    }
    return (left > right) - (left < right); /* as in the file */
}

static void add_row(tide_table *table, const char *name, const char *path, uint64_t n_launches,
                    double total_ns, double all_ns) {
    TIDE_ROW(table, tide_as_text(name), tide_as_text(path), tide_as_count((int64_t)n_launches),
             tide_as_ms(total_ns * 1e-6), tide_as_ms(total_ns * 1e-6 / (double)n_launches),
             tide_as_share(total_ns, all_ns));
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
    TIDE_COLUMNS(table, TIDE_TEXT("kernel", "kernel"), TIDE_TEXT("scope", "scope"),
                 TIDE_NUMBER("launches", "launches"), TIDE_NUMBER("total_ms", "total"),
                 TIDE_NUMBER("mean_ms", "mean"), TIDE_NUMBER("share_percent", "share"));
    for (size_t i = 0; i < n && i < top; i++) {
        add_row(table, tide_snapshot_text(snapshot, rows[i]->name),
                tide_words_scope(tide_snapshot_text(snapshot, rows[i]->path)), rows[i]->n_launches,
                (double)rows[i]->total_ns, all_ns);
    }
    if (n > top) {
        uint64_t n_launches = 0;
        double total_ns = 0;
        for (size_t i = top; i < n; i++) {
            n_launches += rows[i]->n_launches;
            total_ns += (double)rows[i]->total_ns;
        }
        add_row(
            table,
            tide_report_text(report, "(%zu %s)", n - top, tide_plural(n - top, "other", "others")),
            "", n_launches, total_ns, all_ns);
    }
    mem->release(mem->ctx, rows);
    return TIDE_OK;
}
