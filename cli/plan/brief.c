/* The report of a plan: everything for programs, a screen for people. */
#include "cli/plan/internal.h"

enum {
    TABLE_LINES = 4, /* besides its rows: blank lines around it, the title and the head */
    FEW_ROWS = 3,    /* of the table, if lines to paste need the rest */
    FEW_LINES = 3    /* to paste, if even these have no room */
};

static void make(const tide_plan_report_input *input, bool wants_runs, tide_report *report) {
    tide_plan_report_answer(input, report);
    tide_plan_report_tables(input, wants_runs, report);
    tide_plan_report_left_out(input, report);
}

static size_t count_texts(const tide_report *report) {
    const char *key = NULL;
    size_t n = 0;
    while (tide_report_sentence_at(report, n, &key) != NULL) {
        n++;
    }
    return n;
}

/* Lines that the first answer has to paste. */
static size_t count_paste(const tide_plan *plan) {
    const tide_plan_answer *best = plan->safe.has_best ? &plan->safe : &plan->all;
    tide_plan_paste paste;
    if (!best->has_best || best->set == 0) {
        return 0;
    }
    tide_plan_paste_init(&paste, plan, best);
    size_t n = paste.n_lines;
    tide_plan_paste_fini(&paste);
    return n;
}

/* What the sentences leave goes to the table's rows and to lines to paste. */
static void share_lines(tide_plan_report_input *input) {
    const tide_plan *plan = input->plan;
    tide_report report;
    size_t n_alone = plan->options->allowed.n_names == 0 ? tide_plan_count_alone(plan) : 0;
    size_t n_paste = count_paste(plan);
    input->n_paste = input->n_rows = 0;
    tide_report_init(&report, "plan");
    make(input, false, &report);
    size_t n_used = count_texts(&report) + (n_alone > 0 ? TABLE_LINES : 0);
    tide_report_fini(&report);
    size_t n_left = TIDE_PLAN_LINES > n_used ? TIDE_PLAN_LINES - n_used : 0;
    size_t n_rows = n_left > n_paste ? n_left - n_paste : 0;
    size_t n_kept = n_paste < FEW_LINES ? n_paste : FEW_LINES;
    n_rows = n_rows < FEW_ROWS ? FEW_ROWS : n_rows;
    n_rows = n_rows + n_kept <= n_left ? n_rows : n_left > n_kept ? n_left - n_kept : 0;
    input->n_rows = n_rows < n_alone ? n_rows : n_alone;
    input->n_paste = n_left - input->n_rows;
}

void tide_plan_report(const tide_plan_report_input *input, bool is_whole, tide_report *report) {
    tide_plan_report_input used = *input;
    used.is_brief = !is_whole;
    used.n_paste = used.n_rows = SIZE_MAX;
    if (!is_whole) {
        share_lines(&used);
    }
    make(&used, is_whole, report);
}
