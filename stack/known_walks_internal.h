/* known_walks_internal.h - the whole walks that one thread remembers, as a tree in which a walk is
 * recognised by the words that it loads.
 *
 * Under fixed rules, a walk depends on where it starts and on the words that it loads from the
 * stack, and each word's address depends only on the words before it. So two walks from one stack
 * pointer load from the same addresses until they load a first value that differs. The tree
 * branches at that value. If a stack has the value of a remembered walk at each of these addresses,
 * then a walk would load exactly these words and find the same stack: nothing is guessed.
 *
 * The words are return addresses, and a saved rbp directly before the word whose address depends on
 * it. Each walk is kept as a run of the words that it does not share with an earlier one.
 *
 * Programs repeat their stacks in the same order, so the walk that followed the latest one last
 * time is compared first: 97 % of a training step's walks are found without a search.
 */
#ifndef TIDE_STACK_KNOWN_WALKS_INTERNAL_H
#define TIDE_STACK_KNOWN_WALKS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/unwinder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_KNOWN_RUNS = 4096,
    TIDE_KNOWN_WORDS = 65536,               /* of all runs; a step of the model `small` has 10 in
                                               each */
    TIDE_KNOWN_SLOTS = 2 * TIDE_KNOWN_RUNS, /* at most half full */
    TIDE_WALK_WORDS = 2 * TIDE_MAX_FRAMES   /* the most that a walk loads: two for each frame */
};

/* A word that a walk loads from the stack. */
typedef struct tide_walk_word {
    uint64_t address;
    uint64_t value;
} tide_walk_word;

/* Where a run branches off: it has another value in place of word `position` of the run
 * `parent`. */
typedef struct tide_known_branch {
    uint32_t parent;   /* TIDE_NONE: at the start of a walk; the value is then rsp */
    uint32_t position; /* in the parent's run; 0 at the start */
    uint64_t value;
} tide_known_branch;

typedef struct tide_known_run {
    tide_known_branch branch;
    uint64_t rsp;        /* start of the walk */
    uint32_t first_word; /* in tide_known_walks.words; the word of the branch, or the first word of
                            a walk that starts here */
    uint32_t n_words;
    uint32_t number;   /* of the whole stack in the depot */
    uint32_t follower; /* the run that was found after this one last time */
    bool may_go;       /* a rule that the walk used may become invalid */
} tide_known_run;

/* One thread's. When it is full it is emptied. */
typedef struct tide_known_walks {
    uint32_t epoch; /* of the rules; walks of other epochs are forgotten */
    uint32_t n_runs;
    uint32_t n_words;
    uint32_t latest;                  /* run that was found or added last */
    uint32_t n_found;                 /* walks recognised since it was last empty */
    uint32_t n_resting;               /* number of walks for which it stays unused */
    uint16_t slots[TIDE_KNOWN_SLOTS]; /* hash table of branches: number of a run + 1; 0: free */
    tide_known_run runs[TIDE_KNOWN_RUNS];
    tide_walk_word words[TIDE_KNOWN_WORDS];
} tide_known_walks;

/* What a search found, or the place for a new walk. */
typedef struct tide_known_search {
    const tide_known_run *run; /* NULL if no such walk is remembered; the other members then
                                  describe where to add it */
    tide_known_branch branch;  /* the one that is missing */
    uint32_t n_shared;         /* words of the walk before the branch */
    bool is_resting;           /* the search was skipped, and nothing is to be added */
} tide_known_search;

/* Empties uninitialised storage. */
void tide_known_walks_init(tide_known_walks *known);

/* Searches for the walk that starts at rsp, by loading the words. `epoch` is that of the rules. */
void tide_known_walks_find(tide_known_walks *known, uint64_t rsp, uint32_t epoch,
                           tide_known_search *ret_search);

/* Adds a walk that was not found, with all the words that it loads, and the number of its stack. */
void tide_known_walks_add(tide_known_walks *known, const tide_known_search *search,
                          const tide_walk_word *words, size_t n_words, uint32_t number,
                          bool may_go);

#ifdef __cplusplus
}
#endif

#endif
