#define _GNU_SOURCE /* strdup */
#include "programs/virtual_cuda/launches/launch_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/map.h"
#include "common/text/setting.h"
#include "programs/virtual_cuda/launches/card_clock.h"
#include "programs/virtual_cuda/launches/host_time.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/order/graphs.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/process/row_file.h"
#include "programs/virtual_cuda/process/run_folder.h"
#include "programs/virtual_cuda/order/streams.h"
#include "programs/virtual_cuda/launches/kernels/readable.h"

enum { UNKNOWN = 0, OFF = 1, ON = 2 };

int tide_vc_launch_log_state = UNKNOWN;

/* The log of this process; the lock guards all but the atomic members. */
static struct launch_log {
    tide_run_launches_header header;
    tide_vc_row_file file;
    tide_map texts;        /* from the address of a text to its number */
    atomic_uint n_threads; /* that were numbered */
    atomic_uint n_forks;   /* in the child of a fork, numbers of threads start again */
} launches = {.header = {.magic = TIDE_RUN_LAUNCHES_MAGIC,
                         .header_bytes = sizeof(tide_run_launches_header),
                         .row_bytes = sizeof(tide_run_launch)},
              .file = {.suffix = TIDE_RUN_LAUNCHES_SUFFIX,
                       .header = &launches.header,
                       .header_bytes = sizeof(tide_run_launches_header)}};

static _Thread_local struct numbered {
    bool is_numbered;
    unsigned number, forks; /* its number, and n_forks at that time */
} thread;

/* ---- threads ---- */

static uint16_t number_of_thread(void) {
    unsigned forks = atomic_load_explicit(&launches.n_forks, memory_order_relaxed);
    if (!thread.is_numbered || thread.forks != forks) {
        thread.number = atomic_fetch_add(&launches.n_threads, 1);
        thread.forks = forks;
        thread.is_numbered = true;
    }
    return (uint16_t)(thread.number < UINT16_MAX ? thread.number : UINT16_MAX);
}

/* ---- texts, numbered by their addresses ---- */

static void forget(void) {
    tide_map_fini(&launches.texts);
    tide_vc_row_file_forget(&launches.file);
    launches.file.has_failed = false;
    atomic_store(&launches.n_threads, 0);
    atomic_fetch_add(&launches.n_forks, 1);
}

TIDE_VC_LOCK(lock, forget);

/* ---- the caller holds the lock ---- */

/* Writes the bytes of the text before its kind, because the kind marks them as present. */
static bool write_text(const char *at, uint32_t number) {
    enum { ROW = sizeof(tide_run_launch), MOST = 1024 };
    _Static_assert((int)MOST + 2 * (int)ROW <= (int)TIDE_VC_ROW_FILE_MOST_BYTES,
                   "a text is one piece");
    char readable[MOST];
    tide_vc_readable(at, readable, sizeof(readable));
    size_t n = strlen(readable);
    size_t n_rows = 1 + (n + ROW - 1) / ROW;
    tide_run_launch *row = tide_vc_row_file_next(&launches.file, n_rows * ROW);
    if (row == NULL) {
        return false;
    }
    memcpy(row + 1, readable, n);
    *row = (tide_run_launch){.bytes = n, .name = number};
    __atomic_store_n(&row->kind, TIDE_RUN_TEXT, __ATOMIC_RELEASE);
    return true;
}

/* The number of a text, which is written if it is new; UINT32_MAX: none. */
static uint32_t number_of(const char *at) {
    if (at == NULL || at[0] == '\0') {
        return UINT32_MAX;
    }
    uint64_t number = launches.texts.n_used;
    if (tide_map_find(&launches.texts, (uintptr_t)at, &number)) {
        return (uint32_t)number;
    }
    /* Numbered before it is written: the file may have no text that is not kept. */
    if (tide_map_put(&launches.texts, (uintptr_t)at, number) != TIDE_OK) {
        return UINT32_MAX;
    }
    if (!write_text(at, (uint32_t)number)) {
        (void)tide_map_remove(&launches.texts, (uintptr_t)at);
        return UINT32_MAX;
    }
    return (uint32_t)number;
}

