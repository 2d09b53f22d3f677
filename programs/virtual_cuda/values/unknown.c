#define _GNU_SOURCE /* dl_iterate_phdr */
#include "programs/virtual_cuda/values/unknown.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "common/assert.h"
#include "common/clock.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/values/known.h"

/* ---- loops that wait for a value ---- */

/* A training run that prints its loss also reads one address a step. So the warning comes late and
 * once: after many reads of a value over a long time. */
enum { WATCHED = 16, MANY_READS = 1000, LARGEST_VALUE = 8 };
#define LONG_NS UINT64_C(10000000000)

typedef struct watched {
    const void *address;
    uint64_t n_reads, first_ns;
} watched;

/* The lock guards all but the atomic member. */
static struct unknown {
    watched table[WATCHED];    /* the addresses read last */
    size_t next;               /* the entry to replace next; below WATCHED */
    bool is_told;              /* the program was warned */
    atomic_ullong n_generated; /* kernels launched through the driver API */
    atomic_int pytorch;        /* loaded: 1, not loaded: -1, never asked: 0 */
} unknown;

enum { MAX_ANSWERS = 16 };
static _Thread_local struct mine {
    uint64_t answers[MAX_ANSWERS]; /* queued for the next reads */
    unsigned n_answers, n_given;   /* n_given of the n_answers were read */
    int n_true;                    /* unknown truth values that will read as true */
    bool is_quiet;                 /* the caller handles what it reads */
    const char *last_kernel;       /* launched by this thread; its caller keeps the text */
} mine = {.last_kernel = ""};
TIDE_VC_LOCK(lock, NULL);

/* Whether to report this read. */
static bool is_polled(const void *address) {
    bool is_news = false;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < WATCHED && unknown.table[i].address != address) {
        i++;
    }
    if (i == WATCHED) {
        i = unknown.next;
        unknown.next = (unknown.next + 1) % WATCHED;
        unknown.table[i] = (watched){address, 0, (uint64_t)tide_clock_now_ns()};
    }
    unknown.table[i].n_reads++;
    if (!unknown.is_told && unknown.table[i].n_reads >= MANY_READS &&
        unknown.table[i].n_reads % 16 == 0 &&
        (uint64_t)tide_clock_now_ns() - unknown.table[i].first_ns >= LONG_NS) {
        unknown.is_told = is_news = true;
    }
    pthread_mutex_unlock(&lock);
    return is_news;
}

static void tell(void) {
    tide_vc_say("The program polls a value that tidemark does not compute; it always reads 0. A "
                "loop that waits for it to change never ends. `--steps N` or `--calls N` ends the "
                "program early; `--values auto`, the default, computes or assumes what PyTorch's "
                "operators read.");
    tide_vc_inexact("values",
                    "the program polls a value that tidemark does not compute; it always reads 0, "
                    "and a loop that waits for it never ends (--steps N, --calls N)");
}

/* ---- what is not exact ---- */

void tide_vc_unknown_after(const char *kernel) {
    mine.last_kernel = kernel;
}

static int see_pytorch(struct dl_phdr_info *info, size_t n_bytes, void *ret_is_there) {
    (void)n_bytes;
    bool *is_there = ret_is_there;
    *is_there = info->dlpi_name != NULL && strstr(info->dlpi_name, "/libtorch_cuda") != NULL;
    return *is_there;
}

/* The first answer holds: the line is printed once. */
static bool has_pytorch(void) {
    int known = atomic_load_explicit(&unknown.pytorch, memory_order_relaxed);
    if (known == 0) {
        bool is_there = false;
        (void)dl_iterate_phdr(see_pytorch, &is_there);
        known = is_there ? 1 : -1;
        atomic_store_explicit(&unknown.pytorch, known, memory_order_relaxed);
    }
    return known > 0;
}

