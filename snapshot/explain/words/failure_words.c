#include "snapshot/explain/words/failure_words.h"

#include <string.h>

#include "snapshot/analysis/summary.h"
#include "snapshot/document/implementation.h"
#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/peak_lines.h"

enum { NEAR_PERCENT = 3 /* of the capacity: less would not have helped for long */ };

/* The allocator of the program that was recorded. */
static const char *allocator_of(const tide_facts *facts) {
    const tide_snapshot *snapshot = facts->snapshot;
    bool is_pytorch = facts->is_pickle ||
                      strcmp(snapshot->run.implementation, TIDE_IMPLEMENTATION_RECORDED) == 0 ||
                      strncmp(snapshot->run.implementation, TIDE_IMPLEMENTATION_PYTORCH,
                              sizeof(TIDE_IMPLEMENTATION_PYTORCH) - 1) == 0;
    return is_pytorch ? "PyTorch" : "the allocator";
}

/* " at forward (c15.py:12)", " in the backward pass of forward (c15.py:12)". */
static void add_place(const tide_facts *facts, tide_text *to) {
    const tide_failure *failure = &facts->failure;
    char place[TIDE_PLACE_TEXT];
    const tide_lifetime request = {.born = (uint32_t)failure->event + 1,
                                   .stack = failure->stack,
                                   .scope = failure->scope,
                                   .device = (uint8_t)facts->device};
    uint32_t line = tide_block_line(&facts->lines, &request);
    bool is_backward = tide_block_is_backward(&facts->lines, &request);
    uint32_t node = tide_node_of(&facts->scopes, failure->scope);
    const tide_place at = tide_place_of(facts, &request);
    if (line == TIDE_NONE && at.kind == TIDE_PLACE_FRAME) { /* a program without Python */
        tide_text_add(to, " at ");
        tide_place_add(facts, &at, to);
    } else if (is_backward && line != TIDE_NONE) {
        tide_text_add(to, " in the backward pass of %s", tide_cause_place(facts, line, place));
    } else if (is_backward && node != TIDE_NONE) {
        tide_text_add(to, " in the backward pass (%s)", tide_snapshot_text(facts->snapshot, node));
    } else if (is_backward) {
        tide_text_add(to, " in the backward pass");
    } else if (line != TIDE_NONE) {
        tide_text_add(to, " at %s", tide_cause_place(facts, line, place));
    }
}

void tide_failure_words_add(const tide_facts *facts, tide_text *to) {
    const tide_failure *failure = &facts->failure;
    char asked[TIDE_BYTES_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    if (failure->event < 0) {
        return;
    }
    tide_text_add(to, "Out of memory");
    if (failure->n_failed > 1) {
        tide_text_add(to, " %zu times, first", failure->n_failed);
    }
    add_place(facts, to);
    tide_text_add(to, ": %s asked for", tide_bytes_format(failure->asked_bytes, asked));
    if (failure->free_bytes >= 0) {
        const char *why =
            tide_oom_why_not(facts->snapshot, failure->asked_bytes, failure->free_bytes);
        tide_text_add(to, ", %s free%s%s", tide_bytes_format(failure->free_bytes, bytes), why,
                      why[0] != '\0' ? "," : "");
    }
    tide_text_add(to, " beside the %s that %s had reserved",
                  tide_bytes_format(failure->reserved.bytes, bytes), allocator_of(facts));
    if (failure->total_bytes > 0) {
        tide_text_add(to, failure->is_limited ? " of the %s that it may use" : " of %s",
                      tide_bytes_format(failure->total_bytes, bytes));
    }
    tide_text_add(to, ".");
}

/* Whether a cause that is printed says why free memory did not help. */
static bool is_explained(const tide_causes *causes) {
    static const char *const IDS[] = {"fragmentation", "other_process", "process_limit"};
    size_t n = causes->n_causes < TIDE_MOST_CAUSES ? causes->n_causes : TIDE_MOST_CAUSES;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof(IDS) / sizeof(IDS[0]); k++) {
            if (strcmp(causes->causes[i].id, IDS[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void add_sheer(const tide_facts *facts, tide_text *to) {
    const tide_failure *failure = &facts->failure;
    char allocated[TIDE_BYTES_TEXT];
    char asked[TIDE_BYTES_TEXT];
    char capacity[TIDE_BYTES_TEXT];
    tide_text_add(to,
                  "%s is too small: %s were allocated and %s asked for, and %s could have at "
                  "most %s.",
                  failure->is_limited ? "The limit" : "The card",
                  tide_bytes_format(failure->allocated_bytes, allocated),
                  tide_bytes_format(failure->asked_bytes, asked), allocator_of(facts),
                  tide_bytes_format(failure->capacity_bytes, capacity));
}

void tide_failure_words_add_margin(const tide_facts *facts, const tide_causes *causes,
                                   tide_text *to) {
    const tide_failure *failure = &facts->failure;
    char bytes[TIDE_BYTES_TEXT];
    int64_t margin = failure->margin_bytes;
    int64_t near = failure->capacity_bytes / 100 * NEAR_PERCENT;
    /* If only other streams or pools had room, the margin does not show fragmentation. */
    bool is_elsewhere = margin >= near && failure->usable_margin_bytes < near;
    if (failure->event < 0 || failure->free_bytes < 0 || is_explained(causes) || is_elsewhere) {
        return;
    }
    if (causes->n_causes == 0) {
        if (margin < near) {
            add_sheer(facts, to);
        }
    } else if (margin < 0) {
        tide_text_add(to, "Fragmentation plays no part: even in one piece, %s would be missing.",
                      tide_bytes_format(-margin, bytes));
    } else if (margin < near) {
        tide_text_add(
            to,
            "Fragmentation is not the cause: even with all free memory in one piece, only %s "
            "would have been left after the request.",
            tide_bytes_format(margin, bytes));
    } else {
        tide_text_add(to,
                      "Fragmentation hastened it (%s would have been left) but is not the cause.",
                      tide_bytes_format(margin, bytes));
    }
}
