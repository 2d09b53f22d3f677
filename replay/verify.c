/* Compares the rows that a request caused in the replay with the recorded ones. */
#include <inttypes.h>
#include <stdio.h>

#include "replay/replay_internal.h"

static bool is_compared(uint8_t action) {
    return action == TIDE_ACTION_ALLOC || action == TIDE_ACTION_OOM ||
           tide_action_gives_segment(action) || tide_action_takes_segment(action);
}

/* The next relevant row of the group, from *at on; NULL after the last one. */
static const tide_event *next_given(const tide_replay_lane *lane, size_t *at) {
    while (*at < lane->n_group) {
        const tide_event *row = &lane->group[(*at)++];
        if (is_compared(row->action)) {
            return row;
        }
    }
    return NULL;
}

static void describe(const tide_event *row, char *text, size_t n_bytes) {
    if (row == NULL) {
        snprintf(text, n_bytes, "nothing");
    } else if (row->action == TIDE_ACTION_OOM) {
        snprintf(text, n_bytes, "out of memory for %" PRIu64 " bytes", row->requested_bytes);
    } else if (row->action == TIDE_ACTION_ALLOC) {
        snprintf(text, n_bytes, "%" PRIu64 " bytes at 0x%" PRIx64 " in a block of %" PRIu64,
                 row->requested_bytes, row->address, row->block_bytes);
    } else {
        snprintf(text, n_bytes, "%s of %" PRIu64 " bytes at 0x%" PRIx64,
                 tide_action_name(row->action), row->block_bytes, row->address);
    }
}

static void note_difference(const tide_replay_lane *lane, size_t row, const tide_event *expected,
                            const tide_event *given) {
    tide_replay_verified *verified = &lane->replay->verified;
    char was[128];
    char is[128];
    if (verified->first_difference[0] != '\0') {
        return;
    }
    describe(expected, was, sizeof(was));
    describe(given, is, sizeof(is));
    snprintf(verified->first_difference, sizeof(verified->first_difference),
             "event %zu on device %u: recorded %s, replayed %s", row, lane->number, was, is);
}

static bool is_same(const tide_event *expected, const tide_event *given) {
    if (given == NULL || given->action != expected->action ||
        given->requested_bytes != expected->requested_bytes) {
        return false;
    }
    return expected->action == TIDE_ACTION_OOM ||
           (given->address == expected->address && given->block_bytes == expected->block_bytes);
}

static void count(tide_replay_verified *verified, uint8_t action, bool same) {
    size_t n_same = same ? 1 : 0;
    if (action == TIDE_ACTION_ALLOC) {
        verified->n_allocs++;
        verified->n_allocs_same += n_same;
    } else if (action == TIDE_ACTION_OOM) {
        verified->n_ooms++;
        verified->n_ooms_same += n_same;
    } else if (tide_action_gives_segment(action)) {
        verified->n_segments++;
        verified->n_segments_same += n_same;
    } else {
        verified->n_returns++;
        verified->n_returns_same += n_same;
    }
}

static void compare_row(tide_replay_lane *lane, size_t row, const tide_event *given) {
    const tide_event expected = tide_event_at(lane->replay->snapshot, row);
    bool same = is_same(&expected, given);
    count(&lane->replay->verified, expected.action, same);
    if (!same) {
        note_difference(lane, row, &expected, given);
    }
}

void tide_replay_compare(tide_replay_lane *lane, size_t row) {
    size_t at = 0;
    if (!lane->options->verify) {
        return;
    }
    const tide_event *given = next_given(lane, &at);
    for (size_t i = 0; i < lane->n_script; i++) {
        const tide_event expected = tide_event_at(lane->replay->snapshot, lane->script[i]);
        /* A row of another kind stays for the next comparison: if the replay allocated no segment,
         * its block is still compared with the recorded block, and only the segment counts as
         * missing. */
        bool fits =
            given != NULL &&
            tide_action_gives_segment(given->action) ==
                tide_action_gives_segment(expected.action) &&
            tide_action_takes_segment(given->action) == tide_action_takes_segment(expected.action);
        compare_row(lane, lane->script[i], fits ? given : NULL);
        given = fits ? next_given(lane, &at) : given;
    }
    while (given != NULL && given->action != TIDE_ACTION_ALLOC &&
           given->action != TIDE_ACTION_OOM) {
        lane->replay->verified.n_surplus++;
        if (lane->replay->verified.first_difference[0] == '\0') {
            note_difference(lane,
                            row != SIZE_MAX       ? row
                            : lane->n_pending > 0 ? lane->pending[lane->n_pending - 1]
                                                  : 0,
                            NULL, given);
        }
        given = next_given(lane, &at);
    }
    if (row != SIZE_MAX) {
        compare_row(lane, row, given);
    }
}

bool tide_replay_is_same(const tide_replay_verified *verified) {
    return verified->n_allocs == verified->n_allocs_same &&
           verified->n_segments == verified->n_segments_same &&
           verified->n_returns == verified->n_returns_same &&
           verified->n_ooms == verified->n_ooms_same && verified->n_surplus == 0;
}
