/* unwinder.c - gives each thread its walker, and uses libunwind where the walk gives up.
 *
 * A capture runs before the allocator's lock is taken and writes nothing that other threads share:
 * the walker belongs to the thread, and known stacks and rules are found without a lock. Two
 * threads that only capture take as long as one (docs/decisions/0009).
 */
#define _POSIX_C_SOURCE 200809L
#include "stack/unwinder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/event.h"
#include "stack/libunwind_internal.h"
#include "stack/walk_internal.h"

enum { N_CACHED = 4 }; /* unwinders that one thread uses in turn without taking a lock */

/* How stacks are walked: the values of TIDEMARK_UNWINDER. */
typedef enum method { METHOD_MEMO, METHOD_LIBUNWIND, METHOD_CHECK } method;

struct tide_unwinder {
    const tide_hostmem *mem; /* borrowed */
    tide_stack_depot *depot; /* borrowed */
    uint64_t identity;       /* unique in the process, unlike addresses, because memory is reused */
    method method;
    tide_libunwind libunwind;
    tide_error missing; /* why libunwind was not opened; "" if it was */
    tide_unwind_rules rules;
    tide_walk_order order;

    pthread_mutex_t lock;       /* guards the list */
    tide_stack_walker *walkers; /* owned; one for each thread, reused by later threads */

    _Atomic(uint64_t) n_unwalked;   /* captures without a walker */
    _Atomic(uint64_t) n_checked;    /* captures that were compared with libunwind */
    _Atomic(uint64_t) n_mismatched; /* of those, captures that differed */
};

/* The unwinders that this thread used last, and its walker in each. */
typedef struct thread_cache {
    struct {
        uint64_t identity;         /* of the unwinder; 0: empty */
        tide_stack_walker *walker; /* owned by that unwinder */
    } entries[N_CACHED];
    unsigned next; /* entry to replace next */
} thread_cache;

static _Thread_local thread_cache cache;

static tide_status read_method(method *ret_method, tide_error *error) {
    const char *word = getenv("TIDEMARK_UNWINDER");
    if (word == NULL || word[0] == '\0' || strcmp(word, "memo") == 0) {
        *ret_method = METHOD_MEMO;
    } else if (strcmp(word, "libunwind") == 0) {
        *ret_method = METHOD_LIBUNWIND;
    } else if (strcmp(word, "check") == 0) {
        *ret_method = METHOD_CHECK;
    } else {
        return tide_fail(error, TIDE_INVALID,
                         "TIDEMARK_UNWINDER is \"%s\"; it must be memo, libunwind or check", word);
    }
    return TIDE_OK;
}

static uint64_t next_identity(void) {
    static _Atomic(uint64_t) last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

tide_status tide_unwinder_create(const tide_hostmem *mem, tide_stack_depot *depot, int max_frames,
                                 tide_unwinder **ret_unwinder, tide_error *error) {
    method wanted = METHOD_MEMO;
    TIDE_TRY(read_method(&wanted, error));
    tide_unwinder *unwinder = tide_hostmem_zeroed(mem, 1, sizeof(*unwinder));
    if (unwinder == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "call stacks: no host memory");
    }
    bool can_do_without = wanted == METHOD_MEMO && TIDE_HAVE_STACK_WALK;
    tide_status status =
        tide_libunwind_open(&unwinder->libunwind, wanted == METHOD_MEMO, &unwinder->missing);
    if (status != TIDE_OK) {
        tide_error_prefix(&unwinder->missing, can_do_without ? "some call stacks end too early"
                                                             : "call stacks are off");
    }
    if (status != TIDE_OK && !can_do_without) {
        tide_fail(error, status, "%s", unwinder->missing.message);
        goto fail_libunwind;
    }
    status = tide_unwind_rules_init(&unwinder->rules, mem);
    if (status != TIDE_OK) {
        tide_fail(error, status, "call stacks: no host memory");
        goto fail_libunwind;
    }
    if (pthread_mutex_init(&unwinder->lock, NULL) != 0) {
        status = tide_fail(error, TIDE_NO_MEMORY, "call stacks: no memory for a lock");
        goto fail_lock;
    }
    unwinder->mem = mem;
    unwinder->depot = depot;
    unwinder->identity = next_identity();
    unwinder->method = wanted;
    unwinder->order = (tide_walk_order){.rules = &unwinder->rules,
                                        .depot = depot,
                                        .max_frames = (size_t)max_frames,
                                        .ends_at_unknown = unwinder->libunwind.backtrace == NULL};
    *ret_unwinder = unwinder;
    return TIDE_OK;

fail_lock:
    tide_unwind_rules_fini(&unwinder->rules);
fail_libunwind:
    mem->release(mem->ctx, unwinder);
    return status;
}

