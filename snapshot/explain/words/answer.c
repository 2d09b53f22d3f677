#include "snapshot/explain/words/answer.h"

#include <inttypes.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/plural.h"
#include "snapshot/explain/retries.h"
#include "snapshot/explain/words/area_words.h"
#include "snapshot/explain/words/assumed_words.h"
#include "snapshot/explain/words/failure_words.h"
#include "snapshot/explain/words/fit_words.h"
#include "snapshot/explain/words/peak_words.h"
#include "snapshot/explain/words/plan_words.h"
#include "snapshot/explain/words/reserved_words.h"
#include "snapshot/explain/words/serving_words.h"

enum {
    WORDS_BYTES = 4096,
    MOST_POOLS = 2 /* of a card: a server has one, and a second model may have another */
};

/* Adds a sentence unless it is empty, and empties the text. */
static tide_status say(tide_answer *answer, const char *key, tide_text *words) {
    if (words->n_used > 0) {
        TIDE_ASSERT(answer->n_sentences < TIDE_ANSWER_SENTENCES);
        const char *text = tide_arena_text(&answer->arena, words->bytes);
        if (text == NULL) {
            return TIDE_NO_MEMORY;
        }
        answer->sentences[answer->n_sentences++] = (tide_answer_sentence){key, text};
    }
    *words = tide_text_in(words->bytes, words->n_room);
    return TIDE_OK;
}

static tide_status say_causes(tide_answer *answer, const tide_answer_input *input,
                              tide_text *words) {
    tide_failure_words_add(input->facts, words);
    TIDE_TRY(say(answer, "oom", words));
    for (size_t i = 0; i < input->causes->n_causes && i < TIDE_MOST_CAUSES; i++) {
        tide_cause_add_text(&input->causes->causes[i], i == 0, words);
        TIDE_TRY(say(answer, "cause", words));
    }
    tide_plan_words_add(input->facts, input->causes, words);
    TIDE_TRY(say(answer, "plan", words));
    tide_failure_words_add_margin(input->facts, input->causes, words);
    return say(answer, "oom_cause", words);
}

static void add_retries(const tide_facts *facts, tide_text *words) {
    int64_t n = tide_retries_count(facts->snapshot, facts->device);
    if (n > 0) {
        tide_text_add(words,
                      "At the card's limit, %" PRId64 " %s: the device refused a request at first, "
                      "and the allocator freed its cache and asked again, which is slow.",
                      n, tide_plural((uint64_t)n, "retry", "retries"));
    }
}

/* Only with the account of a virtual card: the device that a run fits is its own. */
static void add_limit(const tide_facts *facts, tide_text *words) {
    const tide_snapshot *snapshot = facts->snapshot;
    const char *name = snapshot->devices[facts->device].name;
    const tide_assumed_limit limit = tide_assumed_limit_of(
        snapshot->assumed, snapshot->n_assumed, tide_assumed_left_bytes(snapshot, facts->device));
    if (!limit.fits_with_all) {
        tide_text_add(words, "The run fits %s", name[0] != '\0' ? name : "the card");
        tide_assumed_words_add_limit(&limit, words);
        tide_text_add(words, ".");
    }
}

/* The first rows, those that may take memory or those that may only change what the program does.
 * Each kind has a key of its own: reports group their sentences by key. */
static tide_status say_assumed(tide_answer *answer, const tide_facts *facts, bool takes_memory,
                               tide_text *words) {
    size_t n = facts->snapshot->n_assumed;
    size_t last = n < TIDE_ASSUMED_SENTENCES ? n : TIDE_ASSUMED_SENTENCES;
    for (size_t i = 0; i < last; i++) {
        const tide_snapshot_assumed *row = &facts->snapshot->assumed[i];
        if ((row->all_bytes > 0) == takes_memory) {
            tide_assumed_words_add(row, words);
            TIDE_TRY(say(answer, takes_memory ? "assumed" : "assumed_value", words));
        }
    }
    /* The number of all follows the last of them. */
    if (last > 0 && (facts->snapshot->assumed[last - 1].all_bytes > 0) == takes_memory) {
        tide_assumed_words_add_all(n, words);
    }
    return say(answer, "assumed_count", words);
}

/* The verdict, and rows that may overturn it. */
static tide_status say_limit(tide_answer *answer, const tide_facts *facts, tide_text *words) {
    tide_fit_words_add(facts->snapshot, facts->device, words);
    TIDE_TRY(say(answer, "near", words));
    add_limit(facts, words);
    TIDE_TRY(say(answer, "assumed_limit", words));
    return say_assumed(answer, facts, true, words);
}

