/* The parts of `tidemark summary` about the software of the run, and about values that are not
 * exact or are assumed. */
#include "cli/summary/view.h"
#include "common/text/text.h"
#include "snapshot/explain/assumed.h"

enum { TEXT_BYTES = 1024 };

void tide_summary_software(const tide_summary_view *of) {
    char all[TEXT_BYTES];
    tide_text to = tide_text_in(all, sizeof(all));
    for (size_t i = 0; i < of->snapshot->n_software; i++) {
        const tide_snapshot_setting *row = &of->snapshot->software[i];
        if (row->text != NULL && row->text[0] != '\0') {
            tide_text_add_item(&to, ", ", "%.100s %.100s", row->name, row->text);
        }
    }
    if (to.n_used > 0) {
        tide_report_say(of->report, "software", "software: %s", all);
    }
}

void tide_summary_inexact(const tide_summary_view *of) {
    if (of->snapshot->n_inexact == 0) {
        return;
    }
    tide_table *table = tide_report_table(of->report, "inexact", "What is not exact");
    TIDE_COLUMNS(table, TIDE_TEXT("call", "function"), TIDE_NUMBER("bound_bytes", "at most"),
                 TIDE_TEXT("refused", "refused"), TIDE_TEXT("what", "what is not known"));
    for (size_t i = 0; i < of->snapshot->n_inexact; i++) {
        const tide_snapshot_inexact *row = &of->snapshot->inexact[i];
        TIDE_ROW(table, tide_as_text(row->call),
                 row->bound_bytes >= 0 ? tide_as_bytes(row->bound_bytes) : tide_as_none(),
                 tide_as_text(row->is_refused ? "yes" : "no"), tide_as_text(row->what));
    }
}

void tide_summary_assumed(const tide_summary_view *of) {
    if (of->snapshot->n_assumed == 0) {
        return;
    }
    int64_t left_bytes = tide_assumed_left_bytes(of->snapshot, of->device_number);
    tide_table *table = tide_report_table(of->report, "assumed", "What is assumed");
    TIDE_COLUMNS(table, TIDE_TEXT("place", "line"), TIDE_TEXT("what", "value"),
                 TIDE_NUMBER("given_least", "fewest rows"), TIDE_NUMBER("given_most", "most rows"),
                 TIDE_NUMBER("possible", "possible rows"), TIDE_NUMBER("times", "reads"),
                 TIDE_NUMBER("row_bytes", "each row more"),
                 TIDE_NUMBER("all_bytes", "all rows more"));
    for (size_t i = 0; i < of->snapshot->n_assumed; i++) {
        const tide_snapshot_assumed *row = &of->snapshot->assumed[i];
        TIDE_ROW(table, tide_as_words(row->place), tide_as_words(row->what),
                 tide_as_count(row->given_least), tide_as_count(row->given_most),
                 tide_as_count(row->possible), tide_as_count(row->n_times),
                 row->row_bytes > 0 ? tide_as_bytes(row->row_bytes) : tide_as_none(),
                 row->possible > 0 ? tide_as_bytes(row->all_bytes) : tide_as_none());
    }
    if (left_bytes >= 0) {
        const tide_assumed_limit limit =
            tide_assumed_limit_of(of->snapshot->assumed, of->snapshot->n_assumed, left_bytes);
        tide_report_figure_text(of->report, "fits_with_all_rows",
                                limit.fits_with_all ? "yes" : "no");
    }
}
