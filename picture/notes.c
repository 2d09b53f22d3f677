/* Notes below a picture: missing or possibly wrong parts of the recording. */
#include <inttypes.h>
#include <string.h>

#include "common/text/bytes.h"
#include "picture/scene_internal.h"

static void note_end(tide_picture_scene *scene) {
    static const struct {
        const char *outcome;
        const char *words;
    } ENDS[] = {
        {TIDE_SNAPSHOT_STOPPED, "The run was stopped before its end, where its peak may lie."},
        {TIDE_SNAPSHOT_CRASHED, "Recovered from the log of a program that ended without "
                                "closing it: its peak may lie later."},
        {TIDE_SNAPSHOT_RUNNING, "Taken while the run went on: its peak may have come later."}};
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        if (strcmp(scene->snapshot->run.outcome, ENDS[i].outcome) == 0) {
            tide_picture_note(scene, "%s", ENDS[i].words);
        }
    }
}

/* How the categories of the live blocks at the peak are known; no note if all are named. */
static void note_certainty(tide_picture_scene *scene) {
    int64_t n_bytes[TIDE_N_CERTAINTIES] = {0};
    char by_rule[TIDE_BYTES_TEXT];
    char unknown[TIDE_BYTES_TEXT];
    uint32_t state = scene->columns->peak_state;
    if (scene->snapshot->event_certainty == NULL || scene->bands->is_by_line) {
        return;
    }
    for (size_t i = 0; i < scene->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &scene->lifetimes->lifetimes[i];
        bool is_alive = block->born <= state && block->freed > state;
        if (is_alive && tide_picture_counts(block, scene->device) &&
            !scene->bands->bands[scene->bands->of_lifetime[i]].is_hidden) {
            n_bytes[block->certainty] += (int64_t)block->block_bytes;
        }
    }
    tide_bytes_format(n_bytes[TIDE_CERTAINTY_RULE], by_rule);
    tide_bytes_format(n_bytes[TIDE_CERTAINTY_UNKNOWN], unknown);
    if (n_bytes[TIDE_CERTAINTY_UNKNOWN] > 0) {
        tide_picture_note(scene, "Categories at the peak: %s are known by rule, %s are unknown.",
                          by_rule, unknown);
    } else if (n_bytes[TIDE_CERTAINTY_RULE] > 0) {
        tide_picture_note(scene, "Categories at the peak: %s are known by rule.", by_rule);
    }
}

const char *tide_picture_peak_word(const tide_picture_scene *scene) {
    return scene->snapshot->n_events == 0   ? "when the file was written"
           : scene->snapshot->n_dropped > 0 ? "highest kept"
                                            : "peak";
}

void tide_picture_note_flaws(tide_picture_scene *scene) {
    const tide_snapshot *snapshot = scene->snapshot;
    int64_t n_unmatched = scene->lifetimes->devices[scene->device].n_unmatched;
    if (snapshot->n_events == 0) {
        tide_picture_note(
            scene, "No history was recorded: this is what was alive when the file was written.");
    }
    note_certainty(scene);
    note_end(scene);
    if (snapshot->n_dropped > 0) {
        tide_picture_note(scene, "%" PRIu64 " %s lost: what happened then is missing.",
                          snapshot->n_dropped,
                          snapshot->n_dropped == 1 ? "event was" : "events were");
    }
    if (n_unmatched > 0) {
        tide_picture_note(scene, "%" PRId64 " %s those before: the picture may be wrong.",
                          n_unmatched,
                          n_unmatched == 1 ? "event contradicts" : "events contradict");
    }
}
