/* The page of a plan: one file without scripts and without other files, but for links to the
 * snapshots beside it. */
#include <stdio.h>
#include <string.h>

#include "cli/plan/internal.h"
#include "common/files/output_file.h"
#include "common/files/text_file.h"
#include "common/hostmem.h"
#include "common/text/bytes.h"
#include "common/text/milliseconds.h"
#include "programs/runs/outcome.h"

enum {
    PICTURE_BYTES = 16 << 20, /* of a picture that is read back, at most */
    WORDS_BYTES = 1024
};

/* The colours are those of the viewer's pages. */
static const char HEAD[] =
    "<style>\n"
    ":root{color-scheme:light dark;--bg:#fff;--page:#f4f5f7;--ink:#1b1f26;--muted:#5d6673;"
    "--line:#dcdfe5;--accent:#2463c9;--fits:#0a6b3d}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);"
    "font:14px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
    "main{max-width:1180px;margin:0 auto;padding:20px 16px 48px}\n"
    "h1{font-size:22px;margin:0 0 12px;overflow-wrap:anywhere}\n"
    "h2{font-size:16px;margin:28px 0 8px}\n"
    "p,li{max-width:96ch;overflow-wrap:anywhere}\n"
    ".answer p:first-child{font-size:16px;font-weight:600}\n"
    ".answer p,.rest p{margin:0 0 6px}\n"
    ".more{color:var(--muted);padding-left:16px}\n"
    "figure,.scroll,pre{margin:0;background:var(--bg);border:1px solid var(--line);"
    "border-radius:8px;overflow-x:auto}\n"
    "figure svg{display:block;max-width:100%;min-width:620px;height:auto;margin:0 auto}\n"
    "pre{padding:12px;font:13px/1.5 ui-monospace,'DejaVu Sans Mono',monospace;margin-bottom:10px}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:6px 10px;text-align:left;vertical-align:top;border-bottom:1px solid "
    "var(--line)}\n"
    "th{color:var(--muted);font-weight:600}\n"
    "tr:last-child td{border-bottom:0}\n"
    "td{overflow-wrap:anywhere}\n"
    ".n{text-align:right;white-space:nowrap}\n"
    "td[data-name=snapshot]{white-space:nowrap}\n"
    ".yes{color:var(--fits);font-weight:600}\n"
    "a{color:var(--accent)}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#181b21;--page:#101216;--ink:#e8eaee;"
    "--muted:#9ba4b2;--line:#2e343e;--accent:#7aa7f5;--fits:#6fcf97}"
    "figure{background:#000}figure svg{filter:invert(1) hue-rotate(180deg)}}\n"
    "@media (max-width:720px){thead{display:none}tr{display:block;padding:8px 0;border-bottom:1px "
    "solid var(--line)}td{display:flex;gap:12px;padding:2px 12px;border:0;text-align:left}"
    "td.n{text-align:left;white-space:normal}td:empty{display:none}"
    "td::before{content:attr(data-name);flex:0 0 92px;color:var(--muted);font-weight:400}}\n"
    "</style>\n";

/* ---- writing ---- */

static void put(tide_output_file *file, const char *text) {
    (void)tide_output_file_write(file, text, strlen(text)); /* commit reports a failure */
}

/* Text as text: no character of it is a command of the page. */
static void put_text(tide_output_file *file, const char *text) {
    for (const char *at = text; *at != '\0'; at++) {
        const char *as = *at == '&'    ? "&amp;"
                         : *at == '<'  ? "&lt;"
                         : *at == '>'  ? "&gt;"
                         : *at == '"'  ? "&quot;"
                         : *at == '\'' ? "&#39;"
                                       : NULL;
        bool is_control = (unsigned char)*at < 0x20 && *at != '\n' && *at != '\t';
        if (as != NULL || is_control) {
            put(file, as != NULL ? as : "?");
        } else {
            (void)tide_output_file_write(file, at, 1);
        }
    }
}

static void put_element(tide_output_file *file, const char *begin, const char *text,
                        const char *end) {
    put(file, begin);
    put_text(file, text);
    put(file, end);
}

/* ---- sentences ---- */

