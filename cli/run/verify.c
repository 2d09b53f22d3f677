/* The setting that would have helped, and --verify: a run of the program with it. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "cli/words/remedy_words.h"
#include "common/hostmem.h"
#include "programs/launch/left/peaks.h"
#include "snapshot/explain/causes/causes.h"

enum { WORDS_BYTES = 512 };

/* The card of the first failed request in the process that ran out of memory first, or the fullest
 * one. */
static tide_run_place place_of(const tide_run_answer *of) {
    size_t i = 0;
    if (tide_left_first_out(of->list, &i)) {
        const tide_snapshot *snapshot = of->processes[i].snapshot;
        int64_t event = tide_left_first_failure(snapshot);
        if (event >= 0) {
            return (tide_run_place){i, snapshot->events.device[event]};
        }
    }
    return tide_run_fullest(of);
}

static tide_status find(const tide_snapshot *snapshot, const tide_facts *facts, tide_remedy *ret,
                        tide_error *error) {
    tide_causes causes;
    tide_status status = tide_causes_init(&causes, facts);
    if (status == TIDE_OK && tide_causes_admit_setting(facts, &causes)) {
        status = tide_remedy_find(snapshot, facts->device, facts->failure.event, NULL, ret, error);
    }
    tide_causes_fini(&causes);
    return status;
}

void tide_run_find_remedy(const tide_run_answer *of, tide_remedy *ret) {
    tide_lifetimes lifetimes;
    tide_facts facts;
    tide_error ignored = {""}; /* explain reports why a recording cannot be replayed */
    if (of->list->n_processes == 0) {
        return;
    }
    tide_run_place at = place_of(of);
    const tide_snapshot *snapshot = of->processes[at.process].snapshot;
    if (snapshot == NULL || snapshot->n_events == 0 ||
        tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL) != TIDE_OK) {
        return;
    }
    if (at.device < lifetimes.n_devices) {
        tide_status status = tide_facts_init(&facts, snapshot, &lifetimes, at.device);
        if (status == TIDE_OK) {
            status = find(snapshot, &facts, ret, &ignored);
        }
        if (status != TIDE_OK) {
            ret->settings[0] = '\0';
        }
        tide_facts_fini(&facts);
    }
    tide_lifetimes_fini(&lifetimes);
}

void tide_run_tell_remedy(const tide_run_answer *of) {
    char words[WORDS_BYTES];
    tide_remedy remedy = {.settings = ""};
    tide_text text = tide_text_in(words, sizeof(words));
    if (tide_run_has_pytorch(of)) {
        tide_run_find_remedy(of, &remedy);
    }
    tide_remedy_words_add(&remedy, true, "PYTORCH_CUDA_ALLOC_CONF=", &text);
    if (text.n_used > 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "%s", words);
    }
}

void tide_run_say_unverified(const tide_run_figures *first) {
    tide_cli_note(TIDE_COMMAND_RUN, "nothing was verified: no setting of the allocator %s",
                  first->n_failed_requests > 0 ? "is a cure for this failure"
                                               : "would reserve much less");
}

void tide_run_say_verified(const tide_run_figures *first, const tide_run_figures *again) {
    char words[TIDE_RUN_VERIFIED_BYTES];
    tide_cli_note(TIDE_COMMAND_RUN, "%s", tide_run_verified_words(first, again, words));
}
