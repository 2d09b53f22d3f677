/* The kernels of a step by family: their share of the time, and how well times of such kernels were
 * forecast. */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/time/internal.h"
#include "common/assert.h"
#include "programs/step_time/compared.h"

/* The comparisons, never compared, and guessed. */
enum { MAX_FAMILIES = TIDE_TIME_N_SLOTS + 2 };

typedef struct share {
    const tide_time_comparison *comparison; /* NULL: guessed */
    double us;
} share;

static void add(share shares[MAX_FAMILIES], size_t *n, const tide_time_comparison *comparison,
                double us) {
    if (us > 0.0) {
        TIDE_ASSERT(*n < MAX_FAMILIES);
        shares[(*n)++] = (share){comparison, us};
    }
}

static size_t collect(const tide_time_forecast *of, share shares[MAX_FAMILIES]) {
    size_t n = 0;
    for (size_t i = 0; i < TIDE_TIME_N_SLOTS; i++) {
        add(shares, &n, &TIDE_TIME_COMPARISONS[i], of->kernels.compared_us[i]);
    }
    add(shares, &n, &TIDE_TIME_NEVER_COMPARED, of->kernels.uncompared_us);
    add(shares, &n, NULL, of->kernels.guessed_us);
    return n;
}

static int by_time(const void *a, const void *b) {
    double one = ((const share *)a)->us;
    double other = ((const share *)b)->us;
    return (one < other) - (one > other);
}

void tide_time_add_families(tide_report *report, const tide_time_forecast *of) {
    share shares[MAX_FAMILIES];
    size_t n = collect(of, shares);
    double all_us = 0.0;
    tide_table *table =
        tide_report_table(report, "families",
                          tide_report_text(report, "families of kernels on %s, and published times",
                                           of->card->card->name));
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_TEXT("family", "family"),
                 TIDE_NUMBER("percent", "share"), TIDE_NUMBER("comparisons", "compared"),
                 TIDE_NUMBER("cards", "on cards"), TIDE_NUMBER("error_percent", "median error"),
                 TIDE_NUMBER("least", "at least"), TIDE_NUMBER("most", "at most"));
    qsort(shares, n, sizeof(*shares), by_time);
    for (size_t i = 0; i < n; i++) {
        all_us += shares[i].us;
    }
    for (size_t i = 0; i < n; i++) {
        const tide_time_comparison *from = shares[i].comparison;
        bool is_compared = from != NULL && from != &TIDE_TIME_NEVER_COMPARED;
        TIDE_ROW(table, tide_as_text(of->card->card->name),
                 tide_as_text(from != NULL ? from->family : "guessed"),
                 tide_as_share(shares[i].us, all_us),
                 tide_as_count(is_compared ? (int64_t)from->n_comparisons : 0),
                 tide_as_count(is_compared ? (int64_t)from->n_cards : 0),
                 from != NULL ? tide_as_percent(from->median_percent) : tide_as_none(),
                 from != NULL ? tide_as_ratio(from->least) : tide_as_none(),
                 from != NULL ? tide_as_ratio(from->most) : tide_as_none());
    }
}
