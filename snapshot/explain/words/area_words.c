#include "snapshot/explain/words/area_words.h"

#include <stdbool.h>

#include "common/text/count.h"

enum { MIB = 1 << 20, LEAST_PART = 100 };

static const char *mib(int64_t n_bytes, char text[TIDE_COUNT_TEXT]) {
    return tide_count_format(n_bytes / MIB + (n_bytes % MIB >= MIB / 2 ? 1 : 0), text);
}

/* Figures of a file may be any. */
static bool is_complete(const tide_snapshot_work_areas *row) {
    return row->likely_bytes >= 0 && row->most_bytes >= row->likely_bytes &&
           row->reserved_none_bytes >= 0 && row->reserved_likely_bytes >= 0 &&
           row->reserved_most_bytes >= 0;
}

static bool differs(int64_t peak_bytes, int64_t likely_peak_bytes) {
    int64_t difference = peak_bytes > likely_peak_bytes ? peak_bytes - likely_peak_bytes
                                                        : likely_peak_bytes - peak_bytes;
    return difference > 0 && difference >= likely_peak_bytes / LEAST_PART;
}

/* Smaller differences are no news: the order of the cache's blocks makes as large ones. */
static bool is_changed(const tide_snapshot_work_areas *row) {
    return differs(row->reserved_none_bytes, row->reserved_likely_bytes) ||
           differs(row->reserved_most_bytes, row->reserved_likely_bytes);
}

void tide_area_words_add(const tide_snapshot_work_areas *row, tide_text *to) {
    char likely[TIDE_COUNT_TEXT], none_peak[TIDE_COUNT_TEXT], likely_peak[TIDE_COUNT_TEXT];
    char most_peak[TIDE_COUNT_TEXT];
    if (!is_complete(row) || !(row->is_benchmark || is_changed(row))) {
        return;
    }
    const char *end = row->reserved_most_bytes < row->reserved_likely_bytes ||
                              row->reserved_most_bytes < row->reserved_none_bytes
                          ? "with the largest"
                          : "at most";
    (void)mib(row->reserved_none_bytes, none_peak);
    (void)mib(row->reserved_most_bytes, most_peak);
    if (row->likely_bytes == 0) {
        tide_text_add(
            to, "cuDNN's work areas: likely none; the reserved peak is %s MiB without, %s %s.",
            none_peak, most_peak, end);
    } else {
        tide_text_add(to,
                      "cuDNN's work areas: likely %s MiB at once; the reserved peak is %s MiB "
                      "without, %s likely, %s %s.",
                      row->likely_bytes < MIB / 2 ? "under 1" : mib(row->likely_bytes, likely),
                      none_peak, mib(row->reserved_likely_bytes, likely_peak), most_peak, end);
    }
    if (row->is_benchmark) {
        tide_text_add(to,
                      " With torch.backends.cudnn.benchmark, as here, PyTorch tries all plans at "
                      "the first call of a shape; their area may take all free memory, and is "
                      "freed before the next request.");
    }
}

int64_t tide_area_margin_bytes(const tide_snapshot_work_areas *row) {
    int64_t more = is_complete(row) ? row->reserved_most_bytes - row->reserved_likely_bytes : 0;
    return more > 0 ? more : 0;
}
