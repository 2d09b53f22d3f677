/* state_friend.h - the recording of this process, for the files of programs/live/.
 */
#ifndef TIDE_LIVE_STATE_FRIEND_H
#define TIDE_LIVE_STATE_FRIEND_H

#include <stdatomic.h>

#include "programs/live/record.h"
#include "recorder/log_format_friend.h"
#include "recorder/recorder_friend.h"
#include "stack/unwinder.h"

/* What is walked at each event. */
enum { TIDE_LIVE_PYTHON = 1, TIDE_LIVE_NATIVE = 2 };

/* A recording. It is made once in a process, and once more in a child that fork() made. */
typedef struct tide_live {
    tide_recorder *recorder;
    tide_unwinder *unwinder;  /* NULL: native frames are not asked for, or cannot be walked */
    tide_stack_depot *native; /* of native stacks that Python's frames are added to; NULL: native
                                 stacks are the recorder's own */
    unsigned stacks;          /* bits of the above */
    unsigned generation;      /* 1, 2, ...: what threads remember of an older one is void */
    bool has_driver_rows;
    bool tells_failures;
    uint64_t every; /* whole stacks in every so many steps */
} tide_live;

/* The open recording; NULL: there is none. */
tide_live *tide_live_now(void);

/* The same, and opens it if that has not been tried. */
tide_live *tide_live_open(void);

/* stacks.c. The number of the calling thread's stack, and the module that is being called
 * (tide_live_row). */
typedef struct tide_live_place {
    uint32_t stack;
    uint32_t module;
} tide_live_place;
tide_live_place tide_live_find_place(tide_live *live);

/* stacks.c. For a new recording: forgets what belongs to the old one. Called by one thread. */
void tide_live_stacks_reset(tide_live *live);

/* rows.c. For a new recording, called by one thread. */
void tide_live_rows_reset(void);

/* steps.c. Counts marks that may begin a step: how many of this name came before; 0 for others.
 * Whether stacks are walked in the step at hand. */
uint64_t tide_live_count_step(const char *mark);
bool tide_live_is_walked(const tide_live *live);

/* The absolute path of the log; valid as long as the recording. */
const char *tide_live_path(const tide_live *live);

/* failures.c. A request failed, and its row is written: tells the run that this process belongs to.
 */
void tide_live_tell_failure(void);

/* snapshot.c. Starts `tidemark recover` on the log and waits for it. 0, or -1. */
int tide_live_snapshot(const char *path);

/* Number of the calling thread: 0, 1, ... by first use. */
uint16_t tide_live_thread(void);

/* Tells the user in one line on stderr that this process is not recorded, and why. */
TIDE_PRINTF(1, 2)
void tide_live_tell(const char *format, ...);

#endif
