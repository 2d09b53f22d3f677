/* walk_internal.h - one thread's walk up its own stack, which reuses earlier walks.
 *
 * The result of a walk depends on where it starts (return address, rsp, rbp), on the rules, and on
 * the words it loads: the return address of each frame, and saved values of rbp where a frame
 * further out computes its CFA from rbp. So if a new walk reaches a state that a remembered walk
 * had, and all words that the remembered walk loaded from there on are unchanged, then the rest of
 * the stack is the same. Checking that is fast: the addresses of the words are known, so the loads
 * are independent of each other, while each step of a walk needs the result of the one before.
 *
 * Walks that repeat as a whole are recognised by the words they load (known_walks_internal.h). This
 * file helps with the others: a thread remembers a few walks, distinguished by their second return
 * address. That address identifies the kind of event: the stack of an allocation differs from that
 * of the release before it.
 *
 * x86-64 only; elsewhere every walk gives up.
 */
#ifndef TIDE_STACK_WALK_INTERNAL_H
#define TIDE_STACK_WALK_INTERNAL_H

#include "stack/known_walks_internal.h"
#include "stack/unwind_rules_internal.h"
#include "stack/unwinder.h"

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#define TIDE_HAVE_STACK_WALK 1
#else
#define TIDE_HAVE_STACK_WALK 0
#endif

enum { TIDE_STACK_MEMORIES = 4 };

/* Where a walk is: the registers of a frame at its call of the next frame inwards. */
typedef struct tide_walk_state {
    uint64_t pc;  /* return address */
    uint64_t rsp; /* after the return */
    uint64_t rbp;
    uint64_t rbp_at; /* address of the word that rbp was loaded from; 0: rbp is that of the frame
                        further in */
} tide_walk_state;

/* A remembered frame; its return address is in the memory's pcs, loaded from rsp - 8. */
typedef struct tide_kept_frame {
    uint64_t rsp;
    uint64_t rbp;
    uint64_t hash;          /* of this return address and all further out (depot.h) */
    uint16_t n_outer_words; /* the number of the memory's words that belong to frames further out */
    bool uses_rbp;          /* the rest of the walk depends on rbp */
    bool steps_by_rbp;      /* the next step does: the frame's CFA is computed from it */
    bool may_go;            /* the rule of this frame, or of one further out, may become invalid */
} tide_kept_frame;

/* A saved rbp that a remembered walk depends on. */
typedef struct tide_kept_word {
    uint64_t address;
    uint64_t value;
    size_t frame; /* the frame whose rbp it is */
} tide_kept_word;

/* One remembered walk. Frames are numbered from the outermost, which is 0, so that inner frames can
 * be replaced without moving the others. pcs is filled from its end, because the depot wants
 * addresses innermost first; the parts of the arrays that an ordinary stack uses are then
 * adjacent. */
typedef struct tide_stack_memory {
    uint64_t key;      /* return address of the second frame */
    uint32_t epoch;    /* of the rules that it was walked with */
    uint32_t number;   /* of the whole stack in the depot; TIDE_NONE: none */
    size_t n_frames;   /* 0: nothing is remembered */
    size_t n_words;    /* of words */
    bool reaches_end;  /* frame 0 is the outermost of the stack; false: the walk was cut there */
    bool ends_at_zero; /* frame 0 returns to 0, a word that is not remembered */
    tide_kept_word words[TIDE_MAX_FRAMES]; /* outermost first */
    uint64_t pcs[TIDE_MAX_FRAMES];         /* frame 0's comes last */
    tide_kept_frame frames[TIDE_MAX_FRAMES];
} tide_stack_memory;

/* A new frame of the walk under way. */
typedef struct tide_walked_frame {
    tide_walk_state state;
    tide_packed_rule rule;
} tide_walked_frame;

/* The state of one thread. Other threads read only the counts. */
typedef struct tide_stack_walker {
    struct tide_stack_walker *next; /* owned by the unwinder, in its list */
    const void *thread;             /* address of a thread-local variable of the thread */
    uint64_t low, high;             /* the thread's stack: its first byte, and one past its last */
    bool is_busy;                   /* a walk is under way, which a signal may have interrupted */
    unsigned n_memories;            /* in use; the others are not initialised */
    unsigned next_memory;           /* to be reused for the next unknown key */
    _Atomic(uint64_t) n_captures, n_remembered, n_frames_walked, n_given_up;
    tide_walked_frame walked[TIDE_MAX_FRAMES]; /* innermost first */
    tide_stack_memory memories[TIDE_STACK_MEMORIES];
    tide_walk_word listed[TIDE_WALK_WORDS]; /* of the walk that is to be added to `known` */
    tide_known_walks known;
} tide_stack_walker;

/* The return addresses of a memory, innermost first, n_frames of them. */
static inline const uint64_t *tide_stack_memory_pcs(const tide_stack_memory *memory) {
    return memory->pcs + TIDE_MAX_FRAMES - memory->n_frames;
}

/* Prepares uninitialised storage; tide_stack_walker_begin_thread does the rest. */
void tide_stack_walker_init(tide_stack_walker *walker, const void *thread);

/* Forgets everything and finds the limits of the calling thread's stack. If that fails, every walk
 * gives up, because no load is known to be safe. */
void tide_stack_walker_begin_thread(tide_stack_walker *walker);

/* How a walk is to be made. */
typedef struct tide_walk_order {
    tide_unwind_rules *rules; /* borrowed */
    tide_stack_depot *depot;  /* borrowed; where stacks get their numbers */
    size_t max_frames;        /* 1..TIDE_MAX_FRAMES; a deeper stack keeps its innermost frames */
    bool ends_at_unknown; /* the stack ends at a frame without a rule; false: the walk gives up and
                             libunwind continues */
} tide_walk_order;

/* The number of the stack that begins at `start`, whose rbp must be in memory at rbp_at; TIDE_NONE
 * without memory for it. False: the walk gave up. */
bool tide_stack_walk(tide_stack_walker *walker, const tide_walk_order *order,
                     const tide_walk_state *start, uint32_t *ret_number);

#endif
