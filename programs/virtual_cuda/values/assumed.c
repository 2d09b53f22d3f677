#define _GNU_SOURCE /* pwrite */
#include "programs/virtual_cuda/values/assumed.h"

#include <fcntl.h>
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

/* The child of a fork gets its own file. */
static void forget(void) {
    assumed.n_rows = 0;
}

TIDE_VC_LOCK(lock, forget);

/* A tab or a line break would break the lines that show the text. */
static void keep_text(char *to, size_t n_bytes, const char *from) {
    (void)snprintf(to, n_bytes, "%s", from);
    for (; *to != '\0'; to++) {
        *to = (unsigned char)*to < ' ' ? ' ' : *to;
    }
}

/* The row of the line and kind, which may be a new one; TIDE_RUN_ASSUMED_ROWS: there is no room.
 * The caller holds the lock. */
static size_t find(const tide_run_assumed *row) {
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

static void write_row(size_t i, const tide_run_assumed *row) {
    const tide_run_assumed_header header = {TIDE_RUN_ASSUMED_MAGIC, sizeof(header), sizeof(*row)};
    char name[32];
    off_t at = (off_t)(sizeof(header) + i * sizeof(*row));
    (void)snprintf(name, sizeof(name), "%ld.assumed", (long)getpid());
    bool is_allowed = tide_vc_may_reach((uint64_t)at + sizeof(*row));
    int file = is_allowed ? tide_vc_run_open(name, O_WRONLY | O_CREAT) : -1;
    if (file < 0) {
        return;
    }
    if (pwrite(file, &header, sizeof(header), 0) == sizeof(header)) {
        (void)!pwrite(file, row, sizeof(*row), at);
    }
    (void)close(file);
}

TIDE_VC_EXPORT void tidemark_values_assumed(const char *place, const char *what,
                                            int64_t given_least, int64_t given_most,
                                            int64_t possible, int64_t n_times, int64_t row_bytes,
                                            int64_t all_bytes) {
    tide_run_assumed row = {.given_least = given_least,
                            .given_most = given_most,
                            .possible = possible,
                            .n_times = n_times,
                            .row_bytes = row_bytes,
                            .all_bytes = all_bytes};
    keep_text(row.place, sizeof(row.place), place);
    keep_text(row.what, sizeof(row.what), what);
    pthread_mutex_lock(&lock);
    size_t i = tide_vc_has_run_folder() ? find(&row) : TIDE_RUN_ASSUMED_ROWS;
    if (i < TIDE_RUN_ASSUMED_ROWS) {
        write_row(i, &row);
    }
    pthread_mutex_unlock(&lock);
}
