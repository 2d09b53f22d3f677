#include "snapshot/document/categories.h"

#include <string.h>

#include "common/assert.h"

tide_status tide_category_list_number(tide_category_list *list, const char *name,
                                      uint8_t *ret_number, tide_error *error) {
    int known = name[0] == '\0' ? TIDE_UNKNOWN : tide_category_from_name(name);
    size_t own = 0;
    if (known >= 0) {
        *ret_number = (uint8_t)known;
        return TIDE_OK;
    }
    if (strlen(name) > TIDE_CATEGORY_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "a category's name of %zu bytes: the limit is %d",
                         strlen(name), TIDE_CATEGORY_BYTES);
    }
    TIDE_ASSERT(list->n <= TIDE_OWN_CATEGORIES);
    while (own < list->n && strcmp(list->names[own], name) != 0) {
        own++;
    }
    if (own == TIDE_OWN_CATEGORIES) {
        return tide_fail(error, TIDE_LIMIT,
                         "more than the limit of %d categories beside the %d that tidemark knows",
                         TIDE_OWN_CATEGORIES, TIDE_N_CATEGORIES);
    }
    if (own == list->n) {
        list->names[list->n++] = name;
    }
    *ret_number = (uint8_t)(TIDE_N_CATEGORIES + own);
    return TIDE_OK;
}

tide_status tide_category_list_store(const tide_category_list *list, tide_snapshot *snapshot) {
    const char **names = tide_arena_alloc(&snapshot->arena, list->n, sizeof(*names));
    for (size_t i = 0; names != NULL && i < list->n; i++) {
        names[i] = tide_arena_text(&snapshot->arena, list->names[i]);
        if (names[i] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    if (names == NULL) {
        return TIDE_NO_MEMORY;
    }
    snapshot->own_categories = names;
    snapshot->n_own_categories = list->n;
    return TIDE_OK;
}

size_t tide_snapshot_n_categories(const tide_snapshot *snapshot) {
    return TIDE_N_CATEGORIES + snapshot->n_own_categories;
}

bool tide_snapshot_has_certainty(const tide_snapshot *snapshot) {
    return snapshot->event_certainty != NULL || snapshot->start_block_certainty != NULL ||
           snapshot->end_block_certainty != NULL;
}

const char *tide_snapshot_category(const tide_snapshot *snapshot, size_t number) {
    if (number < TIDE_N_CATEGORIES) {
        return tide_category_name((int)number);
    }
    return number < tide_snapshot_n_categories(snapshot)
               ? snapshot->own_categories[number - TIDE_N_CATEGORIES]
               : "?";
}

static const char *const WORDS[] = {
    [TIDE_UNKNOWN] = "unknown kind",      [TIDE_PARAMETER] = "parameters",
    [TIDE_GRADIENT] = "gradients",        [TIDE_OPTIMIZER_STATE] = "optimizer state",
    [TIDE_ACTIVATION] = "activations",    [TIDE_TEMPORARY] = "temporaries",
    [TIDE_WORKSPACE] = "workspaces",      [TIDE_INPUT] = "inputs",
    [TIDE_WEIGHT_COPY] = "weight copies", [TIDE_KV_CACHE] = "KV cache",
};
/* A category without words does not build. */
_Static_assert(sizeof(WORDS) / sizeof(WORDS[0]) == TIDE_N_CATEGORIES, "every category has words");

const char *tide_category_words(int category) {
    return WORDS[category > 0 && category < TIDE_N_CATEGORIES ? category : TIDE_UNKNOWN];
}
