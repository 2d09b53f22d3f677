/* tick_clock.c - reads the time stamp counter, and synchronises it with the real clock every 1 or 2
 * ms. */
#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "common/clock.h"
#include "common/tick_clock_friend.h"

enum { TRIES = 8 };                        /* to read both clocks without an interruption */
#define MAX_TICKS (UINT64_C(1) << 22)      /* after which a new anchor is due: 1 to 2 ms */
#define TOO_MANY_TICKS (UINT64_C(1) << 31) /* since the last anchor: perhaps after a suspension */
#define MIN_BASE_TICKS                                                                             \
    (UINT64_C(1) << 25) /* since the first anchor: 10 ms, so that an error of                      \
                           50 ns at both ends is 10 millionths */
#define READ_TICKS 4096 /* reading both clocks takes less unless it is interrupted */

#if defined(__x86_64__)
static inline uint64_t read_ticks(void) {
    return __builtin_ia32_rdtsc();
}

/* The kernel keeps its own time by these counters only if it has found them constant and equal on
 * all processors, so we check which clock it uses. */
static bool can_trust_ticks(void) {
    char name[8] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file == NULL) {
        return false;
    }
    bool is_tsc = fgets(name, sizeof(name), file) != NULL && strcmp(name, "tsc\n") == 0;
    (void)fclose(file);
    return is_tsc;
}
#else
static inline uint64_t read_ticks(void) {
    return 0;
}

static bool can_trust_ticks(void) {
    return false;
}
#endif

/* Reads both clocks as nearly at the same instant as possible. False: every try was interrupted. */
static bool read_both(uint64_t *ret_ticks, int64_t *ret_ns) {
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = read_ticks();
        int64_t ns = tide_clock_now_ns();
        uint64_t took = read_ticks() - before;
        if (took <= READ_TICKS) {
            *ret_ticks = before + took / 2;
            *ret_ns = ns;
            return true;
        }
    }
    return false;
}

void tide_tick_clock_init(tide_tick_clock *clock) {
    memset(clock, 0, sizeof(*clock));
    clock->has_ticks = can_trust_ticks() && read_both(&clock->first_ticks, &clock->first_ns);
}

/* Reads the time by ticks. False if that is impossible or no longer exact, because the length of a
 * tick is unknown or the last anchor is too old. In the latter case *ret_ns still gets the time by
 * ticks: callers may have seen that time, and the clock must not go back before it. */
static inline bool read_by_ticks(const tide_tick_clock *clock, int64_t *ret_ns) {
    uint32_t version = atomic_load_explicit(&clock->version, memory_order_acquire);
    /* A sequence lock: acquire loads stay in order, so all are done before the version is compared
     * again. If it has changed, or was odd, an anchor was being set. */
    uint64_t anchor = atomic_load_explicit(&clock->ticks, memory_order_acquire);
    int64_t anchor_ns = atomic_load_explicit(&clock->ns, memory_order_acquire);
    uint64_t tick_ns = atomic_load_explicit(&clock->tick_ns, memory_order_acquire);
    if (tick_ns == 0 || version % 2 != 0 ||
        atomic_load_explicit(&clock->version, memory_order_relaxed) != version) {
        return false;
    }
    uint64_t ticks = read_ticks();
    uint64_t since = ticks > anchor ? ticks - anchor : 0; /* the counter may be read early */
    if (since >= TOO_MANY_TICKS) {
        return false;
    }
    *ret_ns = anchor_ns + (int64_t)(since * tick_ns >> 32);
    return since < MAX_TICKS;
}

/* The system's time, but not before last_ns, the time by the last anchor, which callers may have
 * seen; 0: no anchor. */
static int64_t read_slowly(int64_t last_ns) {
    int64_t ns = tide_clock_now_ns();
    return last_ns > ns ? last_ns : ns;
}

int64_t tide_tick_clock_read(const tide_tick_clock *clock) {
    int64_t ns = 0;
    return read_by_ticks(clock, &ns) ? ns : read_slowly(ns);
}

/* Sets a new anchor. Its time must not be before the time that follows from the last anchor. */
static void set_anchor(tide_tick_clock *clock, uint64_t ticks, int64_t ns, uint64_t tick_ns) {
    uint32_t version = atomic_load_explicit(&clock->version, memory_order_relaxed);
    TIDE_ASSERT(version % 2 == 0); /* no other thread is setting one */
    atomic_store_explicit(&clock->version, version + 1, memory_order_relaxed);
    /* Release stores stay in order, so a reader that sees one of them also sees the odd version. */
    atomic_store_explicit(&clock->ticks, ticks, memory_order_release);
    atomic_store_explicit(&clock->ns, ns, memory_order_release);
    atomic_store_explicit(&clock->tick_ns, tick_ns, memory_order_release);
    atomic_store_explicit(&clock->version, version + 2, memory_order_release);
}

int64_t tide_tick_clock_read_and_anchor(tide_tick_clock *clock) {
    int64_t ns = 0;
    if (read_by_ticks(clock, &ns)) {
        return ns;
    }
    int64_t last_ns = ns; /* by the last anchor; 0: no anchor */
    uint64_t ticks = 0;
    if (!clock->has_ticks || !read_both(&ticks, &ns) ||
        ticks - clock->first_ticks < MIN_BASE_TICKS) {
        return read_slowly(last_ns);
    }
    double tick_ns = (double)(ns - clock->first_ns) / (double)(ticks - clock->first_ticks);
    uint64_t anchor = atomic_load_explicit(&clock->ticks, memory_order_relaxed);
    /* After a suspension, or with an absurd length of a tick, nothing before now can be trusted. */
    bool begins_anew = anchor != 0 && ticks - anchor >= TOO_MANY_TICKS;
    if (begins_anew || !(tick_ns > 0.01 && tick_ns < 100.0)) {
        clock->first_ticks = ticks;
        clock->first_ns = ns;
        set_anchor(clock, 0, 0, 0);
        return ns;
    }
    ns = last_ns > ns ? last_ns : ns; /* the ticks were ahead: hold the time until the clock has
                                         caught up */
    set_anchor(clock, ticks, ns, (uint64_t)(tick_ns * 4294967296.0));
    return ns;
}

const char *tide_tick_clock_source(const tide_tick_clock *clock) {
    return clock->has_ticks ? "tsc" : "monotonic";
}
