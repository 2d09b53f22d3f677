#define _GNU_SOURCE /* syscall */
#include "programs/virtual_cuda/launches/host_time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/clock.h"
#include "programs/virtual_cuda/process/program_clock.h"

/* The shortest wait that is looked up. Reading the system's count takes about 5 us, and a thread
 * that keeps its processor reads a few us more on one clock than on the other. */
enum { SHORTEST_NS = 20000 };

/* Of all threads. */
static struct {
    atomic_llong other_ns;  /* the time so far that is not the host's own */
    atomic_llong waited_ns; /* of it, that threads waited for a processor */
    atomic_llong end_ns;    /* the real end of the last row */
} all;

/* The end of the thread's last row. */
static _Thread_local struct {
    bool is_set;
    int64_t real_ns, processor_ns, waited_ns;
    int64_t began_processor_ns; /* the begin of the current row */
} last;

int64_t tide_vc_host_time_parse(const char *text) {
    char *end = NULL;
    (void)strtoll(text, &end, 10);
    const char *second = end;
    if (end == text || *second != ' ') {
        return -1;
    }
    long long waited_ns = strtoll(second, &end, 10);
    return end > second + 1 && waited_ns >= 0 ? (int64_t)waited_ns : -1;
}

/* The system's count for this thread; -1: it keeps none. Calls the system directly, because the
 * program's view of files is not ours. */
static int64_t waited_by_system(void) {
    char text[96]; /* three numbers of 64 bits */
    int error_number = errno;
    long file = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    long n = file >= 0 ? syscall(SYS_read, file, text, sizeof(text) - 1) : -1;
    if (file >= 0) {
        (void)syscall(SYS_close, file);
    }
    errno = error_number;
    if (n <= 0) {
        return -1;
    }
    TIDE_ASSERT((size_t)n < sizeof(text));
    text[n] = '\0';
    return tide_vc_host_time_parse(text);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The part of the time since the thread's last row that it was ready to run and did not. A thread
 * that sleeps, or waits for another, is not ready: that is the program's own time. So is what the
 * program has seen on its clock, and what another thread has logged. */
static int64_t waited_since(int64_t real_ns) {
    int64_t absent_ns = real_ns - last.real_ns - (last.began_processor_ns - last.processor_ns);
    if (!last.is_set || absent_ns < SHORTEST_NS) {
        return 0;
    }
    int64_t waited_ns = waited_by_system();
    int64_t more_ns = waited_ns - last.waited_ns;
    last.waited_ns = waited_ns;
    int64_t unseen_ns =
        least(real_ns - atomic_load(&all.end_ns), real_ns - tide_vc_clock_read_ns());
    int64_t counted_ns = least(least(more_ns, absent_ns), unseen_ns);
    return counted_ns > 0 ? counted_ns : 0;
}

int64_t tide_vc_host_time_begin(int64_t real_ns) {
    last.began_processor_ns = tide_clock_thread_ns();
    int64_t waited_ns = waited_since(real_ns);
    if (waited_ns > 0) {
        atomic_fetch_add_explicit(&all.waited_ns, waited_ns, memory_order_relaxed);
        atomic_fetch_add_explicit(&all.other_ns, waited_ns, memory_order_relaxed);
    }
    return real_ns - atomic_load_explicit(&all.other_ns, memory_order_relaxed);
}

int64_t tide_vc_host_time_end(int64_t began_ns) {
    int64_t absent_ns =
        tide_clock_now_ns() - began_ns - (tide_clock_thread_ns() - last.began_processor_ns);
    if (!last.is_set || absent_ns >= SHORTEST_NS) { /* waits while logging count once */
        last.waited_ns = waited_by_system();
        last.is_set = true;
    }
    last.processor_ns = tide_clock_thread_ns();
    last.real_ns = tide_clock_now_ns();
    atomic_store(&all.end_ns, last.real_ns);
    int64_t took_ns = last.real_ns - began_ns;
    return atomic_fetch_add_explicit(&all.other_ns, took_ns, memory_order_relaxed) + took_ns;
}

int64_t tide_vc_host_time_waited_ns(void) {
    return atomic_load_explicit(&all.waited_ns, memory_order_relaxed);
}
