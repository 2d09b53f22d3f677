#define _GNU_SOURCE /* pwrite */
#include "programs/virtual_cuda/values/assumed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/map.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/run_folder.h"
#include "programs/wire/run_assumed.h"

/* The lock guards it. */
static struct assumed {
    struct {
        uint64_t place_hash, what_hash; /* of the texts as the row has them */
    } rows[TIDE_RUN_ASSUMED_ROWS];
    size_t n_rows;
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
    if (i < TIDE_RUN_ASSUMED_ROWS) {
        write_row(i, &row);
    }
    pthread_mutex_unlock(&lock);
}
