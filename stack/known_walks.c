/* known_walks.c - recognises a walk, and adds one. */
#include "stack/known_walks_internal.h"

#include <string.h>

#include "common/assert.h"
#include "common/event.h"
#include "stack/stack_word_internal.h"

/* A program whose stacks hardly ever repeat would fill the tree again and again for nothing. The
 * tree then rests for this many walks, and tries again in case the program has begun to repeat
 * itself. */
enum { RESTING_WALKS = 16 * TIDE_KNOWN_RUNS };

static void empty(tide_known_walks *known) {
    memset(known->slots, 0, sizeof(known->slots));
    known->n_runs = 0;
    known->n_words = 0;
    known->latest = 0;
    known->runs[0].follower = 0;
    known->n_found = 0;
}

void tide_known_walks_init(tide_known_walks *known) {
    known->epoch = 0; /* epochs begin at 1 */
    known->n_resting = 0;
    empty(known);
}

static inline size_t slot_of(const tide_known_branch *branch) {
    uint64_t place = (uint64_t)branch->parent << 32 | branch->position;
    uint64_t hash =
        (branch->value ^ place * UINT64_C(0x9fb21c651e98df25)) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (TIDE_KNOWN_SLOTS - 1);
}

static inline bool is_same(const tide_known_branch *a, const tide_known_branch *b) {
    return a->value == b->value && a->parent == b->parent && a->position == b->position;
}

/* The run that branches off there; NULL: none does. */
static const tide_known_run *find_branch(const tide_known_walks *known,
                                         const tide_known_branch *branch) {
    for (size_t i = slot_of(branch); known->slots[i] != 0; i = (i + 1) & (TIDE_KNOWN_SLOTS - 1)) {
        const tide_known_run *run = &known->runs[known->slots[i] - 1];
        if (is_same(&run->branch, branch)) {
            return run;
        }
    }
    return NULL;
}

static inline bool holds(const tide_walk_word *word) {
    return tide_stack_word(word->address) == word->value;
}

/* Whether the stack holds all words of the walk that ends with the run. */
static inline bool is_whole(const tide_known_walks *known, const tide_known_run *run) {
    uint32_t n_words = run->n_words;
    for (;;) {
        const tide_walk_word *words = &known->words[run->first_word];
        for (uint32_t i = 0; i < n_words; i++) {
            if (!holds(&words[i])) {
                return false;
            }
        }
        if (run->branch.parent == TIDE_NONE) {
            return true;
        }
        n_words = run->branch.position;
        run = &known->runs[run->branch.parent];
    }
}

/* Goes down the tree along the words that the stack holds. */
static const tide_known_run *search_tree(const tide_known_walks *known, uint64_t rsp,
                                         tide_known_search *search) {
    TIDE_ASSERT(known->n_runs <= TIDE_KNOWN_RUNS && known->n_words <= TIDE_KNOWN_WORDS);
    search->branch = (tide_known_branch){.parent = TIDE_NONE, .position = 0, .value = rsp};
    search->n_shared = 0;
    uint32_t n_checked = 0; /* of the run's words: the one of its branch is known to hold */
    const tide_known_run *run = find_branch(known, &search->branch);
    while (run != NULL) {
        const tide_walk_word *words = &known->words[run->first_word];
        uint32_t i = n_checked;
        while (i < run->n_words && holds(&words[i])) {
            i++;
        }
        if (i == run->n_words) {
            break;
        }
        search->n_shared += i;
        search->branch = (tide_known_branch){.parent = (uint32_t)(run - known->runs),
                                             .position = i,
                                             .value = tide_stack_word(words[i].address)};
        n_checked = 1;
        run = find_branch(known, &search->branch);
    }
    return run;
}

void tide_known_walks_find(tide_known_walks *known, uint64_t rsp, uint32_t epoch,
                           tide_known_search *ret_search) {
    ret_search->run = NULL;
    ret_search->is_resting = known->n_resting > 0;
    if (known->n_resting > 0) {
        known->n_resting--;
        return;
    }
    if (known->epoch != epoch) {
        known->epoch = epoch;
        empty(known);
    }
    /* Words of a walk from another rsp are not loaded: they may be outside the stack in use. */
    const tide_known_run *run = &known->runs[known->runs[known->latest].follower];
    if (known->n_runs == 0 || run->rsp != rsp || !is_whole(known, run)) {
        run = search_tree(known, rsp, ret_search);
        if (run == NULL) {
            return;
        }
        known->runs[known->latest].follower = (uint32_t)(run - known->runs);
    }
    known->latest = (uint32_t)(run - known->runs);
    known->n_found++;
    ret_search->run = run;
}

static bool has_room(const tide_known_walks *known, size_t n_words) {
    return known->n_runs < TIDE_KNOWN_RUNS && known->n_words + n_words <= TIDE_KNOWN_WORDS;
}

void tide_known_walks_add(tide_known_walks *known, const tide_known_search *search,
                          const tide_walk_word *words, size_t n_words, uint32_t number,
                          bool may_go) {
    const tide_known_branch *branch = &search->branch;
    if (search->is_resting || n_words <= search->n_shared ||
        (branch->parent != TIDE_NONE && words[search->n_shared].value != branch->value)) {
        return; /* also when another thread changed a word between the search and the walk */
    }
    size_t n_own = n_words - search->n_shared;
    TIDE_ASSERT(n_words <= TIDE_WALK_WORDS);
    TIDE_ASSERT(branch->parent == TIDE_NONE || branch->parent < known->n_runs);
    if (!has_room(known, n_own)) {
        known->n_resting = known->n_found < known->n_runs ? RESTING_WALKS : 0;
        empty(known); /* and with it the run that this one branches off from: do not add it */
        return;
    }
    uint32_t added = known->n_runs++;
    known->runs[added] = (tide_known_run){.branch = *branch,
                                          .rsp = words[0].address + sizeof(words[0].value),
                                          .first_word = known->n_words,
                                          .n_words = (uint32_t)n_own,
                                          .number = number,
                                          .may_go = may_go};
    memcpy(&known->words[known->n_words], words + search->n_shared, n_own * sizeof(*words));
    known->n_words += (uint32_t)n_own;
    size_t slot = slot_of(branch);
    while (known->slots[slot] != 0) {
        TIDE_ASSERT(known->slots[slot] <= added);
        slot = (slot + 1) & (TIDE_KNOWN_SLOTS - 1);
    }
    known->slots[slot] = (uint16_t)(added + 1);
    known->runs[known->latest].follower = added;
    known->latest = added;
}
