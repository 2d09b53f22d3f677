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
#include "common/hostmem.h"
#include "common/status.h"
#include "recorder/recorder.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_dumper tide_dumper;

/* The result of one snapshot. */
typedef struct tide_dump {
    const char *path;    /* of the file; "" where there is none. Borrowed during the call */
    tide_status status;  /* TIDE_OK: the file is there */
    const char *message; /* why not, for people; "". Borrowed during the call */
    size_t n_events;     /* rows in the file */
    int64_t pause_ns;    /* longest that the copy kept another thread waiting */
    int64_t copy_ns;     /* the whole copy, for which the asking thread waited */
    int64_t write_ns;    /* symbols and file, in the background */
} tide_dump;

typedef struct tide_dumper_config {
    const tide_hostmem *mem; /* NULL: tide_hostmem_default(); outlives the dumper */
    const char *path;        /* from which the names of the files are made; copied */
    int signal_number;       /* a snapshot on this signal; 0: none */
    uint64_t every_steps;    /* a snapshot after every so many steps; 0: after none */
    size_t max_oom;          /* at most so many snapshots when memory runs out; 0: none */
    bool on_exit;            /* a snapshot in exit, if the dumper still exists then */
    bool on_abort;      /* a snapshot in abort: also for failed assertions, uncaught exceptions */
    bool strip_private; /* tide_snapshot_strip_private */
    const tide_snapshot_run *run; /* describes the run, with its outcome so far; borrowed until the
                                     dumper is destroyed. NULL: an empty description */
    /* Called after each snapshot on the dumper's thread. When memory ran out and there was none
     * even to copy the tables, called on the thread that ran out. NULL: none. Must not call the
     * dumper. */
    void (*on_dump)(void *ctx, const tide_dump *dump);
    void *ctx; /* borrowed; on_dump's first */
} tide_dumper_config;

/* Switches everything off. Set the path and what is wanted. */
void tide_dumper_config_init(tide_dumper_config *config);

/* `recorder` is the cache's (NULL for none); both outlive the dumper. TIDE_INVALID: there is no
 * path, or the signal cannot be caught, is a fault, or has a handler of the program's. TIDE_LIMIT:
 * the process has 16 dumpers already. Dumpers with the same signal all write. The caller destroys
 * it. */
TIDE_NODISCARD tide_status tide_dumper_create(tide_recorder *recorder, tide_cache *cache,
                                              const tide_dumper_config *config,
                                              tide_dumper **ret_dumper, tide_error *error);
/* Waits until all snapshots are written, then restores the signal's former action. Other threads
 * may go on allocating. */
void tide_dumper_destroy(tide_dumper *dumper);

/* To be called after step n_steps (1, 2, ...) of the program: copies the tables when n_steps is a
 * multiple of every_steps. `timing` (NULL: none) is copied. At most two copies wait to be written,
 * since each takes as much memory as the log; a third one waits for room. The status is that of the
 * copy; on_dump reports that of the file. */
TIDE_NODISCARD tide_status tide_dumper_step(tide_dumper *dumper, uint64_t n_steps,
                                            const tide_snapshot_timing *timing, tide_error *error);

/* Takes a snapshot at any time, from any thread, into run.LABEL-1.json.gz. TIDE_INVALID: the label
 * is empty, longer than 32 bytes or has anything but letters, digits, '-' and '_'. */
TIDE_NODISCARD tide_status tide_dumper_take(tide_dumper *dumper, const char *label,
                                            const tide_snapshot_timing *timing, tide_error *error);

/* Returns once the copies taken so far are written. */
void tide_dumper_wait(tide_dumper *dumper);

/* Reads the signal in "USR2", "SIGUSR2", "usr2" or a number. TIDE_INVALID: there is no such signal,
 * or no snapshot can be taken on it. */
TIDE_NODISCARD tide_status tide_signal_parse(const char *text, int *ret_number, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
