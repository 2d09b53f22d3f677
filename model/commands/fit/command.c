/* tidemark fit for our own model: the largest batch, context, number of layers or preset that fits
 * a card or a limit, found by runs on the virtual device. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options/report_options.h"
#include "model/commands/commands.h"
#include "model/commands/fit/internal.h"
#include "model/commands/options/model_options.h"
#include "model/eager/eager.h"

enum { MAX_ROWS = 256 };

/* ---- the questions ---- */

static tide_status check_varied(const tide_fit_options *options, tide_error *error) {
    const tide_run_options *run = &options->run;
    bool names_shape = tide_run_options_is_custom(run) || run->configs.n > 0;
    const char *given = NULL;
    switch (tide_fit_quantity_from_name(options->find)) {
    case TIDE_RUN_QUANTITY_BATCH:
        given = run->batches.n > 0 ? "batch" : NULL;
        break;
    case TIDE_RUN_QUANTITY_CONTEXT:
        given = run->contexts.n > 0 ? "context" : NULL;
        break;
    case TIDE_RUN_QUANTITY_LAYERS:
        given = run->n_layers != TIDE_NOT_GIVEN ? "layers" : NULL;
        break;
    default:
        given = run->sizes.n > 0 ? "size"
                : names_shape    ? "d-model, or another dimension of the model,"
                                 : NULL;
        if (options->multiple_of != 1) {
            given = "multiple-of";
        }
        break;
    }
    if (given != NULL) {
        return tide_fail(error, TIDE_INVALID, "--%s sets what --find %s looks for: leave it out",
                         given, options->find);
    }
    if (options->multiple_of == 0) {
        return tide_fail(error, TIDE_INVALID, "--multiple-of 0: the step must be at least 1");
    }
    return TIDE_OK;
}

/* Refuses workloads and quantities that cannot be searched, and sets the steps of a language
 * model. */
static tide_status check_workload(tide_fit_options *options, bool names_steps, tide_error *error) {
    bool is_decode = strcmp(options->run.workload, "decode") == 0;
    if (strcmp(options->run.workload, "mlp") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--workload mlp: fit searches for transformers and language models");
    }
    if (is_decode && strcmp(options->find, "model") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--find model: the language models of --workload decode are not ordered "
                         "by size; find batch, context (the prompt) or layers");
    }
    if (is_decode && !names_steps) {
        options->run.steps = 1; /* every step is the same */
    }
    return TIDE_OK;
}

static const char *device_of(const tide_fit_options *options, size_t i) {
    return options->devices.n > 0 ? options->devices.texts[i] : "virtual";
}

static tide_status check_device(const tide_fit_options *options, const char *device,
                                tide_error *error) {
    if (strcmp(device, "virtual") != 0 && strncmp(device, "virtual:", 8) != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--device %.64s: fit runs on the virtual device only: name a card with "
                         "virtual:CARD, or give --memory-limit",
                         device);
    }
    if (strcmp(device, "virtual") == 0 && options->run.memory_limit_bytes == TIDE_RUN_UNLIMITED) {
        return tide_fail(error, TIDE_INVALID,
                         "nothing limits the memory: name a card (--device virtual:h100-80) or "
                         "give --memory-limit");
    }
    return TIDE_OK;
}

/* "llama-2-7B-int8-decode-p6-n200": the same for a language model. */
static void name_decode_row(tide_fit_row *row) {
    const tide_workload_config *workload = tide_run_workload_model(&row->question.config.workload);
    tide_run_quantity what = row->question.quantity;
    char prompt[32] = "";
    char batch[32] = "";
    if (what != TIDE_RUN_QUANTITY_CONTEXT) {
        snprintf(prompt, sizeof(prompt), "-p%zu", workload->model.context_length);
    }
    if (what != TIDE_RUN_QUANTITY_BATCH) {
        snprintf(batch, sizeof(batch), "-b%zu", workload->model.batch_size);
    }
    snprintf(row->name, sizeof(row->name), "%s-decode%s-n%zu%s", workload->model.size, prompt,
             workload->new_tokens, batch);
}

/* "2.7B-train-c512-fp32": the name of the run without the searched quantity, and without the
 * attention, which has a column. */
static void name_row(tide_fit_row *row) {
    const tide_workload_config *workload = tide_run_workload_model(&row->question.config.workload);
    tide_run_quantity what = row->question.quantity;
    char context[32] = "";
    char batch[32] = "";
    if (workload->architecture == TIDE_DECODE) {
        name_decode_row(row);
        return;
    }
    if (what != TIDE_RUN_QUANTITY_CONTEXT) {
        snprintf(context, sizeof(context), "-c%zu", workload->model.context_length);
    }
    if (what != TIDE_RUN_QUANTITY_BATCH) {
        snprintf(batch, sizeof(batch), "-b%zu", workload->model.batch_size);
    }
    snprintf(row->name, sizeof(row->name), "%s%s%s%s%s-%s%s%s%s",
             what == TIDE_RUN_QUANTITY_PRESET ? "" : workload->model.size,
             what == TIDE_RUN_QUANTITY_PRESET ? "" : "-", tide_mode_name((int)workload->mode),
             context, batch, tide_precision_name((int)workload->precision),
             workload->recompute == TIDE_RECOMPUTE_BLOCK ? "-recompute" : "",
             workload->keep_graph ? "-keep-graph" : "",
             what == TIDE_RUN_QUANTITY_PRESET && workload->model.no_head ? "-no-head" : "");
}

