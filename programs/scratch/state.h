/* state.h - the place of a run's copies, the folders that stay real, and the state that the
 * processes of the run share.
 *
 * TIDEMARK_SCRATCH names a folder that takes the writes:
 *
 *   FOLDER/files/PATH   the copy of the absolute PATH, or a mark that it is deleted (marks.h)
 *   FOLDER/tmp          files and folders on their way into or out of files/
 *   FOLDER/state        one page that all processes map: a lock, and counters
 *
 * The whole state of the view is in these files, so processes may come and go. All functions may be
 * called from any thread.
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
    const char *card; /* RUN/card, the files of the virtual cards (devices.h); NULL: no card */
} tide_scratch_state;

/* The first call in a process reads the environment and creates the missing parts of FOLDER. */
const tide_scratch_state *tide_scratch_state_get(void);

/* Whether the program's view of files differs from the real one in any way: in ON and BROKEN, or by
 * the files of a card. */
bool tide_scratch_serves(void);

/* Whether any process has written anything yet. Until then every path is plain. */
bool tide_scratch_has_written(void);
void tide_scratch_set_written(void);

/* Whether any real file was renamed (moved.h). */
bool tide_scratch_has_moved(void);
void tide_scratch_set_moved(void);

/* Increases whenever a folder, a link or a mark in files/ comes or goes. Cached results about the
 * folders of a path are valid until then. */
uint32_t tide_scratch_generation(void);
void tide_scratch_bump_generation(void);

/* Changes of the view are serialized across all processes. The lock is recursive. If its owner
 * dies, the next process gets it. */
void tide_scratch_lock(void);
void tide_scratch_unlock(void);

/* A unique name for a new file in FOLDER/tmp. */
void tide_scratch_temporary_name(char name[TIDE_SCRATCH_PATH_BYTES]);

/* Whether the absolute path, without "." and "..", is in a folder that stays real. */
bool tide_scratch_is_real(const char *path, size_t n_bytes);

/* Whether a real folder contains the user's disks, which the view does protect. */
bool tide_scratch_leads_to_disks(const char *path, size_t n_bytes);

/* Whether a real path is a system folder that is never a link: in the root, or of a process. */
bool tide_scratch_is_no_link(const char *path, size_t n_bytes);

/* Prints one line on the standard error. */
void tide_scratch_say(const char *what, const char *name, const char *rest);

#ifdef __cplusplus
}
#endif

#endif
