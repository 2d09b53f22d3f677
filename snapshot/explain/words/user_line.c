#include "snapshot/explain/words/user_line.h"

#include "snapshot/analysis/user_frame.h"
#include "snapshot/document/source.h"

enum { PLACE_BYTES = 256, QUOTE_BYTES = 100 };

void tide_user_line_add_frame(const tide_snapshot *snapshot, uint32_t frame, tide_text *to) {
    char text[PLACE_BYTES];
    tide_frame_text(snapshot, frame, text, sizeof(text));
    tide_text_add(to, "%s", text);
}

void tide_user_line_add(const tide_snapshot *snapshot, uint32_t stack, tide_text *to) {
    uint32_t frame = tide_user_frame(snapshot, stack);
    uint32_t library = tide_library_frame(snapshot, stack);
    if (frame == TIDE_NONE) {
        return;
    }
    tide_user_line_add_frame(snapshot, frame, to);
    if (library != TIDE_NONE && library != frame) {
        tide_text_add(to, ", in ");
        tide_user_line_add_frame(snapshot, library, to);
    }
}

void tide_user_line_add_quote(const tide_snapshot *snapshot, uint32_t frame, const char *before,
                              const char *after, tide_text *to) {
    const tide_source_row *row = tide_source_of(snapshot, frame);
    if (row == NULL || row->text[0] == '\0') {
        return;
    }
    char quote[QUOTE_BYTES];
    tide_text text = tide_text_in(quote, sizeof(quote)); /* cuts a long line */
    tide_text_add(&text, "%s", row->text);
    tide_text_add(to, "%s`%s%s`%s", before, quote, row->is_cut && !text.is_cut ? "..." : "", after);
}