static void name_rows(void) {
    if (has_pytorch()) {
        tide_vc_inexact("rows", "how many rows nonzero, a mask, unique or repeat_interleave finds "
                                "is computed on the card; 0 rows are assumed (--values auto "
                                "computes or assumes them)");
    } else {
        tide_vc_inexact("rows",
                        "a number that CUB or Thrust computes on the card, such as a count "
                        "or a sum, is read as 0; what the program decides by it may differ");
    }
}

/* Numbers that CUB's kernels leave are sizes: the results of nonzero, a mask or unique. A loss is
 * read also: only values that a program may decide by are reported. A truth value made by a
 * conversion is PyTorch's own check of a library's error report, which is always empty; an integer
 * drawn at random is a seed. */
static void name_what_is_read(size_t n_bytes) {
    if (n_bytes != 1 &&
        (strstr(mine.last_kernel, "3cub") != NULL || strstr(mine.last_kernel, "6thrust"))) {
        name_rows();
    } else if (n_bytes == 1 && strstr(mine.last_kernel, "direct_copy_kernel") == NULL) {
        tide_vc_inexact("truth", "a truth value is computed on the card and read as false; what "
                                 "the program decides by it may differ");
    } else if (n_bytes == 8 && strstr(mine.last_kernel, "distribution_elementwise") == NULL) {
        tide_vc_inexact("integer", "an integer is computed on the card and read as 0; what the "
                                   "program decides by it may differ");
    }
}

/* ---- generated kernels ---- */

void tide_vc_unknown_generated(void) {
    atomic_fetch_add_explicit(&unknown.n_generated, 1, memory_order_relaxed);
}

TIDE_VC_EXPORT uint64_t tidemark_values_generated(void) {
    return atomic_load_explicit(&unknown.n_generated, memory_order_relaxed);
}

/* ---- answers ---- */

TIDE_VC_EXPORT void tidemark_values_answer(uint64_t value) {
    if (mine.n_answers < MAX_ANSWERS) {
        mine.answers[mine.n_answers++] = value;
    }
}

TIDE_VC_EXPORT int tidemark_values_no_answers(void) {
    TIDE_ASSERT(mine.n_given <= mine.n_answers && mine.n_answers <= MAX_ANSWERS);
    int n_left = (int)(mine.n_answers - mine.n_given);
    mine.n_answers = mine.n_given = 0;
    return n_left;
}

TIDE_VC_EXPORT void tidemark_values_mode(int n_true, int is_quiet) {
    mine.n_true = n_true;
    mine.is_quiet = is_quiet != 0;
}

TIDE_VC_EXPORT int tidemark_values_read(void *to, uint64_t from, size_t n_bytes) {
    return tide_vc_known_read(to, (const void *)(uintptr_t)from, n_bytes);
}

TIDE_VC_EXPORT void tidemark_values_write(uint64_t to, const void *from, size_t n_bytes) {
    tide_vc_known_write((void *)(uintptr_t)to, from, n_bytes);
}

TIDE_VC_EXPORT void tidemark_values_objects(int is_sending) {
    tide_vc_known_objects(is_sending != 0);
}

TIDE_VC_EXPORT void tidemark_values_settle(uint64_t address, size_t n_bytes) {
    tide_vc_known_settle((void *)(uintptr_t)address, n_bytes);
}

TIDE_VC_EXPORT void tidemark_values_inexact(const char *call, const char *what,
                                            uint64_t bound_bytes) {
    if (bound_bytes > 0) {
        tide_vc_inexact_bytes(call, what, bound_bytes);
    } else {
        tide_vc_inexact(call, what);
    }
}

void tide_vc_unknown_read(void *to, const void *from, size_t n_bytes) {
    if (mine.n_given < mine.n_answers && (n_bytes == 4 || n_bytes == 8)) {
        memcpy(to, &mine.answers[mine.n_given++], n_bytes); /* little-endian, as on x86-64 */
    } else if (n_bytes == 1 && mine.n_true > 0) {
        mine.n_true--;
        memset(to, 1, 1);
    } else if (n_bytes <= LARGEST_VALUE && !mine.is_quiet) {
        name_what_is_read(n_bytes);
        if (is_polled(from)) {
            tell();
        }
    }
}
