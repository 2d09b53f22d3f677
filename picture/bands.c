/* The bands of a picture by category, and which of them are hidden. */
#include <stdio.h>
#include <string.h>

#include "common/text/text.h"
#include "picture/series_internal.h"
#include "snapshot/analysis/category_rules.h"
#include "snapshot/document/categories.h"

/* In the order of the stack, bottom first, with the legend's names: those of the page
 * (viewer/src/words/category_table.js). A file's own categories are above these. */
static const uint8_t ORDER[] = {
    TIDE_PARAMETER,   TIDE_OPTIMIZER_STATE, TIDE_GRADIENT,   TIDE_INPUT,     TIDE_WORKSPACE,
    TIDE_WEIGHT_COPY, TIDE_KV_CACHE,        TIDE_ACTIVATION, TIDE_TEMPORARY, TIDE_UNKNOWN};

_Static_assert(sizeof(ORDER) / sizeof(ORDER[0]) == TIDE_N_CATEGORIES,
               "every category has its place in the stack");

static void note_categories(const tide_lifetimes *lifetimes, size_t device,
                            bool is_used[TIDE_MAX_CATEGORIES]) {
    memset(is_used, 0, TIDE_MAX_CATEGORIES * sizeof(*is_used));
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        if (tide_picture_counts(&lifetimes->lifetimes[i], device)) {
            is_used[lifetimes->lifetimes[i].category] = true;
        }
    }
}

static bool has_category(const bool is_used[TIDE_MAX_CATEGORIES]) {
    for (size_t i = 0; i < TIDE_MAX_CATEGORIES; i++) {
        if (is_used[i] && i != TIDE_UNKNOWN) {
            return true;
        }
    }
    return false;
}

static void add_category(tide_picture_bands *bands, const char *name, const char *label) {
    bands->bands[bands->n_bands++] = (tide_picture_band){
        .key = name, .label = label, .colour = tide_picture_colour_category(name)};
}

static tide_status by_category(tide_picture_bands *bands, const tide_snapshot *snapshot,
                               const tide_lifetimes *lifetimes,
                               const bool is_used[TIDE_MAX_CATEGORIES]) {
    uint8_t place[TIDE_MAX_CATEGORIES] = {0};
    for (size_t i = 0; i < TIDE_N_CATEGORIES; i++) {
        uint8_t category = ORDER[i];
        if (is_used[category]) {
            place[category] = (uint8_t)bands->n_bands;
            add_category(bands, tide_snapshot_category(snapshot, category),
                         category == TIDE_UNKNOWN ? "unknown" : tide_category_words(category));
        }
    }
    for (size_t i = TIDE_N_CATEGORIES; i < TIDE_MAX_CATEGORIES; i++) {
        if (is_used[i]) {
            const char *name = tide_snapshot_category(snapshot, i);
            place[i] = (uint8_t)bands->n_bands;
            bool is_older = strcmp(name, TIDE_CATEGORY_OLDER) == 0;
            add_category(bands, name, is_older ? "parameters or older" : name);
        }
    }
    uint8_t *of = tide_arena_alloc(&bands->arena, lifetimes->n_lifetimes, sizeof(*of));
    if (of == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        of[i] = place[lifetimes->lifetimes[i].category];
    }
    bands->of_lifetime = of;
    return TIDE_OK;
}

tide_status tide_picture_bands_init(tide_picture_bands *bands, const tide_snapshot *snapshot,
                                    const tide_lifetimes *lifetimes, size_t device,
                                    tide_picture_by by) {
    bool is_used[TIDE_MAX_CATEGORIES];
    note_categories(lifetimes, device, is_used);
    *bands = (tide_picture_bands){.is_by_line = by == TIDE_PICTURE_BY_LINE};
    if (by == TIDE_PICTURE_BY_USUAL) {
        bands->is_by_line =
            snapshot->n_stacks > 0 && (snapshot->n_events == 0 || !has_category(is_used));
    }
    tide_arena_init(&bands->arena, lifetimes->mem);
    tide_status status = bands->is_by_line
                             ? tide_picture_bands_by_line(bands, snapshot, lifetimes, device)
                             : by_category(bands, snapshot, lifetimes, is_used);
    if (status != TIDE_OK) {
        tide_picture_bands_fini(bands);
    }
    return status;
}

void tide_picture_bands_fini(tide_picture_bands *bands) {
    tide_arena_fini(&bands->arena);
}

static tide_status unknown_name(const tide_picture_bands *bands, const char *name,
                                tide_error *error) {
    char storage[1024];
    tide_text known = tide_text_in(storage, sizeof(storage));
    for (size_t i = 0; i < bands->n_bands; i++) {
        tide_text_add_item(&known, ", ", "%s", bands->bands[i].key);
    }
    return tide_fail(error, TIDE_INVALID, "--hide: this picture has no band '%.200s': it has %s",
                     name, known.n_used > 0 ? storage : "none");
}

/* False if no band has this name. */
static bool hide(tide_picture_bands *bands, const char *name) {
    bool is_found = false;
    for (size_t i = 0; i < bands->n_bands; i++) {
        tide_picture_band *band = &bands->bands[i];
        if (strcmp(band->key, name) == 0 || strcmp(band->label, name) == 0) {
            band->is_hidden = true;
            is_found = true;
        }
    }
    return is_found;
}

/* The names of a list separated by commas; a band's own name may contain commas. */
static tide_status hide_list(tide_picture_bands *bands, const char *names, tide_error *error) {
    char name[256];
    if (hide(bands, names)) {
        return TIDE_OK;
    }
    for (const char *at = names;; at++) {
        size_t n = strcspn(at, ",");
        (void)snprintf(name, sizeof(name), "%.*s", (int)n, at);
        if (!hide(bands, name)) {
            return unknown_name(bands, name, error);
        }
        at += n;
        if (*at == '\0') {
            return TIDE_OK;
        }
    }
}

tide_status tide_picture_bands_hide(tide_picture_bands *bands, const char *const *names,
                                    size_t n_names, tide_error *error) {
    size_t n_shown = 0;
    for (size_t i = 0; i < n_names; i++) {
        TIDE_TRY(hide_list(bands, names[i], error));
    }
    for (size_t i = 0; i < bands->n_bands; i++) {
        n_shown += bands->bands[i].is_hidden ? 0 : 1;
    }
    return n_names > 0 && n_shown == 0
               ? tide_fail(error, TIDE_INVALID, "--hide: nothing would be left to draw")
               : TIDE_OK;
}
