/* The part of `tidemark summary` that shows what is alive as a tree. */
#include <stdio.h>

#include "cli/snapshot_words.h"
#include "cli/summary/view.h"

enum { SHOWN_FRAMES = 3, LABEL_BYTES = 1024, MAX_INDENT = 2 * TIDE_N_TREE_KEYS };

/* The text of a node without its indent. */
static const char *label_of(const tide_summary_view *of, const tide_tree_node *node,
                            tide_tree_key key, char room[LABEL_BYTES]) {
    const char *text = "";
    if (node->n_merged > 0) {
        snprintf(room, LABEL_BYTES, "(%zu more)", node->n_merged);
        return room;
    }
    switch (key) {
    case TIDE_TREE_CATEGORY:
        return tide_snapshot_category(of->snapshot, node->value);
    case TIDE_TREE_STACK:
        tide_words_stack(of->snapshot, node->value, SHOWN_FRAMES, room, LABEL_BYTES);
        return room;
    case TIDE_TREE_NAME:
        text = tide_snapshot_text(of->snapshot, node->value);
        return text[0] != '\0' ? text : "(no name)";
    default:
        text = tide_summary_path(of, node->value);
        return text[0] != '\0' ? text : "(outside every scope)";
    }
}

static void add_row(const tide_summary_view *of, tide_table *table, const tide_alive_tree *tree,
                    const tide_tree_plan *plan, size_t i) {
    const tide_tree_node *node = &tree->nodes[i];
    tide_tree_key key = plan->keys[node->level];
    char room[LABEL_BYTES];
    char indented[LABEL_BYTES + MAX_INDENT];
    const char *label = label_of(of, node, key, room);
    tide_table_row_begin(table);
    if (of->is_for_programs) {
        tide_cell_count(table, (int64_t)i);
        tide_cell_count(table, node->parent == SIZE_MAX ? -1 : (int64_t)node->parent);
        tide_cell_count(table, (int64_t)node->level);
        tide_cell_text(table, tide_tree_key_name((size_t)key));
    }
    tide_cell_bytes(table, node->bytes);
    tide_cell_percent(table, tide_summary_share(of, node->bytes));
    tide_cell_bytes(table, node->requested_bytes);
    tide_cell_count(table, node->n_blocks);
    /* Blanks at the begin of a cell are lost in Markdown and LaTeX. */
    const char *mark = of->is_text ? "  " : "- ";
    size_t n = 0;
    for (size_t level = 0; level < node->level && !of->is_for_programs; level++) {
        n += (size_t)snprintf(indented + n, sizeof(indented) - n, "%s", mark);
    }
    snprintf(indented + n, sizeof(indented) - n, "%.*s", LABEL_BYTES - 1, label);
    tide_cell_text(table, indented);
}

tide_status tide_summary_tree(const tide_summary_view *of, const tide_tree_plan *plan) {
    const tide_summary_peak *peak = &of->device->peak;
    tide_alive_tree tree;
    TIDE_TRY(tide_alive_tree_init(&tree, of->lifetimes->mem, peak->blocks, peak->n_blocks,
                                  of->paths, plan));
    char behind[128];
    size_t n = (size_t)snprintf(behind, sizeof(behind), ", by");
    for (size_t i = 0; i < plan->n_keys; i++) {
        n += (size_t)snprintf(behind + n, sizeof(behind) - n, "%s %s", i > 0 ? " >" : "",
                              tide_tree_key_name((size_t)plan->keys[i]));
    }
    tide_table *table = tide_summary_table(of, "tree", "Alive", behind);
    if (of->is_for_programs) {
        tide_table_column(table, "row", "row", true);
        tide_table_column(table, "parent", "parent", true);
        tide_table_column(table, "level", "level", true);
        tide_table_column(table, "key", "key", false);
    }
    tide_table_column(table, "bytes", "allocated", true);
    tide_table_column(table, "share_percent", "share", true);
    tide_table_column(table, "requested_bytes", "requested", true);
    tide_table_column(table, "blocks", "blocks", true);
    tide_table_column(table, "label", "what", false);
    for (size_t i = 0; i < tree.n_nodes; i++) {
        add_row(of, table, &tree, plan, i);
    }
    tide_alive_tree_fini(&tree);
    return TIDE_OK;
}
