/* The parts of `tidemark summary` about what is alive at one instant. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/snapshot_words.h"
#include "cli/summary/origin.h"
#include "cli/summary/view.h"
#include "common/plural.h"

enum { SHOWN_FRAMES = 3, SENTENCE_BYTES = 1024, TITLE_BYTES = 160 };

tide_table *tide_summary_table(const tide_summary_view *of, const char *key, const char *what,
                               const char *behind) {
    char title[TITLE_BYTES];
    snprintf(title, sizeof(title), "%s %s%s", what, of->when, behind);
    return tide_report_table(of->report, key, title);
}

const char *tide_summary_path(const tide_summary_view *of, uint32_t path) {
    const char *text = tide_scope_paths_text(of->paths, of->snapshot, path, &of->report->arena);
    if (text == NULL) {
        of->report->no_memory = true;
        return "";
    }
    return text;
}

double tide_summary_share(const tide_summary_view *of, int64_t n_bytes) {
    int64_t all = of->device->peak.totals.allocated_bytes;
    return all > 0 ? 100.0 * (double)n_bytes / (double)all : 0.0;
}

/* The columns that every table of shares has behind its first, or before its last. */
void tide_summary_share_columns(tide_table *table) {
    tide_table_column(table, "bytes", "allocated", true);
    tide_table_column(table, "share_percent", "share", true);
    tide_table_column(table, "requested_bytes", "requested", true);
    tide_table_column(table, "blocks", "blocks", true);
    tide_table_column(table, "largest", "largest block", false);
}

void tide_summary_share_cells(const tide_summary_view *of, tide_table *table,
                              const tide_share *share) {
    tide_cell_bytes(table, share->bytes);
    tide_cell_percent(table, tide_summary_share(of, share->bytes));
    tide_cell_bytes(table, share->requested_bytes);
    tide_cell_count(table, share->n_blocks);
    tide_cell_text(table, share->largest_name);
}

/* The shares beyond the first `top`, summed up, and a label for them; false when there are none. */
static bool others(const tide_summary_view *of, const tide_split *split, tide_share *ret_rest,
                   char ret_label[TIDE_SUMMARY_LABEL_BYTES]) {
    if (split->n_shares <= of->top) {
        return false;
    }
    tide_share rest = {.largest_name = ""};
    for (size_t i = of->top; i < split->n_shares; i++) {
        rest.bytes += split->shares[i].bytes;
        rest.requested_bytes += split->shares[i].requested_bytes;
        rest.n_blocks += split->shares[i].n_blocks;
    }
    size_t n_others = split->n_shares - of->top;
    snprintf(ret_label, TIDE_SUMMARY_LABEL_BYTES, "(%zu other%s)", n_others,
             tide_plural(n_others, "", "s"));
    *ret_rest = rest;
    return true;
}

static void share_row(const tide_summary_view *of, tide_table *table, const char *label,
                      const tide_share *share) {
    tide_table_row_begin(table);
    tide_cell_text(table, label);
    tide_summary_share_cells(of, table, share);
}

static void category_table(const tide_summary_view *of) {
    tide_table *table = tide_summary_table(of, "by_category", "Alive", ", by category");
    const tide_split *split = &of->device->peak.by_category;
    tide_table_column(table, "category", "category", false);
    tide_summary_share_columns(table);
    for (size_t i = 0; i < split->n_shares; i++) {
        if (split->shares[i].n_blocks > 0) {
            share_row(of, table, split->shares[i].label, &split->shares[i]);
        }
    }
}

static void path_table(const tide_summary_view *of, const char *key, const char *behind,
                       const tide_split *split) {
    char label[TIDE_SUMMARY_LABEL_BYTES];
    tide_share rest;
    tide_table *table = tide_summary_table(of, key, "Alive", behind);
    tide_table_column(table, "scope", "scope", false);
    tide_summary_share_columns(table);
    for (size_t i = 0; i < split->n_shares && i < of->top; i++) {
        const char *path = split->shares[i].label;
        share_row(of, table, path[0] != '\0' ? path : "(outside every scope)", &split->shares[i]);
    }
    if (others(of, split, &rest, label)) {
        share_row(of, table, label, &rest);
    }
}

/* The stack comes last: it is long. */
static void stack_row(const tide_summary_view *of, tide_table *table, const char *words,
                      const tide_share *share) {
    tide_table_row_begin(table);
    tide_summary_share_cells(of, table, share);
    tide_cell_text(table, words);
}

static void stack_table(const tide_summary_view *of) {
    char label[TIDE_SUMMARY_LABEL_BYTES];
    tide_share rest;
    tide_table *table = tide_summary_table(of, "by_stack", "Alive", ", by call stack");
    const tide_split *split = &of->device->peak.by_stack;
    tide_summary_share_columns(table);
    tide_table_column(table, "stack", "call stack, innermost first", false);
    for (size_t i = 0; i < split->n_shares && i < of->top; i++) {
        char words[SENTENCE_BYTES];
        tide_words_stack(of->snapshot, split->shares[i].key, SHOWN_FRAMES, words, sizeof(words));
        stack_row(of, table, words, &split->shares[i]);
    }
    if (others(of, split, &rest, label)) {
        stack_row(of, table, label, &rest);
    }
}

static void block_table(const tide_summary_view *of) {
    const tide_summary_peak *peak = &of->device->peak;
    tide_table *table = tide_summary_table(of, "blocks", "Largest blocks", "");
    tide_table_column(table, "name", "name", false);
    tide_table_column(table, "category", "category", false);
    tide_table_column(table, "bytes", "allocated", true);
    tide_table_column(table, "requested_bytes", "requested", true);
    tide_table_column(table, "event", "since event", true);
    for (size_t i = 0; i < peak->n_blocks && i < of->top; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        const char *name = tide_snapshot_text(of->snapshot, block->name);
        tide_table_row_begin(table);
        tide_cell_text(table, name[0] != '\0' ? name : "(no name)");
        tide_cell_text(table, tide_snapshot_category(of->snapshot, block->category));
        tide_cell_bytes(table, (int64_t)block->block_bytes);
        tide_cell_bytes(table, (int64_t)block->requested_bytes);
        tide_cell_count(table, (int64_t)block->born - 1);
    }
}

tide_status tide_summary_alive(const tide_summary_view *of) {
    if (of->device->peak.n_blocks > 0 && tide_summary_lacks_categories(&of->device->peak)) {
        return tide_summary_user_frames(of);
    }
    category_table(of);
    return TIDE_OK;
}

void tide_summary_alive_places(const tide_summary_view *of) {
    path_table(of, "by_phase", ", by phase of the allocation", &of->device->peak.by_phase);
    path_table(of, "by_scope", ", by scope of the allocation", &of->device->peak.by_scope);
    stack_table(of);
    block_table(of);
}
