#define _POSIX_C_SOURCE 200809L
#include "programs/launch/trackers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"

enum { MAX_KEPT = 4 };

static const struct {
    const char *name;
    const char *value;
    const char *kept[MAX_KEPT]; /* choices of the user that report nothing, or only to files */
    const char *prefix;         /* only choices with this prefix are replaced; NULL: all others */
} TRACKERS[] = {
    {"WANDB_MODE", "disabled", {"disabled"}, NULL},
    {"NEPTUNE_MODE", "offline", {"offline", "debug", "read-only"}, NULL},
    {"COMET_START_MODE", "offline", {"offline"}, NULL},
    {"CLEARML_OFFLINE_MODE", "1", {"1", "true", "True"}, NULL},
    {"SWANLAB_MODE", "offline", {"offline", "disabled", "local"}, NULL},
    {"MLFLOW_TRACKING_URI", "file:./mlruns", {NULL}, "http"},
    {"MLFLOW_TRACKING_URI", "file:./mlruns", {NULL}, "databricks"},
};

static bool is_kept(size_t i, const char *chosen) {
    if (TRACKERS[i].prefix != NULL) {
        return chosen == NULL ||
               strncmp(chosen, TRACKERS[i].prefix, strlen(TRACKERS[i].prefix)) != 0;
    }
    for (size_t k = 0; chosen != NULL && k < MAX_KEPT && TRACKERS[i].kept[k] != NULL; k++) {
        if (strcmp(chosen, TRACKERS[i].kept[k]) == 0) {
            return true;
        }
    }
    return false;
}

const char *tide_launch_tracker(size_t i, const char **ret_value) {
    if (i >= sizeof(TRACKERS) / sizeof(TRACKERS[0])) {
        return NULL;
    }
    *ret_value = is_kept(i, getenv(TRACKERS[i].name)) ? NULL : TRACKERS[i].value;
    return TRACKERS[i].name;
}

char *tide_launch_trackers_replaced(char text[TIDE_TRACKERS_TEXT_BYTES]) {
    const char *value = NULL;
    const char *name = NULL;
    tide_text line = tide_text_in(text, TIDE_TRACKERS_TEXT_BYTES);
    for (size_t i = 0; (name = tide_launch_tracker(i, &value)) != NULL; i++) {
        const char *chosen = getenv(name);
        if (value != NULL && chosen != NULL && chosen[0] != '\0') {
            tide_text_add_item(&line, "; ", "%s was %s instead of %.200s", name, value, chosen);
            if (strcmp(name, "WANDB_MODE") == 0) {
                tide_text_add(&line, ", because W&B's own process, a Go program, cannot see files "
                                     "that are kept away");
            } else {
                tide_text_add(&line, ", because results of this run are not real");
            }
        }
    }
    if (text[0] != '\0') {
        tide_text_add(&line, "; --writes allow keeps your own choice");
    }
    return text;
}
