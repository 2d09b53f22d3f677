#include "snapshot/document/source.h"

#include <stdbool.h>

static bool is_before(const tide_source_row *row, uint64_t file, uint64_t line) {
    return row->file != file ? row->file < file : row->line < line;
}

const tide_source_row *tide_source_of(const tide_snapshot *snapshot, uint32_t frame) {
    if (frame >= snapshot->n_frames) {
        return NULL;
    }
    const tide_frame_row *of = &snapshot->frames[frame];
    uint64_t line = of->line > 0 ? (uint64_t)of->line : 0;
    size_t low = 0;
    size_t high = snapshot->n_source;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&snapshot->source[middle], of->file, line)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < snapshot->n_source && snapshot->source[low].file == of->file &&
                    snapshot->source[low].line == line;
    return is_found ? &snapshot->source[low] : NULL;
}
