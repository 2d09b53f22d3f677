/* tidemark.h - everything a program needs to allocate through tidemark and to see where the bytes
 * went: the one header to include.
 *
 * In one look:
 *
 *   tide_device *device;
 *   tide_recorder *recorder;
 *   tide_cache *cache;
 *   uint64_t address;
 *   tide_tag tag = {TIDE_ACTIVATION, "logits"};
 *
 *   tide_device_open("virtual:h100-80", NULL, &device, error);    1. where memory comes from
 *   tide_recorder_create(NULL, &recorder, error);                 2. what writes it down
 *   tide_cache_create(device, recorder, NULL, &cache, error);     3. the caching allocator
 *   tide_scope step = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", 0);
 *   tide_cache_alloc(cache, n_bytes, 0, &tag, &address, error);   4. a block, with call stack
 *   tide_cache_release(cache, address, error);                       and scope
 *   tide_scope_end(recorder, step);
 *   tide_snapshot_write(recorder, cache, "run.json.gz", error);   5. a file for `tidemark summary`
 *   tide_cache_destroy(cache);                                       and `tidemark view`
 *   tide_recorder_destroy(recorder);                              6. in this order
 *   tide_device_close(device);
 *
 * What holds everywhere:
 *
 * Failure. Whatever can fail returns a tide_status; nothing prints, exits or aborts. A tide_error,
 * always the last parameter and always optional, gets a message for people. ret_ parameters are
 * written only on TIDE_OK. Running out of device memory is an answer (TIDE_DEVICE_OOM): the cache
 * stays usable.
 *
 * Owners. Who creates destroys; destroying NULL is allowed. The cache borrows device and recorder,
 * so it goes first. A recorder serves one cache.
 *
 * Threads. Device, cache and recorder may be used from any thread. Scopes belong to the thread that
 * opened them. Documents (tide_snapshot) are immutable once built.
 *
 * Units. Bytes and nanoseconds, and the names say so. Device addresses are uint64_t; 0 is none.
 * Host memory comes from the tide_hostmem that a config names; NULL: malloc.
 *
 * Recording loads libunwind at run time with its symbols kept local: backtrace() and C++ exceptions
 * of the program stay those of the system. Without libunwind everything works, with shorter call
 * stacks or none.
 *
 * docs/guide/using-the-library.md goes through a whole program; docs/examples/own_buffers.c is one.
 */
#ifndef TIDE_TIDEMARK_H
#define TIDE_TIDEMARK_H

/* 0. The words: statuses and messages, a heap of one's own, rows and categories. */
#include "common/event.h"
#include "common/hostmem.h"
#include "common/status.h"

/* 1. Devices: "cpu", "virtual", "virtual:CARD", "cuda:N". */
#include "device/cards.h" /* the virtual cards */
#include "device/device.h"

/* 2. The recorder, and scopes: step > phase > layer > operator, or names of the program's own. */
#include "recorder/recorder.h"

/* 3. and 4. The caching allocator: settings, alloc and release, statistics, what an out-of-memory
 * was made of. */
#include "allocator/cache.h"

/* 5. From a live cache to a file, or to a document in memory. */
#include "capture/capture.h"
#include "capture/dumper.h"  /* while the program runs: on a signal, at OOM, every k steps */
#include "capture/host.h"    /* the machine, for the description of the run */
#include "capture/measure.h" /* what recording costs here */
#include "capture/recover.h" /* a log file that a crash left */
#include "common/files/temporary_file.h" /* removing unfinished files, for a signal handler of yours */

/* 6. Documents: load one, look at its rows, its peak, and how two compare. */
#include "snapshot/compare/compare.h"
#include "snapshot/compare/compare_rows.h"
#include "snapshot/export/export.h" /* the formats of other tools */
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

#endif
