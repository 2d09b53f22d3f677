/* Study kernels: where the time of a step goes, by operator, and by CUDA kernel where CUPTI names
 * them. */
#include <stdio.h>
#include <string.h>

#include "cli/study/conclusions.h"
#include "cli/study/internal.h"
#include "cli/study/work_shares.h"

enum { N_TOP = 12 };

static void fill(tide_study_options *options) {
    tide_study_fill_size(options, "large");
    tide_study_fill(&options->run.modes, "train");
    tide_study_fill(&options->run.contexts, "512");
    tide_study_fill(&options->run.attentions, "naive");
    tide_study_fill(&options->warmups, "5");
}

/* ---- tables ---- */

static double step_ms(const tide_work_shares *shares) {
    double ms = 0.0;
    for (size_t i = 0; i < shares->n_phases; i++) {
        ms += shares->phases[i].ms;
    }
    return ms;
}

static double share(double part, double whole) {
    return whole > 0.0 ? part / whole : 0.0;
}

static void add_work_row(const tide_study_columns *columns, const tide_study_cell *cell,
                         const char *phase, const tide_work_row *row, double phase_ms,
                         tide_table *table) {
    tide_table_row_begin(table);
    tide_study_add_cells(columns, cell, table);
    tide_cell_text(table, phase);
    tide_cell_text(table, row->name);
    if (row->n_calls > 0.0) {
        tide_cell_count(table, (int64_t)(row->n_calls + 0.5));
    } else {
        tide_cell_none(table);
    }
    tide_cell_ms(table, row->ms);
    tide_cell_ms(table, row->n_calls > 0.0 ? row->ms / row->n_calls : -1.0);
    tide_cell_percent(table, 100.0 * share(row->ms, phase_ms));
}

/* Adds the first N_TOP of a phase, the others in one row, and the time between operators. */
static void add_phase(const tide_study_columns *columns, const tide_study_cell *cell,
                      const tide_work_shares *shares, size_t phase, tide_table *table) {
    const tide_work_phase *of = &shares->phases[phase];
    char label[64];
    tide_work_row others = {.name = label};
    size_t n = 0;
    double rest_ms = of->ms;
    for (size_t i = 0; i < shares->n_rows; i++) {
        const tide_work_row *row = &shares->rows[i];
        if (row->phase != phase) {
            continue;
        }
        rest_ms -= row->ms;
        if (++n <= N_TOP) {
            add_work_row(columns, cell, of->name, row, of->ms, table);
        } else {
            others.ms += row->ms;
            others.n_calls += row->n_calls;
        }
    }
    if (n > N_TOP) {
        snprintf(label, sizeof(label), "(%zu more)", n - N_TOP);
        add_work_row(columns, cell, of->name, &others, of->ms, table);
    }
    if (!shares->is_by_kernel && rest_ms > 0.0) {
        const tide_work_row between = {.name = "(between operators)", .ms = rest_ms};
        add_work_row(columns, cell, of->name, &between, of->ms, table);
    }
}

static void add_sum(const tide_study_columns *columns, const tide_study_cell *cell,
                    const char *name, double ms, double product_ms, double whole_ms,
                    tide_table *table) {
    tide_table_row_begin(table);
    tide_study_add_cells(columns, cell, table);
    tide_cell_text(table, name);
    tide_cell_ms(table, ms);
    tide_cell_percent(table, 100.0 * share(ms, whole_ms));
    tide_cell_ms(table, product_ms);
    tide_cell_percent(table, 100.0 * share(product_ms, ms));
}

static double add_sums(const tide_study_columns *columns, const tide_study_cell *cell,
                       const tide_work_shares *shares, tide_table *table) {
    double product_ms = 0.0;
    double whole_ms = step_ms(shares);
    for (size_t i = 0; i < shares->n_phases; i++) {
        const tide_work_phase *phase = &shares->phases[i];
        add_sum(columns, cell, phase->name, phase->ms, phase->product_ms, whole_ms, table);
        product_ms += phase->product_ms;
    }
    add_sum(columns, cell, "step", whole_ms, product_ms, whole_ms, table);
    return product_ms;
}

/* The tables that all cells share, of operators or of kernels. NULL until the first row. */
typedef struct tables {
    tide_table *work;
    tide_table *sums;
    tide_study_columns columns;
} tables;

static tables add_tables(tide_study_work *work, bool is_by_kernel) {
    tables to = {.columns = tide_study_columns_of(work)};
    const char *unit = is_by_kernel ? "kernel" : "operator";
    char title[96];
    snprintf(title, sizeof(title), "%ss of a measured step", unit);
    to.work = tide_report_table(&work->report, is_by_kernel ? "kernels" : "operators", title);
    tide_study_add_columns(&to.columns, to.work);
    tide_table_column(to.work, "phase", "phase", false);
    tide_table_column(to.work, "name", unit, false);
    tide_table_column(to.work, "launches", is_by_kernel ? "launches" : "calls", true);
    tide_table_column(to.work, "total_ms", "total", true);
    tide_table_column(to.work, "mean_ms", "mean", true);
    tide_table_column(to.work, "share", "of phase", true);
    to.sums =
        tide_report_table(&work->report, is_by_kernel ? "kernel_products" : "operator_products",
                          is_by_kernel ? "kernels that are matrix products"
                                       : "operators that are mostly matrix products");
    tide_study_add_columns(&to.columns, to.sums);
    tide_table_column(to.sums, "phase", "phase", false);
    tide_table_column(to.sums, "total_ms", "total", true);
    tide_table_column(to.sums, "step_share", "of step", true);
    tide_table_column(to.sums, "product_ms", "products", true);
    tide_table_column(to.sums, "product_share", "of phase", true);
    return to;
}

