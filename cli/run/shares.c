/* What fills the memory at an instant, in words. */
#include <string.h>

#include "cli/run/internal.h"
#include "common/bytes.h"

enum { MAX_SHARES = 4 };

/* The categories as people call them. */
static const char *plain_name(const char *category) {
    static const char *const NAMES[][2] = {
        {"parameter", "of parameters"},
        {"gradient", "of gradients"},
        {"optimizer_state", "of optimizer state"},
        {"activation", "of activations"},
        {"temporary", "of temporary tensors"},
        {"buffer", "of buffers"},
        {"workspace", "of workspaces of cuBLAS"},
        {"unknown", "of unknown category"},
    };
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strcmp(NAMES[i][0], category) == 0) {
            return NAMES[i][1];
        }
    }
    return category;
}

void tide_run_say_shares(const tide_snapshot *snapshot, const tide_summary_peak *peak,
                         tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    bool is_told[TIDE_MAX_CATEGORIES] = {false};
    const tide_split *split = &peak->by_category;
    const size_t n_before = to->n_used;
    for (size_t n_told = 0; n_told < MAX_SHARES; n_told++) {
        size_t largest = split->n_shares;
        for (size_t i = 0; i < split->n_shares && i < TIDE_MAX_CATEGORIES; i++) {
            if (!is_told[i] && split->shares[i].bytes > 0 &&
                (largest == split->n_shares ||
                 split->shares[i].bytes > split->shares[largest].bytes)) {
                largest = i;
            }
        }
        if (largest == split->n_shares) {
            break;
        }
        is_told[largest] = true;
        tide_text_add(to, "%s%s %s", n_told > 0 ? ", " : "",
                      tide_bytes_format(split->shares[largest].bytes, bytes),
                      plain_name(split->shares[largest].label));
    }
    tide_run_say_largest(snapshot, peak, to);
    if (to->n_used == n_before) {
        tide_text_add(to, "nothing");
    }
}
