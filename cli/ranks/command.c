/* tidemark ranks: one report of the ranks of a job. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/ranks/internal.h"
#include "cli/options/report_options.h"
#include "report/harmless.h"
#include "viewer/report.h"

typedef struct ranks_options {
    tide_report_options report;
    const char *group_by;
    const char *html; /* NULL: no page */
    tide_option_texts fail_if;
    uint64_t top;
} ranks_options;

#define AT(member) offsetof(ranks_options, member)
enum { USUAL_TOP = 5 };

static const char *group_at(size_t i) {
    static const char *const WORDS[] = {"role", "stage", "host", "none"};
    return i < sizeof(WORDS) / sizeof(WORDS[0]) ? WORDS[i] : NULL;
}

static const tide_option OPTIONS[] = {
    TIDE_OPTION_OF(TEXT, "group-by", "WORD", group_at, AT(group_by),
                   "which ranks should be equal: those of one role (pipeline stage and experts), "
                   "stage, host, none (all of them), or position in the process group of that "
                   "name; default role"),
    TIDE_OPTION(TEXTS, "fail-if", "CONDITION", AT(fail_if),
                "exit with status 4 if it holds, such as 'spread>5%' or 'headroom<2GiB'; may be "
                "given several times"),
    TIDE_OPTION(TEXT, "html", "OUT", AT(html),
                "also write the page of ranks to OUT: ranks and steps, timelines, two compared"),
    TIDE_OPTION(COUNT, "top", "N", AT(top), "rows in which ranks differ, for each; default 5"),
    TIDE_REPORT_ROWS(AT(report)),
};

static const tide_option_table TABLE = {
    .command = "ranks",
    .operands = "FILE...",
    .intro = "Compares the ranks of a job: who differs, who runs out first, who leaks.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = TIDE_MAX_OPERANDS,
    .notes =
        "FILE is a digest (tidemark digest), a snapshot or a pickle of PyTorch; a folder stands "
        "for\n"
        "the digests in it, or else its snapshots and pickles, and @LIST for the files that the\n"
        "file LIST names, one a line. Quantities of --fail-if: spread (of the peaks of a group, "
        "of\n"
        "its median), peak, reserved, headroom, growth; operators > >= < <=; bounds are sizes, or\n"
        "for spread and headroom percentages. docs/guide/ranks-report.md explains the report.\n",
};

/* A condition that cannot be judged fails like one that holds, but with another status. */
static tide_status judge(const tide_ranks *ranks, const tide_option_texts *conditions,
                         int *ret_exit, tide_error *error) {
    bool any_holds = false, any_unknown = false;
    char words[512];
    for (size_t i = 0; i < conditions->n; i++) {
        tide_ranks_verdict verdict;
        TIDE_TRY(tide_ranks_judge(ranks, conditions->texts[i], &verdict, error));
        any_holds = any_holds || verdict.holds;
        any_unknown = any_unknown || !verdict.is_known;
        if (verdict.holds || !verdict.is_known) {
            tide_text_harmless(verdict.words, words, sizeof(words));
            tide_cli_note("ranks", "--fail-if '%s': %s", conditions->texts[i], words);
        }
    }
    *ret_exit = any_holds ? TIDE_EXIT_GATE : any_unknown ? TIDE_EXIT_FAILURE : TIDE_EXIT_SUCCESS;
    return TIDE_OK;
}

static tide_status report_on(const tide_ranks *ranks, const ranks_options *options, int *ret_exit,
                             tide_error *error) {
    tide_report report;
    tide_ranks_verdict unused;
    for (size_t i = 0; i < options->fail_if.n; i++) { /* an error in a condition prints no report */
        TIDE_TRY(tide_ranks_judge(ranks, options->fail_if.texts[i], &unused, error));
    }
    tide_report_init(&report, "ranks");
    const tide_format format = tide_format_chosen(&options->report);
    const tide_ranks_shown shown = {(size_t)options->top,
                                    tide_format_is_for_programs(format) || format.table != NULL};
    tide_status status = tide_ranks_report(&report, ranks, &shown);
    TIDE_TRY(tide_report_end(&report, status, format, error));
    (void)fflush(stdout); /* print the report before its verdict; tide_cli_finish detects errors */
    return judge(ranks, &options->fail_if, ret_exit, error);
}

/* The page has the digests in the order of the ranks, not of the files. */
static tide_status write_page(const tide_ranks *ranks, const char *path, tide_error *error) {
    tide_arena arena;
    tide_status status = TIDE_OK;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_report_digest *texts = tide_arena_alloc(&arena, ranks->n_ranks, sizeof(*texts));
    status = texts != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 0; i < ranks->n_ranks && status == TIDE_OK; i++) {
        status =
            tide_digest_text(ranks->ranks[i].digest, &arena, &texts[i].text, &texts[i].n_bytes);
    }
    if (status == TIDE_OK) {
        status = tide_report_write_ranks(path, texts, ranks->n_ranks, error);
    }
    tide_arena_fini(&arena);
    return status;
}

static tide_status check_page(const tide_rank_files *files, const char *path, tide_error *error) {
    const tide_output output = {
        .path = path, .content = TIDE_CONTENT_PAGE, .inputs = files->paths, .n_inputs = files->n};
    return tide_output_check(&output, error);
}

static tide_status report_files(const tide_rank_files *files, const ranks_options *options,
                                tide_arena *arena, int *ret_exit, tide_error *error) {
    tide_ranks *ranks = NULL;
    const tide_digest **digests = tide_arena_alloc(arena, files->n, sizeof(const tide_digest *));
    if (digests == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (options->html != NULL) {
        TIDE_TRY(check_page(files, options->html, error));
    }
    for (size_t i = 0; i < files->n; i++) {
        tide_digest *digest = NULL;
        TIDE_TRY(tide_rank_file_read(files->paths[i], arena, &digest, error));
        digests[i] = digest;
    }
    TIDE_TRY(tide_ranks_make(digests, files->n, options->group_by, arena, &ranks, error));
    if (options->html != NULL) {
        TIDE_TRY(write_page(ranks, options->html, error));
    }
    return report_on(ranks, options, ret_exit, error);
}

static int run(int argc, char **argv) {
    ranks_options options = {.group_by = "role", .top = USUAL_TOP};
    tide_operands operands = {.n = 0};
    tide_rank_files files = {.paths = NULL};
    tide_arena arena;
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (!tide_cli_check_top("ranks", options.top)) {
        return TIDE_EXIT_USAGE;
    }
    tide_arena_init(&arena, tide_hostmem_default());
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < operands.n && status == TIDE_OK; i++) {
        status = tide_rank_files_add(&files, operands.texts[i], &arena, &error);
    }
    if (status == TIDE_OK) {
        status = report_files(&files, &options, &arena, &exit_status, &error);
    }
    tide_rank_files_fini(&files);
    tide_arena_fini(&arena);
    return tide_cli_end("ranks", status, &error, exit_status);
}

const tide_command tide_command_ranks = {
    .name = "ranks",
    .summary = "one report of the ranks of a job: who differs, who runs out first, who leaks",
    .options = &TABLE,
    .run = run,
};