/* ---- the conclusion ---- */

/* Counts the operations of naive attention in forward: two products of T x T x D, and five
 * operations for each probability (maximum, difference, exponential, sum, quotient). */
static void count_flops(const tide_workload_config *workload, tide_conclusion_kernels *conclusion) {
    const tide_model_config *model = &workload->model;
    double scores = (double)model->batch_size * (double)model->context_length *
                    (double)model->context_length * (double)model->n_layers;
    conclusion->products_flops = 4.0 * scores * (double)model->d_model;
    conclusion->softmax_flops = 5.0 * scores * (double)model->n_heads;
}

static void say_conclusion(tide_study_work *work, const tide_study_cell *cell,
                           const tide_work_shares *shares, double product_ms) {
    char text[TIDE_CONCLUSION_BYTES];
    double top_ms = 0.0;
    double whole_ms = step_ms(shares);
    tide_conclusion_kernels conclusion = {
        .label = cell->name,
        .unit = shares->is_by_kernel ? "kernel" : "operator",
        .products =
            shares->is_by_kernel ? "matrix products" : "operators that are mostly matrix products",
        .gemm_forward_share = -1.0,
        .gemm_step_share = -1.0,
        .softmax_ms = shares->softmax_ms,
        .products_ms = shares->products_ms,
    };
    count_flops(tide_study_model(cell), &conclusion);
    if (shares->n_phases > 0) {
        const tide_work_phase *forward = &shares->phases[0];
        const tide_work_row *top = tide_work_shares_top(shares, 0, &top_ms);
        if (top != NULL) {
            snprintf(conclusion.top_forward, sizeof(conclusion.top_forward), "%s", top->name);
            conclusion.top_forward_share = share(top_ms, forward->ms);
        }
        conclusion.gemm_forward_share = share(forward->product_ms, forward->ms);
    }
    if (shares->n_phases > 1) {
        const tide_work_row *top = tide_work_shares_top(shares, SIZE_MAX, &top_ms);
        if (top != NULL) {
            snprintf(conclusion.top_step, sizeof(conclusion.top_step), "%s", top->name);
            conclusion.top_step_share = share(top_ms, whole_ms);
        }
        conclusion.gemm_step_share = share(product_ms, whole_ms);
    }
    tide_conclusion_of_kernels(&conclusion, text);
    tide_report_say(&work->report, "conclusion", "%s", text);
}

/* Adds a cell's rows, and its conclusion if `is_concluded`. */
static tide_status add_cell(tide_study_work *work, const tide_study_cell *cell, bool by_kernel,
                            bool is_concluded, tables *to) {
    tide_work_shares shares;
    TIDE_TRY(tide_work_shares_init(&shares, cell->result.snapshot, by_kernel));
    if (shares.n_phases > 0) {
        if (to->work == NULL) {
            *to = add_tables(work, by_kernel);
        }
        for (size_t phase = 0; phase < shares.n_phases; phase++) {
            add_phase(&to->columns, cell, &shares, phase, to->work);
        }
        double product_ms = add_sums(&to->columns, cell, &shares, to->sums);
        if (is_concluded) {
            say_conclusion(work, cell, &shares, product_ms);
        }
    }
    tide_work_shares_fini(&shares);
    return TIDE_OK;
}

/* Reports by operator always, and by kernel where kernels were traced. The conclusions then are
 * about the kernels. */
static tide_status report(tide_study_work *work, tide_error *error) {
    tables operators = {.work = NULL};
    tables kernels = {.work = NULL};
    (void)error;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < work->n_run; i++) {
            const tide_study_cell *cell = &work->cells[i];
            if (cell->result.outcome != TIDE_OUTCOME_COMPLETED) {
                continue;
            }
            bool has_kernels = cell->result.snapshot->n_kernels > 0;
            TIDE_TRY(add_cell(work, cell, pass == 1, has_kernels == (pass == 1),
                              pass == 1 ? &kernels : &operators));
        }
    }
    if (operators.work == NULL && kernels.work == NULL) {
        const tide_conclusion_kernels none = {.label = ""};
        char text[TIDE_CONCLUSION_BYTES];
        tide_conclusion_of_kernels(&none, text);
        tide_report_say(&work->report, "conclusion", "%s", text);
    }
    return TIDE_OK;
}

const tide_study tide_study_kernels = {
    .name = "kernels",
    .summary = "where the time of a step goes, by operator, and by CUDA kernel on a GPU",
    .device = "auto",
    .kind = TIDE_STUDY_RECORDED,
    .traces_kernels = true,
    .needs_times = true,
    .fill = fill,
    .report = report,
};