/* Whether a sentence is part of the answer; the others say what was left out, and what it cost. */
static bool is_answer(const char *key) {
    static const char *const KEYS[] = {"answer", "best", "unneeded", "patch", "also", "allowed"};
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        if (strcmp(key, KEYS[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Those that explain the one before are indented. */
static void put_sentences(tide_output_file *file, const tide_report *report, bool of_answer) {
    const char *key = NULL;
    const char *text = NULL;
    put(file, of_answer ? "<section class=\"answer\">\n" : "<section class=\"rest\">\n");
    for (size_t i = 0; (text = tide_report_sentence_at(report, i, &key)) != NULL; i++) {
        if (is_answer(key) == of_answer && strcmp(key, "paste") != 0) {
            bool is_more = text[0] == ' ';
            put_element(file, is_more ? "<p class=\"more\">" : "<p>", text + strspn(text, " "),
                        "</p>\n");
        }
    }
    put(file, "</section>\n");
}

/* ---- lines to paste ---- */

static tide_status put_lines(tide_output_file *file, const tide_plan_paste_row *row,
                             const tide_plan *plan) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_room = strlen(row->lines) + strlen(row->place) + row->n_lines + WORDS_BYTES;
    char *bytes = mem->alloc(mem->ctx, n_room);
    if (bytes == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_text text = tide_text_in(bytes, n_room);
    tide_plan_paste_row_add(row, "", &text);
    const char *title = row->name;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_candidate *candidate = &plan->candidates.rows[i];
        title = strcmp(candidate->name, row->name) == 0 ? candidate->title : title;
    }
    put_element(file, "<p>", title, ":</p>\n");
    put_element(file, "<pre tabindex=\"0\">", bytes, "</pre>\n");
    mem->release(mem->ctx, bytes);
    return TIDE_OK;
}

static tide_status put_paste(tide_output_file *file, const tide_plan *plan,
                             const tide_plan_answer *answer, const char *title) {
    tide_plan_paste paste;
    tide_status status = TIDE_OK;
    if (!answer->has_best || answer->set == 0) {
        return TIDE_OK;
    }
    tide_plan_paste_init(&paste, plan, answer);
    if (paste.n > 0) {
        put_element(file, "<h2>", title, "</h2>\n");
    }
    for (size_t i = 0; i < paste.n && status == TIDE_OK; i++) {
        status = put_lines(file, &paste.rows[i], plan);
    }
    tide_plan_paste_fini(&paste);
    return status;
}

/* ---- runs ---- */

static void put_cell(tide_output_file *file, const char *name, const char *kind, const char *text) {
    put(file, "<td data-name=\"");
    put(file, name);
    put_element(file, kind, text, "</td>");
}

static void put_snapshot(tide_output_file *file, const tide_plan_run *run) {
    const char *slash = strrchr(run->snapshot_path, '/');
    const char *name = slash != NULL ? slash + 1 : run->snapshot_path;
    if (name[0] == '\0') {
        put(file, "<td data-name=\"snapshot\"></td>");
        return;
    }
    put_element(file, "<td data-name=\"snapshot\"><a href=\"", name, "\">");
    put_element(file, "", name, "</a></td>");
}

/* "yes", "with expandable_segments:True", or why not. */
static void say_fit(const tide_plan *plan, const tide_plan_run *run, tide_text *to) {
    bool is_limited = run->limit == TIDE_PLAN_WITH_LIMIT;
    if (!run->is_complete) {
        tide_text_add(to, "no: %s%s%s", tide_outcome_name((int)run->outcome),
                      run->reason[0] != '\0' ? ", " : "", run->reason);
    } else if (run->is_refuted) {
        tide_text_add(to, "no: it failed under the card's limit");
    } else if (is_limited || run->memory.reserved_peak_bytes <= tide_plan_room_of(plan, run)) {
        tide_text_add(to, "yes");
    } else if (tide_plan_fits(plan, run)) {
        tide_text_add(to, "with %s", run->fitting_setting);
    } else {
        tide_text_add(to, "no: more than is there for PyTorch");
    }
}

static void put_run(tide_output_file *file, const tide_plan *plan, const tide_plan_run *run,
                    const char *number) {
    char texts[3][TIDE_MS_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    bool is_limited = run->limit == TIDE_PLAN_WITH_LIMIT;
    put(file, "<tr>");
    put_cell(file, "point", "\" class=\"n\">", number);
    tide_text_add(&text, "%s%s%s", run->changes[0] != '\0' ? run->changes : "unchanged",
                  run->setting[0] != '\0' ? ", with " : "", run->setting);
    put_cell(file, "changes", "\">", words);
    put_cell(file, "limit", "\">", is_limited ? "the card's" : "none");
    put_cell(file, "allocated", "\" class=\"n\">",
             tide_bytes_format(run->memory.allocated_peak_bytes, bytes));
    put_cell(file, "reserved", "\" class=\"n\">",
             tide_bytes_format(run->memory.reserved_peak_bytes, bytes));
    text = tide_text_in(words, sizeof(words));
    if (run->gpu_ms >= 0.0) {
        tide_text_add(&text, "%s ms (%s to %s)", tide_ms_format(run->gpu_ms, texts[0]),
                      tide_ms_format(run->gpu_low_ms, texts[1]),
                      tide_ms_format(run->gpu_high_ms, texts[2]));
    }
    put_cell(file, "card a step", "\" class=\"n\">", words);
    text = tide_text_in(words, sizeof(words));
    say_fit(plan, run, &text);
    put_cell(file, "fits", strncmp(words, "no", 2) == 0 ? "\">" : "\" class=\"yes\">", words);
    put_snapshot(file, run);
    put(file, "</tr>\n");
}

static void put_runs(tide_output_file *file, const tide_plan *plan) {
    char number[24];
    size_t n_points = 0;
    put(file,
        "<h2>All runs</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th "
        "class=\"n\">point</th><th>changes</th><th>limit</th><th class=\"n\">allocated</th><th "
        "class=\"n\">reserved</th><th class=\"n\">card a step</th><th>fits</th>"
        "<th>snapshot</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *run = &plan->runs.rows[i];
        if (run->is_done) {
            bool is_drawn = tide_plan_is_point(run) && run->gpu_ms >= 0.0;
            (void)snprintf(number, sizeof(number), "%zu", n_points + 1);
            n_points += is_drawn;
            put_run(file, plan, run, is_drawn ? number : "");
        }
    }
    put(file, "</tbody></table></div>\n");
}

/* ---- the page ---- */

/* The picture is inline, so the page needs no other file. */
static tide_status put_picture(tide_output_file *file, const char *folder, tide_error *error) {
    char path[TIDE_PATH_BYTES + sizeof(TIDE_PLAN_FRONT) + 1];
    char *picture = NULL;
    const tide_hostmem *mem = tide_hostmem_default();
    (void)snprintf(path, sizeof(path), "%s/" TIDE_PLAN_FRONT, folder);
    TIDE_TRY(tide_text_file_read(path, PICTURE_BYTES, &picture, NULL, error));
    const char *begin = strstr(picture, "<svg");
    put(file, "<h2>Memory against time</h2>\n<figure tabindex=\"0\">");
    put(file, begin != NULL ? begin : "");
    put(file, "</figure>\n");
    mem->release(mem->ctx, picture);
    return TIDE_OK;
}

static tide_status put_page(tide_output_file *file, const tide_plan_report_input *input,
                            const tide_report *report, tide_error *error) {
    const tide_plan *plan = input->plan;
    put(file, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
              "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put_element(file, "<title>plan: ", input->program, " on ");
    put_element(file, "", input->card, "</title>\n");
    put(file, HEAD);
    put_element(file, "</head>\n<body>\n<main>\n<h1>Plan: ", input->program, " on ");
    put_element(file, "", input->card, "</h1>\n");
    put_sentences(file, report, true);
    TIDE_TRY(put_picture(file, input->folder, error));
    TIDE_TRY(put_paste(file, plan, &plan->safe, "Lines to paste"));
    if (plan->all.has_best && (!plan->safe.has_best || plan->all.set != plan->safe.set)) {
        TIDE_TRY(put_paste(file, plan, &plan->all, "Lines to paste of the answer with --allow"));
    }
    put_runs(file, plan);
    put(file, "<h2>What was left out, and what it cost</h2>\n");
    put_sentences(file, report, false);
    put(file, "</main>\n</body>\n</html>\n");
    return TIDE_OK;
}

tide_status tide_plan_save_page(const tide_plan_report_input *input, tide_error *error) {
    char path[TIDE_PATH_BYTES + sizeof(TIDE_PLAN_PAGE) + 1];
    tide_output_file file;
    tide_report report;
    (void)snprintf(path, sizeof(path), "%s/" TIDE_PLAN_PAGE, input->folder);
    TIDE_TRY(tide_output_file_open(path, &file, error));
    tide_report_init(&report, "plan");
    tide_plan_report(input, true, &report);
    tide_status status = report.no_memory ? TIDE_NO_MEMORY : put_page(&file, input, &report, error);
    tide_report_fini(&report);
    if (status != TIDE_OK) {
        tide_output_file_abandon(&file);
        return status;
    }
    return tide_output_file_commit(&file, error);
}