/* ---- servers of language models, and XLA ---- */

static bool is_of_device(const tide_facts *facts, int64_t card) {
    return card < 0 || card == (int64_t)facts->device;
}

static tide_status say_refusal(tide_answer *answer, const tide_facts *facts, tide_text *words) {
    const tide_snapshot *snapshot = facts->snapshot;
    char what[WORDS_BYTES];
    tide_text text = tide_text_in(what, sizeof(what));
    if (tide_serving_words_add_refusal(snapshot->kv_pools, snapshot->n_kv_pools, snapshot->xla,
                                       snapshot->n_xla, &text)) {
        tide_text_add(words, "The program does not fit: %s.", what);
    }
    return say(answer, "refusal", words);
}

/* Whether an earlier row of the device equals row i: the program made the server again. */
static bool is_again(const tide_facts *facts, size_t i) {
    const tide_snapshot_kv_pool *rows = facts->snapshot->kv_pools;
    for (size_t k = 0; k < i; k++) {
        if (is_of_device(facts, rows[k].card) && tide_serving_words_are_equal(&rows[i], &rows[k])) {
            return true;
        }
    }
    return false;
}

static tide_status say_pools(tide_answer *answer, const tide_facts *facts, tide_text *words) {
    size_t n = 0;
    for (size_t i = 0; i < facts->snapshot->n_kv_pools && n < MOST_POOLS; i++) {
        const tide_snapshot_kv_pool *row = &facts->snapshot->kv_pools[i];
        if (is_of_device(facts, row->card) && !is_again(facts, i)) {
            tide_serving_words_add_pool(row, 1, words);
            n += words->n_used > 0;
            TIDE_TRY(say(answer, "kv_pool", words));
        }
    }
    return TIDE_OK;
}

static tide_status say_xla(tide_answer *answer, const tide_facts *facts, tide_text *words) {
    const tide_snapshot *snapshot = facts->snapshot;
    bool is_said = false; /* a process has one row for each card */
    for (size_t i = 0; i < snapshot->n_xla && !is_said; i++) {
        if (is_of_device(facts, snapshot->xla[i].card)) {
            tide_serving_words_add_card(snapshot->xla, snapshot->n_xla, i, words);
            is_said = words->n_used > 0;
        }
    }
    TIDE_TRY(say(answer, "xla", words));
    tide_serving_words_add_arrays(snapshot->xla, snapshot->n_xla, words);
    TIDE_TRY(say(answer, "xla_arrays", words));
    if (strcmp(snapshot->devices[facts->device].kind, "virtual") == 0) {
        tide_serving_words_add_flags(snapshot->xla, snapshot->n_xla, words);
    }
    return say(answer, "xla_flags", words);
}

static tide_status say_peak(tide_answer *answer, const tide_answer_input *input, tide_text *words) {
    tide_peak_words_add(input->facts, input->lines, input->when, words);
    TIDE_TRY(say(answer, "filled", words));
    tide_peak_words_add_kinds(input->facts, input->lines, words);
    TIDE_TRY(say(answer, "kinds", words));
    TIDE_TRY(say_pools(answer, input->facts, words));
    return say_xla(answer, input->facts, words);
}

static void add_areas(const tide_facts *facts, tide_text *words) {
    const tide_snapshot_work_areas *row = tide_work_areas_of(facts->snapshot, facts->device);
    if (row != NULL) {
        tide_area_words_add(row, words);
    }
}

tide_status tide_answer_init(tide_answer *answer, const tide_answer_input *input) {
    char bytes[WORDS_BYTES];
    tide_text words = tide_text_in(bytes, sizeof(bytes));
    *answer = (tide_answer){.n_sentences = 0};
    tide_arena_init(&answer->arena, input->facts->mem);
    TIDE_TRY(say_refusal(answer, input->facts, &words));
    TIDE_TRY(say_causes(answer, input, &words));
    TIDE_TRY(say_limit(answer, input->facts, &words));
    add_retries(input->facts, &words);
    TIDE_TRY(say(answer, "retries", &words));
    TIDE_TRY(say_peak(answer, input, &words));
    TIDE_TRY(say_assumed(answer, input->facts, false, &words));
    if (input->when == NULL) {
        tide_reserved_words_add(input->facts, input->causes, &words);
        TIDE_TRY(say(answer, "reserved", &words));
        add_areas(input->facts, &words);
    }
    return say(answer, "work_areas", &words);
}

void tide_answer_fini(tide_answer *answer) {
    if (answer->arena.mem != NULL) {
        tide_arena_fini(&answer->arena);
        *answer = (tide_answer){.n_sentences = 0};
    }
}
