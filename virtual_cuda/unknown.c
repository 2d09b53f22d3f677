#include "virtual_cuda/unknown.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "common/clock.h"
#include "virtual_cuda/export.h"
#include "virtual_cuda/fork.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/known.h"

/* ---- loops that wait for a value ---- */

/* A training run that prints its loss reads one address a step, too: so this is said of a value
 * that may be waited for, late, and once. */
enum { WATCHED = 16, MANY_READS = 1000, LARGEST_VALUE = 8 };
#define LONG_NS UINT64_C(10000000000)

typedef struct watched {
    const void *address;
    uint64_t n_reads, first_ns;
} watched;

static watched table[WATCHED]; /* the addresses that were read last */
static size_t next;            /* the one that is replaced next */
static bool is_told;
TIDE_VC_LOCK(lock, NULL);

/* Whether this read is the one to tell about. */
static bool is_polled(const void *address) {
    bool is_news = false;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < WATCHED && table[i].address != address) {
        i++;
    }
    if (i == WATCHED) {
        i = next;
        next = (next + 1) % WATCHED;
        table[i] = (watched){address, 0, (uint64_t)tide_clock_now_ns()};
    }
    table[i].n_reads++;
    if (!is_told && table[i].n_reads >= MANY_READS && table[i].n_reads % 16 == 0 &&
        (uint64_t)tide_clock_now_ns() - table[i].first_ns >= LONG_NS) {
        is_told = is_news = true;
    }
    pthread_mutex_unlock(&lock);
    return is_news;
}

static void tell(void) {
    tide_vc_say("The program has read one value of the card 1000 times, and nobody knows it: it "
                "reads 0 each time. A loop that waits for it to change never ends. `--values "
                "shadow` works small values out; `--steps N` or `--calls N` ends the program "
                "early.");
    tide_vc_inexact("values",
                    "the program read one unknown value more than 1000 times, as 0 each time; a "
                    "loop that waits for it never ends (--values shadow, --steps N, --calls N)");
}

/* ---- answers ---- */

enum { MAX_ANSWERS = 16 };
static _Thread_local uint64_t answers[MAX_ANSWERS];
static _Thread_local unsigned n_answers, n_given;

TIDE_VC_EXPORT void tidemark_values_answer(uint64_t value) {
    if (n_answers < MAX_ANSWERS) {
        answers[n_answers++] = value;
    }
}

TIDE_VC_EXPORT int tidemark_values_no_answers(void) {
    int n_left = (int)(n_answers - n_given);
    n_answers = n_given = 0;
    return n_left;
}

TIDE_VC_EXPORT int tidemark_values_read(void *to, uint64_t from, size_t n_bytes) {
    return tide_vc_known_read(to, (const void *)(uintptr_t)from, n_bytes);
}

void tide_vc_unknown_read(void *to, const void *from, size_t n_bytes) {
    if (n_given < n_answers && (n_bytes == 4 || n_bytes == 8)) {
        memcpy(to, &answers[n_given++], n_bytes); /* little-endian, as x86-64 is */
    } else if (n_bytes <= LARGEST_VALUE && is_polled(from)) {
        tell();
    }
}
