/* tidemark explain: the answer in a few sentences. */
#include <string.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "cli/options/report_options.h"
#include "cli/summary/verdict.h"
#include "snapshot/kinds/file_answer.h"

typedef struct explain_options {
    tide_report_options report; /* how the report is printed */
    tide_summary_choice choice; /* the device */
    tide_load_options load;     /* how the file is read */
} explain_options;

#define AT(member) offsetof(explain_options, member)

static const tide_option OPTIONS[] = {
    TIDE_REPORT_ROWS(AT(report)),
    TIDE_OPTION(COUNT, "device", "N", AT(choice.device),
                "number of the device; default the one with the highest peak"),
    TIDE_LOAD_ROWS(AT(load)),
};

static const tide_option_table TABLE = {
    .command = "explain",
    .operands = "FILE",
    .intro = "Says in a few sentences where the memory of a run goes: whether it ran out\n"
             "of memory and why, what grows, what fills the peak, what would help,\n"
             "and what the file cannot show. FILE is a snapshot of tidemark's or PyTorch's,\n"
             "a page with one in it, or a log with the message of a request that found no\n"
             "memory; see docs/guide/files.md.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
};

static void add_figures(const tide_summary_view *of) {
    const tide_summary_device *device = of->device;
    tide_report_figure_count(of->report, "device", (int64_t)of->device_number);
    tide_report_figure_bytes(of->report, "allocated_peak_bytes",
                             tide_summary_peak_bytes(of, TIDE_MAX_ALLOCATED));
    tide_report_figure_bytes(of->report, "reserved_peak_bytes",
                             tide_summary_peak_bytes(of, TIDE_MAX_RESERVED));
    tide_report_figure_count(of->report, "ooms", device->n_oom);
    tide_summary_fits(of);
}

static tide_status say_all(const tide_summary_view *of, tide_error *error) {
    tide_verdict verdict;
    add_figures(of);
    tide_status status = tide_verdict_init(&verdict, of);
    if (status == TIDE_OK) {
        tide_report_figure_bytes(of->report, "named_peak_bytes", verdict.lines.named_bytes);
        status = tide_say_verdict(of, &verdict);
    }
    if (status == TIDE_OK && !tide_snapshot_lacks_peak(of->snapshot)) {
        status = tide_say_help(of, &verdict, error); /* otherwise there is nothing with which to
                                                        compare a replay */
    }
    if (status == TIDE_OK) {
        tide_say_rest(of, &verdict);
        if (of->is_for_programs) {
            tide_add_facts(of, &verdict);
        }
    }
    tide_verdict_fini(&verdict);
    return status;
}

static tide_status report_on(const tide_snapshot *snapshot, const char *path,
                             const explain_options *options, tide_error *error) {
    if (snapshot->n_devices == 0) {
        return tide_fail(error, TIDE_FORMAT, "'%s' records no device", path);
    }
    tide_report report;
    tide_summary_view of;
    const tide_format format = tide_format_chosen(&options->report);
    tide_report_init(&report, "explain");
    tide_status status = tide_summary_view_init(&of, &report, snapshot, &options->choice, error);
    of.is_for_programs = tide_format_is_for_programs(format) || format.table != NULL;
    if (status == TIDE_OK) {
        status = say_all(&of, error);
    }
    status = tide_report_end(&report, status, format, error);
    tide_summary_view_fini(&of);
    return status;
}

/* A file that is not a snapshot, but says something about memory. */
static tide_status report_answer(const tide_file_answer *answer, const explain_options *options,
                                 tide_error *error) {
    tide_report report;
    tide_report_init(&report, "explain");
    for (size_t i = 0; i < answer->n_figures; i++) {
        const char *key = answer->figures[i].key;
        bool is_bytes = strstr(key, "_bytes") != NULL;
        (is_bytes ? tide_report_figure_bytes : tide_report_figure_count)(&report, key,
                                                                         answer->figures[i].value);
    }
    for (size_t i = 0; i < answer->n_sentences; i++) {
        tide_report_say(&report, answer->sentences[i].key, "%s", answer->sentences[i].text);
    }
    tide_shorten_answer(&report, false);
    return tide_report_end(&report, TIDE_OK, tide_format_chosen(&options->report), error);
}

static tide_status explain_snapshot(const char *path, const explain_options *options,
                                    tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_status status = tide_cli_load(path, &options->load, &snapshot, error);
    if (status == TIDE_OK) {
        status = report_on(snapshot, path, options, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

static tide_status explain(const char *path, const explain_options *options, tide_error *error) {
    tide_file_answer answer;
    bool is_answered = false;
    tide_file_answer_init(&answer, tide_hostmem_default());
    tide_status status = tide_file_answer_read(path, &answer, &is_answered, error);
    if (status == TIDE_OK) {
        status = is_answered ? report_answer(&answer, options, error)
                             : explain_snapshot(path, options, error);
    }
    tide_file_answer_fini(&answer);
    return status;
}

static int run(int argc, char **argv) {
    explain_options options = {.choice = {.device = TIDE_ANY_DEVICE}};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    tide_error error = {""};
    tide_status status = explain(operands.texts[0], &options, &error);
    return tide_cli_end("explain", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_explain = {
    .name = "explain",
    .summary = "the answer in a few sentences: out of memory, peak, growth, what helps",
    .options = &TABLE,
    .run = run,
};
