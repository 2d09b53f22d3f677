/* dumper.h - snapshots of a program while it runs: on a signal, when memory runs out, after every
 * k-th step, in exit and abort, or on request.
 *
 * A dumper belongs to one cache and has a thread of its own, which resolves symbols and writes. The
 * program waits only while the tables are copied (tide_captured_pause_ns). Every snapshot is a
 * separate file next to `path`; none is ever overwritten: run.json.gz becomes run.usr2-1.json.gz,
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
    const char *path;    /* of the file; "" without one. Borrowed during the call */
    tide_status status;  /* TIDE_OK: the file is written */
    const char *message; /* the reason of a failure, for people, or "". Borrowed during the call */
    size_t n_events;     /* rows in the file */
    int64_t pause_ns;    /* longest time that the copy kept another thread waiting */
    int64_t copy_ns;     /* the whole copy, for which the requesting thread waited */
    int64_t write_ns;    /* symbols and file, in the background */
} tide_dump;

typedef struct tide_dumper_config {
    const tide_hostmem *mem;      /* NULL: tide_hostmem_default(); outlives the dumper */
    const char *path;             /* base of the names of the files; copied */
    int signal_number;            /* a snapshot on this signal; 0: none */
    uint64_t every_steps;         /* a snapshot after every n steps; 0: none */
    size_t max_oom;               /* at most this many snapshots when memory runs out; 0: none */
    bool on_exit;                 /* a snapshot in exit, if the dumper still exists then */
    bool on_abort;                /* a snapshot in abort, also for failed assertions and uncaught
                                     exceptions */
    bool strip_private;           /* tide_snapshot_strip_private */
    const tide_snapshot_run *run; /* describes the run, with its outcome so far; borrowed until the
                                     dumper is destroyed. NULL: an empty description */
    /* Called after each snapshot on the dumper's thread. If there was not even memory to copy the
     * tables after memory ran out, called on the thread that ran out. NULL: none. Must not call the
     * dumper. */
    void (*on_dump)(void *ctx, const tide_dump *dump);
    void *ctx; /* borrowed; on_dump's first */
} tide_dumper_config;

/* Switches everything off. Then set the path and the snapshots that you want. */
void tide_dumper_config_init(tide_dumper_config *config);

/* `recorder` is the cache's (NULL for none); both outlive the dumper. TIDE_INVALID if the path is
 * missing, or the signal cannot be caught, is a fault, or already has a handler of the program.
 * TIDE_LIMIT if the process already has 16 dumpers. Dumpers with the same signal all write. The
 * caller destroys it. */
TIDE_NODISCARD tide_status tide_dumper_create(tide_recorder *recorder, tide_cache *cache,
                                              const tide_dumper_config *config,
                                              tide_dumper **ret_dumper, tide_error *error);
/* Waits until all snapshots are written, then restores the signal's former action. Other threads
 * may continue to allocate. */
void tide_dumper_destroy(tide_dumper *dumper);

/* Call it after step n_steps (1, 2, ...) of the program: copies the tables if n_steps is a multiple
 * of every_steps. `timing` (NULL: none) is copied. At most two copies wait to be written, because
 * each needs as much memory as the log; a third one waits for room. The status is that of the copy;
 * on_dump reports that of the file. */
TIDE_NODISCARD tide_status tide_dumper_step(tide_dumper *dumper, uint64_t n_steps,
                                            const tide_snapshot_timing *timing, tide_error *error);

/* Takes a snapshot at any time, from any thread, into run.LABEL-1.json.gz. TIDE_INVALID if the
 * label is empty, longer than 32 bytes or has characters other than letters, digits, '-' and
 * '_'. */
TIDE_NODISCARD tide_status tide_dumper_take(tide_dumper *dumper, const char *label,
                                            const tide_snapshot_timing *timing, tide_error *error);

/* Returns once the copies taken so far are written. */
void tide_dumper_wait(tide_dumper *dumper);

/* Reads the signal in "USR2", "SIGUSR2", "usr2" or a number. TIDE_INVALID if the signal does not
 * exist or cannot trigger a snapshot. */
TIDE_NODISCARD tide_status tide_signal_parse(const char *text, int *ret_number, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
