/* The parts of `tidemark summary` about the live memory at one instant. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/words/snapshot_words.h"
#include "cli/summary/origin.h"
#include "cli/summary/view.h"
#include "common/text/plural.h"

enum { SHOWN_FRAMES = 3 };

tide_table *tide_summary_table(const tide_summary_view *of, const char *key, const char *what,
                               const char *behind) {
    return tide_report_table(of->report, key,
                             tide_report_text(of->report, "%s %s%s", what, of->when, behind));
}

const char *tide_summary_path(const tide_summary_view *of, uint32_t path) {
    const char *text = tide_scope_paths_text(of->paths, of->snapshot, path, &of->report->arena);
    if (text == NULL) {
        of->report->no_memory = true;
        return "";
    }
    return text;
}

const char *tide_summary_scope(const tide_summary_view *of, uint32_t scope) {
    return tide_summary_path(of, scope == TIDE_NONE ? TIDE_NONE : of->paths->of_scope[scope]);
}

const char *tide_summary_name(const tide_summary_view *of, uint32_t name) {
    const char *text = tide_snapshot_text(of->snapshot, name);
    return text[0] != '\0' ? text : "(no name)";
}

tide_cell tide_summary_share(const tide_summary_view *of, int64_t n_bytes) {
    return tide_as_share((double)n_bytes, (double)of->device->peak.totals.allocated_bytes);
}

/* The columns that every table of shares has after its first one, or before its last one. */
void tide_summary_share_columns(tide_table *table) {
    TIDE_COLUMNS(table, TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("share_percent", "share"),
                 TIDE_NUMBER("requested_bytes", "requested"), TIDE_NUMBER("blocks", "blocks"),
                 TIDE_TEXT("largest", "largest block"));
}

void tide_summary_share_cells(const tide_summary_view *of, tide_table *table,
                              const tide_share *share) {
    TIDE_CELLS(table, tide_as_bytes(share->bytes), tide_summary_share(of, share->bytes),
               tide_as_bytes(share->requested_bytes), tide_as_count(share->n_blocks),
               tide_as_text(share->largest_name));
}

/* The shares beyond the first `top`, summed, with a label; false if there are none. */
static bool others(const tide_summary_view *of, const tide_split *split, tide_share *ret_rest) {
    if (split->n_shares <= of->top) {
        return false;
    }
    size_t n_others = split->n_shares - of->top;
    tide_share rest = {.largest_name = "",
                       .label = tide_report_text(of->report, "(%zu other%s)", n_others,
                                                 tide_plural(n_others, "", "s"))};
    for (size_t i = of->top; i < split->n_shares; i++) {
        rest.bytes += split->shares[i].bytes;
        rest.requested_bytes += split->shares[i].requested_bytes;
        rest.n_blocks += split->shares[i].n_blocks;
    }
    *ret_rest = rest;
    return true;
}

