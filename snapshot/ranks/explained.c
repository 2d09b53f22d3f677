#include "snapshot/ranks/explained.h"

#include "common/text/text.h"
#include "snapshot/explain/causes/causes.h"
#include "snapshot/explain/peak_lines.h"
#include "snapshot/explain/words/answer.h"
#include "snapshot/explain/words/growth_words.h"
#include "snapshot/explain/words/user_line.h"

enum { MOST_CAUSES = 8, MOST_GROWTH = 8, CAUSE_BYTES = 4096 };

/* ---- the failure ---- */

/* The line of the program that asked; "" if it is unknown. */
static const char *failing_line(const tide_facts *facts, tide_arena *arena) {
    char bytes[TIDE_DIGEST_LINE_BYTES] = "";
    tide_text text = tide_text_in(bytes, sizeof(bytes));
    const tide_failure *failure = &facts->failure;
    const tide_lifetime request = {.born = (uint32_t)failure->event + 1,
                                   .stack = failure->stack,
                                   .scope = failure->scope,
                                   .device = (uint8_t)facts->device};
    const tide_place place = tide_place_of(facts, &request);
    if (tide_place_is_source(&place)) {
        tide_place_add(facts, &place, &text);
    }
    return tide_arena_text(arena, bytes);
}

static tide_status add_failure(const tide_facts *facts, tide_arena *arena,
                               tide_digest_explained *to) {
    const tide_failure *failure = &facts->failure;
    if (failure->event < 0) {
        return TIDE_OK;
    }
    const char *line = failing_line(facts, arena);
    if (line == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->failure = (tide_digest_failure){.event = failure->event,
                                        .n_failed = (int64_t)failure->n_failed,
                                        .requested_bytes = failure->asked_bytes,
                                        .free_bytes = failure->free_bytes,
                                        .allocated_bytes = failure->allocated_bytes,
                                        .reserved_bytes = failure->reserved.bytes,
                                        .total_bytes = failure->total_bytes,
                                        .margin_bytes = failure->margin_bytes,
                                        .line = line};
    return TIDE_OK;
}

/* ---- growth ---- */

static const char *line_of_growth(const tide_facts *facts, tide_arena *arena,
                                  const tide_growth_fact *fact) {
    char bytes[TIDE_DIGEST_LINE_BYTES] = "";
    tide_text text = tide_text_in(bytes, sizeof(bytes));
    if (fact->line != TIDE_NONE) {
        tide_user_line_add_frame(facts->snapshot, facts->snapshot->stacks[fact->line].frame, &text);
    }
    return tide_arena_text(arena, bytes);
}

static tide_status add_growth(const tide_facts *facts, tide_arena *arena,
                              tide_digest_explained *to) {
    static const char *const KINDS[] = {[TIDE_GROWTH_KEEPS] = "keeps",
                                        [TIDE_GROWTH_REPLACES] = "replaces",
                                        [TIDE_GROWTH_FILLS] = "fills"};
    size_t n = facts->growth.n_facts < MOST_GROWTH ? facts->growth.n_facts : MOST_GROWTH;
    tide_digest_growth *rows = tide_arena_alloc(arena, n, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const tide_growth_fact *fact = &facts->growth.facts[i];
        rows[i] = (tide_digest_growth){.kind = KINDS[fact->kind],
                                       .line = line_of_growth(facts, arena, fact),
                                       .unit = tide_growth_round(fact),
                                       .bytes_per_pass = tide_growth_each(fact),
                                       .bytes = fact->bytes,
                                       .n_passes = (int64_t)fact->n_passes};
        if (rows[i].line == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    to->growth = rows;
    to->n_growth = n;
    return TIDE_OK;
}

/* ---- causes and sentences ---- */

static tide_status add_causes(const tide_causes *causes, tide_arena *arena,
                              tide_digest_explained *to) {
    size_t n = causes->n_causes < MOST_CAUSES ? causes->n_causes : MOST_CAUSES;
    tide_digest_cause *rows = tide_arena_alloc(arena, n, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const tide_cause *cause = &causes->causes[i];
        char bytes[CAUSE_BYTES];
        tide_text text = tide_text_in(bytes, sizeof(bytes));
        tide_cause_add_text(cause, true, &text);
        rows[i] = (tide_digest_cause){cause->id, cause->bytes, tide_arena_text(arena, bytes)};
        if (rows[i].text == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    to->causes = rows;
    to->n_causes = n;
    return TIDE_OK;
}

static tide_status copy_sentences(const tide_answer *answer, tide_arena *arena,
                                  tide_digest_explained *to) {
    tide_digest_sentence *rows = tide_arena_alloc(arena, answer->n_sentences, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < answer->n_sentences; i++) {
        const tide_answer_sentence *from = &answer->sentences[i];
        rows[i] = (tide_digest_sentence){from->key, tide_arena_text(arena, from->text)};
        if (rows[i].text == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    to->sentences = rows;
    to->n_sentences = answer->n_sentences;
    return TIDE_OK;
}

static bool has_history(const tide_facts *facts) {
    const tide_device_lifetimes *device = &facts->lifetimes->devices[facts->device];
    int64_t n_events = 0;
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        n_events += device->counts[i];
    }
    return n_events > 0;
}

/* The instant in words, as in tide_summary_view; NULL: the peak. */
static const char *when_of(const tide_facts *facts) {
    bool is_end = !has_history(facts) || tide_snapshot_lacks_peak(facts->snapshot);
    return is_end                            ? "when the file was written"
           : facts->snapshot->n_dropped == 0 ? NULL
                                             : "at the highest point of the events that were kept";
}

/* The blocks that are allocated at the end, if the peak is not known, else those of the peak. */
static tide_status find_lines(const tide_facts *facts, tide_peak_lines *ret) {
    const tide_lifetimes *all = facts->lifetimes;
    int64_t last = (int64_t)facts->snapshot->n_events - 1;
    size_t n = 0;
    if (!tide_snapshot_lacks_peak(facts->snapshot)) {
        return tide_peak_lines_init(ret, facts);
    }
    tide_lifetime *blocks = tide_hostmem_zeroed(facts->mem, all->n_lifetimes + 1, sizeof(*blocks));
    if (blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < all->n_lifetimes; i++) {
        const tide_lifetime *block = &all->lifetimes[i];
        if (block->device == facts->device && tide_lifetime_is_allocated(block, last)) {
            blocks[n++] = *block;
        }
    }
    tide_status status = tide_peak_lines_init_of(ret, facts, blocks, n);
    facts->mem->release(facts->mem->ctx, blocks);
    return status;
}

static tide_status add_sentences(const tide_facts *facts, tide_arena *arena,
                                 const tide_causes *causes, tide_digest_explained *to) {
    tide_peak_lines lines = {0};
    tide_answer answer = {.n_sentences = 0};
    const tide_answer_input input = {
        .facts = facts, .causes = causes, .lines = &lines, .when = when_of(facts)};
    tide_status status = find_lines(facts, &lines);
    if (status == TIDE_OK) {
        status = tide_answer_init(&answer, &input);
    }
    if (status == TIDE_OK) {
        status = copy_sentences(&answer, arena, to);
    }
    tide_answer_fini(&answer);
    tide_peak_lines_fini(&lines);
    return status;
}

/* ---- all of it ---- */

tide_status tide_explained_make(const tide_facts *facts, tide_arena *arena,
                                tide_digest_explained *ret_explained) {
    tide_digest_explained made = {.failure = {.event = -1, .line = ""}};
    tide_causes causes;
    TIDE_TRY(add_failure(facts, arena, &made));
    TIDE_TRY(add_growth(facts, arena, &made));
    tide_status status = tide_causes_init(&causes, facts);
    if (status == TIDE_OK) {
        status = add_causes(&causes, arena, &made);
    }
    if (status == TIDE_OK) {
        status = add_sentences(facts, arena, &causes, &made);
    }
    tide_causes_fini(&causes);
    if (status == TIDE_OK) {
        made.is_known = true;
        *ret_explained = made;
    }
    return status;
}
