/* Study kernels: the time of a step by operator, and by CUDA kernel if CUPTI names them. */
#include <stdio.h>
#include <string.h>

#include "model/commands/study/conclusions.h"
#include "model/commands/study/internal.h"
#include "snapshot/explain/work_shares.h"

enum { N_TOP = 12 };

static void fill(tide_study_options *options) {
    tide_study_fill(&options->run.modes, "train");
    tide_study_fill(&options->warmups, "5");
    if (strcmp(options->run.workload, "mlp") == 0) {
        return; /* it has neither sizes nor contexts nor attention */
    }
    tide_study_fill_size(options, "large");
    tide_study_fill(&options->run.contexts, "512");
    tide_study_fill(&options->run.attentions, "naive");
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

/* The tables that all cells share, of operators or of kernels. NULL until the first row. */
typedef struct tables {
    tide_study_table work;
    tide_study_table sums;
} tables;

static tables add_tables(tide_study_work *work, bool is_by_kernel) {
    const tide_study_columns varied = tide_study_columns_of(work);
    tables to;
    if (is_by_kernel) {
        to.work = tide_study_table_of(work, varied, "kernels", "kernels of a measured step");
        to.sums = tide_study_table_of(work, varied, "kernel_products",
                                      "kernels that are matrix products");
    } else {
        to.work = tide_study_table_of(work, varied, "operators", "operators of a measured step");
        to.sums = tide_study_table_of(work, varied, "operator_products",
                                      "operators that are mostly matrix products");
    }
    TIDE_COLUMNS(to.work.table, TIDE_TEXT("phase", "phase"),
                 TIDE_TEXT("name", is_by_kernel ? "kernel" : "operator"),
                 TIDE_NUMBER("launches", is_by_kernel ? "launches" : "calls"),
                 TIDE_NUMBER("total_ms", "total"), TIDE_NUMBER("mean_ms", "mean"),
                 TIDE_NUMBER("share", "of phase"));
    TIDE_COLUMNS(to.sums.table, TIDE_TEXT("phase", "phase"), TIDE_NUMBER("total_ms", "total"),
                 TIDE_NUMBER("step_share", "of step"), TIDE_NUMBER("product_ms", "products"),
                 TIDE_NUMBER("product_share", "of phase"));
    return to;
}

static void add_work_row(const tide_study_table *to, const tide_study_cell *cell,
                         const tide_work_phase *phase, const tide_work_row *row) {
    bool has_calls = row->n_calls > 0.0;
    tide_study_row_begin(to, cell);
    TIDE_CELLS(to->table, tide_as_text(phase->name), tide_as_text(row->name),
               has_calls ? tide_as_count((int64_t)(row->n_calls + 0.5)) : tide_as_none(),
               tide_as_ms(row->ms), tide_as_ms(has_calls ? row->ms / row->n_calls : -1.0),
               tide_as_share(row->ms, phase->ms));
}

/* Adds the first N_TOP of a phase, the others in one row, and the time between operators. */
static void add_phase(const tide_study_table *to, const tide_study_cell *cell,
                      const tide_work_shares *shares, size_t phase) {
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
            add_work_row(to, cell, of, row);
        } else {
            others.ms += row->ms;
            others.n_calls += row->n_calls;
        }
    }
    if (n > N_TOP) {
        snprintf(label, sizeof(label), "(%zu more)", n - N_TOP);
        add_work_row(to, cell, of, &others);
    }
    if (!shares->is_by_kernel && rest_ms > 0.0) {
        const tide_work_row between = {.name = "(between operators)", .ms = rest_ms};
        add_work_row(to, cell, of, &between);
    }
}

static void add_sum(const tide_study_table *to, const tide_study_cell *cell,
                    const tide_work_phase *phase, double whole_ms) {
    tide_study_row_begin(to, cell);
    TIDE_CELLS(to->table, tide_as_text(phase->name), tide_as_ms(phase->ms),
               tide_as_share(phase->ms, whole_ms), tide_as_ms(phase->product_ms),
               tide_as_share(phase->product_ms, phase->ms));
}

static double add_sums(const tide_study_table *to, const tide_study_cell *cell,
                       const tide_work_shares *shares) {
    tide_work_phase step = {.name = "step", .ms = step_ms(shares)};
    for (size_t i = 0; i < shares->n_phases; i++) {
        add_sum(to, cell, &shares->phases[i], step.ms);
        step.product_ms += shares->phases[i].product_ms;
    }
    add_sum(to, cell, &step, step.ms);
    return step.product_ms;
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
        if (to->work.table == NULL) {
            *to = add_tables(work, by_kernel);
        }
        for (size_t phase = 0; phase < shares.n_phases; phase++) {
            add_phase(&to->work, cell, &shares, phase);
        }
        double product_ms = add_sums(&to->sums, cell, &shares);
        if (is_concluded) {
            say_conclusion(work, cell, &shares, product_ms);
        }
    }
    tide_work_shares_fini(&shares);
    return TIDE_OK;
}

/* Reports by operator always, and by kernel if kernels were traced. The conclusions are then about
 * the kernels. */
static tide_status report(tide_study_work *work, tide_error *error) {
    tables operators = {.work = {.table = NULL}};
    tables kernels = {.work = {.table = NULL}};
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
    if (operators.work.table == NULL && kernels.work.table == NULL) {
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
    .takes_workload = true,
    .traces_kernels = true,
    .needs_times = true,
    .fill = fill,
    .report = report,
};
