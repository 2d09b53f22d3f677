#include "snapshot/explain/words/plan_words.h"

#include <string.h>

#include "common/text/list.h"
#include "snapshot/plan/texts.h"

enum {
    TITLE_BYTES = 160,
    WORDS_BYTES = 512,
    MOST_NAMED = 3, /* changes in a sentence */
    COMMAND_BYTES = 256
};

/* ---- whether a plan can run the program ---- */

/* Whether the recorded text is a command of a script that a shell reads as it was. */
static bool can_start(const char *command) {
    static const char *const PLAIN =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "_./=:,@%+- ";
    bool is_script = strstr(command, ".py") != NULL || strstr(command, " -m ") != NULL;
    return is_script && strlen(command) < COMMAND_BYTES &&
           strspn(command, PLAIN) == strlen(command) && strstr(command, "ipykernel") == NULL &&
           strstr(command, "colab_kernel") == NULL;
}

static bool is_changed(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        if (strncmp(snapshot->plan[i].name, "did.", strlen("did.")) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_torch(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_software; i++) {
        if (strcmp(snapshot->software[i].name, "torch") == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the recording has work of training. */
static bool has_trained(const tide_facts *facts) {
    for (size_t i = 0; i < facts->snapshot->n_scopes; i++) {
        tide_scope_phase phase = tide_phase_of(&facts->scopes, (uint32_t)i);
        if (phase == TIDE_PHASE_BACKWARD || phase == TIDE_PHASE_OPTIMIZER) {
            return true;
        }
    }
    return false;
}

static bool can_plan(const tide_facts *facts) {
    const tide_snapshot *snapshot = facts->snapshot;
    const char *kind = snapshot->devices[facts->device].kind;
    bool is_card = strcmp(kind, "virtual") == 0 || strcmp(kind, "cuda") == 0;
    return is_card && snapshot->origin.format[0] == '\0' && !tide_snapshot_has_rank(snapshot) &&
           has_torch(snapshot) && !is_changed(snapshot) && can_start(snapshot->run.command) &&
           has_trained(facts);
}

/* ---- what it would try ---- */

/* The name of a change that the observed run offers, with its argument, "checkpoint:Block"; NULL:
 * it offers none. */
static const char *offered(const tide_snapshot *snapshot, tide_list_word change) {
    static const size_t N_KEY = sizeof("can.") - 1;
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        const char *key = snapshot->plan[i].name;
        if (strncmp(key, "can.", N_KEY) == 0) {
            const char *name = key + N_KEY;
            size_t n = strcspn(name, ":");
            if (n == change.n_bytes && strncmp(name, change.text, n) == 0) {
                return name;
            }
        }
    }
    return NULL;
}

/* Adds "--try NAME " to `options`, and the title with its risk to `titles`. */
static void add_change(const char *name, tide_text *options, tide_text *titles) {
    char title[TITLE_BYTES];
    const char *argument = "";
    const tide_plan_text *text = tide_plan_text_of(name, &argument);
    if (text != NULL) {
        tide_plan_title(text, argument, title, sizeof(title));
        tide_text_add(options, "--try %s ", name);
        tide_text_add_item(titles, ", ", "%s (%s)", title, tide_plan_risk_name(text->risk));
    }
}

static size_t add_changes(const tide_snapshot *snapshot, const tide_cause *cause,
                          tide_text *options, tide_text *titles) {
    const char *rest = cause->changes;
    size_t n = 0;
    for (tide_list_word word; n < MOST_NAMED && tide_list_next(&rest, &word);) {
        const char *name = snapshot->n_plan > 0 ? offered(snapshot, word)
                           : cause->is_offered  ? cause->changes
                                                : NULL;
        if (name != NULL) {
            add_change(name, options, titles);
            n++;
        }
    }
    return n;
}

/* Whether the sentence is complete: an observed run that offers none of the changes has none. */
static bool add_cause(const tide_facts *facts, const tide_cause *cause, tide_text *to) {
    const tide_snapshot *snapshot = facts->snapshot;
    char option_bytes[WORDS_BYTES];
    char title_bytes[WORDS_BYTES];
    tide_text options = tide_text_in(option_bytes, sizeof(option_bytes));
    tide_text titles = tide_text_in(title_bytes, sizeof(title_bytes));
    size_t n = add_changes(snapshot, cause, &options, &titles);
    if (n == 0 && snapshot->n_plan > 0) {
        return false;
    }
    tide_text_add(to, "To try it without a GPU: `tidemark plan --device virtual:%s %s-- %s`",
                  facts->card[0] != '\0' ? facts->card : "CARD", option_bytes,
                  snapshot->run.command);
    if (n > 0) {
        tide_text_add(to, " runs the program with %s: %s.",
                      n == 1 ? "this change" : "each of these changes", title_bytes);
    } else {
        tide_text_add(to, " runs the program with such changes, and prints the fastest that fits.");
    }
    return true;
}

void tide_plan_words_add(const tide_facts *facts, const tide_causes *causes, tide_text *to) {
    if (!can_plan(facts)) {
        return;
    }
    bool is_said = false;
    for (size_t i = 0; i < causes->n_causes && i < TIDE_MOST_CAUSES && !is_said; i++) {
        is_said = causes->causes[i].changes != NULL && add_cause(facts, &causes->causes[i], to);
    }
}
