/* walk.c - walks up the stack by rules, and proves which part of an earlier walk still holds.
 *
 *   registers at the call (pc, rsp, rbp)
 *        |
 *        v
 *   known as a whole? --- all words that it loads are unchanged ----------> its number
 *        | no   (known_walks.c)
 *        v
 *   the memory of this kind of event, by the second return address
 *        |
 *        v
 *   outer frames whose words are unchanged --- all frames ----------------> its number
 *        | some or none
 *        v
 *   step by rules (unwind_rules.c) until the walk meets such a frame, or ends
 *        |                     |
 *        |                     +-- no rule, or a load off the stack ------> give up: libunwind
 *        v                                                                  (unwinder.c)
 *   hash of the new frames, continued from the kept ones -- depot.c ------> a number
 *
 * Libraries may come and go meanwhile: a walk whose rules no longer hold is made again.
 */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "stack/walk_internal.h"

#include <pthread.h>
#include <string.h>

#include "common/assert.h"
#include "common/event.h"
#include "stack/depot.h"
#include "stack/stack_word_internal.h"

/* Libraries would have to come or go during three walks in a row before libunwind takes over. */
enum { WORD_BYTES = 8, MAX_ATTEMPTS = 3 };

void tide_stack_walker_init(tide_stack_walker *walker, const void *thread) {
    walker->next = NULL;
    walker->thread = thread;
    atomic_init(&walker->n_captures, 0);
    atomic_init(&walker->n_remembered, 0);
    atomic_init(&walker->n_frames_walked, 0);
    atomic_init(&walker->n_given_up, 0);
}

