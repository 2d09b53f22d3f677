/* The values that the run of the answer assumed. */
#include "cli/fit/internal.h"
#include "common/text/plural.h"
#include "snapshot/explain/words/assumed_words.h"

enum { SENTENCE_BYTES = 1024 };

/* The row of which all rows take most. */
static tide_snapshot_assumed first_of(const tide_run_assumed *of) {
    return (tide_snapshot_assumed){.place = of->place,
                                   .what = of->what,
                                   .given_least = of->given_least,
                                   .given_most = of->given_most,
                                   .possible = of->possible,
                                   .n_times = of->n_times,
                                   .row_bytes = of->row_bytes,
                                   .all_bytes = of->row_all_bytes};
}

/* `row`: from first_of. */
static tide_assumed_limit limit_of(const tide_run_of_program *program,
                                   const tide_snapshot_assumed *row) {
    const tide_run_assumed *of = &program->assumed;
    int64_t left_bytes = program->margin_bytes;
    tide_assumed_limit limit = tide_assumed_limit_of(row, of->n_reads > 0 ? 1 : 0, left_bytes);
    if (limit.fits_with_all && of->n_reads > 0) {
        limit.fits_with_all = left_bytes < 0 || of->all_bytes <= left_bytes;
        limit.n_reads = (size_t)of->n_rows;
        limit.all_bytes = of->all_bytes;
    }
    return limit;
}

bool tide_fit_with_all_rows(const tide_run_of_program *program) {
    const tide_snapshot_assumed row = first_of(&program->assumed);
    return limit_of(program, &row).fits_with_all;
}

const char *tide_fit_condition(const tide_run_of_program *program, tide_report *report) {
    char words[SENTENCE_BYTES] = "";
    tide_text text = tide_text_in(words, sizeof(words));
    const tide_snapshot_assumed row = first_of(&program->assumed);
    const tide_assumed_limit limit = limit_of(program, &row);
    tide_assumed_words_add_limit(&limit, &text);
    return tide_report_text(report, "%s", words);
}

void tide_fit_say_assumed(const char *card, const tide_run_of_program *program,
                          tide_report *report) {
    char words[SENTENCE_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    const tide_snapshot_assumed row = first_of(&program->assumed);
    int64_t n_more = program->assumed.n_reads - 1;
    if (n_more < 0) {
        return;
    }
    tide_assumed_words_add(&row, &text);
    if (n_more > 0) {
        tide_text_add(&text,
                      " %lld more %s assumed: `tidemark run` with the same command lists %s.",
                      (long long)n_more, tide_plural((uint64_t)n_more, "value is", "values are"),
                      tide_plural((uint64_t)n_more, "it", "them"));
    }
    tide_report_say(report, "assumed", "%s: %s", card, words);
}

tide_table *tide_fit_assumed_table(tide_report *report) {
    tide_table *table = tide_report_table(report, "assumed", "What is assumed");
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_TEXT("place", "line"),
                 TIDE_TEXT("what", "value"), TIDE_NUMBER("given_least", "fewest rows"),
                 TIDE_NUMBER("given_most", "most rows"), TIDE_NUMBER("possible", "possible rows"),
                 TIDE_NUMBER("times", "reads"), TIDE_NUMBER("row_bytes", "each row more"),
                 TIDE_NUMBER("all_bytes", "all rows more"),
                 TIDE_TEXT("fits_with_all_rows", "fits with all rows"));
    return table;
}

void tide_fit_add_assumed(const char *card, const tide_run_of_program *program, tide_table *table) {
    const tide_run_assumed *of = &program->assumed;
    TIDE_ROW(table, tide_as_text(card), tide_as_words(of->place), tide_as_words(of->what),
             tide_as_count(of->given_least), tide_as_count(of->given_most),
             tide_as_count(of->possible), tide_as_count(of->n_times),
             of->row_bytes > 0 ? tide_as_bytes(of->row_bytes) : tide_as_none(),
             of->possible > 0 ? tide_as_bytes(of->row_all_bytes) : tide_as_none(),
             tide_as_text(tide_fit_with_all_rows(program) ? "yes" : "no"));
}
