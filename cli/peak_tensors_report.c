/* Two runs of one model side by side: where the difference of their peaks comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/peak_tensors.h"
#include "common/bytes.h"
#include "snapshot/implementation.h"

/* Tensors of one name and category in both runs. */
typedef struct pair {
    const char *name;     /* borrowed */
    const char *category; /* its name; borrowed */
    int64_t own;          /* bytes at our own peak */
    int64_t pytorch;      /* bytes at PyTorch's */
    int64_t difference;   /* PyTorch's less our own */
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

/* NULL: no memory. */
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
    tide_cell_bytes(table, pytorch);
    tide_cell_bytes(table, own);
    tide_cell_change(table, pytorch - own);
}

/* `all`: the snapshot that knows all categories of the pairs. */
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
            tide_table_row_begin(table);
            tide_cell_text(table, category);
            add_cells(table, own, pytorch);
        }
        all_own += own;
        all_pytorch += pytorch;
    }
    tide_table_row_begin(table);
    tide_cell_text(table, "all");
    add_cells(table, all_own, all_pytorch);
}

/* Adds the largest differences, and one row for all others, so that the columns add up. */
static void add_tensors(tide_report *report, const pair *pairs, size_t n_pairs, size_t top) {
    tide_table *table = tide_report_table(report, "beside_tensors", "the same by tensor");
    int64_t rest_own = 0;
    int64_t rest_pytorch = 0;
    tide_table_column(table, "tensor", "tensor", false);
    tide_table_column(table, "category", "category", false);
    add_columns(table);
    for (size_t i = 0; i < n_pairs; i++) {
        if (i >= top || pairs[i].difference == 0) {
            rest_own += pairs[i].own;
            rest_pytorch += pairs[i].pytorch;
            continue;
        }
        tide_table_row_begin(table);
        tide_cell_text(table, pairs[i].name);
        tide_cell_text(table, pairs[i].category);
        add_cells(table, pairs[i].own, pairs[i].pytorch);
    }
    tide_table_row_begin(table);
    tide_cell_text(table, "all others");
    tide_cell_none(table);
    add_cells(table, rest_own, rest_pytorch);
}

static void say(tide_report *report, const char *label, const tide_peak_tensors *own,
                const tide_peak_tensors *pytorch, const pair *pairs, size_t n_pairs) {
    char text[SENTENCE_BYTES] = "";
    char of_own[TIDE_BYTES_TEXT];
    char of_pytorch[TIDE_BYTES_TEXT];
    char difference[TIDE_BYTES_TEXT];
    int64_t own_bytes = own->memory.allocated_peak_bytes;
    int64_t pytorch_bytes = pytorch->memory.allocated_peak_bytes;
    int64_t more = pytorch_bytes - own_bytes;
    size_t n_said = 0;
    for (size_t i = 0; i < n_pairs && n_said < N_SAID; i++) {
        size_t n_used = strlen(text);
        /* Only tensors that add to the difference explain it. */
        if (pairs[i].difference != 0 && (pairs[i].difference > 0) == (more > 0)) {
            char bytes[TIDE_BYTES_TEXT];
            int64_t size = pairs[i].difference < 0 ? -pairs[i].difference : pairs[i].difference;
            (void)snprintf(text + n_used, sizeof(text) - n_used, "%s%s %s",
                           n_said > 0 ? ", " : ": most by ", pairs[i].name,
                           tide_bytes_format(size, bytes));
            n_said++;
        }
    }
    tide_report_say(
        report, "beside_pytorch", "%s%s%s, allocates %s at most, %s %s; PyTorch's is %s %s%s",
        label, label[0] != '\0' ? ": " : "", TIDE_WORDS_PYTORCH,
        tide_bytes_format(pytorch_bytes, of_pytorch), TIDE_WORDS_OWN,
        tide_bytes_format(own_bytes, of_own),
        tide_bytes_format(more < 0 ? -more : more, difference), more < 0 ? "less" : "more", text);
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

tide_status tide_beside_run(tide_report *report, const char *label, const tide_run_config *own,
                            const tide_run_config *pytorch, size_t top, tide_error *error) {
    tide_peak_tensors own_peak;
    tide_peak_tensors pytorch_peak = {.owned = NULL};
    tide_status status = tide_peak_tensors_make(own, &own_peak, error);
    if (status == TIDE_OK) {
        status = tide_peak_tensors_make(pytorch, &pytorch_peak, error);
    }
    if (status == TIDE_OK) {
        tide_beside_report(report, label, &own_peak, &pytorch_peak, top);
    }
    tide_peak_tensors_fini(&pytorch_peak);
    tide_peak_tensors_fini(&own_peak);
    return status;
}
