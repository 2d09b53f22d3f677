#include "snapshot/explain/causes/line_text.h"

#include <string.h>

#include "snapshot/document/source.h"

static bool has_any(const char *text, const char *const *parts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strstr(text, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static const tide_source_row *row_of(const tide_facts *facts, uint32_t node) {
    return node != TIDE_NONE ? tide_source_of(facts->snapshot, facts->snapshot->stacks[node].frame)
                             : NULL;
}

/* Whether an operator stands outside of all brackets: its result is a tensor of its own. */
static bool has_operator(const char *text) {
    int depth = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        depth += strchr("([{", text[i]) != NULL ? 1 : strchr(")]}", text[i]) != NULL ? -1 : 0;
        if (depth == 0 && i > 0 && text[i - 1] == ' ' && text[i + 1] == ' ' &&
            strchr("+-*/@", text[i]) != NULL) {
            return true;
        }
    }
    return false;
}

tide_line_kind tide_cause_line_kind(const tide_facts *facts, uint32_t node) {
    static const char *const MAKERS[] = {"zeros(",      "ones(",      "empty(",      "full(",
                                         "rand(",       "randn(",     "randint(",    "arange(",
                                         "eye(",        "tensor(",    "zeros_like(", "ones_like(",
                                         "empty_like(", "full_like(", "load("};
    static const char *const CONVERSIONS[] = {".float(",    ".double(", ".half(",
                                              ".bfloat16(", ".long(",   ".int(",
                                              ".to(",       ".cuda(",   ".type("};
    const tide_source_row *row = row_of(facts, node);
    if (row == NULL || row->text[0] == '\0' || row->is_cut) {
        return TIDE_LINE_UNKNOWN;
    }
    if (!has_operator(row->text) &&
        has_any(row->text, MAKERS, sizeof(MAKERS) / sizeof(MAKERS[0]))) {
        return TIDE_LINE_MAKES;
    }
    return has_any(row->text, CONVERSIONS, sizeof(CONVERSIONS) / sizeof(CONVERSIONS[0]))
               ? TIDE_LINE_CONVERTS
               : TIDE_LINE_COMPUTES;
}

bool tide_cause_line_has(const tide_facts *facts, uint32_t node, const char *part) {
    const tide_source_row *row = row_of(facts, node);
    return row != NULL && strstr(row->text, part) != NULL;
}

bool tide_cause_line_expands(const tide_facts *facts, uint32_t node) {
    static const char *const SIGNS[] = {
        "[:, None", "[None",  "None]",  "None,", ".unsqueeze(", ".expand(", "repeat_interleave(",
        "[edge",    "[src",   "[dst",   "[row",  "[col",        "[idx",     "index_select(",
        "[index",   "cdist(", "gather("};
    const tide_source_row *row = row_of(facts, node);
    return row != NULL && has_any(row->text, SIGNS, sizeof(SIGNS) / sizeof(SIGNS[0]));
}

bool tide_cause_line_multiplies(const tide_facts *facts, uint32_t node) {
    static const char *const PRODUCTS[] = {" @ ", "matmul(", "einsum("};
    const tide_source_row *row = row_of(facts, node);
    return row != NULL && has_any(row->text, PRODUCTS, sizeof(PRODUCTS) / sizeof(PRODUCTS[0]));
}

bool tide_cause_line_subtracts_pairs(const tide_facts *facts, uint32_t node) {
    bool is_pairing =
        tide_cause_line_has(facts, node, "None") || tide_cause_line_has(facts, node, ".unsqueeze(");
    return is_pairing && tide_cause_line_has(facts, node, " - ");
}

bool tide_cause_line_collects(const tide_facts *facts, uint32_t node) {
    static const char *const ADDS[] = {".append(", ".extend(", " += "};
    static const char *const MOVES[] = {".item()", ".tolist()", ".cpu()", ".numpy()"};
    bool adds = false;
    for (size_t i = 0; i < sizeof(ADDS) / sizeof(ADDS[0]); i++) {
        adds = adds || tide_cause_line_has(facts, node, ADDS[i]);
    }
    for (size_t i = 0; i < sizeof(MOVES) / sizeof(MOVES[0]) && adds; i++) {
        adds = !tide_cause_line_has(facts, node, MOVES[i]);
    }
    return adds;
}
