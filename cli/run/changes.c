/* With --apply: what was changed in the program, and what was refused. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/text.h"

#define DID "did."
#define CANNOT "cannot."

enum { WORDS_BYTES = 2048 };

/* The first process that observed; NULL if none did. */
static const tide_snapshot *find_observed(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_snapshot *snapshot = of->processes[i].snapshot;
        if (snapshot != NULL && snapshot->n_plan > 0) {
            return snapshot;
        }
    }
    return NULL;
}

/* Whether a name is one of the requested changes, with or without what follows its colon. */
static bool is_requested(const char *changes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = changes; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && strchr(",:", at[n]) != NULL) {
            return true;
        }
    }
    return false;
}

void tide_run_tell_changes(const tide_run_answer *of) {
    const char *changes = of->config->changes;
    if (changes == NULL || strcmp(changes, "observe") == 0) {
        return;
    }
    const tide_snapshot *snapshot = find_observed(of);
    char words[WORDS_BYTES] = "";
    tide_text text = tide_text_in(words, sizeof(words));
    if (snapshot == NULL) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "no process of the program reported a change: it made no optimizer of "
                      "PyTorch's, its Python started with -E, -I or -S, or the command replaces "
                      "PYTHONPATH");
        return;
    }
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        const tide_snapshot_setting *fact = &snapshot->plan[i];
        if (strncmp(fact->name, DID, strlen(DID)) == 0) {
            tide_text_add_item(&text, ", ", "%s (%s)", fact->name + strlen(DID), fact->text);
        }
    }
    if (text.n_used > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "with changes: %s", words);
    }
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        const tide_snapshot_setting *fact = &snapshot->plan[i];
        if (strncmp(fact->name, CANNOT, strlen(CANNOT)) == 0 &&
            is_requested(changes, fact->name + strlen(CANNOT))) {
            tide_cli_note(TIDE_COMMAND_RUN, "not applied: %s: %s", fact->name + strlen(CANNOT),
                          fact->text);
        }
    }
}
