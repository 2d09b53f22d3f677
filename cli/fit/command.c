/* tidemark fit: the largest batch, context, number of layers or preset that fits a card or a limit,
 * found by runs on the virtual device. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/fit/internal.h"
#include "cli/words/program_words.h"
#include "cli/options/report_options.h"
#include "cli/options/run_options.h"
#include "model/eager/eager.h"

enum { MAX_ROWS = 256 };

enum { RUN = offsetof(tide_fit_options, run) };

#define AT(member) offsetof(tide_fit_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Question"},
    TIDE_OPTION_OF(
        CHOICE, "find", NULL, tide_fit_quantity_name, AT(find),
        "what to make as large as possible; model finds the largest preset; default batch"),
    TIDE_OPTION(COUNT, "multiple-of", "N", AT(multiple_of),
                "try only multiples of N, such as contexts in steps of 128; default 1"),
    TIDE_OPTION_OF(
        TEXTS, "device", "virtual[:CARD]", tide_choice_virtual_device, AT(devices),
        "card that the run must fit; may be given several times; tidemark devices lists the cards"),
    TIDE_OPTION_ROW_MEMORY_LIMIT(RUN, "; without a card it is the only limit"),
    TIDE_OPTION_ROW_SPILL(RUN),
    TIDE_OPTION_ROW_ALLOC_CONF(RUN),
    {.kind = TIDE_OPTION_HEADING, .help = "Model"},
    TIDE_OPTION_ROW_WORKLOAD(RUN),
    TIDE_OPTION_ROW_DECODE(RUN),
    TIDE_OPTION_ROW_SIZE(RUN, "; default small"),
    TIDE_OPTION_ROW_DIMENSIONS(RUN),
    {.kind = TIDE_OPTION_HEADING, .help = "Run"},
    TIDE_OPTION_ROW_BATCH(RUN, "; default 4"),
    TIDE_OPTION_ROW_CONTEXT(RUN, "; default 128"),
    TIDE_OPTION_ROW_MODE(RUN, "; default train"),
    TIDE_OPTION_ROW_ONLY_FORWARD(RUN),
    TIDE_OPTION_ROW_KEEP_GRAPH(RUN),
    TIDE_OPTION_ROW_PRECISION(
        RUN, "types of the numbers; bf16 means bf16-mixed, fp16 means fp16-mixed; default fp32"),
    TIDE_OPTION_ROW_MIXED_PRECISION(RUN),
    TIDE_OPTION_ROW_ATTENTION(
        RUN, "attention operator; default: both naive and flash for PyTorch, flash "
             "for tidemark's own model"),
    TIDE_OPTION_ROW_RECOMPUTE(
        RUN, "block keeps only the input of each block for backward; default none"),
    TIDE_OPTION_ROW_CLIP(RUN),
    TIDE_OPTION(COUNT, "steps", "N", AT(run.steps),
                "number of steps that each run must complete; default 15, as many as tidemark "
                "profile takes"),
    {.kind = TIDE_OPTION_HEADING, .help = "A command of yours, after the options"},
    TIDE_OPTION(TEXTS, "vary", "NAME=LOW..HIGH", AT(varied),
                "find the largest value of {NAME} in its arguments; 3 steps unless --steps says "
                "otherwise"),
    TIDE_PROGRAM_ROW_CALLS(AT(program)),
    TIDE_PROGRAM_ROW_VALUES(AT(program)),
    TIDE_PROGRAM_ROW_STREAMS(AT(program), tide_choice_streams, "or when the host waits"),
    TIDE_PROGRAM_ROW_WRITES(AT(program)),
    TIDE_OPTION(POSITIVE, "max-step-ms", "X", AT(most_step_ms),
                "a value whose step is forecast to take longer than X ms does not fit either "
                "(docs/guide/virtual-time.md); default any time"),
    TIDE_PROGRAM_ROWS_HOST(AT(program)),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    TIDE_REPORT_ROWS(AT(run.report)),
};

static const tide_option_table TABLE = {
    .command = "fit",
    .operands = "[[--] COMMAND [ARGUMENT...]]",
    .intro = "Finds the largest batch, context, number of layers or preset that fits a card or a\n"
             "limit, by runs on the virtual device. It needs no GPU.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes =
        "The named value was run and fits; the next one was run and does not. Both ran through "
        "the\n"
        "allocator that trains, so tidemark profile says the same. Usable memory excludes context\n"
        "and libraries where their size is known; the output says where it is not.\n"
        "\n"
        "The first answers are forecasts of PyTorch, eager (tidemark forecast): with the "
        "attention\n"
        "that --attention names, or else with naive attention, as the assignment's code has it, "
        "and\n"
        "with flash attention (scaled_dot_product_attention). The last answer is about tidemark's\n"
        "own model in C, which may need far less. If you train with PyTorch, use the first ones.\n"
        "\n"
        "Lists (--size, --context, --mode, --precision, ...) and several --device give a row "
        "each.\n"
        "\n"
        "With COMMAND the answer is about that command, run on a virtual card as tidemark run\n"
        "does: --vary batch=1..4096 python train.py --batch {batch}. Only the declared name in\n"
        "braces is replaced. The search makes few runs, and takes for granted that a larger value\n"
        "needs no less memory.\n"
        "\n"
        "Exit status 3: for some question PyTorch's first answer is that nothing fits. If "
        "PyTorch's\n"
        "answer is unknown (bf16-true, clipped gradients), tidemark's own counts.\n",
};

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
    const tide_workload_config *workload = &row->question.config.workload.of.model;
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
    const tide_workload_config *workload = &row->question.config.workload.of.model;
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
    tide_fit_reply reply = {.is_pytorch = true,
                            .unknown = why_unknown(&row->question.config.workload.of.model),
                            .question = row->question};
    reply.question.config.workload.of.model.emulate = TIDE_EMULATE_PYTORCH;
    if (reply.unknown != NULL || options->run.attentions.n > 0) {
        row->replies[row->n_replies++] = reply;
        return;
    }
    reply.question.config.workload.of.model.attention = TIDE_ATTENTION_NAIVE;
    row->replies[row->n_replies++] = reply;
    reply.question.config.workload.of.model.attention = TIDE_ATTENTION_FLASH;
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
    if (question->config.workload.of.model.architecture == TIDE_TRANSFORMER) {
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

/* ---- the command ---- */

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

