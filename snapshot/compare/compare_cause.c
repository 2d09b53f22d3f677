#include "snapshot/compare/compare_cause.h"

#include <string.h>

#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/compare/compare.h"
#include "snapshot/compare/compare_internal.h"
#include "snapshot/document/categories.h"

enum {
    MAX_NAMED = 3,         /* categories in one direction */
    NAMED_PER_MILLE = 100, /* named from 10 % of the change in its direction */
    MAX_WORDS = 1024       /* categories of a comparison that are examined */
};

static int width_of(const char *precision) {
    static const struct {
        const char *name;
        int width; /* only their order counts */
    } WIDTHS[] = {{"bf16-true", 1}, {"bf16-mixed", 2}, {"fp16-mixed", 2}, {"fp32", 3}, {"tf32", 3}};
    for (size_t i = 0; i < sizeof(WIDTHS) / sizeof(WIDTHS[0]); i++) {
        if (strcmp(precision, WIDTHS[i].name) == 0) {
            return WIDTHS[i].width;
        }
    }
    return 0;
}

bool tide_precision_is_narrower(const char *precision, const char *than) {
    return width_of(precision) > 0 && width_of(precision) < width_of(than);
}

/* How much a category grows (sign 1) or shrinks (-1); 0: it does not. */
static int64_t change_of(const tide_cause *cause, size_t category, int sign) {
    int64_t change = (cause->narrow[category] - cause->wide[category]) * sign;
    return change > 0 ? change : 0;
}

/* The categories that change most in that direction, largest first. */
static size_t find_largest(const tide_cause *cause, int sign, size_t found[MAX_NAMED],
                           int64_t *ret_all) {
    size_t n = 0;
    int64_t all = 0;
    for (size_t i = 0; i < cause->n_categories; i++) {
        all += change_of(cause, i, sign);
    }
    for (; n < MAX_NAMED; n++) {
        size_t next = cause->n_categories;
        int64_t largest = all / 1000 * NAMED_PER_MILLE;
        for (size_t i = 0; i < cause->n_categories; i++) {
            bool is_named = false;
            for (size_t k = 0; k < n; k++) {
                is_named = is_named || found[k] == i;
            }
            if (!is_named && change_of(cause, i, sign) > largest) {
                largest = change_of(cause, i, sign);
                next = i;
            }
        }
        if (next == cause->n_categories) {
            break;
        }
        found[n] = next;
    }
    *ret_all = all;
    return n;
}

/* ", " between the items of a list, " and " before its last. */
static const char *joint(size_t i, size_t n) {
    return i == 0 ? "" : i + 1 == n ? " and " : ", ";
}

void tide_cause_words(const tide_cause *cause, char *ret_text, size_t n_room) {
    size_t grown[MAX_NAMED];
    size_t shrunk[MAX_NAMED];
    int64_t more = 0;
    int64_t less = 0;
    char bytes[TIDE_BYTES_TEXT];
    size_t n_grown = find_largest(cause, 1, grown, &more);
    size_t n_shrunk = find_largest(cause, -1, shrunk, &less);
    tide_text to = tide_text_in(ret_text, n_room);
    if (n_grown == 0) {
        return;
    }
    for (size_t i = 0; i < n_grown; i++) {
        tide_text_add(&to, "%s%s more of %s", joint(i, n_grown),
                      tide_bytes_format(change_of(cause, grown[i], 1), bytes),
                      cause->words[grown[i]]);
    }
    if (n_shrunk == 0) {
        tide_text_add(&to, ", and no category takes less");
        return;
    }
    tide_text_add(&to, " outweigh %s less of ", tide_bytes_format(less, bytes));
    for (size_t i = 0; i < n_shrunk; i++) {
        tide_text_add(&to, "%s%s", joint(i, n_shrunk), cause->words[shrunk[i]]);
    }
}

/* ---- of the runs of a comparison ---- */

const char *tide_compare_category_words(const tide_compare_run *run, int category) {
    return category < TIDE_N_CATEGORIES ? tide_category_words(category) : run->categories[category];
}

void tide_compare_cause_words(const tide_compare_run *narrow, const tide_compare_run *wide,
                              char *ret_text, size_t n_room) {
    const char *words[MAX_WORDS];
    size_t n = narrow->n_categories < MAX_WORDS ? narrow->n_categories : MAX_WORDS;
    for (size_t i = 0; i < n; i++) {
        words[i] = tide_compare_category_words(narrow, (int)i);
    }
    const tide_cause cause = {words, narrow->category_bytes, wide->category_bytes, n};
    tide_cause_words(&cause, ret_text, n_room);
}
