/* --verify: runs the program with the setting that would have helped, and reports what came out. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/hostmem.h"
#include "programs/launch/left/peaks.h"
#include "snapshot/explain/causes/causes.h"

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

void tide_run_find_remedy(const tide_run_answer *of, tide_run_figures *to) {
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
            status = find(snapshot, &facts, &to->remedy, &ignored);
        }
        if (status != TIDE_OK) {
            to->remedy.settings[0] = '\0';
        }
        tide_facts_fini(&facts);
    }
    tide_lifetimes_fini(&lifetimes);
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
