/* Explains the difference between the peaks of two runs of one model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/beside.h"
#include "common/text/text.h"
#include "snapshot/document/implementation.h"

/* Tensors of one name and category in both runs. */
typedef struct pair {
    const char *name;     /* borrowed */
    const char *category; /* its name; borrowed */
    int64_t own;          /* bytes at our own peak */
    int64_t pytorch;      /* bytes at PyTorch's */
    int64_t difference;   /* PyTorch's minus our own */
} pair;

enum { SENTENCE_BYTES = 512, N_SAID = 3 };

static int by_difference(const void *a, const void *b) {
    const pair *left = a;
    const pair *right = b;
    int64_t of_left = left->difference < 0 ? -left->difference : left->difference;
    int64_t of_right = right->difference < 0 ? -right->difference : right->difference;
    if (of_left != of_right) {
        return of_left < of_right ? 1 : -1;
    }
    return strcmp(left->name, right->name);
}

static void add_groups(pair *pairs, size_t *n_pairs, const tide_peak_tensors *of, bool is_pytorch) {
    for (size_t g = 0; g < of->n_groups; g++) {
        const tide_peak_group *group = &of->groups[g];
        const char *category = tide_snapshot_category(of->snapshot, group->category);
        size_t i = 0;
        while (i < *n_pairs && (strcmp(pairs[i].category, category) != 0 ||
                                strcmp(pairs[i].name, group->name) != 0)) {
            i++;
        }
        if (i == *n_pairs) {
            pairs[(*n_pairs)++] = (pair){.name = group->name, .category = category};
        }
        *(is_pytorch ? &pairs[i].pytorch : &pairs[i].own) += group->bytes;
    }
}

/* NULL without memory. */
static pair *make_pairs(tide_report *report, const tide_peak_tensors *own,
                        const tide_peak_tensors *pytorch, size_t *ret_n_pairs) {
    size_t n_pairs = 0;
    pair *pairs =
        tide_arena_alloc(&report->arena, own->n_groups + pytorch->n_groups, sizeof(*pairs));
    if (pairs == NULL) {
        report->no_memory = true;
        return NULL;
    }
    add_groups(pairs, &n_pairs, own, false);
    add_groups(pairs, &n_pairs, pytorch, true);
    for (size_t i = 0; i < n_pairs; i++) {
        pairs[i].difference = pairs[i].pytorch - pairs[i].own;
    }
    qsort(pairs, n_pairs, sizeof(*pairs), by_difference);
    *ret_n_pairs = n_pairs;
    return pairs;
}

static void add_columns(tide_table *table) {
    tide_table_column(table, "pytorch_bytes", TIDE_WORDS_PYTORCH, true);
    tide_table_column(table, "tidemark_bytes", TIDE_WORDS_OWN, true);
    tide_table_column(table, "difference_bytes", "PyTorch minus own", true);
}

static void add_cells(tide_table *table, int64_t own, int64_t pytorch) {
    TIDE_CELLS(table, tide_as_bytes(pytorch), tide_as_bytes(own), tide_as_change(pytorch - own));
}

/* `all`: the snapshot whose categories include those of all pairs. */
static void add_categories(tide_report *report, const tide_snapshot *all, const pair *pairs,
                           size_t n_pairs) {
    tide_table *table =
        tide_report_table(report, "beside_categories", "alive at the peaks of both, by category");
    int64_t all_own = 0;
    int64_t all_pytorch = 0;
    tide_table_column(table, "category", "category", false);
    add_columns(table);
    for (size_t c = 0; c < tide_snapshot_n_categories(all); c++) {
        const char *category = tide_snapshot_category(all, c);
        int64_t own = 0;
        int64_t pytorch = 0;
        for (size_t i = 0; i < n_pairs; i++) {
            bool is_of_it = strcmp(pairs[i].category, category) == 0;
            own += is_of_it ? pairs[i].own : 0;
            pytorch += is_of_it ? pairs[i].pytorch : 0;
        }
        if (own != 0 || pytorch != 0) {
            TIDE_ROW(table, tide_as_text(category));
            add_cells(table, own, pytorch);
        }
        all_own += own;
        all_pytorch += pytorch;
    }
    TIDE_ROW(table, tide_as_text("all"));
    add_cells(table, all_own, all_pytorch);
}

