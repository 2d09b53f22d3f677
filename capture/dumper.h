/* dumper.h - snapshots of a program while it runs: on a signal, when memory runs out, after every
 * k-th step, in exit and abort, or when it asks for one.
 *
 * A dumper belongs to one cache and has a thread of its own, which resolves symbols and writes. The
 * program waits only while the tables are copied (tide_captured_pause_ns). Every snapshot is a file
 * of its own beside `path`; none is ever overwritten: run.json.gz gives run.usr2-1.json.gz,
 * run.usr2-2.json.gz, run.oom-1.json.gz, run.step-200.json.gz, run.exit-1.json.gz.
 */
#ifndef TIDE_CAPTURE_DUMPER_H
#define TIDE_CAPTURE_DUMPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "recorder/recorder.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_dumper tide_dumper;

/* What came of one snapshot. */
typedef struct tide_dump {
    const char *path;    /* of the file; "" where it has none. Borrowed during the call */
    tide_status status;  /* TIDE_OK: the file is there */
    const char *message; /* why not, for people; "". Borrowed during the call */
    size_t n_events;     /* rows in the file */
    int64_t pause_ns;    /* longest that the copy kept another thread waiting */
    int64_t copy_ns;     /* the whole copy, which the thread that asked for it waited for */
    int64_t write_ns;    /* symbols and file, which nobody waited for */
} tide_dump;

typedef struct tide_dumper_config {
    const tide_hostmem *mem; /* NULL: tide_hostmem_default(); outlives the dumper */
    const char *path;        /* what the names are made from; copied */
    int signal_number;       /* a snapshot on this signal; 0: none */
    uint64_t every_steps;    /* a snapshot in every such call of tide_dumper_step; 0: in none */
    size_t max_oom;          /* snapshots when memory runs out, at most; 0: none */
    bool on_exit;            /* in exit, as long as the dumper is there */
    bool on_abort;           /* in abort, a failed assertion, an exception that nobody caught */
    bool strip_private;      /* tide_snapshot_strip_private */
    const tide_snapshot_run *run; /* describes the run, with its outcome so far; borrowed until the
                                     dumper is destroyed. NULL: an empty description */
    /* After each snapshot, on the dumper's thread; where memory ran out and its tables could not
     * even be copied, on the thread that ran out. NULL: none. It must not call the dumper. */
    void (*on_dump)(void *ctx, const tide_dump *dump);
    void *ctx; /* borrowed; on_dump's first */
} tide_dumper_config;

/* Nothing on: set what is wanted, and the path. */
void tide_dumper_config_init(tide_dumper_config *config);

/* `recorder` is the cache's (NULL for none); both outlive the dumper. TIDE_INVALID: a signal that
 * cannot be caught, is a fault, or has a handler of the program's; no path. TIDE_LIMIT: more than
 * 16 dumpers in the process; those with the same signal all write. The caller destroys it. */
TIDE_NODISCARD tide_status tide_dumper_create(tide_recorder *recorder, tide_cache *cache,
                                              const tide_dumper_config *config,
                                              tide_dumper **ret_dumper, tide_error *error);
/* Once everything that was asked for is written. The signal is what it was before. Other threads
 * may go on allocating. */
void tide_dumper_destroy(tide_dumper *dumper);

/* After step n_steps (1, 2, ...) of the program: copies the tables when n_steps is a multiple of
 * every_steps. `timing` (NULL: none) is copied. At most two copies wait to be written: a third one
 * waits until there is room. The status is that of the copy; on_dump tells the file's. */
TIDE_NODISCARD tide_status tide_dumper_step(tide_dumper *dumper, uint64_t n_steps,
                                            const tide_snapshot_timing *timing, tide_error *error);

/* The same at any time, from any thread, into run.LABEL-1.json.gz. TIDE_INVALID: a label that is
 * empty, longer than 32 bytes or has anything but letters, digits, '-' and '_'. */
TIDE_NODISCARD tide_status tide_dumper_take(tide_dumper *dumper, const char *label,
                                            const tide_snapshot_timing *timing, tide_error *error);

/* Returns once the copies taken so far are written. */
void tide_dumper_wait(tide_dumper *dumper);

/* The signal that "USR2", "SIGUSR2", "usr2" or its number names. TIDE_INVALID: there is no such
 * signal, or it is none that a snapshot can be taken on. */
TIDE_NODISCARD tide_status tide_signal_parse(const char *text, int *ret_number, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
