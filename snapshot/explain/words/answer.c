#include "snapshot/explain/words/answer.h"

#include <inttypes.h>

#include "common/assert.h"
#include "common/text/plural.h"
#include "snapshot/explain/retries.h"
#include "snapshot/explain/words/assumed_words.h"
#include "snapshot/explain/words/failure_words.h"
#include "snapshot/explain/words/peak_words.h"
#include "snapshot/explain/words/reserved_words.h"

enum { WORDS_BYTES = 4096 };

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

static tide_status say_assumed(tide_answer *answer, const tide_facts *facts, tide_text *words) {
    size_t n = facts->snapshot->n_assumed;
    add_limit(facts, words);
    TIDE_TRY(say(answer, "assumed_limit", words));
    for (size_t i = 0; i < n && i < TIDE_ASSUMED_SENTENCES; i++) {
        tide_assumed_words_add(&facts->snapshot->assumed[i], words);
        TIDE_TRY(say(answer, "assumed", words));
    }
    tide_assumed_words_add_all(n, words);
    return say(answer, "assumed_count", words);
}

tide_status tide_answer_init(tide_answer *answer, const tide_answer_input *input) {
    char bytes[WORDS_BYTES];
    tide_text words = tide_text_in(bytes, sizeof(bytes));
    *answer = (tide_answer){.n_sentences = 0};
    tide_arena_init(&answer->arena, input->facts->mem);
    TIDE_TRY(say_causes(answer, input, &words));
    TIDE_TRY(say_assumed(answer, input->facts, &words));
    add_retries(input->facts, &words);
    TIDE_TRY(say(answer, "retries", &words));
    tide_peak_words_add(input->facts, input->lines, input->when, &words);
    TIDE_TRY(say(answer, "filled", &words));
    tide_peak_words_add_kinds(input->facts, input->lines, &words);
    TIDE_TRY(say(answer, "kinds", &words));
    if (input->when == NULL) {
        tide_reserved_words_add(input->facts, input->causes, &words);
    }
    return say(answer, "reserved", &words);
}

void tide_answer_fini(tide_answer *answer) {
    if (answer->arena.mem != NULL) {
        tide_arena_fini(&answer->arena);
        *answer = (tide_answer){.n_sentences = 0};
    }
}
