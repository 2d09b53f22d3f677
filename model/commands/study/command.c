/* tidemark study: common questions about a training step. Each study is a preset of runs with
 * tables and a conclusion made of their numbers. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/options/report_options.h"
#include "model/commands/commands.h"
#include "model/commands/options/model_options.h"
#include "model/commands/study/internal.h"
#include "common/text/nearest.h"
#include "common/text/plural.h"
#include "common/text/text.h"

static const tide_study *const STUDIES[] = {
    &tide_study_end_to_end, &tide_study_warmup,       &tide_study_precision,
    &tide_study_memory,     &tide_study_kernels,      &tide_study_parameters,
    &tide_study_residuals,  &tide_study_accumulation, &tide_study_assignment,
};

enum {
    N_STUDIES = sizeof(STUDIES) / sizeof(STUDIES[0]),
    USED_BYTES = 256 /* room for the names of the options of a study */
};

enum { RUN = offsetof(tide_study_options, run) };

#define AT(member) offsetof(tide_study_options, member)

/* The models that a study may be about. */
static const char *workload_at(size_t i) {
    static const char *const NAMES[] = {"transformer", "mlp"};
    return i < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[i] : NULL;
}

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Options that replace values of the study"},
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICE, RUN, workload, .name = "workload", .choice_at = workload_at,
                    .help = "study kernels: mlp is about linear layers with GELU, of the shape "
                            "--d-model 256, --layers 4 and --batch 256; default transformer"),
    TIDE_OPTION_ROW_SIZE(RUN, ""),
    TIDE_OPTION_ROW_DIMENSIONS(RUN),
    TIDE_OPTION_ROW_BATCH(RUN, ""),
    TIDE_OPTION_ROW_CONTEXT(RUN, ""),
    TIDE_OPTION_ROW_MODE(RUN, ""),
    TIDE_OPTION_ROW_ONLY_FORWARD(RUN),
    TIDE_OPTION_ROW_PRECISION(RUN,
                              "types of the numbers; bf16 means bf16-mixed, fp16 means fp16-mixed"),
    TIDE_OPTION_ROW_MIXED_PRECISION(RUN),
    TIDE_OPTION_ROW_ATTENTION(RUN, "attention operator"),
    TIDE_OPTION_ROW_RECOMPUTE(RUN, "block keeps only the input of each block for backward"),
    TIDE_OPTION_ROW_DEVICE(RUN, "device to run on; auto is the best real one"),
    TIDE_OPTION_ROW_MEMORY_LIMIT(RUN, ""),
    TIDE_OPTION_ROW_SPILL(RUN),
    TIDE_OPTION_ROW_ALLOC_CONF(RUN),
    TIDE_OPTION_ROW_SEED(RUN),
    {TIDE_OPTION_COUNTS, "warmup", NULL, "N", "steps before the measured ones", "warmup-steps",
     NULL, NULL, AT(warmups), NULL, NULL},
    TIDE_OPTION_ROW_STEPS(RUN, ""),
    TIDE_OPTION(COUNT, "repeat", "R", AT(repeats),
                "studies end-to-end, warmup and precision: run each case R times, with a row for "
                "each and their average; default 1"),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {TIDE_OPTION_TEXT, "output", "o", "FOLDER",
     "of study assignment: the new or empty folder for its files; default assignment", NULL, NULL,
     NULL, AT(run.output), NULL, NULL},
    TIDE_REPORT_ROWS(AT(run.report)),
};

static const char *study_at(const void *ctx, size_t i) {
    (void)ctx;
    return i < N_STUDIES ? STUDIES[i]->name : NULL;
}

static const tide_option_table TABLE = {
    .command = "study",
    .operands = "[NAME]",
    .intro = "Answers one question by a preset of runs: prints tables and a conclusion drawn from\n"
             "their numbers. Without a name it lists the studies.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = 1,
    .unneeded = TIDE_RUN_UNNEEDED_OPTIONS,
    .notes =
        "Each option replaces one value of the preset, so that a small machine can run every\n"
        "study: --size small --steps 3. Lists are comma-separated. Runs that do not fit, or\n"
        "that the device cannot compute, are named with their reason; an option that the\n"
        "study does not use is refused.\n"
        "\n"
        "After Ctrl-C (or SIGTERM, SIGHUP) the study reports the finished runs and says how many\n"
        "are missing.\n",
};

/* ---- the list ---- */

static int list_studies(tide_format format) {
    tide_error error = {""};
    tide_report report;
    tide_report_init(&report, "study");
    tide_report_figure_count(&report, "studies", N_STUDIES);
    tide_table *table = tide_report_table(&report, "studies", "studies");
    TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_TEXT("question", "question"));
    for (size_t i = 0; i < N_STUDIES; i++) {
        TIDE_ROW(table, tide_as_text(STUDIES[i]->name), tide_as_text(STUDIES[i]->summary));
    }
    tide_status status = tide_report_end(&report, TIDE_OK, format, &error);
    return tide_cli_end("study", status, &error, TIDE_EXIT_SUCCESS);
}

/* ---- the study ---- */

