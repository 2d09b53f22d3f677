#include "snapshot/explain/words/fit_words.h"

#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/document/owners.h"
#include "snapshot/explain/assumed.h"

static bool lacks_room_for_areas(const tide_snapshot *snapshot, size_t device) {
    for (size_t i = 0; i < snapshot->n_work_areas; i++) {
        if (snapshot->work_areas[i].device == (int64_t)device) {
            return snapshot->work_areas[i].is_most_refused;
        }
    }
    return false;
}

const char *tide_fit_of(const tide_snapshot *snapshot, size_t device) {
    const tide_snapshot_driver_account *account = tide_owners_account(snapshot, device);
    if (device >= snapshot->n_devices || strcmp(snapshot->devices[device].kind, "virtual") != 0 ||
        account == NULL) {
        return NULL;
    }
    if (strcmp(snapshot->run.outcome, TIDE_SNAPSHOT_OOM) == 0) {
        return "no";
    }
    int64_t left_bytes = tide_assumed_left_bytes(snapshot, device);
    if (left_bytes < 0 || account->unmeasured_bytes < 0) {
        return NULL;
    }
    bool is_near = left_bytes < account->unmeasured_bytes || lacks_room_for_areas(snapshot, device);
    return is_near ? "near" : "yes";
}

void tide_fit_words_add(const tide_snapshot *snapshot, size_t device, tide_text *to) {
    char left[TIDE_BYTES_TEXT];
    char unmeasured[TIDE_BYTES_TEXT];
    const char *fits = tide_fit_of(snapshot, device);
    if (fits == NULL || strcmp(fits, "near") != 0) {
        return;
    }
    const char *name = snapshot->devices[device].name;
    int64_t left_bytes = tide_assumed_left_bytes(snapshot, device);
    int64_t unmeasured_bytes = tide_owners_account(snapshot, device)->unmeasured_bytes;
    tide_text_add(to, "The run fits %s, near the limit: %s are left, ",
                  name[0] != '\0' ? name : "the card", tide_bytes_format(left_bytes, left));
    if (left_bytes < unmeasured_bytes) {
        tide_text_add(to,
                      "and what is not measured (the card's context, or the largest work areas of "
                      "cuDNN) may need up to %s.",
                      tide_bytes_format(unmeasured_bytes, unmeasured));
    } else {
        tide_text_add(to, "too little for the largest work areas of cuDNN, where PyTorch chooses "
                          "plans with smaller ones.");
    }
}
