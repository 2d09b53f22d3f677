#include "snapshot/explain/causes/causes.h"

#include <string.h>

#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/words/user_line.h"

static tide_cause_rule *const RULES[] = {
    /* the whole failure */
    tide_cause_models,
    tide_cause_card,
    tide_cause_exception,
    tide_cause_process,
    /* growth and fragmentation */
    tide_cause_growth,
    tide_cause_garbage,
    tide_cause_fragmentation,
    tide_cause_double,
    /* the peak */
    tide_cause_rebuilt,
    tide_cause_loaded,
    tide_cause_untrained,
    tide_cause_second_order,
    tide_cause_summed,
    tide_cause_collected,
    tide_cause_overlap,
    tide_cause_one_hot,
    tide_cause_jacobian,
    tide_cause_logits,
    tide_cause_attention_weights,
    tide_cause_attention_by_hand,
    tide_cause_blow_up,
    tide_cause_foreach,
    tide_cause_ddp,
    tide_cause_autocast,
    tide_cause_lbfgs,
    tide_cause_dense,
    tide_cause_unused_gradients,
    tide_cause_recomputed,
    tide_cause_copy,
    tide_cause_weight_copies,
    tide_cause_gradients_in_forward,
    /* reserved memory */
    tide_cause_reserved,
    tide_cause_spare,
    /* only if nothing else fired */
    tide_cause_results,
    tide_cause_equals,
    tide_cause_data,
    tide_cause_kv_cache,
    tide_cause_activations,
    tide_cause_sheer,
};

#define LEAST_SHARE 0.01                /* smaller causes are not named */
#define LEAST_BYTES (INT64_C(32) << 20) /* nor are those of the peak that hold less */
#define LEAST_GROWTH_SHARE 0.15 /* at a failure, smaller growth only is a part of the peak */

tide_status tide_causes_add(tide_causes *to, const tide_cause *cause) {
    tide_cause made = *cause;
    tide_cause *grown =
        tide_hostmem_grow(to->arena.mem, to->causes, &to->room, to->n_causes + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->causes = grown;
    made.words = tide_arena_text(&to->arena, cause->words);
    made.cure = tide_arena_text(&to->arena, cause->cure);
    made.cost = tide_arena_text(&to->arena, cause->cost != NULL ? cause->cost : "");
    if (made.words == NULL || made.cure == NULL || made.cost == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->causes[to->n_causes++] = made;
    return TIDE_OK;
}

const char *tide_cause_place(const tide_facts *facts, uint32_t node, char text[TIDE_PLACE_TEXT]) {
    tide_text to = tide_text_in(text, TIDE_PLACE_TEXT);
    if (node != TIDE_NONE) {
        tide_user_line_add_frame(facts->snapshot, facts->snapshot->stacks[node].frame, &to);
    } else {
        tide_text_add(&to, "a line that is not known");
    }
    return text;
}

const char *tide_cause_quoted(const tide_facts *facts, uint32_t node, const char *after,
                              char text[TIDE_PLACE_TEXT]) {
    tide_text to = tide_text_in(text, TIDE_PLACE_TEXT);
    (void)tide_cause_place(facts, node, text);
    to.n_used = strlen(text);
    if (node != TIDE_NONE) {
        tide_user_line_add_quote(facts->snapshot, facts->snapshot->stacks[node].frame, ", ", after,
                                 &to);
    }
    return text;
}

const char *tide_cause_share(double share, char text[TIDE_SHARE_TEXT]) {
    tide_text to = tide_text_in(text, TIDE_SHARE_TEXT);
    tide_text_add(&to, "%.0f %%", 100 * share);
    return text;
}

static bool is_before(const tide_cause *a, const tide_cause *b) {
    return a->tier != b->tier ? a->tier < b->tier : a->share > b->share;
}

/* Whether two growths are of one line, or one loop runs within the other: an inner loop repeats
 * what the loop around it says. */
static bool is_same_growth(const tide_facts *facts, const tide_growth_fact *a,
                           const tide_growth_fact *b) {
    const tide_stack_row *stacks = facts->snapshot->stacks;
    bool is_line = a->line != TIDE_NONE && b->line != TIDE_NONE &&
                   stacks[a->line].frame == stacks[b->line].frame;
    bool is_nested = (a->loop->starts[0] <= b->loop->starts[0] && b->loop->end <= a->loop->end) ||
                     (b->loop->starts[0] <= a->loop->starts[0] && a->loop->end <= b->loop->end);
    return is_line || is_nested ||
           (a->loop->file == b->loop->file && a->loop->first_line == b->loop->first_line);
}

static bool is_same(const tide_facts *facts, const tide_cause *a, const tide_cause *b) {
    return strcmp(a->id, b->id) == 0 &&
           (a->growth == NULL || b->growth == NULL || is_same_growth(facts, a->growth, b->growth));
}

/* Sorts the causes, and drops small ones and repetitions. */
static void sort(tide_causes *causes, const tide_facts *facts) {
    size_t n = 0;
    bool has_failed = facts->failure.event >= 0;
    for (size_t i = 0; i < causes->n_causes; i++) {
        tide_cause cause = causes->causes[i];
        bool is_small = has_failed && cause.growth != NULL && cause.share < LEAST_GROWTH_SHARE;
        bool is_trifle = cause.tier >= TIDE_TIER_PEAK && cause.growth == NULL && cause.bytes > 0 &&
                         cause.bytes < LEAST_BYTES;
        bool is_known = cause.share < LEAST_SHARE || is_trifle;
        cause.tier = is_small && cause.tier == TIDE_TIER_GROWTH ? TIDE_TIER_PEAK : cause.tier;
        for (size_t j = 0; j < n; j++) {
            is_known = is_known || is_same(facts, &causes->causes[j], &cause);
        }
        if (is_known) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && is_before(&cause, &causes->causes[at - 1]); at--) {
            causes->causes[at] = causes->causes[at - 1];
        }
        causes->causes[at] = cause;
    }
    causes->n_causes = n;
}

tide_status tide_causes_init(tide_causes *causes, const tide_facts *facts) {
    *causes = (tide_causes){0};
    tide_arena_init(&causes->arena, facts->mem);
    if (facts->peak_bytes <= 0) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        TIDE_TRY(RULES[i](facts, causes));
    }
    sort(causes, facts);
    return TIDE_OK;
}

void tide_causes_fini(tide_causes *causes) {
    if (causes->arena.mem != NULL) {
        causes->arena.mem->release(causes->arena.mem->ctx, causes->causes);
        tide_arena_fini(&causes->arena);
        *causes = (tide_causes){0};
    }
}

void tide_cause_add_text(const tide_cause *cause, bool is_first, tide_text *to) {
    tide_text_add(to, "%s%s Cure: %s", is_first ? "" : "Also: ", cause->words, cause->cure);
    if (cause->cost[0] != '\0') {
        tide_text_add(to, " (cost: %s)", cause->cost);
    }
    tide_text_add(to, ".");
}

const tide_cause *tide_causes_find(const tide_causes *causes, const char *id) {
    for (size_t i = 0; i < causes->n_causes; i++) {
        if (strcmp(causes->causes[i].id, id) == 0) {
            return &causes->causes[i];
        }
    }
    return NULL;
}

bool tide_causes_admit_setting(const tide_facts *facts, const tide_causes *causes) {
    const tide_cause *first = causes->n_causes > 0 ? &causes->causes[0] : NULL;
    return facts->failure.event >= 0 ? first != NULL && strcmp(first->id, "fragmentation") == 0
                                     : tide_reserved_is_spare(&facts->reserved) &&
                                           (first == NULL || first->growth == NULL);
}