/* Adds the largest differences, and one row for all others, so the columns add up. */
static void add_tensors(tide_report *report, const pair *pairs, size_t n_pairs, size_t top) {
    tide_table *table = tide_report_table(report, "beside_tensors", "the same by tensor");
    int64_t rest_own = 0;
    int64_t rest_pytorch = 0;
    TIDE_COLUMNS(table, TIDE_TEXT("tensor", "tensor"), TIDE_TEXT("category", "category"));
    add_columns(table);
    for (size_t i = 0; i < n_pairs; i++) {
        if (i >= top || pairs[i].difference == 0) {
            rest_own += pairs[i].own;
            rest_pytorch += pairs[i].pytorch;
            continue;
        }
        TIDE_ROW(table, tide_as_text(pairs[i].name), tide_as_text(pairs[i].category));
        add_cells(table, pairs[i].own, pairs[i].pytorch);
    }
    TIDE_ROW(table, tide_as_text("all others"), tide_as_none());
    add_cells(table, rest_own, rest_pytorch);
}

static void say(tide_report *report, const char *label, const tide_peak_tensors *own,
                const tide_peak_tensors *pytorch, const pair *pairs, size_t n_pairs) {
    char text[SENTENCE_BYTES];
    tide_text to = tide_text_in(text, sizeof(text));
    int64_t own_bytes = own->peak->totals.allocated_bytes;
    int64_t pytorch_bytes = pytorch->peak->totals.allocated_bytes;
    int64_t more = pytorch_bytes - own_bytes;
    size_t n_said = 0;
    for (size_t i = 0; i < n_pairs && n_said < N_SAID; i++) {
        /* Only tensors that add to the difference explain it. */
        if (pairs[i].difference != 0 && (pairs[i].difference > 0) == (more > 0)) {
            int64_t size = pairs[i].difference < 0 ? -pairs[i].difference : pairs[i].difference;
            tide_text_add(&to, "%s%s %s", n_said > 0 ? ", " : ": most by ", pairs[i].name,
                          tide_report_bytes(report, size));
            n_said++;
        }
    }
    tide_report_say(
        report, "beside_pytorch", "%s%s%s, allocates %s at most, %s %s; PyTorch's is %s %s%s",
        label, label[0] != '\0' ? ": " : "", TIDE_WORDS_PYTORCH,
        tide_report_bytes(report, pytorch_bytes), TIDE_WORDS_OWN,
        tide_report_bytes(report, own_bytes), tide_report_bytes(report, more < 0 ? -more : more),
        more < 0 ? "less" : "more", text);
}

void tide_beside_report(tide_report *report, const char *label, const tide_peak_tensors *own,
                        const tide_peak_tensors *pytorch, size_t top) {
    size_t n_pairs = 0;
    const pair *pairs = make_pairs(report, own, pytorch, &n_pairs);
    if (pairs == NULL) {
        return;
    }
    say(report, label, own, pytorch, pairs, n_pairs);
    add_categories(report, own->snapshot, pairs,
                   n_pairs); /* the forecast has no further categories */
    add_tensors(report, pairs, n_pairs, top);
}

/* Runs the configuration with unlimited memory, and groups the tensors at its peak. The caller
 * destroys the snapshot and finis the tensors in any case. */
static tide_status run_to_peak(const tide_run_config *config, tide_snapshot **ret_snapshot,
                               tide_peak_tensors *ret_peak, tide_error *error) {
    TIDE_TRY(tide_run_record(config, NULL, ret_snapshot, error));
    return tide_peak_tensors_init(ret_peak, *ret_snapshot, error);
}

tide_status tide_beside_run(tide_report *report, const char *label, const tide_run_config *own,
                            const tide_run_config *pytorch, size_t top, tide_error *error) {
    tide_snapshot *snapshots[2] = {NULL, NULL};
    tide_peak_tensors peaks[2] = {{.snapshot = NULL}, {.snapshot = NULL}};
    tide_status status = run_to_peak(own, &snapshots[0], &peaks[0], error);
    if (status == TIDE_OK) {
        status = run_to_peak(pytorch, &snapshots[1], &peaks[1], error);
    }
    if (status == TIDE_OK) {
        tide_beside_report(report, label, &peaks[0], &peaks[1], top);
    }
    for (size_t i = 0; i < 2; i++) {
        tide_peak_tensors_fini(&peaks[i]);
        tide_snapshot_destroy(snapshots[i]);
    }
    return status;
}
