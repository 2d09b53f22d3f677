/* state_friend.h - the recording of this process, for the files of programs/live/.
 */
#ifndef TIDE_LIVE_STATE_FRIEND_H
#define TIDE_LIVE_STATE_FRIEND_H

#include <stdatomic.h>

#include "programs/live/record.h"
#include "recorder/log_format_friend.h"
#include "recorder/recorder_friend.h"
#include "stack/unwinder.h"

/* The stacks that are walked at each event. */
enum { TIDE_LIVE_PYTHON = 1, TIDE_LIVE_NATIVE = 2 };

/* A recording. It is created once in a process, and again in a child that fork() made. */
typedef struct tide_live {
    tide_recorder *recorder;
    tide_unwinder *unwinder;  /* NULL: native frames are not wanted, or cannot be walked */
    tide_stack_depot *native; /* of native stacks that Python's frames are added to; NULL: the
                               * recorder's own native stacks are used */
    unsigned stacks;          /* bits of the above */
    size_t max_frames;        /* of a recorded stack: the innermost ones */
    unsigned generation;      /* 1, 2, ...: threads discard their caches of older generations */
    bool has_driver_rows;
    bool tells_failures;
    bool is_box;    /* the log is the ring of a black box (box/black_box.h) */
    uint64_t every; /* whole stacks only in every n-th step */
} tide_live;

/* The open recording; NULL if there is none. */
tide_live *tide_live_now(void);

/* The same, but opens it if that was not tried yet. */
tide_live *tide_live_open(void);

/* For a process just made by fork(): it is never recorded. */
void tide_live_stay_closed(void);

/* stacks.c. The number of the calling thread's stack, and the module that is being called
 * (tide_live_row). */
typedef struct tide_live_place {
    uint32_t stack;
    uint32_t module;
} tide_live_place;
tide_live_place tide_live_find_place(tide_live *live);

/* stacks.c. The place of a Python frame in the recorded stacks, by its number in their order; the
 * file is valid as long as the recording. False: there are fewer frames. */
bool tide_live_line(const tide_live *live, size_t number, const char **ret_file, int *ret_line);

/* stacks.c. Resets for a new recording. Called by one thread. */
void tide_live_stacks_reset(tide_live *live);

/* rows.c. Resets for a new recording. Called by one thread. */
void tide_live_rows_reset(void);

/* steps.c. Counts marks that may begin a step: returns the number of earlier ones of this name; 0
 * for other marks. The second function: whether stacks are walked in the current step. */
uint64_t tide_live_count_step(const char *mark);
bool tide_live_is_walked(const tide_live *live);

/* The absolute path of the log; valid as long as the recording. */
const char *tide_live_path(const tide_live *live);

/* failures.c. A request failed, and its row is written: notifies the run of this process.
 */
void tide_live_tell_failure(void);

/* snapshot.c. Starts `tidemark recover` on the log and waits for it. 0, or -1. */
int tide_live_snapshot(const char *path);

/* Number of the calling thread: 0, 1, ... by first use. */
uint16_t tide_live_thread(void);

/* Prints one line on stderr: this process is not recorded, and why. */
TIDE_PRINTF(1, 2)
void tide_live_tell(const char *format, ...);

#endif
