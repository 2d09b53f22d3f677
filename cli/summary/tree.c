/* The part of `tidemark summary` that shows the live memory as a tree. */
#include "cli/words/snapshot_words.h"
#include "cli/summary/view.h"
#include "common/text/text.h"

enum { SHOWN_FRAMES = 3, MAX_INDENT = 2 * TIDE_N_TREE_KEYS };

/* The text of a node without its indent. */
static const char *label_of(const tide_summary_view *of, const tide_tree_node *node,
                            tide_tree_key key) {
    if (node->n_merged > 0) {
        return tide_report_text(of->report, "(%zu more)", node->n_merged);
    }
    switch (key) {
    case TIDE_TREE_CATEGORY:
        return tide_snapshot_category(of->snapshot, node->value);
    case TIDE_TREE_STACK:
        return tide_report_stack(of->report, of->snapshot, node->value, SHOWN_FRAMES);
    case TIDE_TREE_NAME:
        return tide_summary_name(of, node->value);
    default:
        return tide_words_scope(tide_summary_path(of, node->value));
    }
}

static void add_row(const tide_summary_view *of, tide_table *table, const tide_alive_tree *tree,
                    const tide_tree_plan *plan, size_t i) {
    const tide_tree_node *node = &tree->nodes[i];
    tide_tree_key key = plan->keys[node->level];
    char indent[MAX_INDENT + 1] = "";
    tide_text to = tide_text_in(indent, sizeof(indent));
    tide_table_row_begin(table);
    if (of->is_for_programs) {
        TIDE_CELLS(table, tide_as_count((int64_t)i),
                   tide_as_count(node->parent == SIZE_MAX ? -1 : (int64_t)node->parent),
                   tide_as_count((int64_t)node->level),
                   tide_as_text(tide_tree_key_name((size_t)key)));
    }
    /* Blanks at the beginning of a cell are lost in Markdown and LaTeX. */
    for (size_t level = 0; level < node->level && !of->is_for_programs; level++) {
        tide_text_add(&to, "%s", of->is_text ? "  " : "- ");
    }
    TIDE_CELLS(table, tide_as_bytes(node->bytes), tide_summary_share(of, node->bytes),
               tide_as_bytes(node->requested_bytes), tide_as_count(node->n_blocks),
               tide_as_text(tide_report_text(of->report, "%s%s", indent, label_of(of, node, key))));
}

tide_status tide_summary_tree(const tide_summary_view *of, const tide_tree_plan *plan) {
    const tide_summary_peak *peak = &of->device->peak;
    tide_alive_tree tree;
    TIDE_TRY(tide_alive_tree_init(&tree, of->lifetimes->mem, peak->blocks, peak->n_blocks,
                                  of->paths, plan));
    char behind[128];
    tide_text to = tide_text_in(behind, sizeof(behind));
    for (size_t i = 0; i < plan->n_keys; i++) {
        tide_text_add(&to, "%s %s", i > 0 ? " >" : ", by",
                      tide_tree_key_name((size_t)plan->keys[i]));
    }
    tide_table *table = tide_summary_table(of, "tree", "Alive", behind);
    if (of->is_for_programs) {
        TIDE_COLUMNS(table, TIDE_NUMBER("row", "row"), TIDE_NUMBER("parent", "parent"),
                     TIDE_NUMBER("level", "level"), TIDE_TEXT("key", "key"));
    }
    TIDE_COLUMNS(table, TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("share_percent", "share"),
                 TIDE_NUMBER("requested_bytes", "requested"), TIDE_NUMBER("blocks", "blocks"),
                 TIDE_TEXT("label", "what"));
    for (size_t i = 0; i < tree.n_nodes; i++) {
        add_row(of, table, &tree, plan, i);
    }
    tide_alive_tree_fini(&tree);
    return TIDE_OK;
}