static int answer_program(const tide_fit_options *options, const tide_operands *operands,
                          tide_program_words *words, char **argv) {
    tide_error error = {""};
    tide_status status = tide_program_words_check(
        words,
        "tidemark fit --device virtual:h100-80 --vary batch=1..64 python train.py --batch "
        "{batch}",
        &error);
    if (status == TIDE_OK) {
        status = tide_program_words_interpret(words, argv, &error);
    }
    return status == TIDE_OK ? tide_fit_program(options, &TABLE, operands, words->program)
                             : tide_cli_refuse("fit", status, &error);
}

static int run(int argc, char **argv) {
    tide_fit_options options = {
        .find = "batch", .multiple_of = 1, .program = TIDE_PROGRAM_OPTIONS_DEFAULT};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_run_options_init(&options.run);
    options.run.warmup_steps = 0;
    options.run.steps = TIDE_RUN_FIT_STEPS;
    tide_program_words words = tide_program_words_find(&TABLE, argc, argv);
    tide_operands operands;
    if (!tide_cli_parse(&TABLE, words.n_own, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (words.program != NULL) {
        return answer_program(&options, &operands, &words, argv);
    }
    if (options.varied.n > 0) {
        tide_cli_note("fit", "--vary needs a command after the options: python train.py --batch "
                             "{batch}");
        return TIDE_EXIT_USAGE;
    }
    if (tide_options_is_given(&TABLE, &operands, "max-step-ms")) {
        tide_cli_note("fit", "--max-step-ms needs --vary and a command after the options: python "
                             "train.py --batch {batch}; tidemark sweep forecasts a step of "
                             "tidemark's own model for each value of a list");
        return TIDE_EXIT_USAGE;
    }
    tide_status status = tide_program_options_refuse(&TABLE, &operands, &error);
    if (status == TIDE_OK) {
        status = check_varied(&options, &error);
    }
    if (status == TIDE_OK) {
        status =
            check_workload(&options, tide_options_is_given(&TABLE, &operands, "steps"), &error);
    }
    if (status == TIDE_OK) {
        status = tide_run_options_check(&options.run, &error);
    }
    if (status != TIDE_OK) {
        return tide_cli_refuse("fit", status, &error);
    }
    size_t n_rows =
        tide_run_options_n_runs(&options.run) * (options.devices.n > 0 ? options.devices.n : 1);
    if (n_rows > MAX_ROWS) {
        tide_cli_note("fit", "%zu rows in one table: the limit is %d", n_rows, (int)MAX_ROWS);
        return TIDE_EXIT_USAGE;
    }
    const tide_hostmem *mem = tide_hostmem_default();
    tide_fit_row *rows = tide_hostmem_zeroed(mem, n_rows, sizeof(*rows));
    if (rows == NULL) {
        return tide_cli_fail("fit", TIDE_NO_MEMORY, NULL);
    }
    exit_status = answer(&options, rows, n_rows);
    mem->release(mem->ctx, rows);
    return exit_status;
}

const tide_command tide_command_fit = {
    .name = "fit",
    .summary = "the largest batch, context or model that fits a card, without a GPU",
    .options = &TABLE,
    .run = run,
};
