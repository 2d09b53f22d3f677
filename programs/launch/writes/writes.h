/* writes.h - the files that a run kept away from the user's: counts, reports and moves them.
 *
 * The scratch view (programs/scratch/) leaves copies of the files that the program wrote in
 * FOLDER/files, marks at the paths of deleted files, and in FOLDER/unseen a list of the programs
 * that it could not serve.
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

/* Marks as in programs/scratch/marks.h; a test compares the two. */
#define TIDE_WRITES_GONE "/proc/self/tidemark-gone"
#define TIDE_WRITES_COVERS ".tidemark-covers"

typedef struct tide_writes {
    bool is_view;     /* a process had the view; otherwise all writes were real */
    size_t n_files;   /* made or changed, without n_passing */
    size_t n_changed; /* of n_files: those that replace a file of the user */
    size_t n_deleted; /* the user's files and folders, a folder counted once */
    size_t n_passing; /* temporary files and caches */
    uint64_t n_bytes; /* of n_files */
    char largest[TIDE_WRITES_PATH_BYTES]; /* of n_files; relative to the current folder if it is
                                           * inside; "" if there is none */
    char unseen[TIDE_WRITES_PATH_BYTES];  /* "/bin/x is linked statically, /bin/y is a Go program":
                                           * the first that wrote for real */
    size_t n_unseen;                      /* different ones */
} tide_writes;

/* Counts the contents of FOLDER. `current`: the folder in which the program was started, absolute.
 * A FOLDER that does not exist counts as empty and without a view. TIDE_IO: it cannot be read. */
TIDE_NODISCARD tide_status tide_writes_count(const char *folder, const char *current,
                                             tide_writes *ret_writes, tide_error *error);

/* "out/model.pt and 2 more files (1.50 GiB) were not written to your disk (`--keep-writes DIR`
 * keeps them)". `kept`: the folder that tide_writes_keep moved them to; NULL: they are dropped.
 * Returns `text`; "" if nothing was written. */
char *tide_writes_sentence(const tide_writes *writes, const char *kept,
                           char text[TIDE_WRITES_TEXT_BYTES]);

/* "/bin/x is linked statically: what it wrote is real". "" if no such program ran. Returns
 * `text`. */
char *tide_writes_unseen(const tide_writes *writes, char text[TIDE_WRITES_TEXT_BYTES]);

/* Whether `target` may be passed to tide_writes_keep: it does not exist, or is an empty folder.
 * TIDE_INVALID with one line if not. Call it before the run. */
TIDE_NODISCARD tide_status tide_writes_check_target(const char *target, tide_error *error);

/* Moves the written files to the folder `target`. Files below `current`, the folder in which the
 * program was started, keep their path relative to it. All others keep their absolute path below
 * target/elsewhere, or elsewhere-2 and so on if the program wrote a file of that name. Marks are
 * left out. Works across file systems, and never replaces anything in `target`. On TIDE_IO part of
 * it may be there. */
TIDE_NODISCARD tide_status tide_writes_keep(const char *folder, const char *current,
                                            const char *target, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
