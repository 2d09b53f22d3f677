#include "programs/runs/outcome.h"

#include <stdbool.h>
#include <string.h>

#include "snapshot/document/snapshot.h"

static const struct {
    const char *name;
    const char *in_snapshot;
    const char *answer;
} WORDS[TIDE_N_OUTCOMES] = {
    [TIDE_OUTCOME_COMPLETED] = {"completed", TIDE_SNAPSHOT_COMPLETED, "fits"},
    [TIDE_OUTCOME_OOM] = {"out of memory", TIDE_SNAPSHOT_OOM, "does not fit"},
    [TIDE_OUTCOME_NO_HOST] = {"host too small", TIDE_SNAPSHOT_FAILED,
                              "not started: the host is too small"},
    [TIDE_OUTCOME_UNSUPPORTED] = {"not supported", TIDE_SNAPSHOT_FAILED, "failed"},
    [TIDE_OUTCOME_FAILED] = {"failed", TIDE_SNAPSHOT_FAILED, "failed"},
    [TIDE_OUTCOME_CRASHED] = {"crashed", TIDE_SNAPSHOT_CRASHED, "failed"},
    [TIDE_OUTCOME_STOPPED] = {"stopped", TIDE_SNAPSHOT_STOPPED, "stopped"},
};

static bool is_outcome(int outcome) {
    return outcome >= 0 && outcome < TIDE_N_OUTCOMES;
}

const char *tide_outcome_name(int outcome) {
    return is_outcome(outcome) ? WORDS[outcome].name : "?";
}

int tide_outcome_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_OUTCOMES; i++) {
        if (strcmp(WORDS[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *tide_outcome_in_snapshot(int outcome) {
    return is_outcome(outcome) ? WORDS[outcome].in_snapshot : "?";
}

const char *tide_outcome_answer(int outcome) {
    return is_outcome(outcome) ? WORDS[outcome].answer : "?";
}

tide_outcome tide_outcome_of_status(tide_status status) {
    switch (status) {
    case TIDE_OK:
        return TIDE_OUTCOME_COMPLETED;
    case TIDE_DEVICE_OOM:
        return TIDE_OUTCOME_OOM;
    case TIDE_UNSUPPORTED:
    case TIDE_INVALID:
    case TIDE_LIMIT:
        return TIDE_OUTCOME_UNSUPPORTED;
    default:
        return TIDE_OUTCOME_FAILED;
    }
}

tide_status tide_outcome_status(tide_outcome outcome) {
    switch (outcome) {
    case TIDE_OUTCOME_COMPLETED:
    case TIDE_OUTCOME_STOPPED:
        return TIDE_OK;
    case TIDE_OUTCOME_OOM:
    case TIDE_OUTCOME_NO_HOST:
        return TIDE_DEVICE_OOM;
    case TIDE_OUTCOME_UNSUPPORTED:
        return TIDE_UNSUPPORTED;
    default:
        return TIDE_DEVICE_FAILED;
    }
}
