/* Who holds what a loop keeps: the variable or attribute that the search at the first failed
 * request found (snapshot/document/at_failure.h). It is named only if its bytes and those of the
 * loop cannot be different ones: together they are more than what was allocated, or the variable's
 * tensors have the bytes that many iterations kept. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/text/plural.h"
#include "snapshot/explain/causes/causes_friend.h"

enum {
    MOST_PERCENT = 50, /* of the loop's bytes, at least, that the variable holds for certain */
    ALL_PERCENT = 95,  /* the same: nearly all */
    SLICE_TIMES = 2,   /* a slice's storage, at least: times the slice */
    LEAST_MATCHED = 16 /* iterations, whose bytes are no chance */
};

/* "c01.py:12" of a frame. */
static bool is_frame(const tide_snapshot *snapshot, uint32_t frame, const char *at, size_t n) {
    char text[TIDE_PLACE_TEXT];
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *file = tide_snapshot_text(snapshot, row->file);
    const char *slash = strrchr(file, '/');
    int n_text = snprintf(text, sizeof(text), "%s:%d", slash != NULL ? slash + 1 : file, row->line);
    return n_text == (int)n && strncmp(text, at, n) == 0;
}

/* Whether a holder is a variable of a function that the loop calls: a new one on each iteration,
 * which carries nothing from one to the next. */
static bool is_of_one_iteration(const tide_facts *facts, const tide_loop *loop,
                                const tide_snapshot_holder *holder) {
    const tide_snapshot *snapshot = facts->snapshot;
    const char *at = strrchr(holder->place, '(');
    uint32_t node = tide_index_at(&snapshot->events.stack, (size_t)facts->failure.event);
    if (at == NULL || strchr(holder->name, '.') != NULL || loop->is_steps) {
        return false;
    }
    at++;
    for (; node != TIDE_NONE; node = snapshot->stacks[node].parent) {
        if (tide_loop_has_line(loop, snapshot, node)) {
            return false;
        }
        if (is_frame(snapshot, snapshot->stacks[node].frame, at, strcspn(at, ")"))) {
            return true;
        }
    }
    return false;
}

/* Whether the tensors of a holder are those that many iterations kept: as many bytes, to one
 * iteration. */
static bool is_match(const tide_growth_fact *fact, const tide_snapshot_holder *holder) {
    int64_t away = holder->own_bytes - fact->bytes;
    return fact->n_keeping >= LEAST_MATCHED && away >= -fact->rate_bytes / 2 &&
           away <= fact->rate_bytes + fact->rate_bytes / 2;
}

/* The holder of most bytes, and the bytes of the loop that it holds at least; NULL: unknown. */
static const tide_snapshot_holder *holder_of(const tide_facts *facts, const tide_growth_fact *fact,
                                             int64_t *ret_certain) {
    const tide_snapshot_at_failure *at = &facts->snapshot->at_failure;
    if (facts->failure.event < 0 || at->device != (int64_t)facts->device ||
        at->allocated_bytes < fact->bytes) {
        return NULL;
    }
    for (size_t i = 0; i < at->n_holders; i++) {
        const tide_snapshot_holder *holder = &at->holders[i];
        if (is_of_one_iteration(facts, fact->loop, holder)) {
            continue;
        }
        *ret_certain = is_match(fact, holder)
                           ? fact->bytes
                           : holder->held_bytes - (at->allocated_bytes - fact->bytes);
        return holder->held_bytes <= at->allocated_bytes &&
                       *ret_certain > fact->bytes / 100 * MOST_PERCENT
                   ? holder
                   : NULL;
    }
    return NULL;
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
    const tide_snapshot_holder *holder = holder_of(facts, cause->growth, &certain);
    if (holder == NULL) {
        return TIDE_OK;
    }
    tide_text_add(&text, "%s ", cause->words);
    add_name(holder, &text);
    tide_text_add(
        &text, " holds %s of it: when the request failed, %s through %" PRId64 " %s",
        certain > cause->bytes / 100 * ALL_PERCENT ? "nearly all" : "most",
        tide_bytes_format(is_match(cause->growth, holder) ? holder->own_bytes : holder->held_bytes,
                          bytes),
        holder->n_tensors, tide_plural((uint64_t)holder->n_tensors, "tensor", "tensors"));
    if (holder->n_graphs > 0 && !is_match(cause->growth, holder)) {
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