/* Writes "--size, --d-model and --config" for "size d-model config", and "only those of the output"
 * for none. */
static void name_options(const char *names, char ret_text[USED_BYTES]) {
    tide_text to = tide_text_in(ret_text, USED_BYTES);
    while (*names != '\0') {
        size_t n = strcspn(names, " ");
        bool is_last = names[n] == '\0';
        tide_text_add_item(&to, is_last ? " and " : ", ", "--%.*s", (int)n, names);
        names += is_last ? n : n + 1;
    }
    if (ret_text[0] == '\0') {
        tide_text_add(&to, "only the options of the output");
    }
}

/* TIDE_INVALID names an option that the study does not use. NULL: no study is named, and the
 * studies are listed. */
static tide_status check_used(const tide_study *study, const tide_operands *operands,
                              tide_error *error) {
    if (study == NULL) {
        const tide_option *other = tide_options_find_unused(&TABLE, operands, TIDE_REPORT_OPTIONS);
        return other == NULL
                   ? TIDE_OK
                   : tide_fail(error, TIDE_INVALID,
                               "--%s needs the name of a study: tidemark study lists them",
                               other->name);
    }
    if (!study->takes_workload && tide_options_is_given(&TABLE, operands, "workload")) {
        return tide_fail(
            error, TIDE_INVALID,
            "--workload has no effect on study %s, which is about a transformer: study "
            "kernels takes it",
            study->name);
    }
    if (study->takes == NULL) {
        return !tide_options_is_given(&TABLE, operands, "output")
                   ? TIDE_OK
                   : tide_fail(error, TIDE_INVALID,
                               "-o: study %s writes no files; print it to one: tidemark study %s > "
                               "FILE",
                               study->name, study->name);
    }
    char used[USED_BYTES];
    (void)snprintf(used, sizeof(used), "%s " TIDE_REPORT_OPTIONS, study->takes);
    const tide_option *other = tide_options_find_unused(&TABLE, operands, used);
    if (other == NULL) {
        return TIDE_OK;
    }
    char taken[USED_BYTES];
    name_options(study->takes, taken);
    return tide_fail(error, TIDE_INVALID, "--%s has no effect on study %s: it takes %s",
                     other->name, study->name, taken);
}

/* Prints on stderr the runs that an interruption skipped. */
static void tell_missing(const tide_study_work *work) {
    if (tide_interrupt_signal() != 0 && work->n_run < work->n_cells) {
        tide_cli_note("study",
                      "%zu of %zu runs are missing from the tables; a study cannot be resumed, but "
                      "tidemark sweep keeps its rows in a file and continues with --resume",
                      work->n_cells - work->n_run, work->n_cells);
    }
}

static int64_t n_completed(const tide_study_work *work) {
    int64_t n = 0;
    for (size_t i = 0; i < work->n_run; i++) {
        n += work->cells[i].result.outcome == TIDE_OUTCOME_COMPLETED;
    }
    return n;
}

static int run_study(const tide_study *study, tide_study_options *options,
                     const tide_operands *operands, tide_format format) {
    tide_error error = {""};
    tide_study_work work = {.study = study};
    tide_status status = check_used(study, operands, &error);
    if (status != TIDE_OK) {
        return tide_cli_fail("study", status, &error);
    }
    status = tide_study_make(study, options, &work, &error);
    if (status == TIDE_OK) {
        tide_report_figure_count(&work.report, "runs", (int64_t)work.n_cells);
        tide_report_figure_count(&work.report, "completed_runs", n_completed(&work));
    }
    status = tide_report_end(&work.report, status, format, &error);
    tell_missing(&work);
    int exit_status = status == TIDE_OK ? tide_cli_finish("study", tide_study_exit_status(&work))
                                        : tide_cli_refuse("study", status, &error);
    tide_study_work_fini(&work);
    return exit_status;
}

static int unknown_study(const char *name) {
    const tide_words studies = {.word_at = study_at};
    char text[TIDE_NEAREST_TEXT];
    tide_cli_note("study", "unknown study %s", tide_unknown_word(&studies, name, text));
    return TIDE_EXIT_USAGE;
}

static int run(int argc, char **argv) {
    tide_study_options options = {.repeats = 1};
    tide_operands operands;
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_model_options_init(&options.run);
    options.run.device = NULL;
    options.run.seed = TIDE_NOT_GIVEN;
    options.run.steps = TIDE_NOT_GIVEN;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    tide_format form = tide_format_chosen(&options.run.report);
    if (operands.n == 0) {
        tide_error error = {""};
        tide_status status = check_used(NULL, &operands, &error);
        return status == TIDE_OK ? list_studies(form) : tide_cli_fail("study", status, &error);
    }
    for (size_t i = 0; i < N_STUDIES; i++) {
        if (strcmp(STUDIES[i]->name, operands.texts[0]) == 0) {
            return run_study(STUDIES[i], &options, &operands, form);
        }
    }
    return unknown_study(operands.texts[0]);
}

const tide_command tide_command_study = {
    .name = "study",
    .summary = "one question answered by a preset of runs: memory, times, parameters ...",
    .options = &TABLE,
    .run = run,
};
