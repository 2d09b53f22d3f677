/* The part of `tidemark summary` about the rules that determined the categories. */
#include <string.h>

#include "cli/summary/view.h"
#include "snapshot/analysis/category_rules.h"

/* What a rule explains. */
typedef struct coverage {
    int64_t bytes, n_blocks;
} coverage;

static void rule_table(const tide_summary_view *of, const tide_rules *rules,
                       const coverage *covered) {
    tide_table *table = tide_summary_table(of, "by_rule", "Alive", ", by the rule of the category");
    TIDE_COLUMNS(table, TIDE_TEXT("rule", "rule"), TIDE_TEXT("category", "category"),
                 TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("share_percent", "share"),
                 TIDE_NUMBER("blocks", "blocks"));
    for (size_t i = 0; i < tide_rules_count(rules); i++) {
        if (covered[i].n_blocks > 0) {
            TIDE_ROW(table, tide_as_text(tide_rules_words(rules, i)),
                     tide_as_text(tide_rules_category(rules, i)), tide_as_bytes(covered[i].bytes),
                     tide_summary_share(of, covered[i].bytes), tide_as_count(covered[i].n_blocks));
        }
    }
}

static void count(const tide_summary_view *of, const uint8_t *rule_of, coverage *covered) {
    const tide_summary_peak *peak = &of->device->peak;
    for (size_t i = 0; i < peak->n_blocks; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        if (rule_of[i] != TIDE_NO_RULE && block->certainty == TIDE_CERTAINTY_RULE) {
            covered[rule_of[i]].bytes += (int64_t)block->block_bytes;
            covered[rule_of[i]].n_blocks++;
        }
    }
}

tide_status tide_summary_rules(const tide_summary_view *of, const char *path, tide_error *error) {
    const tide_summary_peak *peak = &of->device->peak;
    const tide_hostmem *mem = of->lifetimes->mem;
    if (path == NULL && strcmp(of->snapshot->origin.format, "pytorch") != 0) {
        return TIDE_OK;
    }
    tide_rules *rules = NULL;
    TIDE_TRY(tide_rules_create(path, mem, &rules, error));
    uint8_t *rule_of = tide_hostmem_zeroed(mem, peak->n_blocks, sizeof(*rule_of));
    coverage *covered = tide_hostmem_zeroed(mem, tide_rules_count(rules), sizeof(*covered));
    tide_status status = rule_of != NULL && covered != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status == TIDE_OK) {
        status = tide_rules_match(rules, of->snapshot, peak->blocks, peak->n_blocks, rule_of);
    }
    if (status == TIDE_OK) {
        count(of, rule_of, covered);
        rule_table(of, rules, covered);
    }
    mem->release(mem->ctx, covered);
    mem->release(mem->ctx, rule_of);
    tide_rules_destroy(rules);
    return status;
}
