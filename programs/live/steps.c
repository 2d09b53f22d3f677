/* steps.c - the program's current step, according to its marks. */
#include <string.h>

#include "programs/live/state_friend.h"

/* The names of marks that may begin a step (python/tidemark/steps.py). */
static const char *const BEGINS[] = {"step begins", "call begins", "own step"};
enum { N_BEGINS = sizeof(BEGINS) / sizeof(BEGINS[0]) };

static _Atomic uint64_t n_begins[N_BEGINS];

uint64_t tide_live_count_step(const char *mark) {
    for (size_t i = 0; i < N_BEGINS; i++) {
        if (strcmp(mark, BEGINS[i]) == 0) {
            return atomic_fetch_add_explicit(&n_begins[i], 1, memory_order_relaxed);
        }
    }
    return 0;
}

/* Stacks are walked before the first step, and then in the first of every N steps. */
bool tide_live_is_walked(const tide_live *live) {
    uint64_t n = atomic_load_explicit(&n_begins[0], memory_order_relaxed);
    return live->every == 1 || n == 0 || (n - 1) % live->every == 0;
}
