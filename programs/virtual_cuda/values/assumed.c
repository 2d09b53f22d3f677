#define _GNU_SOURCE /* pwrite */
#include "programs/virtual_cuda/values/assumed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/map.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/process/run_folder.h"
#include "programs/wire/run_assumed.h"

enum { MANY_READS = 1000 };
#define LONG_NS INT64_C(10000000000)

/* The lock guards it. */
static struct assumed {
    struct {
        uint64_t place_hash, what_hash; /* of the texts as the row has them */
        int64_t first_ns;               /* when it was recorded first */
    } rows[TIDE_RUN_ASSUMED_ROWS];
    size_t n_rows;
    bool is_warned; /* about a loop that waits */
} assumed;

/* The texts, the numbers of 20 digits and the tabs fit a row. */
_Static_assert(TIDE_RUN_ASSUMED_PLACE + TIDE_RUN_ASSUMED_WHAT + 6 * 21 < TIDE_RUN_ASSUMED_ROW_BYTES,
               "a row has room for all its members");

/* The child of a fork gets its own file. */
static void forget(void) {
    assumed.n_rows = 0;
}

TIDE_VC_LOCK(lock, forget);

/* A row as texts. */
typedef struct row_text {
    char place[TIDE_RUN_ASSUMED_PLACE];
    char what[TIDE_RUN_ASSUMED_WHAT];
    char line[TIDE_RUN_ASSUMED_ROW_BYTES]; /* all of the row; not terminated */
} row_text;

/* Copies a text. A tab or a line break in it would break the row. */
static void keep_text(char *to, size_t n_bytes, const char *from) {
    (void)snprintf(to, n_bytes, "%s", from);
    for (; *to != '\0'; to++) {
        *to = (char)((unsigned char)*to < ' ' ? ' ' : *to);
    }
}

/* The row of the line and kind, which may be a new one; TIDE_RUN_ASSUMED_ROWS: there is no room.
 * The caller holds the lock. */
static size_t find(const row_text *row) {
    uint64_t place = tide_hash_bytes(row->place, strlen(row->place));
    uint64_t what = tide_hash_bytes(row->what, strlen(row->what));
    size_t i = 0;
    while (i < assumed.n_rows &&
           (assumed.rows[i].place_hash != place || assumed.rows[i].what_hash != what)) {
        i++;
    }
    if (i == assumed.n_rows && i < TIDE_RUN_ASSUMED_ROWS) {
        assumed.rows[i].place_hash = place;
        assumed.rows[i].what_hash = what;
        assumed.rows[i].first_ns = tide_clock_now_ns();
        assumed.n_rows++;
    }
    return i;
}

static void write_row(size_t i, const row_text *row) {
    char name[32];
    uint64_t at = i * sizeof(row->line);
    (void)snprintf(name, sizeof(name), "%ld.assumed", (long)getpid());
    bool is_allowed = tide_vc_may_reach(at + sizeof(row->line));
    int file = is_allowed ? tide_vc_run_open(name, O_WRONLY | O_CREAT) : -1;
    if (file >= 0) {
        (void)!pwrite(file, row->line, sizeof(row->line), (off_t)at);
        (void)close(file);
    }
}

/* A training run that prints its loss also reads one value a step. So the warning comes late and
 * once, as for values that are not computed (unknown.c). The caller holds the lock. */
static bool is_waiting(size_t i, bool is_constant, int64_t n_times) {
    bool is_news = is_constant && !assumed.is_warned && n_times >= MANY_READS &&
                   tide_clock_now_ns() - assumed.rows[i].first_ns >= LONG_NS;
    assumed.is_warned = assumed.is_warned || is_news;
    return is_news;
}

static void warn(const row_text *row, int64_t n_times) {
    char text[2 * TIDE_RUN_ASSUMED_PLACE];
    (void)snprintf(text, sizeof(text),
                   "The program has read a %s at %s %" PRId64 " times. It is assumed, because the "
                   "card computes no values, and never changes. A loop that waits for it to change "
                   "never ends; `--steps N` or `--calls N` ends the program early.",
                   row->what, row->place[0] != '\0' ? row->place : "an unknown line", n_times);
    tide_vc_say(text);
}

TIDE_VC_EXPORT void tidemark_values_assumed(const char *place, const char *what,
                                            int64_t given_least, int64_t given_most,
                                            int64_t possible, int64_t n_times, int64_t row_bytes,
                                            int64_t all_bytes) {
    row_text row;
    keep_text(row.place, sizeof(row.place), place);
    keep_text(row.what, sizeof(row.what), what);
    memset(row.line, ' ', sizeof(row.line));
    int n = snprintf(
        row.line, sizeof(row.line),
        "%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64,
        row.place, row.what, given_least, given_most, possible, n_times, row_bytes, all_bytes);
    row.line[n] = ' '; /* was the end of the text */
    row.line[sizeof(row.line) - 1] = '\n';
    pthread_mutex_lock(&lock);
    size_t i = tide_vc_has_run_folder() ? find(&row) : TIDE_RUN_ASSUMED_ROWS;
    bool is_known = i < TIDE_RUN_ASSUMED_ROWS;
    bool is_constant = possible <= 0 && given_least == given_most;
    bool is_news = is_known && is_waiting(i, is_constant, n_times);
    if (is_known) {
        write_row(i, &row);
    }
    pthread_mutex_unlock(&lock);
    if (is_news) {
        warn(&row, n_times);
    }
}