void tide_unwinder_destroy(tide_unwinder *unwinder) {
    if (unwinder == NULL) {
        return;
    }
    const tide_hostmem *mem = unwinder->mem;
    while (unwinder->walkers != NULL) {
        tide_stack_walker *next = unwinder->walkers->next;
        mem->release(mem->ctx, unwinder->walkers);
        unwinder->walkers = next;
    }
    pthread_mutex_destroy(&unwinder->lock);
    tide_unwind_rules_fini(&unwinder->rules);
    mem->release(mem->ctx, unwinder);
}

const char *tide_unwinder_missing(const tide_unwinder *unwinder) {
    return unwinder->missing.message[0] == '\0' ? NULL : unwinder->missing.message;
}

/* The calling thread's walker, made at its first capture; NULL without memory. Threads are
 * recognised by the address of their thread-local cache. A thread that ends leaves its walker to
 * the next thread that reuses its TLS address: two live threads never have the same address, so two
 * threads never use one walker at the same time, and there are at most as many walkers as threads
 * that lived at the same time. */
static tide_stack_walker *find_walker(tide_unwinder *unwinder) {
    pthread_mutex_lock(&unwinder->lock);
    tide_stack_walker *walker = unwinder->walkers;
    while (walker != NULL && walker->thread != &cache) {
        walker = walker->next;
    }
    if (walker == NULL) {
        /* Not zeroed: most of it is room for deep stacks. */
        walker = unwinder->mem->alloc(unwinder->mem->ctx, sizeof(*walker));
        if (walker != NULL) {
            tide_stack_walker_init(walker, &cache);
            walker->next = unwinder->walkers;
            unwinder->walkers = walker;
        }
    }
    pthread_mutex_unlock(&unwinder->lock);
    if (walker == NULL) {
        return NULL;
    }
    /* Forgets the state that an earlier thread may have left in it. */
    tide_stack_walker_begin_thread(walker);
    unsigned entry = cache.next;
    cache.entries[entry].identity = unwinder->identity;
    cache.entries[entry].walker = walker;
    cache.next = (entry + 1) % N_CACHED;
    return walker;
}

static inline tide_stack_walker *walker_of(tide_unwinder *unwinder) {
    for (size_t i = 0; i < N_CACHED; i++) {
        if (cache.entries[i].identity == unwinder->identity) {
            return cache.entries[i].walker;
        }
    }
    return find_walker(unwinder);
}

static uint32_t capture_by_libunwind(tide_unwinder *unwinder, uint64_t innermost_pc) {
    if (unwinder->libunwind.backtrace == NULL) {
        return TIDE_NONE;
    }
    uint64_t pcs[TIDE_MAX_FRAMES];
    size_t n_pcs =
        tide_libunwind_capture(&unwinder->libunwind, innermost_pc, unwinder->order.max_frames, pcs);
    return tide_stack_depot_intern(unwinder->depot, pcs, n_pcs);
}

