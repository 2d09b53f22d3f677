/* tidemark check-reference: compares this build with recorded PyTorch results. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options/report_options.h"
#include "model/commands/commands.h"
#include "model/commands/options/model_choices.h"
#include "common/hostmem.h"
#include "common/text/plural.h"
#include "device/device.h"
#include "model/reference/reference.h"
#include "report/table.h"

#define COMMAND "check-reference"

enum { N_RUNS = TIDE_N_ATTENTIONS * TIDE_N_RECOMPUTES, TEXT_BYTES = 64 };

typedef struct check_options {
    const char *device;         /* a spec for tide_device_open */
    const char *attention;      /* NULL: both */
    const char *recompute;      /* NULL: both */
    const char *precision;      /* NULL: the file's */
    tide_report_options report; /* how the report is printed */
    bool worst_first;           /* order rows by error over tolerance */
} check_options;

static const char *device_at(size_t i) {
    static const char *const DEVICES[] = {"cpu", "cuda"};
    return i < sizeof(DEVICES) / sizeof(DEVICES[0]) ? DEVICES[i] : NULL;
}

#define AT(member) offsetof(check_options, member)

static const tide_option OPTIONS[] = {
    TIDE_OPTION_OF(TEXT, "device", "DEVICE", device_at, AT(device), "what computes; default cpu"),
    TIDE_OPTION_OF(CHOICE, "attention", NULL, tide_choice_attention, AT(attention),
                   "default: both, one after the other"),
    TIDE_OPTION_OF(CHOICE, "recompute", NULL, tide_choice_recompute, AT(recompute),
                   "default: both, one after the other"),
    TIDE_OPTION_OF(CHOICE, "precision", NULL, tide_choice_precision, AT(precision),
                   "what to compute in; default what the file says. An fp32 file is compared in "
                   "bf16 and tf32 too"),
    TIDE_OPTION(FLAG, "worst-first", NULL, AT(worst_first),
                "order the rows by error over tolerance, largest first"),
    TIDE_REPORT_ROWS(AT(report)),
};

static const tide_option_table TABLE = {
    .command = COMMAND,
    .operands = "FILE.safetensors",
    .intro =
        "Builds the transformer of the file, gives it the file's parameters and batch, and\n"
        "compares logits, loss, every gradient, and parameters and loss after the file's AdamW\n"
        "steps with what PyTorch computed: relative errors in the L2 norm. Exit status 4 when one\n"
        "is beyond its tolerance.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
    .notes =
        "Rows: logits, loss; grad/NAME; step/NAME: how far the steps moved a parameter, beyond\n"
        "what the sign of tiny gradients decides; param/NAME: the parameter itself; loss_after.\n"
        "tests/reference/make_reference.py makes more files. In bf16 the tolerances are those of "
        "its\n"
        "8 significant bits; files of make_storage_reference.py are rounded where this program\n"
        "rounds, and are compared as fp32 is.\n",
};

/* The runs of one file: all reports have the same rows. */
typedef struct check_runs {
    size_t n;                              /* runs made */
    char names[N_RUNS][TEXT_BYTES];        /* "flash_none": the key of the column */
    tide_reference_report reports[N_RUNS]; /* owned; n of them */
    size_t *order;                         /* owned; rows as they are printed */
} check_runs;

