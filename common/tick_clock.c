#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/tick_clock_friend.h"

enum { TRIES = 8 };                        /* to read both clocks without being interrupted */
#define MAX_TICKS (UINT64_C(1) << 22)      /* between two anchors: 1 to 2 ms */
#define TOO_MANY_TICKS (UINT64_C(1) << 31) /* since the last anchor: the machine may have slept */
#define MIN_BASE_TICKS                                                                             \
    (UINT64_C(1) << 25) /* from the first anchor on: 10 ms, so that errors of                      \
                           50 ns in both make 10 millionths */
#define READ_TICKS 4096 /* both clocks in a row take less, uninterrupted */

#if defined(__x86_64__)
static inline uint64_t read_ticks(void) {
    return __builtin_ia32_rdtsc();
}

/* The kernel has found the counters of all processors constant and equal, or it would not keep its
 * own time by them. */
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

/* Both at the same instant, as nearly as possible; false: other things came in between each time.
 */
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

/* The length of a tick is known, and the last anchor is not too far back. False with a time in
 * ret_ns: it is no more exact, but has been told. */
static inline bool read_by_ticks(const tide_tick_clock *clock, int64_t *ret_ns) {
    uint32_t version = atomic_load_explicit(&clock->version, memory_order_acquire);
    /* Each before what follows, and so before the version is looked at again. */
    uint64_t anchor = atomic_load_explicit(&clock->ticks, memory_order_acquire);
    int64_t anchor_ns = atomic_load_explicit(&clock->ns, memory_order_acquire);
    uint64_t tick_ns = atomic_load_explicit(&clock->tick_ns, memory_order_acquire);
    if (tick_ns == 0 || version % 2 != 0 ||
        atomic_load_explicit(&clock->version, memory_order_relaxed) != version) {
        return false;
    }
    uint64_t ticks = read_ticks();
    uint64_t since = ticks > anchor ? ticks - anchor : 0; /* it may be read ahead of time */
    if (since >= TOO_MANY_TICKS) {
        return false;
    }
    *ret_ns = anchor_ns + (int64_t)(since * tick_ns >> 32);
    return since < MAX_TICKS;
}

/* The system's time, but not before the time that the last anchor leads to, which others have been
 * told; 0: there is none. */
static int64_t read_slowly(int64_t last_ns) {
    int64_t ns = tide_clock_now_ns();
    return last_ns > ns ? last_ns : ns;
}

int64_t tide_tick_clock_read(const tide_tick_clock *clock) {
    int64_t ns = 0;
    return read_by_ticks(clock, &ns) ? ns : read_slowly(ns);
}

/* A new anchor; not before the time that the last one leads to, which has been told already. */
static void set_anchor(tide_tick_clock *clock, uint64_t ticks, int64_t ns, uint64_t tick_ns) {
    uint32_t version = atomic_load_explicit(&clock->version, memory_order_relaxed);
    atomic_store_explicit(&clock->version, version + 1, memory_order_relaxed);
    /* Each after what stands before it, and so after the odd version. */
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
    int64_t last_ns = ns; /* by the last anchor, 0 when there is none */
    uint64_t ticks = 0;
    if (!clock->has_ticks || !read_both(&ticks, &ns) ||
        ticks - clock->first_ticks < MIN_BASE_TICKS) {
        return read_slowly(last_ns);
    }
    double tick_ns = (double)(ns - clock->first_ns) / (double)(ticks - clock->first_ticks);
    uint64_t anchor = atomic_load_explicit(&clock->ticks, memory_order_relaxed);
    bool begins_anew = anchor != 0 && ticks - anchor >= TOO_MANY_TICKS;
    if (begins_anew || !(tick_ns > 0.01 && tick_ns < 100.0)) {
        clock->first_ticks = ticks;
        clock->first_ns = ns;
        set_anchor(clock, 0, 0, 0);
        return ns;
    }
    ns = last_ns > ns ? last_ns : ns; /* ahead by a little: time waits for the clock */
    set_anchor(clock, ticks, ns, (uint64_t)(tick_ns * 4294967296.0));
    return ns;
}

const char *tide_tick_clock_source(const tide_tick_clock *clock) {
    return clock->has_ticks ? "tsc" : "monotonic";
}
