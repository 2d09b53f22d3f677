/* The lines that made the changes of an answer: all of them, or those that fit a screen. */
#include <stdio.h>
#include <string.h>

#include "cli/plan/internal.h"
#include "common/text/plural.h"
#include "programs/plan/facts.h"

static size_t count_lines(const char *text) {
    size_t n = 0;
    for (const char *at = text; *at != '\0'; n++) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return n;
}

/* A comment with the place is a line of its own, unless the lines have one before each part. */
static bool names_place(const tide_plan_paste_row *row) {
    return row->place[0] != '\0' && strncmp(row->lines, "# at ", strlen("# at ")) != 0;
}

void tide_plan_paste_init(tide_plan_paste *paste, const tide_plan *plan,
                          const tide_plan_answer *answer) {
    const char *path = plan->runs.rows[answer->row].snapshot_path;
    *paste = (tide_plan_paste){.n = 0};
    if (tide_snapshot_load(path, NULL, &paste->snapshot, NULL) != TIDE_OK) {
        return; /* it was loaded before, when the run ended */
    }
    for (size_t i = 0; i < plan->n_combined; i++) {
        const tide_plan_candidate *candidate = &plan->candidates.rows[plan->combined[i]];
        const char *lines = tide_plan_fact(paste->snapshot, "lines", candidate->name);
        const char *place = tide_plan_fact(paste->snapshot, "place", candidate->name);
        if (tide_plan_has(answer->set, i) && lines != NULL && lines[0] != '\0') {
            tide_plan_paste_row *row = &paste->rows[paste->n++];
            *row = (tide_plan_paste_row){candidate->name, lines, place != NULL ? place : "", 0};
            row->n_lines = count_lines(lines) + names_place(row);
            paste->n_lines += row->n_lines;
        }
    }
}

void tide_plan_paste_fini(tide_plan_paste *paste) {
    tide_snapshot_destroy(paste->snapshot);
    *paste = (tide_plan_paste){.n = 0};
}

void tide_plan_paste_row_add(const tide_plan_paste_row *row, const char *indent, tide_text *to) {
    if (names_place(row)) {
        bool is_before = strncmp(row->place, "before ", strlen("before ")) == 0;
        tide_text_add(to, "%s# %s%s\n", indent, is_before ? "" : "after ", row->place);
    }
    for (const char *at = row->lines; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        tide_text_add(to, "%s%.*s\n", indent, (int)n, at);
        at += n + (at[n] == '\n');
    }
}

/* Each line is a sentence. */
static void say_row(const tide_plan_paste_row *row, tide_report *report) {
    if (names_place(row)) {
        bool is_before = strncmp(row->place, "before ", strlen("before ")) == 0;
        tide_report_say(report, "paste", "    # %s%s", is_before ? "" : "after ", row->place);
    }
    for (const char *at = row->lines; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        tide_report_say(report, "paste", "    %.*s", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

/* Where the lines are that have no room. */
static const char *elsewhere(const tide_plan_report_input *input, tide_report *report) {
    return input->keeps_files
               ? tide_report_text(report, "in %s/" TIDE_PLAN_PAGE, input->folder)
               : "--format json prints them, and -o FOLDER keeps them in " TIDE_PLAN_PAGE;
}

void tide_plan_report_paste(const tide_plan_report_input *input, const tide_plan_paste *paste,
                            tide_report *report) {
    size_t n_most = input->n_paste;
    bool is_whole = paste->n_lines <= n_most;
    size_t n_room = is_whole ? n_most : n_most - (n_most > 0); /* a line says what is missing */
    size_t n_missing = 0;
    const char *missing = "";
    for (size_t i = 0; i < paste->n; i++) {
        const tide_plan_paste_row *row = &paste->rows[i];
        if (row->n_lines <= n_room) {
            say_row(row, report);
            n_room -= row->n_lines;
        } else {
            missing = tide_report_text(report, "%s%s%s", missing, missing[0] != '\0' ? ", " : "",
                                       row->name);
            n_missing += row->n_lines;
        }
    }
    if (n_missing > 0 && n_most > 0) {
        tide_report_say(report, "paste", "    # %zu %s of %s: %s", n_missing,
                        tide_plural(n_missing, "line", "lines"), missing, elsewhere(input, report));
    }
}