/* Error over tolerance in the worst run, by which --worst-first orders the rows. */
static double badness(const check_runs *runs, size_t row) {
    double worst = 0;
    for (size_t r = 0; r < runs->n; r++) {
        const tide_reference_row *found = &runs->reports[r].rows[row];
        double ratio = found->error <= found->tolerance * 1e9 ? found->error / found->tolerance
                                                              : 1e9; /* also NaN */
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

/* Insertion sort, because it is stable and there are at most a few thousand rows. */
static void order_worst_first(const check_runs *runs) {
    for (size_t i = 1; i < runs->reports[0].n_rows; i++) {
        size_t row = runs->order[i];
        double bad = badness(runs, row);
        size_t at = i;
        for (; at > 0 && badness(runs, runs->order[at - 1]) < bad; at--) {
            runs->order[at] = runs->order[at - 1];
        }
        runs->order[at] = row;
    }
}

static tide_status make_order(check_runs *runs, bool worst_first, tide_error *error) {
    size_t n_rows = runs->reports[0].n_rows;
    const tide_hostmem *mem = tide_hostmem_default();
    runs->order = tide_hostmem_zeroed(mem, n_rows, sizeof(*runs->order));
    if (runs->order == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the table");
    }
    for (size_t i = 0; i < n_rows; i++) {
        runs->order[i] = i;
    }
    if (worst_first) {
        order_worst_first(runs);
    }
    return TIDE_OK;
}

static void add_result(tide_table *table, const check_runs *runs, size_t row) {
    const tide_reference_row *first = &runs->reports[0].rows[row];
    bool ok = true;
    double tolerance = first->tolerance;
    TIDE_ROW(table, tide_as_text(first->name));
    for (size_t r = 0; r < runs->n; r++) {
        const tide_reference_row *found = &runs->reports[r].rows[row];
        TIDE_CELLS(table, tide_as_error(found->error));
        ok = ok && found->ok;
        tolerance = found->tolerance > tolerance ? found->tolerance : tolerance;
    }
    TIDE_CELLS(table, tide_as_error(tolerance), tide_as_text(ok ? "yes" : "NO"));
}

static void add_figures(tide_report *report, const check_runs *runs) {
    int64_t n_beyond = 0;
    for (size_t r = 0; r < runs->n; r++) {
        n_beyond += (int64_t)runs->reports[r].n_failed;
    }
    tide_report_figure_count(report, "results", (int64_t)runs->reports[0].n_rows);
    tide_report_figure_count(report, "combinations", (int64_t)runs->n);
    tide_report_figure_count(report, "beyond_tolerance", n_beyond);
}

static void add_table(tide_report *report, const check_runs *runs) {
    tide_table *table =
        tide_report_table(report, "results", "relative errors against the reference");
    tide_table_column(table, "result", "result", false);
    for (size_t r = 0; r < runs->n; r++) {
        char title[TEXT_BYTES];
        (void)snprintf(title, sizeof(title), "%s", runs->names[r]);
        char *underscore = strchr(title, '_');
        if (underscore != NULL) {
            *underscore = ' ';
        }
        tide_table_column(table, runs->names[r], title, true);
    }
    TIDE_COLUMNS(table, TIDE_NUMBER("tolerance", "tolerance"), TIDE_TEXT("ok", "ok"));
    for (size_t i = 0; i < runs->reports[0].n_rows; i++) {
        add_result(table, runs, runs->order[i]);
    }
}

static void add_shape(tide_report *report, const check_options *options,
                      const tide_reference_info *info, const char *path) {
    const tide_model_config *model = &info->model;
    tide_report_say(
        report, "reference",
        "%s: %s%s%s%s, vocabulary %zu, context %zu, d_model %zu, %zu %s, %zu %s, d_ff %zu, "
        "batch %zu, %llu AdamW %s",
        path, tide_precision_name((int)info->precision), info->own_storage ? " as stored here" : "",
        options->precision == NULL ? "" : ", run in ",
        options->precision == NULL ? "" : options->precision, model->vocab_size,
        model->context_length, model->d_model, model->n_layers,
        tide_plural(model->n_layers, "layer", "layers"), model->n_heads,
        tide_plural(model->n_heads, "head", "heads"), model->d_ff, model->batch_size,
        (unsigned long long)info->steps, tide_plural(info->steps, "step", "steps"));
}

/* Runs every requested combination. TIDE_GATE if a result of one is beyond its tolerance; the first
 * such message is kept. */
static tide_status run_all(const check_options *options, const tide_reference *reference,
                           tide_device *device, check_runs *runs, tide_error *error) {
    tide_status result = TIDE_OK;
    tide_precision precision = tide_reference_get_info(reference)->precision;
    if (options->precision != NULL) {
        precision = (tide_precision)tide_precision_from_name(options->precision);
    }
    for (size_t i = 0; i < N_RUNS; i++) {
        tide_attention attention = (tide_attention)(i / TIDE_N_RECOMPUTES);
        tide_recompute recompute = (tide_recompute)(i % TIDE_N_RECOMPUTES);
        const char *attention_name = tide_attention_name((int)attention);
        const char *recompute_name = tide_recompute_name((int)recompute);
        if ((options->attention != NULL && strcmp(options->attention, attention_name) != 0) ||
            (options->recompute != NULL && strcmp(options->recompute, recompute_name) != 0)) {
            continue;
        }
        (void)snprintf(runs->names[runs->n], TEXT_BYTES, "%s_%s", attention_name, recompute_name);
        const tide_reference_run run = {.device = device,
                                        .attention = attention,
                                        .recompute = recompute,
                                        .precision = &precision};
        tide_error run_error = {""};
        tide_status status =
            tide_reference_check(reference, &run, &runs->reports[runs->n], &run_error);
        if (status != TIDE_OK && result == TIDE_OK) {
            *error = run_error;
            if (status == TIDE_GATE) { /* otherwise the failure is unrelated to this combination */
                tide_error_prefix(error, "attention %s, recompute %s", attention_name,
                                  recompute_name);
            }
        }
        if (status != TIDE_OK && status != TIDE_GATE) {
            return status;
        }
        result = result == TIDE_OK ? status : result;
        runs->n++;
    }
    return result;
}

static int print(const check_options *options, const tide_reference *reference, const char *path,
                 check_runs *runs, tide_error *error) {
    tide_status status = make_order(runs, options->worst_first, error);
    if (status == TIDE_OK) {
        tide_report report;
        tide_report_init(&report, "check-reference");
        add_figures(&report, runs);
        add_shape(&report, options, tide_reference_get_info(reference), path);
        add_table(&report, runs);
        status = tide_report_end(&report, TIDE_OK, tide_format_chosen(&options->report), error);
    }
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, runs->order);
    return tide_cli_end(COMMAND, status, error, TIDE_EXIT_SUCCESS);
}

static int check_file(const check_options *options, const char *path) {
    tide_error error = {""};
    tide_reference *reference = NULL;
    tide_device *device = NULL;
    check_runs runs = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_status status = tide_reference_open(tide_hostmem_default(), path, &reference, &error);
    if (status == TIDE_OK) {
        status = tide_device_open(options->device, NULL, &device, &error);
    }
    if (status == TIDE_OK) {
        status = run_all(options, reference, device, &runs, &error);
    }
    if (status == TIDE_OK || status == TIDE_GATE) {
        tide_error print_error = {""};
        exit_status = print(options, reference, path, &runs, &print_error);
    }
    if (status != TIDE_OK && exit_status == TIDE_EXIT_SUCCESS) {
        exit_status = tide_cli_fail(COMMAND, status, &error);
    }
    for (size_t r = 0; r < runs.n; r++) {
        tide_reference_report_fini(&runs.reports[r]);
    }
    tide_device_close(device);
    tide_reference_close(reference);
    return exit_status;
}

static int run(int argc, char **argv) {
    check_options options = {.device = "cpu"};
    tide_operands operands;
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    return check_file(&options, operands.texts[0]);
}

const tide_command tide_command_check_reference = {
    .name = COMMAND,
    .summary = "compare this build with recorded PyTorch results",
    .options = &TABLE,
    .run = run,
};