/* Compares the walk, whose stack got the number, with what libunwind finds. */
static void check(tide_unwinder *unwinder, uint32_t number, uint64_t innermost_pc) {
    size_t n_found = 0;
    const uint64_t *found = tide_stack_depot_get(unwinder->depot, number, &n_found);
    uint64_t pcs[TIDE_MAX_FRAMES];
    size_t n_pcs =
        tide_libunwind_capture(&unwinder->libunwind, innermost_pc, unwinder->order.max_frames, pcs);
    atomic_fetch_add_explicit(&unwinder->n_checked, 1, memory_order_relaxed);
    if (found == NULL || n_pcs != n_found || memcmp(pcs, found, n_pcs * sizeof(*pcs)) != 0) {
        atomic_fetch_add_explicit(&unwinder->n_mismatched, 1, memory_order_relaxed);
    }
}

/* `start` is passed by address: it is read as a whole only if the walk is not known, and copying it
 * would wait for the stores that filled it. */
static inline uint32_t capture(tide_unwinder *unwinder, const tide_walk_state *start) {
    tide_stack_walker *walker = unwinder->method == METHOD_LIBUNWIND ? NULL : walker_of(unwinder);
    if (walker == NULL) {
        atomic_fetch_add_explicit(&unwinder->n_unwalked, 1, memory_order_relaxed);
        return capture_by_libunwind(unwinder, start->pc);
    }
    uint32_t number = TIDE_NONE;
    if (!tide_stack_walk(walker, &unwinder->order, start, &number)) {
        return capture_by_libunwind(unwinder, start->pc);
    }
    if (unwinder->method == METHOD_CHECK && number != TIDE_NONE) {
        check(unwinder, number, start->pc);
    }
    return number;
}

#if TIDE_HAVE_STACK_WALK
/* The walk starts with the registers of the caller at its call of this function. Because this
 * function asks for its own frame address, the compiler gives it a frame that rbp points to, even
 * with -fomit-frame-pointer. At that address are the caller's rbp, then the return address, then
 * the caller's part of the stack. */
uint32_t tide_unwinder_capture(tide_unwinder *unwinder) {
    enum { RBP, RETURN_ADDRESS, CALLER };
    const uint64_t *frame = __builtin_frame_address(0);
    const tide_walk_state start = {.pc = frame[RETURN_ADDRESS],
                                   .rsp = (uint64_t)(uintptr_t)(frame + CALLER),
                                   .rbp = frame[RBP],
                                   .rbp_at = (uint64_t)(uintptr_t)(frame + RBP)};
    return capture(unwinder, &start);
}
#else
uint32_t tide_unwinder_capture(tide_unwinder *unwinder) {
    void *return_address = __builtin_return_address(0);
    return capture(unwinder, &(tide_walk_state){.pc = (uint64_t)(uintptr_t)return_address});
}
#endif

void tide_unwinder_get_stats(tide_unwinder *unwinder, tide_unwinder_stats *ret_stats) {
    uint64_t n_unwalked = atomic_load_explicit(&unwinder->n_unwalked, memory_order_relaxed);
    tide_unwinder_stats stats = {
        .n_captures = n_unwalked,
        .n_given_up = n_unwalked,
        .n_checked = atomic_load_explicit(&unwinder->n_checked, memory_order_relaxed),
        .n_mismatched = atomic_load_explicit(&unwinder->n_mismatched, memory_order_relaxed)};
    pthread_mutex_lock(&unwinder->lock);
    for (tide_stack_walker *w = unwinder->walkers; w != NULL; w = w->next) {
        stats.n_captures += atomic_load_explicit(&w->n_captures, memory_order_relaxed);
        stats.n_remembered += atomic_load_explicit(&w->n_remembered, memory_order_relaxed);
        stats.n_frames_walked += atomic_load_explicit(&w->n_frames_walked, memory_order_relaxed);
        stats.n_given_up += atomic_load_explicit(&w->n_given_up, memory_order_relaxed);
    }
    pthread_mutex_unlock(&unwinder->lock);
    *ret_stats = stats;
}
