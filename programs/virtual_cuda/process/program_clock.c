#define _GNU_SOURCE /* CLOCK_TAI */
#include "programs/virtual_cuda/process/program_clock.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>

#include "programs/wire/run_launches.h"
#include "common/text/setting.h"
#include "programs/step_time/pace.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/real_function.h"
#include "programs/virtual_cuda/process/real_time.h"

#define SECOND_NS INT64_C(1000000000)
/* A time beyond the year 2096 means never. */
#define NEVER_S INT64_C(4000000000)

enum { N_CLOCKS = 16 };

/* The program's time since its start is factor * (the real time since then) + offset. Only the
 * offset changes, which is one number, so readers need no lock. */
static struct program_clock {
    atomic_bool is_on; /* false: the program sees the real clock */
    /* Set before is_on, and constant afterwards. */
    double factor;
    int64_t start_ns;         /* the real monotonic clock when the program's clock began */
    int64_t starts[N_CLOCKS]; /* the same of each clock */
    atomic_llong offset_ns;
    atomic_llong shown_ns; /* the latest time that any thread has read */
    atomic_llong read_ns;  /* the real time of the last reading; 0: none */
} program_clock;

static int64_t ns_of(const struct timespec *time) {
    return (int64_t)time->tv_sec * SECOND_NS + (int64_t)time->tv_nsec;
}

static struct timespec time_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
}

bool tide_vc_clock_is_of_time(int clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
        return true;
    default:
        return false;
    }
}

int tide_vc_clock_read_real(int clock, struct timespec *ret) {
    TIDE_VC_REAL(tide_vc_no_function(), int, clock_gettime, int, struct timespec *)
    return real(clock, ret);
}

/* For Python: real microseconds since 1970. */
TIDE_VC_EXPORT int64_t tidemark_real_unix_us(void);
int64_t tidemark_real_unix_us(void) {
    struct timespec now = {0, 0};
    (void)tide_vc_clock_read_real(CLOCK_REALTIME, &now);
    return ns_of(&now) / 1000;
}

static int64_t real_ns(int clock) {
    struct timespec now = {0, 0};
    (void)tide_vc_clock_read_real(clock, &now);
    return ns_of(&now);
}

__attribute__((constructor)) static void begin(void) {
    (void)real_ns(CLOCK_MONOTONIC); /* looks up the function, before any handler of a signal does */
    tide_vc_real_time_begin();
    tide_time_pace pace;
    const char *text = tide_setting(TIDE_RUN_CLOCK_VARIABLE);
    if (text == NULL || !tide_time_pace_read(text, &pace)) {
        return;
    }
    program_clock.factor = pace.host;
    program_clock.start_ns = real_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < N_CLOCKS; i++) {
        program_clock.starts[i] = tide_vc_clock_is_of_time(i) ? real_ns(i) : 0;
    }
    atomic_store(&program_clock.is_on, true);
}

bool tide_vc_clock_is_virtual(void) {
    return atomic_load_explicit(&program_clock.is_on, memory_order_acquire);
}

int64_t tide_vc_clock_start_ns(void) {
    return program_clock.start_ns;
}

void tide_vc_clock_set(double program_us, int64_t real_at_ns) {
    double scaled_ns = program_clock.factor * (double)(real_at_ns - program_clock.start_ns);
    atomic_store(&program_clock.offset_ns, (long long)(program_us * 1e3 - scaled_ns));
}

/* Time since the start. Subtracting a call's own time may set the clock back a little. The clock is
 * monotonic: it then holds the last value that any thread has read. */
static int64_t passed_ns(void) {
    int64_t real_at_ns = real_ns(CLOCK_MONOTONIC);
    double scaled_ns = program_clock.factor * (double)(real_at_ns - program_clock.start_ns);
    atomic_store(&program_clock.read_ns, (long long)real_at_ns);
    long long now = (long long)scaled_ns + atomic_load(&program_clock.offset_ns);
    long long shown = atomic_load(&program_clock.shown_ns);
    while (shown < now && !atomic_compare_exchange_weak(&program_clock.shown_ns, &shown, now)) {
    }
    return shown > now ? shown : now;
}

int64_t tide_vc_clock_read_ns(void) {
    return atomic_load(&program_clock.read_ns);
}

int tide_vc_clock_read(int clock, struct timespec *ret) {
    if (!tide_vc_clock_is_virtual() || !tide_vc_clock_is_of_time(clock)) {
        return tide_vc_clock_read_real(clock, ret);
    }
    *ret = time_of(program_clock.starts[clock] + passed_ns());
    return 0;
}

const struct timespec *tide_vc_clock_real_until(int clock, const struct timespec *until,
                                                struct timespec *room) {
    if (!tide_vc_clock_is_virtual() || !tide_vc_clock_is_of_time(clock) || until == NULL ||
        until->tv_sec < 0 || until->tv_sec > NEVER_S || until->tv_nsec < 0 ||
        until->tv_nsec >= SECOND_NS) {
        return until; /* an invalid time is an error, which the C library reports */
    }
    int64_t left_ns = ns_of(until) - program_clock.starts[clock] - passed_ns();
    double real_left_ns = left_ns > 0 ? ceil((double)left_ns / program_clock.factor) : 0.0;
    double most_ns = (double)(NEVER_S * SECOND_NS);
    int64_t at_ns = real_ns(clock) + (int64_t)(real_left_ns < most_ns ? real_left_ns : most_ns);
    *room = time_of(at_ns);
    return room;
}

int tide_vc_clock_of_time(const struct timespec *until) {
    return until != NULL && until->tv_sec < NEVER_S / 4 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static bool is_span(struct timespec span) {
    return tide_vc_clock_is_virtual() && span.tv_sec >= 0 && span.tv_sec <= NEVER_S &&
           span.tv_nsec >= 0 && span.tv_nsec < SECOND_NS;
}

static struct timespec span_of(double ns) {
    double most_ns = (double)(NEVER_S * SECOND_NS);
    return time_of((int64_t)(ns < most_ns ? ns : most_ns));
}

struct timespec tide_vc_clock_real_span(struct timespec span) {
    return is_span(span) ? span_of(ceil((double)ns_of(&span) / program_clock.factor)) : span;
}

struct timespec tide_vc_clock_program_span(struct timespec span) {
    double ns = (double)ns_of(&span);
    return is_span(span) ? span_of(fmax(fmin(ns, 1.0), floor(ns * program_clock.factor))) : span;
}