static void share_row(const tide_summary_view *of, tide_table *table, const char *label,
                      const tide_share *share) {
    TIDE_ROW(table, tide_as_text(label));
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

/* How much of it is known, and how well; nothing if the file does not have that. */
static void certainty_table(const tide_summary_view *of) {
    const tide_split *split = &of->device->peak.by_certainty;
    if (split->n_shares == 0) {
        return;
    }
    tide_table *table =
        tide_summary_table(of, "by_certainty", "Alive", ", by how the category is known");
    tide_table_column(table, "certainty", "category is", false);
    tide_summary_share_columns(table);
    for (size_t i = split->n_shares; i-- > 0;) { /* the best known first */
        share_row(of, table, split->shares[i].label, &split->shares[i]);
    }
}

static void path_table(const tide_summary_view *of, const char *key, const char *behind,
                       const tide_split *split) {
    tide_share rest;
    tide_table *table = tide_summary_table(of, key, "Alive", behind);
    tide_table_column(table, "scope", "scope", false);
    tide_summary_share_columns(table);
    for (size_t i = 0; i < split->n_shares && i < of->top; i++) {
        share_row(of, table, tide_words_scope(split->shares[i].label), &split->shares[i]);
    }
    if (others(of, split, &rest)) {
        share_row(of, table, rest.label, &rest);
    }
}

/* The stack comes last, because it is long. */
static void stack_row(const tide_summary_view *of, tide_table *table, const char *words,
                      const tide_share *share) {
    tide_table_row_begin(table);
    tide_summary_share_cells(of, table, share);
    TIDE_CELLS(table, tide_as_text(words));
}

static void stack_table(const tide_summary_view *of) {
    tide_share rest;
    tide_table *table = tide_summary_table(of, "by_stack", "Alive", ", by call stack");
    const tide_split *split = &of->device->peak.by_stack;
    tide_summary_share_columns(table);
    tide_table_column(table, "stack", "call stack, innermost first", false);
    for (size_t i = 0; i < split->n_shares && i < of->top; i++) {
        const tide_share *share = &split->shares[i];
        stack_row(of, table, tide_report_stack(of->report, of->snapshot, share->key, SHOWN_FRAMES),
                  share);
    }
    if (others(of, split, &rest)) {
        stack_row(of, table, rest.label, &rest);
    }
}

/* The line that a block belongs to. */
static const char *block_line(const tide_summary_view *of, const tide_verdict *verdict,
                              const tide_lifetime *block) {
    const tide_place place = tide_place_of(&verdict->facts, block);
    return tide_summary_place(of, verdict, &place);
}

static bool any_is_named(const tide_summary_view *of) {
    const tide_summary_peak *peak = &of->device->peak;
    for (size_t i = 0; i < peak->n_blocks && i < of->top; i++) {
        if (tide_snapshot_text(of->snapshot, peak->blocks[i].name)[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* Other programs' snapshots have few names, so a block is identified by its line there. */
static void block_table(const tide_summary_view *of, const tide_verdict *verdict) {
    const tide_summary_peak *peak = &of->device->peak;
    tide_table *table = tide_summary_table(of, "blocks", "Largest blocks", "");
    bool has_lines = of->snapshot->origin.format[0] != '\0';
    bool has_names = !has_lines || any_is_named(of);
    if (has_names) {
        tide_table_column(table, "name", "name", false);
    }
    if (has_lines) {
        tide_table_column(table, "line", "line of the program", false);
    }
    TIDE_COLUMNS(table, TIDE_TEXT("category", "category"), TIDE_NUMBER("bytes", "allocated"),
                 TIDE_NUMBER("requested_bytes", "requested"), TIDE_NUMBER("event", "since event"));
    if (peak->by_certainty.n_shares > 0) {
        tide_table_column(table, "certainty", "category is", false);
    }
    for (size_t i = 0; i < peak->n_blocks && i < of->top; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        tide_table_row_begin(table);
        if (has_names) {
            TIDE_CELLS(table, tide_as_text(tide_summary_name(of, block->name)));
        }
        if (has_lines) {
            TIDE_CELLS(table, tide_as_text(block_line(of, verdict, block)));
        }
        TIDE_CELLS(table, tide_as_text(tide_snapshot_category(of->snapshot, block->category)),
                   tide_as_bytes((int64_t)block->block_bytes),
                   tide_as_bytes((int64_t)block->requested_bytes),
                   tide_as_count((int64_t)block->born - 1),
                   tide_as_text(tide_certainty_name(block->certainty)));
    }
}

void tide_summary_alive(const tide_summary_view *of, const tide_verdict *verdict) {
    bool is_foreign = of->snapshot->origin.format[0] != '\0';
    bool lacks_categories = tide_summary_lacks_categories(&of->device->peak);
    if (of->device->peak.n_blocks > 0 && (is_foreign || lacks_categories)) {
        tide_summary_user_frames(of, verdict);
    }
    if (!lacks_categories || of->device->peak.n_blocks == 0) {
        category_table(of);
    }
    certainty_table(of);
}

void tide_summary_alive_places(const tide_summary_view *of, const tide_verdict *verdict) {
    path_table(of, "by_phase", ", by phase of the allocation", &of->device->peak.by_phase);
    path_table(of, "by_scope", ", by scope of the allocation", &of->device->peak.by_scope);
    stack_table(of);
    block_table(of, verdict);
}
