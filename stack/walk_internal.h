/* walk_internal.h - one thread's walk up its own stack, helped by what it remembers of
 * earlier walks.
 *
 * A walk is a function of where it starts (return address, rsp, rbp), of the rules, and of the
 * words it loads: each frame's return address, and saved values of rbp where a frame further out
 * finds its CFA by rbp. So where a new walk comes to a state that a remembered one had, and all
 * words that the remembered one loaded from there on are what they were, the rest is the same
 * stack. Those words lie at known addresses: loading them again is many independent loads, where
 * walking is a chain of dependent ones. A thread keeps a few walks, told apart by their second
 * return address, which is the kind of event: the stack of an allocation differs from that of the
 * release before it.
 *
 * x86-64 only; elsewhere every walk gives up.
 */
#ifndef TIDE_STACK_WALK_INTERNAL_H
#define TIDE_STACK_WALK_INTERNAL_H

#include "stack/unwind_rules_internal.h"
#include "stack/unwinder.h"

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#define TIDE_HAVE_STACK_WALK 1
#else
#define TIDE_HAVE_STACK_WALK 0
#endif

enum { TIDE_STACK_MEMORIES = 4 };

/* Where a walk is: what the registers were when the frame called the one inside it. */
typedef struct tide_walk_state {
    uint64_t pc;  /* return address */
    uint64_t rsp; /* after the return */
    uint64_t rbp;
    uint64_t rbp_at; /* address of the word that rbp was loaded from; 0: none, it was never saved */
} tide_walk_state;

/* A remembered frame; its return address is in the memory's pcs, loaded from rsp - 8. */
typedef struct tide_kept_frame {
    uint64_t rsp;
    uint64_t rbp;
    uint64_t hash;          /* of this return address and all further out (stack_depot.h) */
    uint16_t n_outer_words; /* words that belong to frames further out */
    bool uses_rbp;          /* the rest of the walk depends on rbp */
    bool may_go;            /* this frame's rule, or that of one further out, may go */
} tide_kept_frame;

/* A saved rbp that a remembered walk depends on. */
typedef struct tide_kept_word {
    uint64_t address;
    uint64_t value;
    size_t frame; /* whose rbp it is */
} tide_kept_word;

/* One remembered walk. Frames are numbered from the outermost, which is 0, so that those on the
 * inside can be replaced. What a usual stack needs of the arrays lies close together. */
typedef struct tide_stack_memory {
    uint64_t key;     /* return address of the second frame */
    uint32_t epoch;   /* of the rules it was walked by */
    uint32_t number;  /* of the whole stack, in the depot; TIDE_NONE: it got none */
    size_t n_frames;  /* 0: nothing is remembered */
    size_t n_words;   /* of words */
    bool reaches_end; /* the outermost frame is the stack's; false: it was cut there */
    tide_kept_word words[TIDE_MAX_FRAMES]; /* outermost first */
    uint64_t pcs[TIDE_MAX_FRAMES];         /* frame 0's comes last */
    tide_kept_frame frames[TIDE_MAX_FRAMES];
} tide_stack_memory;

/* A new frame of the walk under way. */
typedef struct tide_walked_frame {
    tide_walk_state state;
    tide_packed_rule rule;
} tide_walked_frame;

/* What one thread knows; used by that thread alone, but for the counts. */
typedef struct tide_stack_walker {
    struct tide_stack_walker *next; /* owned by the unwinder, in its list */
    const void *thread;             /* address of something that only this thread has */
    uint64_t low, high;             /* the thread's stack: first byte, and one behind the last */
    bool is_busy;                   /* a walk is under way, which a signal may have interrupted */
    unsigned n_memories;            /* in use; the others hold nothing valid */
    unsigned next_memory;           /* to use for a key that none has */
    _Atomic(uint64_t) n_captures, n_remembered, n_frames_walked, n_given_up;
    tide_walked_frame walked[TIDE_MAX_FRAMES]; /* innermost first */
    tide_stack_memory memories[TIDE_STACK_MEMORIES];
} tide_stack_walker;

/* The return addresses of a memory, innermost first, n_frames of them. */
static inline const uint64_t *tide_stack_memory_pcs(const tide_stack_memory *memory) {
    return memory->pcs + TIDE_MAX_FRAMES - memory->n_frames;
}

/* For storage of any content; tide_stack_walker_begin_thread does the rest. */
void tide_stack_walker_init(tide_stack_walker *walker, const void *thread);

/* Forgets everything and learns the limits of the calling thread's stack. Where they cannot be
 * had, every walk gives up. */
void tide_stack_walker_begin_thread(tide_stack_walker *walker);

/* How a walk is to be made. */
typedef struct tide_walk_order {
    tide_unwind_rules *rules; /* borrowed */
    size_t max_frames;        /* 1..TIDE_MAX_FRAMES; the innermost are kept */
    bool ends_at_unknown;     /* a frame without a rule is the last; false: the walk gives up */
} tide_walk_order;

/* The memory that holds the walk from `start`. With *ret_is_known its number still holds, else the
 * caller sets it. NULL: given up. */
tide_stack_memory *tide_stack_walk(tide_stack_walker *walker, const tide_walk_order *order,
                                   tide_walk_state start, bool *ret_is_known);

#endif