/* Why PyTorch's run cannot be forecast; NULL if it can. */
static const char *why_unknown(const tide_workload_config *workload) {
    if (!tide_eager_knows(workload->precision)) {
        return "what PyTorch allocates is known for fp32, tf32, bf16-mixed and fp16-mixed, not for "
               "bf16-true";
    }
    return workload->clip_grad_norm > 0.0
               ? "the step of PyTorch that is known clips no gradients (--clip-grad-norm)"
               : NULL;
}

/* Asks the same question about PyTorch: with the attention that the command line names, or else
 * twice, with naive attention, as in the assignment's code, and with
 * scaled_dot_product_attention. */
static void ask_pytorch(const tide_fit_options *options, tide_fit_row *row) {
    tide_fit_reply reply = {
        .is_pytorch = true,
        .unknown = why_unknown(tide_run_workload_model(&row->question.config.workload)),
        .question = row->question};
    tide_run_model_of(&reply.question.config.workload)->emulate = TIDE_EMULATE_PYTORCH;
    if (reply.unknown != NULL || options->run.attentions.n > 0) {
        row->replies[row->n_replies++] = reply;
        return;
    }
    tide_run_model_of(&reply.question.config.workload)->attention = TIDE_ATTENTION_NAIVE;
    row->replies[row->n_replies++] = reply;
    tide_run_model_of(&reply.question.config.workload)->attention = TIDE_ATTENTION_FLASH;
    row->replies[row->n_replies++] = reply;
}

static tide_status find_answers(tide_fit_row *row, tide_error *error) {
    for (size_t i = 0; i < row->n_replies; i++) {
        tide_fit_reply *reply = &row->replies[i];
        if (reply->unknown == NULL) {
            TIDE_TRY(tide_fit_search(&reply->question, &reply->answer, error));
        }
    }
    return TIDE_OK;
}

static tide_status ask(const tide_fit_options *options, size_t number, size_t device,
                       tide_fit_row *row, tide_error *error) {
    tide_fit_question *question = &row->question;
    question->quantity = (tide_run_quantity)tide_fit_quantity_from_name(options->find);
    question->multiple_of = options->multiple_of;
    TIDE_TRY(check_device(options, device_of(options, device), error));
    TIDE_TRY(tide_run_options_configure(&options->run, number, device_of(options, device),
                                        &question->config, error));
    name_row(row);
    if (tide_run_workload_model(&question->config.workload)->architecture == TIDE_TRANSFORMER) {
        ask_pytorch(options, row);
    }
    row->replies[row->n_replies++] = (tide_fit_reply){.question = *question};
    uint64_t usable_bytes = 0;
    tide_status status =
        tide_run_limits_usable(&question->config.limits, &usable_bytes, &row->device, error);
    if (status == TIDE_OK) {
        status = find_answers(row, error);
    }
    if (status != TIDE_OK) {
        tide_error_prefix(error, "%s", row->name);
    }
    return status;
}

static tide_status ask_all(const tide_fit_options *options, tide_fit_row *rows, size_t n_rows,
                           tide_error *error) {
    size_t n_devices = options->devices.n > 0 ? options->devices.n : 1;
    for (size_t i = 0; i < n_rows; i++) {
        TIDE_TRY(ask(options, i / n_devices, i % n_devices, &rows[i], error));
    }
    return TIDE_OK;
}

/* ---- the answer ---- */

static int answer(const tide_fit_options *options, tide_fit_row *rows, size_t n_rows) {
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_status status = ask_all(options, rows, n_rows, &error);
    if (status == TIDE_OK) {
        status = tide_fit_print(rows, n_rows, tide_format_chosen(&options->run.report), &error);
    }
    if (status != TIDE_OK) {
        return tide_cli_refuse("fit", status, &error);
    }
    for (size_t i = 0; i < n_rows; i++) {
        if (tide_fit_deciding(&rows[i])->answer.value == 0) {
            exit_status = TIDE_EXIT_DEVICE_OOM;
        }
    }
    return tide_cli_finish("fit", exit_status);
}

int tide_model_fit(tide_fit_options *options, const tide_operands *operands) {
    tide_error error = {""};
    bool names_steps = tide_options_is_given(&tide_model_fit_table, operands, "steps");
    if (!names_steps) {
        options->run.steps = TIDE_RUN_FIT_STEPS;
    }
    options->run.warmup_steps = 0;
    tide_status status = check_varied(options, &error);
    if (status == TIDE_OK) {
        status = check_workload(options, names_steps, &error);
    }
    if (status == TIDE_OK) {
        status = tide_run_options_check(&options->run, &error);
    }
    if (status != TIDE_OK) {
        return tide_cli_refuse("fit", status, &error);
    }
    size_t n_rows =
        tide_run_options_n_runs(&options->run) * (options->devices.n > 0 ? options->devices.n : 1);
    if (n_rows > MAX_ROWS) {
        tide_cli_note("fit", "%zu rows in one table: the limit is %d", n_rows, (int)MAX_ROWS);
        return TIDE_EXIT_USAGE;
    }
    const tide_hostmem *mem = tide_hostmem_default();
    tide_fit_row *rows = tide_hostmem_zeroed(mem, n_rows, sizeof(*rows));
    if (rows == NULL) {
        return tide_cli_fail("fit", TIDE_NO_MEMORY, NULL);
    }
    int exit_status = answer(options, rows, n_rows);
    mem->release(mem->ctx, rows);
    return exit_status;
}
