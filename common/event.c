/* event.c - the names of kinds, in the order of their enums. */
#include "common/event.h"

#include <string.h>

static const char *const ACTIONS[] = {
    "alloc",         "free",         "free_requested", "free_completed",
    "segment_alloc", "segment_free", "segment_map",    "segment_unmap",
    "oom",           "mark"};
static const char *const CATEGORIES[] = {"unknown",     "parameter", "gradient",  "optimizer_state",
                                         "activation",  "temporary", "workspace", "input",
                                         "weight_copy", "kv_cache"};
static const char *const CERTAINTIES[] = {"unknown", "by rule", "named"};
static const char *const SCOPE_KINDS[] = {"step", "phase", "layer", "operator", "user"};
static const char *const BLOCK_STATES[] = {"free", "allocated", "pending_free"};

/* A kind without a name must not build: its name would be NULL. */
#define HAS_NAMES(names, n) _Static_assert(sizeof(names) / sizeof((names)[0]) == (n), #n)
HAS_NAMES(ACTIONS, TIDE_N_ACTIONS);
HAS_NAMES(CATEGORIES, TIDE_N_CATEGORIES);
HAS_NAMES(CERTAINTIES, TIDE_N_CERTAINTIES);
HAS_NAMES(SCOPE_KINDS, TIDE_N_SCOPE_KINDS);
HAS_NAMES(BLOCK_STATES, TIDE_N_BLOCK_STATES);
#undef HAS_NAMES

static const char *name_of(const char *const *names, int n_names, int number) {
    return number >= 0 && number < n_names ? names[number] : "?";
}

static int number_of(const char *const *names, int n_names, const char *name) {
    for (int i = 0; i < n_names; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *tide_action_name(int action) {
    return name_of(ACTIONS, TIDE_N_ACTIONS, action);
}

const char *tide_category_name(int category) {
    return name_of(CATEGORIES, TIDE_N_CATEGORIES, category);
}

const char *tide_certainty_name(int certainty) {
    return name_of(CERTAINTIES, TIDE_N_CERTAINTIES, certainty);
}

const char *tide_scope_kind_name(int kind) {
    return name_of(SCOPE_KINDS, TIDE_N_SCOPE_KINDS, kind);
}

const char *tide_block_state_name(int state) {
    return name_of(BLOCK_STATES, TIDE_N_BLOCK_STATES, state);
}

int tide_action_from_name(const char *name) {
    return number_of(ACTIONS, TIDE_N_ACTIONS, name);
}

int tide_category_from_name(const char *name) {
    return number_of(CATEGORIES, TIDE_N_CATEGORIES, name);
}

int tide_category_from_words(const char *words) {
    char name[32]; /* longer than every name */
    size_t n = strlen(words);
    if (n >= sizeof(name)) {
        return -1;
    }
    for (size_t i = 0; i <= n; i++) {
        name[i] = (char)(words[i] == ' ' ? '_' : words[i]);
    }
    return tide_category_from_name(name);
}

int tide_scope_kind_from_name(const char *name) {
    return number_of(SCOPE_KINDS, TIDE_N_SCOPE_KINDS, name);
}

int tide_block_state_from_name(const char *name) {
    return number_of(BLOCK_STATES, TIDE_N_BLOCK_STATES, name);
}
