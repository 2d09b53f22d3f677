/* steps.c - which step the program is in, as far as marks tell. */
#include <string.h>

#include "live/state_internal.h"

static _Atomic uint64_t n_steps;

void tide_live_count_step(const tide_live *live, const char *mark) {
    (void)live;
    if (strcmp(mark, "step begins") == 0) {
        atomic_fetch_add_explicit(&n_steps, 1, memory_order_relaxed);
    }
}

/* What lies before the first step is walked, and then the first of every so many steps. */
bool tide_live_is_walked(const tide_live *live) {
    uint64_t n = atomic_load_explicit(&n_steps, memory_order_relaxed);
    return live->every == 1 || n == 0 || (n - 1) % live->every == 0;
}
