/* state.h - where the copies of a run lie, what stays real, and what the processes of the run
 * share.
 *
 * TIDEMARK_SCRATCH names a folder that takes the writes:
 *   FOLDER/files/PATH   the copy of the absolute PATH, or a mark that it is gone (marks.h)
 *   FOLDER/tmp          files and folders on their way into or out of files/
 *   FOLDER/state        one page that all processes map: a lock, and counters
 *
 * Everything that the view knows is in these files, so that processes come and go as they like. All
 * functions may be called from any thread.
 */
#ifndef TIDE_SCRATCH_STATE_H
#define TIDE_SCRATCH_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_SCRATCH_PATH_BYTES = 4096, TIDE_SCRATCH_MAX_REAL = 32 };

typedef enum tide_scratch_mode {
    TIDE_SCRATCH_OFF = 0, /* no TIDEMARK_SCRATCH: writes are real */
    TIDE_SCRATCH_ON,
    TIDE_SCRATCH_BROKEN /* the folder cannot be used: every write is refused, never real */
} tide_scratch_mode;

typedef struct tide_scratch_state {
    tide_scratch_mode mode;
    char files[TIDE_SCRATCH_PATH_BYTES];     /* FOLDER/files, absolute, links followed */
    size_t n_files;                          /* length of the above */
    size_t n_folder;                         /* length of FOLDER in it */
    const char *real[TIDE_SCRATCH_MAX_REAL]; /* folders whose content stays real */
    size_t n_real;
} tide_scratch_state;

/* The first call of a process reads the environment and makes what is missing in FOLDER. */
const tide_scratch_state *tide_scratch_state_get(void);

/* Whether any process has written anything yet. Until then every path means what it says. */
bool tide_scratch_has_written(void);
void tide_scratch_set_written(void);

/* Whether anything that really exists got another name (moved.h). */
bool tide_scratch_has_moved(void);
void tide_scratch_set_moved(void);

/* Grows whenever a folder, a link or a mark in files/ comes or goes: what was learnt about the
 * folders of a path holds until then. */
uint32_t tide_scratch_generation(void);
void tide_scratch_bump_generation(void);

/* Changes of the view exclude each other, in all processes. The same thread may lock again. A
 * process that dies in between leaves the lock to the next one. */
void tide_scratch_lock(void);
void tide_scratch_unlock(void);

/* The name of something new in FOLDER/tmp, that no other caller gets. */
void tide_scratch_temporary_name(char name[TIDE_SCRATCH_PATH_BYTES]);

/* Whether the absolute path, without "." and "..", lies where nothing is kept away. */
bool tide_scratch_is_real(const char *path, size_t n_bytes);

/* Whether a real folder has disks of the user's in it, which are kept. */
bool tide_scratch_leads_to_disks(const char *path, size_t n_bytes);

/* Whether a real path is one of the system's that is never a link: its folders in the root, and
 * those of processes. */
bool tide_scratch_is_no_link(const char *path, size_t n_bytes);

/* One line for people, on the standard error. */
void tide_scratch_say(const char *what, const char *name, const char *rest);

#ifdef __cplusplus
}
#endif

#endif
