/* What fills the memory at an instant, in words. */
#include <string.h>

#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"

enum { MAX_SHARES = 4 };

/* The categories in plain words. */
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

/* Of the categories that the sentence has not printed, the one with most bytes; n_shares: none has
 * bytes. */
static size_t largest_of(const tide_split *split, const bool *is_told) {
    size_t largest = split->n_shares;
    for (size_t i = 0; i < split->n_shares && i < TIDE_MAX_CATEGORIES; i++) {
        if (!is_told[i] && split->shares[i].bytes > 0 &&
            (largest == split->n_shares || split->shares[i].bytes > split->shares[largest].bytes)) {
            largest = i;
        }
    }
    return largest;
}

/* The sum of the categories that the sentence does not print one by one. */
static void add_rest(const tide_split *split, bool *is_told, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    int64_t rest_bytes = 0;
    size_t n_rest = 0;
    for (size_t i = largest_of(split, is_told); i < split->n_shares;
         i = largest_of(split, is_told)) {
        is_told[i] = true;
        rest_bytes += split->shares[i].bytes;
        n_rest++;
    }
    if (n_rest > 0) {
        tide_text_add(to, ", %s of %zu other %s", tide_bytes_format(rest_bytes, bytes), n_rest,
                      tide_plural(n_rest, "category", "categories"));
    }
}

void tide_run_say_shares(const tide_summary_peak *peak, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    bool is_told[TIDE_MAX_CATEGORIES] = {false};
    const tide_split *split = &peak->by_category;
    const size_t n_before = to->n_used;
    int64_t least_bytes = 0; /* of those printed */
    for (size_t n_told = 0; n_told < TIDE_MAX_CATEGORIES; n_told++) {
        size_t largest = largest_of(split, is_told);
        /* Beyond MAX_SHARES: those at least half as large as the last of them. */
        if (largest == split->n_shares ||
            (n_told >= MAX_SHARES && split->shares[largest].bytes < least_bytes / 2)) {
            break;
        }
        is_told[largest] = true;
        least_bytes = n_told < MAX_SHARES ? split->shares[largest].bytes : least_bytes;
        tide_text_add(to, "%s%s %s", n_told > 0 ? ", " : "",
                      tide_bytes_format(split->shares[largest].bytes, bytes),
                      plain_name(split->shares[largest].label));
    }
    add_rest(split, is_told, to);
    if (to->n_used == n_before) {
        tide_text_add(to, "nothing");
    }
}
