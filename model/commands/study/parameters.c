/* Study parameters: how many parameters a model has, and their bytes. Nothing is run. */
#include <stdio.h>

#include "model/commands/study/conclusions.h"
#include "model/commands/study/internal.h"

static void fill(tide_study_options *options) {
    tide_study_fill_sizes(options, true);
    tide_study_fill(&options->run.modes, "forward"); /* a mode in which any model can run */
}

/* Embedding and lm_head, which is not tied to it. */
static uint64_t n_embedding(const tide_model_config *model) {
    return tide_model_n_component_parameters(model, TIDE_COMPONENT_EMBEDDING) +
           tide_model_n_component_parameters(model, TIDE_COMPONENT_HEAD);
}

static void add_row(const tide_model_config *model, tide_table *table) {
    uint64_t n_parameters = tide_model_n_parameters(model);
    uint64_t n_block = (n_parameters - n_embedding(model) - model->d_model) / model->n_layers;
    uint64_t n_trained = 4 * n_parameters; /* with gradients and AdamW's two moments */
    TIDE_ROW(table, tide_as_text(model->size), tide_as_count((int64_t)model->d_model),
             tide_as_count((int64_t)model->d_ff), tide_as_count((int64_t)model->n_layers),
             tide_as_count((int64_t)model->n_heads), tide_as_count((int64_t)n_block),
             tide_as_count((int64_t)n_parameters),
             tide_as_count((int64_t)tide_model_n_tensors(model)),
             tide_as_bytes((int64_t)(4 * n_parameters)), tide_as_bytes((int64_t)(2 * n_parameters)),
             tide_as_bytes((int64_t)(4 * n_trained)), tide_as_bytes((int64_t)(2 * n_trained)));
}

static void add_components(const tide_model_config *model, tide_table *table) {
    double n_all = (double)tide_model_n_parameters(model);
    for (int i = 0; i < TIDE_N_COMPONENTS; i++) {
        uint64_t n = tide_model_n_component_parameters(model, (tide_model_component)i);
        TIDE_ROW(table, tide_as_text(model->size), tide_as_text(tide_component_name(i)),
                 tide_as_count((int64_t)n), tide_as_share((double)n, n_all),
                 tide_as_bytes((int64_t)(4 * n)));
    }
}

static tide_status report(tide_study_work *work, tide_error *error) {
    tide_conclusion_size sizes[TIDE_STUDY_MAX_CELLS];
    char conclusion[TIDE_CONCLUSION_BYTES];
    size_t n = 0;
    (void)error;
    tide_table *table = tide_report_table(&work->report, "parameters", "parameters");
    TIDE_COLUMNS(table, TIDE_TEXT("size", "size"), TIDE_NUMBER("d_model", "d_model"),
                 TIDE_NUMBER("d_ff", "d_ff"), TIDE_NUMBER("n_layers", "layers"),
                 TIDE_NUMBER("n_heads", "heads"), TIDE_NUMBER("block_parameters", "per block"),
                 TIDE_NUMBER("parameters", "parameters"), TIDE_NUMBER("tensors", "tensors"),
                 TIDE_NUMBER("fp32_bytes", "fp32"), TIDE_NUMBER("bf16_bytes", "bf16"),
                 TIDE_NUMBER("train_bytes", "to train"),
                 TIDE_NUMBER("train_bf16_true_bytes", "in bf16-true"));
    tide_table *components =
        tide_report_table(&work->report, "components", "parameters by component");
    TIDE_COLUMNS(components, TIDE_TEXT("size", "size"), TIDE_TEXT("component", "component"),
                 TIDE_NUMBER("parameters", "parameters"), TIDE_NUMBER("share", "share"),
                 TIDE_NUMBER("fp32_bytes", "fp32"));
    for (size_t i = 0; i < work->n_cells; i++) {
        const tide_model_config *model = &tide_study_model(&work->cells[i])->model;
        uint64_t n_parameters = tide_model_n_parameters(model);
        if (n > 0 && sizes[n - 1].n_parameters == n_parameters) {
            continue; /* lists that do not matter here */
        }
        add_row(model, table);
        add_components(model, components);
        sizes[n] = (tide_conclusion_size){.n_parameters = n_parameters,
                                          .n_embedding = n_embedding(model),
                                          .train_bytes = 16 * n_parameters};
        snprintf(sizes[n].label, sizeof(sizes[n].label), "%s", model->size);
        n++;
    }
    tide_report_say(&work->report, "columns",
                    "to train: parameters, gradients and the optimizer state, in fp32, tf32 and "
                    "bf16-mixed, and in bf16-true");
    tide_conclusion_of_parameters(sizes, n, conclusion);
    tide_report_say(&work->report, "conclusion", "%s", conclusion);
    return TIDE_OK;
}

const tide_study tide_study_parameters = {
    .name = "parameters",
    .summary = "how many parameters each size has, and the bytes of them and of their training",
    .device = "virtual",
    .kind = TIDE_STUDY_NOT_RUN,
    .takes = "size d-model layers heads d-ff vocab config no-head",
    .fill = fill,
    .report = report,
};
