#include "snapshot/explain/words/fit_words.h"

#include <string.h>

#include "common/text/count.h"
#include "snapshot/document/owners.h"
#include "snapshot/explain/assumed.h"
#include "snapshot/explain/words/area_words.h"

static bool lacks_room_for_areas(const tide_snapshot *snapshot, size_t device) {
    const tide_snapshot_work_areas *areas = tide_work_areas_of(snapshot, device);
    return areas != NULL && areas->is_most_refused;
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

/* In MiB, because the figures of the sentence are near each other: "1,534 MiB". */
static void add_mib(int64_t n_bytes, tide_text *to) {
    enum { MIB_SHIFT = 20 };
    char count[TIDE_COUNT_TEXT];
    tide_text_add(to, "%s MiB", tide_count_format(n_bytes >> MIB_SHIFT, count));
}

/* "up to 1,536 MiB for the card's context". */
static void add_parts(const tide_snapshot *snapshot, size_t device, tide_text *to) {
    const tide_snapshot_work_areas *areas = tide_work_areas_of(snapshot, device);
    int64_t of_all = tide_owners_account(snapshot, device)->unmeasured_bytes;
    int64_t of_areas = areas != NULL ? tide_area_margin_bytes(areas) : 0;
    int64_t of_context = of_all > of_areas ? of_all - of_areas : 0;
    if (of_context > 0) {
        tide_text_add(to, "up to ");
        add_mib(of_context, to);
        tide_text_add(to, " for the card's context");
    }
    if (of_areas > 0) {
        tide_text_add(to, "%sup to ", of_context > 0 ? ", and " : "");
        add_mib(of_areas, to);
        tide_text_add(to, " more for the largest work areas of cuDNN");
    }
}

void tide_fit_words_add(const tide_snapshot *snapshot, size_t device, tide_text *to) {
    const char *fits = tide_fit_of(snapshot, device);
    if (fits == NULL || strcmp(fits, "near") != 0) {
        return;
    }
    const char *name = snapshot->devices[device].name;
    int64_t left_bytes = tide_assumed_left_bytes(snapshot, device);
    tide_text_add(to, "The run fits %s, near the limit: ", name[0] != '\0' ? name : "the card");
    add_mib(left_bytes, to);
    tide_text_add(to, " are left, ");
    if (left_bytes < tide_owners_account(snapshot, device)->unmeasured_bytes) {
        tide_text_add(to, "less than what is not measured: ");
        add_parts(snapshot, device, to);
        tide_text_add(to, ".");
    } else {
        tide_text_add(to, "too little for the largest work areas of cuDNN, where PyTorch chooses "
                          "plans with smaller ones.");
    }
}