/* False if this is the first row that could not be written. */
static bool write_row(tide_run_launch row, const char *name) {
    bool had_failed = launches.file.has_failed;
    if (!launches.file.is_open && tide_vc_n_devices() > 0) {
        (void)snprintf(launches.header.card, sizeof(launches.header.card), "%s",
                       tide_vc_card_of(0)->card->name);
    }
    row.name = number_of(name);
    tide_run_launch *to = tide_vc_row_file_next(&launches.file, sizeof(*to));
    if (to != NULL) {
        uint8_t kind = row.kind;
        row.kind = TIDE_RUN_LAUNCH_NONE;
        *to = row;
        __atomic_store_n(&to->kind, kind, __ATOMIC_RELEASE);
    }
    return had_failed || !launches.file.has_failed;
}

/* ---- calls ---- */

tide_vc_entry tide_vc_launch_begin_logged(void) {
    tide_vc_entry entry = {0, 0};
    if (__atomic_load_n(&tide_vc_launch_log_state, __ATOMIC_RELAXED) == UNKNOWN) {
        const char *wanted = tide_setting(TIDE_RUN_LAUNCHES_VARIABLE);
        bool is_on = wanted != NULL && strcmp(wanted, "1") == 0 && tide_vc_has_run_folder();
        __atomic_store_n(&tide_vc_launch_log_state, is_on ? ON : OFF, __ATOMIC_RELAXED);
        if (!is_on) {
            return entry;
        }
    }
    entry.began_ns = tide_clock_now_ns();
    entry.host_ns = tide_vc_host_time_begin(entry.began_ns);
    return entry;
}

static void end(tide_vc_entry entry, tide_run_launch row, const char *name) {
    row.host_ns = entry.host_ns;
    row.thread = number_of_thread();
    pthread_mutex_lock(&lock);
    bool is_written = write_row(row, name);
    pthread_mutex_unlock(&lock);
    if (!is_written) {
        tide_vc_inexact(TIDE_RUN_LAUNCHES_VARIABLE,
                        "the launch log ends early: its file cannot be made any longer");
    }
    tide_vc_card_clock_row(&row, name);
    tide_vc_card_clock_settle(tide_vc_host_time_end(entry.began_ns));
}

void tide_vc_launch_end(tide_vc_entry entry, const tide_run_launch *row, void *stream,
                        const char *name) {
    if (!tide_vc_is_logged(entry)) {
        return;
    }
    const tide_vc_stream *of = tide_vc_stream_of(stream);
    tide_run_launch filled = *row;
    filled.stream = of->id;
    filled.device = (uint8_t)tide_vc_stream_device(stream);
    if (of->capture != NULL) {
        filled.graph = tide_vc_graph_part(of->capture);
        filled.flags |= TIDE_RUN_CAPTURED;
    }
    end(entry, filled, name);
}

void tide_vc_launch_end_on(tide_vc_entry entry, const tide_run_launch *row, int device,
                           const char *name) {
    if (tide_vc_is_logged(entry)) {
        tide_run_launch filled = *row;
        filled.device = (uint8_t)device;
        end(entry, filled, name);
    }
}

/* ---- marks ---- */

enum { MAX_MARKS = 256 };

/* One address for each text; a program has few different marks. NULL: no host memory. */
static const char *kept_mark(const char *mark) {
    static char *_Atomic marks[MAX_MARKS];
    for (size_t i = 0; i < MAX_MARKS; i++) {
        char *kept = atomic_load(&marks[i]);
        if (kept == NULL) {
            char *made = strdup(mark);
            if (made == NULL || atomic_compare_exchange_strong(&marks[i], &kept, made)) {
                return made;
            }
            free(made); /* another thread was faster, perhaps with the same text */
        }
        if (strcmp(kept, mark) == 0) {
            return kept;
        }
    }
    return "a mark beyond the first 256";
}

TIDE_VC_EXPORT void tidemark_launches_mark(const char *mark);

/* Marks a place in the program by a text: "step begins". Does nothing without a log. */
void tidemark_launches_mark(const char *mark) {
    tide_vc_entry entry = tide_vc_launch_begin();
    if (tide_vc_is_logged(entry)) {
        tide_run_launch row = {.kind = TIDE_RUN_LAUNCH_MARK,
                               .bytes = (uint64_t)tide_vc_host_time_waited_ns()};
        tide_vc_launch_end_on(entry, &row, tide_vc_device(), kept_mark(mark));
    }
}
