/* Notes below a picture: what of the recording is missing or may be wrong. */
#include <inttypes.h>
#include <string.h>

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

void tide_picture_note_flaws(tide_picture_scene *scene) {
    const tide_snapshot *snapshot = scene->snapshot;
    int64_t n_unmatched = scene->lifetimes->devices[scene->device].n_unmatched;
    if (snapshot->n_events == 0) {
        tide_picture_note(
            scene, "No history was recorded: this is what was alive when the file was made.");
    }
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
