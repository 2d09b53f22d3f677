/* recorder_friend.h - how the cache feeds the recorder.
 *
 * An allocation first calls tide_recorder_take_note, outside every lock: it captures the stack,
 * interns it and the name, and reads the thread's open scope. Then the cache takes its lock, which
 * is also the log's, and calls tide_recorder_row_begin and tide_recorder_row_end for each row. So
 * rows are numbered in the order in which requests are served, and only writing them happens under
 * the lock.
 */
#ifndef TIDE_RECORDER_RECORDER_FRIEND_H
#define TIDE_RECORDER_RECORDER_FRIEND_H

#include "device/device.h"
#include "recorder/recorder.h"
#include "stack/unwinder.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_lock;

/* Reserves the recorder for one cache, for ever. False if it was claimed before, even if that cache
 * no longer exists, because two caches would use the same addresses for different blocks. True for
 * a NULL recorder. */
bool tide_recorder_claim(tide_recorder *recorder);

/* Writes texts that describe the device to the log file. Does nothing without a log file or with a
 * NULL recorder. */
void tide_recorder_describe_device(tide_recorder *recorder, const tide_device_info *info);

/* The calling thread's part of the rows of an allocation or release. */
typedef struct tide_note {
    uint32_t stack; /* of the depot; each TIDE_NONE: none */
    uint32_t scope; /* innermost open one of the calling thread */
    uint32_t name;  /* string of the recorder */
} tide_note;

/* Cannot fail: a missing value is TIDE_NONE. `name` may be NULL. With a NULL recorder everything is
 * TIDE_NONE. */
tide_note tide_recorder_note(tide_recorder *recorder, const char *name);
/* The same, written directly to its destination. A returned struct of three fields is passed in two
 * registers and split through memory, which costs a stall on this path. */
void tide_recorder_take_note(tide_recorder *recorder, const char *name, tide_note *ret_note);

/* The lock of the log (common/lock_friend.h). The cache uses it as its own lock: with one lock,
 * requests and their rows have one order. */
struct tide_lock *tide_recorder_lock(tide_recorder *recorder);

/* Called under the lock: the place of the next row, with its time filled in. The caller writes
 * every other field and ends the row before it does anything else. NULL if the row is not recorded,
 * because the recorder is paused or the log is full. The recorder must not be NULL. */
tide_event *tide_recorder_row_begin(tide_recorder *recorder);
void tide_recorder_row_end(tide_recorder *recorder);

/* Called under the lock: the newest row, to add to it; NULL if there is no row. The recorder must
 * not be NULL. */
tide_event *tide_recorder_last_row(tide_recorder *recorder);

/* The depot that numbers its stacks; valid until the recorder is destroyed. */
tide_stack_depot *tide_recorder_depot(tide_recorder *recorder);

/* Writes a record of a kind that only its writer knows (log_format_friend.h) to the journal of the
 * log file. Does nothing without a log file. */
void tide_recorder_write_record(tide_recorder *recorder, uint32_t kind, const void *payload,
                                size_t n_bytes);

/* Whether nothing is recorded now (tide_recorder_set_paused). */
bool tide_recorder_is_off(tide_recorder *recorder);

/* The absolute path of the log file, valid until the recorder is destroyed; NULL without one. */
const char *tide_recorder_log_path(const tide_recorder *recorder);

/* The innermost open scope of the calling thread, or TIDE_NONE. */
uint32_t tide_recorder_note_scope(tide_recorder *recorder);

/* In a forked process: gives up the log file, which belongs to the parent. The recorder must not be
 * used any more, and cannot be destroyed: other threads of the parent may have held its locks. */
void tide_recorder_abandon(tide_recorder *recorder);

/* Records nothing from now on, and marks the log file as complete. For a process that is about to
 * end while other threads may still call the recorder; nothing is released. */
void tide_recorder_finish(tide_recorder *recorder);

/* The number of a text, which rows refer to; TIDE_NONE when there is no memory. */
uint32_t tide_recorder_intern(tide_recorder *recorder, const char *text);

/* Called under the lock: appends a complete row. Does nothing with a NULL recorder. */
void tide_recorder_append(tide_recorder *recorder, tide_event event);

/* The number of rows appended so far, and a row by its number, 0 for the first; false if the log no
 * longer has the row. No row may be appended meanwhile: this is for replays, which have one
 * thread. */
uint64_t tide_recorder_n_rows(const tide_recorder *recorder);
bool tide_recorder_row(const tide_recorder *recorder, uint64_t number, tide_event *ret_event);

/* Called under the lock: the number of a stream in the recording's table of streams. A new stream
 * is added. There are 255 numbers; later streams share the last one. */
uint8_t tide_recorder_stream(tide_recorder *recorder, uint8_t device, uint64_t handle);

/* While the recorder is paused nothing is recorded or counted: appends, notes and scopes return
 * immediately. Afterwards the log has gaps and no longer matches the cache. Use this only to
 * measure the cost of recording, after the last snapshot. */
void tide_recorder_set_paused(tide_recorder *recorder, bool is_paused);

/* While the recorder is quiet, it also records nothing, but the log notes no gap: the caller
 * promises that the cache changes nothing meanwhile (a replay of a captured step). NULL is
 * allowed. */
void tide_recorder_set_quiet(tide_recorder *recorder, bool is_quiet);

/* How stacks were captured. All 0 if none are, and with a NULL recorder. For tests that expect
 * every stack of a run to be walked without libunwind. */
void tide_recorder_get_unwinder_stats(tide_recorder *recorder, tide_unwinder_stats *ret_stats);

/* The text of a string's number; NULL for TIDE_NONE and unknown numbers, and with a NULL recorder.
 * Valid until the recorder is destroyed. */
const char *tide_recorder_text(tide_recorder *recorder, uint32_t number);

/* Writes "step 3/backward/layer 2": the scope and those around it, at most the eight innermost. ""
 * for TIDE_NONE, unknown numbers and with a NULL recorder. */
void tide_recorder_scope_path(tide_recorder *recorder, uint32_t scope, char *text, size_t n_bytes);

/* A row of the log and its number: 0 for the first event ever appended. */
typedef struct tide_found_row {
    tide_event event;
    uint64_t number;
    bool is_found; /* false: the other fields are 0 */
} tide_found_row;

/* The latest events of an address. */
typedef struct tide_address_history {
    tide_found_row alloc;     /* of the block that contains the address now, or did last */
    tide_found_row freed;     /* the request to release that block, or its completion if the log
                                 has only that; not found: the block is alive, or its release is
                                 not in the log */
    tide_found_row completed; /* the completion of that release, if `freed` is only the request */
    tide_found_row segment_free; /* the later release of the segment around the address */
    bool is_unused;              /* no block has contained it since its segment was allocated */
    int64_t now_ns;              /* time of the search, on the recorder's clock */
} tide_address_history;

/* Called under the lock: searches the newest max_rows rows, newest first. Nothing is found with a
 * NULL recorder or in a log that has stopped. */
void tide_recorder_look_back(tide_recorder *recorder, uint64_t address, size_t max_rows,
                             tide_address_history *ret_history);

#ifdef __cplusplus
}
#endif

#endif