void tide_stack_walker_begin_thread(tide_stack_walker *walker) {
    walker->low = 0;
    walker->high = 0;
    walker->is_busy = false;
    walker->n_memories = 0;
    walker->next_memory = 0;
    tide_known_walks_init(&walker->known);
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    void *begin = NULL;
    size_t n_bytes = 0;
    if (pthread_attr_getstack(&attributes, &begin, &n_bytes) == 0) {
        walker->low = (uint64_t)(uintptr_t)begin;
        walker->high = walker->low + n_bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* Whether a load stays on the part of the stack that is in use: at or above `rsp`, which the walk
 * has reached. So a wrong rule can lead to a wrong stack, but never to a fault. */
static inline bool may_load(const tide_stack_walker *walker, uint64_t rsp, uint64_t address) {
    return address >= rsp && address <= walker->high - WORD_BYTES && address % WORD_BYTES == 0;
}

typedef enum step { STEPPED, AT_END, AT_ZERO, UNKNOWN } step;

/* Steps from `state` to the frame of its caller. */
static inline step step_out(const tide_stack_walker *walker, tide_packed_rule rule,
                            tide_walk_state *state) {
    tide_unwind_kind kind = tide_rule_kind(rule);
    if (kind == TIDE_UNWIND_END) {
        return AT_END;
    }
    if (kind == TIDE_UNWIND_OTHER) {
        return UNKNOWN;
    }
    uint64_t cfa = (kind == TIDE_UNWIND_RSP ? state->rsp : state->rbp) + tide_rule_cfa_offset(rule);
    if (!may_load(walker, state->rsp, cfa - WORD_BYTES)) {
        return UNKNOWN;
    }
    uint64_t pc = tide_stack_word(cfa - WORD_BYTES);
    if (pc == 0) { /* the bottom of a stack whose creator filled it with zeros, as for a
                      coroutine */
        return AT_ZERO;
    }
    if ((rule & TIDE_RULE_SAVES_RBP) != 0) {
        uint64_t at = cfa + tide_rule_rbp_offset(rule);
        if (!may_load(walker, state->rsp, at)) {
            return UNKNOWN;
        }
        state->rbp = tide_stack_word(at);
        state->rbp_at = at;
    } else {
        state->rbp_at = 0;
    }
    state->pc = pc;
    state->rsp = cfa;
    return STEPPED;
}

static inline tide_packed_rule rule_for(tide_unwind_rules *rules, uint64_t pc) {
    tide_packed_rule rule = tide_unwind_rules_find(rules, pc);
    return rule != 0 ? rule : tide_unwind_rules_make(rules, pc);
}

/* The memory of walks with this second return address. If there is none, that of another address is
 * reused and keeps its content, because its outer frames are often the same. */
static tide_stack_memory *memory_for(tide_stack_walker *walker, uint64_t key, uint32_t epoch) {
    tide_stack_memory *memory = NULL;
    for (size_t i = 0; i < walker->n_memories && memory == NULL; i++) {
        memory = walker->memories[i].key == key ? &walker->memories[i] : NULL;
    }
    if (memory == NULL && walker->n_memories < TIDE_STACK_MEMORIES) {
        memory = &walker->memories[walker->n_memories++];
        memory->epoch = 0; /* epochs begin at 1: this one is never current */
    } else if (memory == NULL) {
        memory = &walker->memories[walker->next_memory];
        walker->next_memory = (walker->next_memory + 1) % TIDE_STACK_MEMORIES;
    }
    TIDE_ASSERT(memory >= walker->memories && memory < walker->memories + walker->n_memories);
    memory->key = key;
    /* The remembered frames were walked by rules that may be invalid now. */
    if (memory->epoch != epoch) {
        memory->epoch = epoch;
        memory->n_frames = 0;
        memory->n_words = 0;
        memory->reaches_end = false;
        memory->ends_at_zero = false;
    }
    return memory;
}

static inline uint64_t pc_of(const tide_stack_memory *memory, size_t frame) {
    return memory->pcs[TIDE_MAX_FRAMES - 1 - frame];
}

/* How many of the remembered frames, counted from the outermost, still hold: a walk that starts at
 * any of them would load the same words as before. A frame holds if all words loaded further out
 * are unchanged; is_frame compares its own return address and rbp. A zero at the end is not among
 * those words, so such a walk is not trusted. */
static inline size_t count_unchanged(const tide_stack_memory *memory) {
    if (memory->n_frames == 0 || memory->ends_at_zero) {
        return 0;
    }
    size_t innermost = memory->n_frames - 1;
    size_t i = 0;
    while (i < innermost &&
           tide_stack_word(memory->frames[i].rsp - WORD_BYTES) == pc_of(memory, i)) {
        i++;
    }
    size_t w = 0;
    while (w < memory->n_words &&
           tide_stack_word(memory->words[w].address) == memory->words[w].value) {
        w++;
    }
    /* A changed rbp breaks all frames further in than the one whose rbp it is. */
    if (w < memory->n_words && memory->words[w].frame < i) {
        i = memory->words[w].frame;
    }
    return i + 1;
}

/* Whether a walk at `state` has come to remembered frame i. rbp counts only where the rest of the
 * walk uses it: otherwise a changed rbp leads to the same stack. */
static inline bool is_frame(const tide_stack_memory *memory, size_t i,
                            const tide_walk_state *state) {
    const tide_kept_frame *frame = &memory->frames[i];
    return frame->rsp == state->rsp && pc_of(memory, i) == state->pc &&
           (!frame->uses_rbp || frame->rbp == state->rbp);
}

typedef struct walk {
    tide_stack_walker *walker;    /* borrowed */
    const tide_walk_order *order; /* borrowed */
    size_t n_new;                 /* frames in walker->walked */
    size_t n_kept;           /* remembered frames, counted from the outermost, that follow them */
    tide_walk_state at_kept; /* the state in which the walk reached the innermost of those */
    bool reaches_end;        /* false: the walk was cut at max_frames */
    bool ends_at_zero;       /* the last word that the walk loaded was 0 instead of an address */
    bool may_go;             /* one of the rules it used may go */
} walk;

/* Continues from `state`, the caller of the last frame in walker->walked, until the stack ends or
 * the walk meets one of the first n_unchanged frames of `memory`. False: give up. */
static bool walk_on(walk *w, tide_walk_state state, const tide_stack_memory *memory,
                    size_t n_unchanged) {
    size_t n = n_unchanged;
    TIDE_ASSERT(w->order->max_frames <= TIDE_MAX_FRAMES && w->n_new <= w->order->max_frames);
    for (;;) {
        /* rsp only grows on the way out: frames that begin below it can no longer be reached. */
        while (n > 0 && memory->frames[n - 1].rsp < state.rsp) {
            n--;
        }
        if (n > 0 && is_frame(memory, n - 1, &state)) {
            w->n_kept = n;
            w->at_kept = state;
            w->reaches_end = true;
            return true;
        }
        if (w->n_new == w->order->max_frames) {
            return true; /* only the innermost frames are kept */
        }
        tide_packed_rule rule = rule_for(w->order->rules, state.pc);
        w->walker->walked[w->n_new++] = (tide_walked_frame){state, rule};
        w->may_go = w->may_go || (rule & TIDE_RULE_MAY_GO) != 0;
        step result = step_out(w->walker, rule, &state);
        if (result != STEPPED && (result != UNKNOWN || w->order->ends_at_unknown)) {
            w->reaches_end = true;
            w->ends_at_zero = result == AT_ZERO;
            return true;
        }
        if (result == UNKNOWN) {
            return false;
        }
    }
}

/* Remembers the word that the rbp of frame i was loaded from, if the walk from there on depends on
 * it. */
static inline void keep_word(tide_stack_memory *memory, size_t i, const tide_walk_state *state) {
    if (memory->frames[i].uses_rbp && state->rbp_at != 0) {
        TIDE_ASSERT(memory->n_words < TIDE_MAX_FRAMES);
        memory->words[memory->n_words++] =
            (tide_kept_word){.address = state->rbp_at, .value = state->rbp, .frame = i};
    }
}

/* Adds the new frames to the kept ones, from the outermost of the new frames inwards, because each
 * frame builds on its caller: on the hash, and on whether the walk depends on rbp. */
static void remember(tide_stack_memory *memory, const walk *w) {
    size_t i = w->n_kept;
    TIDE_ASSERT(w->n_new > 0 && w->n_kept + w->n_new <= TIDE_MAX_FRAMES);
    bool uses_rbp = false;
    bool may_go = false;
    uint64_t hash = TIDE_STACK_HASH_SEED;
    memory->n_words = 0;
    if (i > 0) {
        const tide_kept_frame *kept = &memory->frames[i - 1];
        uses_rbp = kept->uses_rbp;
        may_go = kept->may_go;
        hash = kept->hash;
        memory->n_words = kept->n_outer_words;
        keep_word(memory, i - 1, &w->at_kept);
    }
    for (size_t n = w->n_new; n > 0; n--, i++) {
        const tide_walk_state *state = &w->walker->walked[n - 1].state;
        tide_packed_rule rule = w->walker->walked[n - 1].rule;
        /* The walk from here depends on rbp if this frame's CFA does, or if a caller's does and
         * this frame does not load its own value for it. */
        uses_rbp = tide_rule_kind(rule) == TIDE_UNWIND_RBP ||
                   (uses_rbp && (rule & TIDE_RULE_SAVES_RBP) == 0);
        may_go = may_go || (rule & TIDE_RULE_MAY_GO) != 0;
        hash = tide_stack_hash(hash, state->pc);
        memory->pcs[TIDE_MAX_FRAMES - 1 - i] = state->pc;
        memory->frames[i] =
            (tide_kept_frame){.rsp = state->rsp,
                              .rbp = state->rbp,
                              .hash = hash,
                              .n_outer_words = (uint16_t)memory->n_words,
                              .uses_rbp = uses_rbp,
                              .steps_by_rbp = tide_rule_kind(rule) == TIDE_UNWIND_RBP,
                              .may_go = may_go};
        keep_word(memory, i, state);
    }
    memory->n_frames = i;
    memory->reaches_end = w->reaches_end;
    memory->ends_at_zero = w->ends_at_zero;
    memory->number = TIDE_NONE;
}

/* Lists the words that the remembered walk loaded, in its order (known_walks_internal.h). Of the
 * words that rbp was loaded from, only those that the walk used are listed. */
static size_t list_words(const tide_stack_memory *memory, tide_walk_word *ret_words) {
    size_t n = 0;
    size_t w = memory->n_words;
    const tide_kept_word *rbp = NULL; /* where rbp came from, until the walk uses it */
    for (size_t i = memory->n_frames; i > 0; i--) {
        const tide_kept_frame *frame = &memory->frames[i - 1];
        ret_words[n++] = (tide_walk_word){frame->rsp - WORD_BYTES, pc_of(memory, i - 1)};
        if (w > 0 && memory->words[w - 1].frame == i - 1) {
            rbp = &memory->words[--w];
        }
        if (frame->steps_by_rbp && rbp != NULL) {
            ret_words[n++] = (tide_walk_word){rbp->address, rbp->value};
            rbp = NULL;
        }
    }
    TIDE_ASSERT(w == 0 && n <= TIDE_WALK_WORDS); /* each word has its frame */
    return n;
}

/* Only the walker's own thread adds; others read. So a load and a store are enough, and cheaper
 * than an atomic addition. */
static void count(_Atomic(uint64_t) *counter, uint64_t n) {
    uint64_t sum = atomic_load_explicit(counter, memory_order_relaxed) + n;
    atomic_store_explicit(counter, sum, memory_order_relaxed);
}

typedef enum outcome { REMEMBERED, WALKED, GIVEN_UP } outcome;

/* One attempt. Afterwards w->may_go is set if the outcome, also giving up, depends on rules that
 * may become invalid. */
static outcome attempt(walk *w, const tide_walk_state *start, uint32_t epoch,
                       tide_stack_memory **ret_memory) {
    tide_packed_rule rule = rule_for(w->order->rules, start->pc);
    w->may_go = (rule & TIDE_RULE_MAY_GO) != 0;
    tide_walk_state second = *start;
    if (step_out(w->walker, rule, &second) != STEPPED) {
        return GIVEN_UP;
    }
    /* The innermost frame is the recorder's own function, the same for every allocation. The second
     * return address distinguishes kinds of events. */
    tide_stack_memory *memory = memory_for(w->walker, second.pc, epoch);
    *ret_memory = memory;
    size_t n_unchanged = count_unchanged(memory);
    if (n_unchanged > 0 && n_unchanged == memory->n_frames && memory->number != TIDE_NONE &&
        is_frame(memory, n_unchanged - 1, start)) {
        w->may_go = memory->frames[n_unchanged - 1].may_go;
        return REMEMBERED;
    }
    w->walker->walked[0] = (tide_walked_frame){*start, rule};
    w->n_new = 1;
    if (!walk_on(w, second, memory, memory->reaches_end ? n_unchanged : 0)) {
        return GIVEN_UP;
    }
    if (w->n_new + w->n_kept > w->order->max_frames) {
        /* Too deep together: the outermost frames are cut off. Every hash contains those further
         * out, so the kept ones are useless and the whole stack is walked. */
        w->n_new = 1;
        w->n_kept = 0;
        w->reaches_end = false;
        if (!walk_on(w, second, memory, 0)) {
            return GIVEN_UP;
        }
    }
    w->may_go = w->may_go || (w->n_kept > 0 && memory->frames[w->n_kept - 1].may_go);
    return WALKED;
}

/* Numbers the stack of the new walk and adds the walk to the known ones. */
static uint32_t keep_walk(const walk *w, tide_stack_memory *memory,
                          const tide_known_search *search) {
    tide_stack_walker *walker = w->walker;
    count(&walker->n_frames_walked, w->n_new);
    remember(memory, w);
    const tide_kept_frame *innermost = &memory->frames[memory->n_frames - 1];
    memory->number = tide_stack_depot_intern_hashed(
        w->order->depot, innermost->hash, tide_stack_memory_pcs(memory), memory->n_frames);
    /* A zero at the end is not listed, so a change of it would go unnoticed. */
    if (memory->number != TIDE_NONE && !memory->ends_at_zero && !search->is_resting) {
        size_t n_words = list_words(memory, walker->listed);
        tide_known_walks_add(&walker->known, search, walker->listed, n_words, memory->number,
                             innermost->may_go);
    }
    return memory->number;
}

typedef enum answer { NUMBERED, REFUSED, OUTDATED } answer;

/* A walk that is not known. Not inline, to spare the other paths from saving the registers that
 * this one uses. */
static __attribute__((noinline)) answer
walk_anew(tide_stack_walker *walker, const tide_walk_order *order, const tide_walk_state *start,
          uint32_t epoch, const tide_known_search *search, uint32_t *ret_number) {
    walk w; /* not initialised as a whole: that costs more than it is worth on this path */
    w.walker = walker;
    w.order = order;
    w.n_new = 0;
    w.n_kept = 0;
    w.reaches_end = false;
    w.ends_at_zero = false;
    tide_stack_memory *memory = NULL;
    outcome result = attempt(&w, start, epoch, &memory);
    if (w.may_go && !tide_unwind_rules_hold(order->rules, epoch)) {
        return OUTDATED;
    }
    if (result == GIVEN_UP) {
        return REFUSED;
    }
    count(&walker->n_remembered, result == REMEMBERED);
    *ret_number = result == REMEMBERED ? memory->number : keep_walk(&w, memory, search);
    return NUMBERED;
}

/* Repeats the walk until all rules it used still hold afterwards. False: give up. */
static inline bool walk_by_rules_that_hold(tide_stack_walker *walker, const tide_walk_order *order,
                                           const tide_walk_state *start, uint32_t *ret_number) {
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        /* Before the first rule is looked up: tide_unwind_rules_hold checks all rules found after
         * it. */
        uint32_t epoch = atomic_load_explicit(&order->rules->epoch, memory_order_acquire);
        tide_known_search search;
        tide_known_walks_find(&walker->known, start->rsp, epoch, &search);
        answer result = OUTDATED;
        if (search.run == NULL) {
            result = walk_anew(walker, order, start, epoch, &search, ret_number);
        } else if (!search.run->may_go || tide_unwind_rules_hold(order->rules, epoch)) {
            count(&walker->n_remembered, 1);
            *ret_number = search.run->number;
            return true;
        }
        if (result != OUTDATED) {
            return result == NUMBERED;
        }
    }
    return false;
}

bool tide_stack_walk(tide_stack_walker *walker, const tide_walk_order *order,
                     const tide_walk_state *start, uint32_t *ret_number) {
    bool is_walked = false;
    count(&walker->n_captures, 1);
    /* Not on the thread's own stack, but on that of a signal handler or a coroutine; or in a signal
     * handler that interrupted a walk of this thread, whose memory is half written. */
    bool is_walkable = TIDE_HAVE_STACK_WALK && start->rsp >= walker->low &&
                       start->rsp < walker->high && !walker->is_busy;
    if (is_walkable) {
        /* The fences keep the compiler from moving the walk's stores outside of the two flags. Only
         * a signal handler on this thread looks at them, so the processor needs no barrier. */
        walker->is_busy = true;
        atomic_signal_fence(memory_order_seq_cst);
        is_walked = walk_by_rules_that_hold(walker, order, start, ret_number);
        atomic_signal_fence(memory_order_seq_cst);
        walker->is_busy = false;
    }
    if (!is_walked) {
        count(&walker->n_given_up, 1);
    }
    return is_walked;
}
