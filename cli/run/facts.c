/* The sentences of `tidemark explain` at the end of a run: about one process, or about the ranks of
 * a job, each sentence once. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/hostmem.h"
#include "snapshot/ranks/explained.h"
#include "snapshot/ranks/rank_words.h"

enum { MOST_SENTENCES = 8, SENTENCE_BYTES = 8192 };

/* Whether the answer of a run has other lines for a sentence: it knows the card, PyTorch's own
 * counters, and what all processes assumed (assumed.c) or reported (pools.c). A caught failure has
 * none, and only the verdict about a virtual card has what a server or XLA refused. */
static bool has_other_words(const tide_run_answer *of, const char *key, bool is_out) {
    static const char *const BEGINNINGS[] = {"near", "retries", "assumed", "kv_pool", "xla"};
    bool has_line = (strcmp(key, "oom") == 0 && is_out) ||
                    (strcmp(key, "refusal") == 0 && of->config->cards != NULL);
    for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
        has_line = has_line || strncmp(key, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0;
    }
    return has_line;
}

/* Of a device of a process; is_known stays false without a history or without memory. */
static void explain(const tide_run_answer *of, tide_run_place at, tide_arena *arena,
                    tide_digest_explained *ret) {
    const tide_snapshot *snapshot = of->processes[at.process].snapshot;
    tide_lifetimes lifetimes;
    tide_facts facts;
    tide_card card;
    *ret = (tide_digest_explained){.is_known = false};
    if (snapshot == NULL ||
        tide_lifetimes_init(&lifetimes, snapshot, arena->mem, NULL) != TIDE_OK) {
        return;
    }
    if (at.device < lifetimes.n_devices) {
        tide_status status = tide_facts_init(&facts, snapshot, &lifetimes, at.device);
        if (status == TIDE_OK) {
            if (of->config->cards != NULL &&
                tide_launch_card(of->config->cards, at.device, &card)) {
                facts.card = card.name;
            }
            status = tide_explained_make(&facts, arena, ret);
        }
        ret->is_known = status == TIDE_OK; /* otherwise the file still has it */
        tide_facts_fini(&facts);
    }
    tide_lifetimes_fini(&lifetimes);
}

/* Whether a module was called while autograd recorded a graph, or that is unknown. */
static bool may_train(const tide_snapshot *snapshot) {
    bool has_call = false;
    for (size_t i = 0; snapshot != NULL && i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.action == TIDE_ACTION_ALLOC && row.scope != TIDE_NONE &&
            snapshot->scopes[row.scope].kind == TIDE_SCOPE_LAYER) {
            has_call = true;
            if (snapshot->event_mode == NULL || snapshot->event_mode[i] <= TIDE_AUTOGRAD_ON) {
                return true;
            }
        }
    }
    return !has_call;
}

/* Another command tries what would make a program of PyTorch fit; not one with several ranks. */
static void tell_plan(const tide_run_answer *of, tide_run_place at) {
    if (of->config->cards != NULL && !tide_run_is_job(of) &&
        may_train(of->processes[at.process].snapshot) && of->processes[0].left->torch[0] != '\0' &&
        of->config->changes == NULL) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "if it trains a model, tidemark plan with the same card and "
                      "command tries what would make it fit");
    }
}

void tide_run_tell_facts(const tide_run_answer *of, tide_run_place at, bool is_out) {
    bool has_plan = false; /* the sentence with the changes that cure the cause */
    tide_arena arena;
    tide_digest_explained explained;
    tide_arena_init(&arena, tide_hostmem_default());
    explain(of, at, &arena, &explained);
    for (size_t i = 0; explained.is_known && i < explained.n_sentences; i++) {
        if (!has_other_words(of, explained.sentences[i].key, is_out)) {
            tide_cli_note(TIDE_COMMAND_RUN, "%s", explained.sentences[i].text);
            has_plan = has_plan || strcmp(explained.sentences[i].key, "plan") == 0;
        }
    }
    if (is_out && !has_plan && explained.n_growth == 0) { /* no plan cures growth */
        tell_plan(of, at);
    }
    tide_arena_fini(&arena);
}

/* ---- of ranks ---- */

static tide_status find_sentences(const tide_run_answer *of, tide_arena *arena,
                                  tide_rank_sentences *ret) {
    size_t n_ranks = of->list->n_processes;
    tide_rank_answer *answers = tide_arena_alloc(arena, n_ranks, sizeof(*answers));
    size_t n = 0;
    if (answers == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_ranks; i++) {
        tide_digest_explained explained;
        const tide_run_place at = {i, tide_run_fullest_card(of, i)};
        explain(of, at, arena, &explained);
        if (explained.is_known) {
            answers[n] = (tide_rank_answer){.rank = of->processes[i].left->rank,
                                            .name = of->processes[i].path,
                                            .peak_bytes = tide_run_allocated_peak(of, at)};
            TIDE_TRY(tide_rank_answer_make(&explained, arena, &answers[n++]));
        }
    }
    return tide_rank_sentences_make(answers, n, n_ranks, arena, ret);
}

void tide_run_tell_rank_facts(const tide_run_answer *of) {
    tide_arena arena;
    tide_rank_sentences sentences = {.n_rows = 0};
    size_t n = 0;
    tide_arena_init(&arena, tide_hostmem_default());
    if (find_sentences(of, &arena, &sentences) != TIDE_OK) {
        sentences.n_rows = 0; /* the files still have them */
    }
    for (size_t i = 0; i < sentences.n_rows && n < MOST_SENTENCES; i++) {
        char words[SENTENCE_BYTES];
        tide_text text = tide_text_in(words, sizeof(words));
        if (!has_other_words(of, sentences.rows[i].key, true)) {
            tide_rank_sentence_add(&sentences.rows[i], &text);
            tide_cli_note(TIDE_COMMAND_RUN, "%s", words);
            n++;
        }
    }
    tide_arena_fini(&arena);
}
