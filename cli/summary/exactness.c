/* The parts of `tidemark summary` about the software of the run and what it reported, and about
 * values that are not exact or are assumed. */
#include "cli/summary/view.h"
#include "common/text/text.h"
#include "snapshot/explain/assumed.h"
#include "snapshot/explain/words/fit_words.h"

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

void tide_summary_fits(const tide_summary_view *of) {
    const char *fits = tide_fit_of(of->snapshot, of->device_number);
    if (fits != NULL) {
        tide_report_figure_text(of->report, "fits", fits);
    }
}

static tide_cell as_bytes(int64_t bytes) {
    return bytes >= 0 ? tide_as_bytes(bytes) : tide_as_none();
}

static tide_cell as_count(int64_t n) {
    return n >= 0 ? tide_as_count(n) : tide_as_none();
}

static void add_kv_pools(const tide_summary_view *of) {
    tide_table *table = tide_report_table(of->report, "kv_pools", "Caches of keys and values");
    TIDE_COLUMNS(table, TIDE_TEXT("library", "library"), TIDE_NUMBER("card", "card"),
                 TIDE_NUMBER("bytes", "bytes"), TIDE_NUMBER("tokens", "tokens"),
                 TIDE_NUMBER("request_tokens", "longest request"),
                 TIDE_NUMBER("requests_percent", "requests"),
                 TIDE_NUMBER("asked_tokens", "asked tokens"),
                 TIDE_NUMBER("asked_bytes", "asked bytes"));
    for (size_t i = 0; i < of->snapshot->n_kv_pools; i++) {
        const tide_snapshot_kv_pool *row = &of->snapshot->kv_pools[i];
        TIDE_ROW(table, tide_as_words(row->library), as_count(row->card), as_bytes(row->bytes),
                 as_count(row->n_tokens), as_count(row->n_request_tokens),
                 row->n_requests_percent >= 0 ? tide_as_percent((double)row->n_requests_percent)
                                              : tide_as_none(),
                 as_count(row->n_asked_tokens), as_bytes(row->asked_bytes));
    }
}

static void add_xla(const tide_summary_view *of) {
    tide_table *table = tide_report_table(of->report, "xla", "XLA's own figures");
    TIDE_COLUMNS(table, TIDE_NUMBER("card", "card"), TIDE_NUMBER("peak_bytes", "peak"),
                 TIDE_NUMBER("limit_bytes", "pool"),
                 TIDE_NUMBER("program_bytes", "largest function"),
                 TIDE_NUMBER("asked_bytes", "asked"), TIDE_NUMBER("array_bytes", "arrays"),
                 TIDE_NUMBER("arrays", "number"), TIDE_TEXT("place", "line"));
    for (size_t i = 0; i < of->snapshot->n_xla; i++) {
        const tide_snapshot_xla *row = &of->snapshot->xla[i];
        TIDE_ROW(table, as_count(row->card), as_bytes(row->peak_bytes), as_bytes(row->limit_bytes),
                 as_bytes(row->program_bytes), as_bytes(row->asked_bytes),
                 as_bytes(row->array_bytes), as_count(row->n_arrays), tide_as_words(row->place));
    }
}

static void add_work_areas(const tide_summary_view *of) {
    tide_table *table = tide_report_table(of->report, "work_areas", "Work areas of cuDNN");
    TIDE_COLUMNS(table, TIDE_NUMBER("device", "device"), TIDE_NUMBER("calls", "calls"),
                 TIDE_NUMBER("likely_bytes", "likely"), TIDE_NUMBER("most_bytes", "at most"),
                 TIDE_NUMBER("allocated_none_bytes", "allocated without"),
                 TIDE_NUMBER("allocated_likely_bytes", "likely"),
                 TIDE_NUMBER("allocated_most_bytes", "largest"),
                 TIDE_NUMBER("reserved_none_bytes", "reserved without"),
                 TIDE_NUMBER("reserved_likely_bytes", "likely"),
                 TIDE_NUMBER("reserved_most_bytes", "largest"),
                 TIDE_TEXT("benchmark", "benchmark"));
    for (size_t i = 0; i < of->snapshot->n_work_areas; i++) {
        const tide_snapshot_work_areas *row = &of->snapshot->work_areas[i];
        TIDE_ROW(table, as_count(row->device), as_count(row->n_calls), as_bytes(row->likely_bytes),
                 as_bytes(row->most_bytes), as_bytes(row->allocated_none_bytes),
                 as_bytes(row->allocated_likely_bytes), as_bytes(row->allocated_most_bytes),
                 as_bytes(row->reserved_none_bytes), as_bytes(row->reserved_likely_bytes),
                 as_bytes(row->reserved_most_bytes),
                 tide_as_text(row->is_benchmark ? "yes" : "no"));
    }
}

void tide_summary_serving(const tide_summary_view *of) {
    if (of->snapshot->n_kv_pools > 0) {
        add_kv_pools(of);
    }
    if (of->snapshot->n_xla > 0) {
        add_xla(of);
    }
    if (of->snapshot->n_work_areas > 0) {
        add_work_areas(of);
    }
}
