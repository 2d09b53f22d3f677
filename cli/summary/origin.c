#include "cli/summary/origin.h"

#include <inttypes.h>
#include <string.h>

#include "common/text/plural.h"
#include "common/text/text.h"

enum { LABEL_BYTES = 256 };

bool tide_summary_lacks_categories(const tide_summary_peak *peak) {
    for (size_t i = 0; i < peak->n_blocks; i++) {
        if (peak->blocks[i].category != TIDE_UNKNOWN) {
            return false;
        }
    }
    return true;
}

void tide_summary_say_origin(const tide_summary_view *of) {
    tide_report *report = of->report;
    const tide_summary_peak *peak = &of->device->peak;
    const tide_snapshot_origin *origin = &of->snapshot->origin;
    int64_t bytes = 0;
    int64_t n_blocks = 0;
    if (origin->format[0] == '\0') {
        return;
    }
    tide_report_say(report, "origin",
                    "recorded by %s: %" PRIu64 " %s; sizes of blocks that were gone at the dump "
                    "are derived from what followed them",
                    strcmp(origin->format, "pytorch") == 0 ? "PyTorch" : origin->format,
                    origin->n_events, tide_plural(origin->n_events, "event", "events"));
    for (size_t i = 0; i < peak->n_blocks; i++) {
        if (peak->blocks[i].born == 0) {
            bytes += (int64_t)peak->blocks[i].block_bytes;
            n_blocks++;
        }
    }
    if (n_blocks > 0) {
        tide_report_say(report, "before",
                        "alive before recording: %s of %s%s, in %" PRId64 " block%s",
                        tide_report_bytes(of->report, bytes), of->is_peak ? "" : "what is alive ",
                        of->is_peak ? "the peak" : of->when, n_blocks,
                        tide_plural((uint64_t)n_blocks, "", "s"));
    }
}

const char *tide_summary_place(const tide_summary_view *of, const tide_verdict *verdict,
                               const tide_place *place) {
    char words[LABEL_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    bool is_known = place->kind != TIDE_PLACE_BEFORE && place->kind != TIDE_PLACE_UNKNOWN;
    if (place->kind == TIDE_PLACE_UNKNOWN) {
        return "(no call stack)";
    }
    tide_place_add(&verdict->facts, place, &text);
    tide_text_add(&text, "%s", place->is_inferred ? ", inferred" : "");
    return tide_report_text(of->report, is_known ? "%s" : "(%s)", words);
}

/* "forward (model.py:15), 1.00 GiB of it inferred" */
static const char *label_of(const tide_summary_view *of, const tide_verdict *verdict,
                            const tide_peak_line *line) {
    const char *place = tide_summary_place(of, verdict, &line->place);
    return line->inferred_bytes == 0
               ? place
               : tide_report_text(of->report, "%s, %s of it inferred", place,
                                  tide_report_bytes(of->report, line->inferred_bytes));
}

static void row(const tide_summary_view *of, tide_table *table, const tide_peak_line *from,
                const char *label) {
    TIDE_ROW(table, tide_as_bytes(from->bytes), tide_summary_share(of, from->bytes),
             tide_as_bytes(from->requested_bytes), tide_as_count((int64_t)from->n_blocks),
             tide_as_text(label));
}

void tide_summary_user_frames(const tide_summary_view *of, const tide_verdict *verdict) {
    const tide_peak_lines *lines = &verdict->lines;
    tide_table *table =
        tide_summary_table(of, "by_user_frame", "Alive", ", by line of the program");
    tide_peak_line rest = {.bytes = 0};
    TIDE_COLUMNS(table, TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("share_percent", "share"),
                 TIDE_NUMBER("requested_bytes", "requested"), TIDE_NUMBER("blocks", "blocks"),
                 TIDE_TEXT("frame", "line of the program"));
    for (size_t i = 0; i < lines->n_lines; i++) {
        const tide_peak_line *line = &lines->lines[i];
        if (i < of->top) {
            row(of, table, line, label_of(of, verdict, line));
            continue;
        }
        rest.bytes += line->bytes;
        rest.requested_bytes += line->requested_bytes;
        rest.n_blocks += line->n_blocks;
    }
    if (lines->n_lines > of->top) {
        size_t n = lines->n_lines - of->top;
        row(of, table, &rest,
            tide_report_text(of->report, "(%zu other%s)", n, tide_plural(n, "", "s")));
    }
}
