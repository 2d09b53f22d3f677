#include "cli/time_kernels.h"

#include "cli/report_options.h"

enum { KERNEL_BYTES = 160 };

static const char *basis_word(tide_time_basis basis) {
    return basis == TIDE_TIME_COMPARED     ? "compared"
           : basis == TIDE_TIME_UNCOMPARED ? "never compared"
                                           : "guessed";
}

void tide_time_add_kernels(tide_report *report, const tide_time_forecast *of, size_t n_shown) {
    tide_table *table = tide_report_table(
        report, "kernels", tide_report_text(report, "kernels on %s", of->card->card->name));
    double all_us = 0.0;
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_TEXT("kernel", "kernel"),
                 TIDE_TEXT("family", "family"), TIDE_NUMBER("launches", "launches"),
                 TIDE_NUMBER("ms", "time"), TIDE_NUMBER("percent", "share"),
                 TIDE_TEXT("bound", "bound by"), TIDE_TEXT("basis", "how known"));
    for (size_t i = 0; i < of->kernels.n; i++) {
        all_us += of->kernels.rows[i].us;
    }
    for (size_t i = 0; i < of->kernels.n && i < n_shown; i++) {
        const tide_time_kernel *kernel = &of->kernels.rows[i];
        char name[KERNEL_BYTES];
        tide_time_kernel_name(kernel, name, sizeof(name));
        TIDE_ROW(table, tide_as_text(of->card->card->name), tide_as_text(name),
                 kernel->kind == TIDE_RUN_KERNEL
                     ? tide_as_text(tide_time_family_name((tide_run_family)kernel->family))
                     : tide_as_none(),
                 tide_as_count((int64_t)kernel->n_launches), tide_as_ms(kernel->us * 1e-3),
                 tide_as_share(kernel->us, all_us),
                 tide_as_text(tide_time_bound_name(kernel->bound)),
                 tide_as_text(basis_word(kernel->basis)));
    }
}
