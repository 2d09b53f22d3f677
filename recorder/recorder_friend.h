/* recorder_friend.h - how the cache feeds the recorder.
 *
 * Order of an allocation: tide_recorder_note (outside the cache's lock: captures the stack, interns
 * it and the name, reads the thread's open scope), then under the lock, which is the cache's and
 * the log's at once, tide_recorder_row_begin and tide_recorder_row_end for each row.
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

/* Makes the recorder that of one cache for as long as it lifetimes; false when it is another one's,
 * alive or not: two caches would use the same addresses for different blocks. NULL recorder: true.
 */
bool tide_recorder_claim(tide_recorder *recorder);

/* Texts that describe the device, for the log file; without one, and with a NULL recorder, nothing.
 */
void tide_recorder_describe_device(tide_recorder *recorder, const tide_device_info *info);

/* What the caller of an allocation or release contributes to its rows. */
typedef struct tide_note {
    uint32_t stack; /* of the depot; each TIDE_NONE: none */
    uint32_t scope; /* innermost open one of the calling thread */
    uint32_t name;  /* string of the recorder */
} tide_note;

/* Never fails: what cannot be had is TIDE_NONE. `name` may be NULL. With a NULL recorder all is
 * TIDE_NONE. */
tide_note tide_recorder_note(tide_recorder *recorder, const char *name);
/* The same to where it will be read: returned, three fields come back in two registers by way of
 * memory, and wait there. */
void tide_recorder_take_note(tide_recorder *recorder, const char *name, tide_note *ret_note);

/* The lock of the log (lock_internal.h). The cache takes it for its own: requests and their rows
 * have one order, and one lock. */
struct tide_lock *tide_recorder_lock(tide_recorder *recorder);

/* Under the lock: the place of the next row, with its time; the caller writes every other field and
 * ends the row before it does anything else. NULL when nothing is written down now. The recorder is
 * not NULL. */
tide_event *tide_recorder_row_begin(tide_recorder *recorder);
void tide_recorder_row_end(tide_recorder *recorder);

/* Under the lock: the same with a row that is put together already. NULL recorder: nothing. */
void tide_recorder_append(tide_recorder *recorder, tide_event event);

/* Rows that were appended so far; and a row by its number, 0 for the first one, which the log must
 * still have. No row may be appended meanwhile: for replays, whose thread is the only one. */
uint64_t tide_recorder_n_rows(const tide_recorder *recorder);
bool tide_recorder_row(const tide_recorder *recorder, uint64_t number, tide_event *ret_event);

/* Under the lock: the number of a stream in the recording's table of streams; made at its first
 * use. 255 different streams at most: later ones share the last number. */
uint8_t tide_recorder_stream(tide_recorder *recorder, uint8_t device, uint64_t handle);

/* While it is paused nothing is written down: appends, notes and scopes return at once, and what
 * they would have recorded is counted nowhere. The log then has holes and fits the cache no more,
 * so this is for measuring what recording costs after the last snapshot was taken. */
void tide_recorder_set_paused(tide_recorder *recorder, bool is_paused);

/* How its stacks were captured; all 0 where none are, and with a NULL recorder. */
void tide_recorder_get_unwinder_stats(tide_recorder *recorder, tide_unwinder_stats *ret_stats);

/* The text of a string's number; NULL for TIDE_NONE and unknown numbers, and with a NULL recorder.
 * Valid until the recorder is destroyed. */
const char *tide_recorder_text(tide_recorder *recorder, uint32_t number);

/* Writes "step 3/backward/layer 2": the scope within the ones around it, eight of them at most. ""
 * for TIDE_NONE, unknown numbers and with a NULL recorder. */
void tide_recorder_scope_path(tide_recorder *recorder, uint32_t scope, char *text, size_t n_bytes);

/* A row of the log and its number: 0 for the first event ever appended. */
typedef struct tide_found_row {
    tide_event event;
    uint64_t number;
    bool is_found; /* false: the other fields are 0 */
} tide_found_row;

/* The latest that happened to an address. */
typedef struct tide_address_history {
    tide_found_row alloc;        /* of the block that holds the address now, or held it last */
    tide_found_row freed;        /* of that block: where its release was requested, or completed if
                                    the log has only that; not found: it is alive, or not in the
                                    log */
    tide_found_row completed;    /* of that block, where `freed` is only the request */
    tide_found_row segment_free; /* the segment that held the address went back after that */
    bool is_unused;              /* no block held it between its segment's purchase and now */
    int64_t now_ns;              /* time of the search, as rows have it */
} tide_address_history;

/* Under the lock: searches the newest max_rows rows, newest first. Nothing is found with a NULL
 * recorder and in a log that stopped. */
void tide_recorder_look_back(tide_recorder *recorder, uint64_t address, size_t max_rows,
                             tide_address_history *ret_history);

#ifdef __cplusplus
}
#endif

#endif
