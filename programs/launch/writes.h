/* writes.h - what a run kept away from the user's files: counted, told, and handed over.
 *
 * The scratch view (programs/scratch/) leaves the copies of files that the program wrote in
 * FOLDER/files, in the place of marks what it removed, and in FOLDER/unseen the programs that it
 * could not serve.
 */
#ifndef TIDE_LAUNCH_WRITES_H
#define TIDE_LAUNCH_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_WRITES_PATH_BYTES = 4096,
    TIDE_WRITES_TEXT_BYTES = 2 * TIDE_WRITES_PATH_BYTES,
    TIDE_WRITES_MAX_NAMED = 4
};

/* Marks as programs/scratch/marks.h has them; a test compares the two. */
#define TIDE_WRITES_GONE "/proc/self/tidemark-gone"
#define TIDE_WRITES_COVERS ".tidemark-covers"

typedef struct tide_writes {
    bool is_view;     /* a process had the view; else all writes were real */
    size_t n_files;   /* made or changed, without those of n_passing */
    size_t n_changed; /* of n_files: those that take the place of a file of the user's */
    size_t n_deleted; /* of the user's files and folders, a folder counted once */
    size_t n_passing; /* temporary files and caches */
    uint64_t n_bytes; /* of n_files */
    char largest[TIDE_WRITES_PATH_BYTES]; /* of n_files; relative to the current folder if it lies
                                             there; "": none */
    char
        unseen[TIDE_WRITES_PATH_BYTES]; /* "/bin/x is linked statically, /bin/y is a Go program":
                                           the  first programs that wrote for real, if they wrote */
    size_t n_unseen;                    /* different ones */
} tide_writes;

/* Counts what lies in FOLDER. `current`: the folder in which the program was started, absolute.
 * A FOLDER that does not exist holds nothing, and no process had the view. TIDE_IO: it cannot be
 * read. */
TIDE_NODISCARD tide_status tide_writes_count(const char *folder, const char *current,
                                             tide_writes *ret_writes, tide_error *error);

/* "out/model.pt and 2 more files (1.50 GiB) were not written to your disk (`--keep-writes DIR`
 * keeps them)". `kept`: the folder that tide_writes_keep moved them to; NULL: they are dropped.
 * Returns `text`; "": nothing was written. */
char *tide_writes_sentence(const tide_writes *writes, const char *kept,
                           char text[TIDE_WRITES_TEXT_BYTES]);

/* "/bin/x is linked statically: what it wrote is real". "": no such program ran. Returns `text`. */
char *tide_writes_unseen(const tide_writes *writes, char text[TIDE_WRITES_TEXT_BYTES]);

/* Whether `target` may be given to tide_writes_keep: it does not exist, or is an empty folder.
 * TIDE_INVALID with one line if not; so that it can be asked before the run. */
TIDE_NODISCARD tide_status tide_writes_check_target(const char *target, tide_error *error);

/* Moves what was written to the folder `target`. Files below `current`, the folder in which the
 * program was started, have their path from there; all others have their absolute path below
 * target/elsewhere, or elsewhere-2 and so on where the program wrote a file of that name. Marks are
 * left out. Works across file systems, and never replaces anything in `target`. On TIDE_IO part of
 * it may be there. */
TIDE_NODISCARD tide_status tide_writes_keep(const char *folder, const char *current,
                                            const char *target, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
