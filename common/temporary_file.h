/* temporary_file.h - files that are not finished yet, and the list of them, by which a process that
 * a signal ends takes them away.
 *
 * All functions but the last are thread-safe.
 */
#ifndef TIDE_COMMON_TEMPORARY_FILE_H
#define TIDE_COMMON_TEMPORARY_FILE_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_TEMPORARY_MAX = 128,        /* unfinished files of a process at the same time */
    TIDE_TEMPORARY_PATH_BYTES = 4096 /* of a path with its NUL: the system takes no longer one */
};

typedef struct tide_temporary_file {
    int fd;           /* open for reading and writing; the caller closes it */
    size_t slot;      /* its place in the list */
    const char *path; /* the list's, until removed or forgotten */
} tide_temporary_file;

/* Makes an empty file with a name that nobody can guess, in the folder of `target`, and puts it
 * into the list. `mode`: its rights, less those of the umask. Returns 0, or errno: EMFILE, too,
 * when the list is full, and EINTR in a process that is about to end. */
int tide_temporary_file_open(const char *target, mode_t mode, tide_temporary_file *ret_file);

/* Unlinks it, unless it is gone, and takes it off the list. The descriptor stays open. */
void tide_temporary_file_remove(tide_temporary_file *file);

/* Takes it off the list: it has got its own name by now. The descriptor stays open. */
void tide_temporary_file_forget(tide_temporary_file *file);

/* For the handler of a signal that ends the process: unlinks all that are in the list and lets no
 * further one be made. A process that was forked has no part in its parent's files. */
void tide_temporary_files_end(void);

#ifdef __cplusplus
}
#endif

#endif
