/* Runs the workload of a snapshot as PyTorch in eager mode would run it. */
#include "model/run/as_pytorch.h"

#include <string.h>

#include "device/cards.h"
#include "model/eager/eager.h"
#include "model/run/model.h"

/* Finds the card by the device's name, because the workspaces of its libraries count. */
static const char *spec_of(const tide_snapshot *snapshot) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    for (size_t i = 0; snapshot->n_devices > 0 && i < n_cards; i++) {
        if (strcmp(cards[i].title, snapshot->devices[0].name) == 0) {
            return cards[i].spec;
        }
    }
    return "virtual";
}

/* Whether the file has as many parameters as the model without its head. */
static bool has_no_head(const tide_snapshot_model *model, const tide_model_config *config) {
    tide_model_config without = *config;
    without.no_head = true;
    return tide_model_config_check(config, NULL) == TIDE_OK && model->n_parameters > 0 &&
           (uint64_t)model->n_parameters == tide_model_n_parameters(&without);
}

/* Reads the values that the snapshot states; all others are defaults. */
static tide_status read_workload(const tide_snapshot_run *run, tide_workload_config *workload,
                                 tide_error *error) {
    const tide_snapshot_model *model = &run->model;
    int mode = tide_mode_from_name(run->mode);
    int precision = tide_precision_from_name(run->precision);
    if (model->size != NULL && strcmp(model->size, "mlp") == 0) {
        return tide_fail(
            error, TIDE_INVALID,
            "an MLP was run, but PyTorch's allocations can be forecast only for the transformer");
    }
    if (model->d_model <= 0 || model->d_ff <= 0 || model->n_layers <= 0 || model->n_heads <= 0 ||
        model->vocab_size <= 0 || run->batch_size <= 0 || run->context_length <= 0 || mode < 0 ||
        precision < 0) {
        return tide_fail(error, TIDE_INVALID,
                         "the file does not say which model was run or how, so PyTorch's "
                         "allocations cannot be forecast");
    }
    workload->model.d_model = (size_t)model->d_model;
    workload->model.d_ff = (size_t)model->d_ff;
    workload->model.n_layers = (size_t)model->n_layers;
    workload->model.n_heads = (size_t)model->n_heads;
    workload->model.vocab_size = (size_t)model->vocab_size;
    workload->model.batch_size = (size_t)run->batch_size;
    workload->model.context_length = (size_t)run->context_length;
    workload->mode = (tide_mode)mode;
    workload->model.no_head = has_no_head(model, &workload->model);
    workload->precision = (tide_precision)precision;
    workload->keep_graph = run->keep_graph;
    workload->warmup_steps = 0;
    workload->steps = TIDE_RUN_FIT_STEPS;
    return tide_model_config_check(&workload->model, error);
}

/* Makes it PyTorch's. */
static tide_status change_to_pytorch(tide_workload_config *workload, tide_edition edition,
                                     tide_error *error) {
    if (!tide_eager_knows(workload->precision)) {
        return tide_fail(error, TIDE_INVALID,
                         "PyTorch's allocations are known only for fp32, tf32, bf16-mixed and "
                         "fp16-mixed, not for %s",
                         tide_precision_name((int)workload->precision));
    }
    workload->emulate = TIDE_EMULATE_PYTORCH;
    workload->edition = edition;
    workload->attention = TIDE_ATTENTION_NAIVE;
    return TIDE_OK;
}

tide_status tide_run_as_pytorch(const tide_snapshot *snapshot, tide_edition edition,
                                tide_snapshot **ret_snapshot, tide_error *error) {
    tide_run_config config;
    tide_run_labels labels;
    tide_run_model_init(&config);
    config.limits.device = spec_of(snapshot);
    TIDE_TRY(read_workload(&snapshot->run, tide_run_model_of(&config.workload), error));
    TIDE_TRY(change_to_pytorch(tide_run_model_of(&config.workload), edition, error));
    tide_run_workload_labels(&config.workload, &labels);
    tide_snapshot_run description = snapshot->run;
    description.command = "";
    description.attention = labels.attention;
    description.recompute = labels.recompute;
    description.implementation = tide_run_model_implementation(tide_run_model_of(&config.workload));
    description.clip_grad_norm = -1;
    description.memory_limit_bytes = -1;
    description.outcome = tide_outcome_in_snapshot(TIDE_OUTCOME_COMPLETED);
    description.host_computed_by = "";
    config.recording.description = &description;
    return tide_run_record(&config, NULL, ret_snapshot, error);
}
