/* Who holds what a loop keeps: the variable or attribute that the search at the first failed
 * request found (snapshot/document/at_failure.h). It is named only if its bytes and those of the
 * loop cannot be different ones: together they are more than what was allocated. */
#include <inttypes.h>
#include <string.h>

#include "common/text/plural.h"
#include "snapshot/explain/causes/causes_friend.h"

enum {
    MOST_PERCENT = 50, /* of the loop's bytes, at least, that the variable holds for certain */
    ALL_PERCENT = 95,  /* the same: nearly all */
    SLICE_TIMES = 2    /* a slice's storage, at least: times the slice */
};

/* The holder of most bytes, and the bytes of the loop that it holds at least; NULL: unknown. */
static const tide_snapshot_holder *holder_of(const tide_facts *facts, int64_t bytes,
                                             int64_t *ret_certain) {
    const tide_snapshot_at_failure *at = &facts->snapshot->at_failure;
    if (facts->failure.event < 0 || at->device != (int64_t)facts->device || at->n_holders == 0 ||
        at->allocated_bytes < bytes) {
        return NULL;
    }
    const tide_snapshot_holder *holder = &at->holders[0];
    *ret_certain = holder->held_bytes - (at->allocated_bytes - bytes);
    return holder->held_bytes <= at->allocated_bytes && *ret_certain > bytes / 100 * MOST_PERCENT
               ? holder
               : NULL;
}

/* "`losses` in validate (c01.py:12)", "`losses` (c01.py)" */
static void add_name(const tide_snapshot_holder *holder, tide_text *to) {
    bool is_local = holder->place[0] != '\0' && holder->place[strlen(holder->place) - 1] == ')';
    tide_text_add(to,
                  is_local                   ? "`%s` in %s"
                  : holder->place[0] != '\0' ? "`%s` (%s)"
                                             : "`%s`%s",
                  holder->name, holder->place);
}

static bool is_of_slices(const tide_snapshot_holder *holder) {
    return holder->n_graphs == 0 && holder->own_bytes >= 0 &&
           holder->own_bytes < holder->held_bytes / SLICE_TIMES;
}

tide_status tide_cause_name_holder(const tide_facts *facts, tide_causes *of, tide_cause *cause) {
    char words[2 * TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char own[TIDE_BYTES_TEXT];
    int64_t certain = 0;
    tide_text text = tide_text_in(words, sizeof(words));
    const tide_snapshot_holder *holder = holder_of(facts, cause->bytes, &certain);
    if (holder == NULL) {
        return TIDE_OK;
    }
    tide_text_add(&text, "%s ", cause->words);
    add_name(holder, &text);
    tide_text_add(&text, " holds %s of it: when the request failed, %s through %" PRId64 " %s",
                  certain > cause->bytes / 100 * ALL_PERCENT ? "nearly all" : "most",
                  tide_bytes_format(holder->held_bytes, bytes), holder->n_tensors,
                  tide_plural((uint64_t)holder->n_tensors, "tensor", "tensors"));
    if (holder->n_graphs > 0) {
        tide_text_add(&text, " with %s",
                      holder->n_tensors > 1 ? "graphs of autograd" : "a graph of autograd");
    } else if (is_of_slices(holder)) {
        tide_text_add(&text,
                      ", which are slices: %s are theirs, the rest is what they were cut from",
                      tide_bytes_format(holder->own_bytes, own));
    }
    tide_text_add(&text, ".");
    cause->words = tide_arena_text(&of->arena, words);
    if (is_of_slices(holder) && strcmp(cause->id, "results_collected") == 0) {
        cause->cure =
            "copy each slice (`.clone()`), because a slice holds the whole tensor; or move "
            "it to the host (`.cpu()`)";
        cause->cost = "one copy each time";
    }
    return cause->words != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}
