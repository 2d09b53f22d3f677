/* temporary_file.h - unfinished files, and the list from which a process that a signal ends removes
 * them.
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
    TIDE_TEMPORARY_PATH_BYTES = 4096 /* longest path that the system accepts, with its NUL */
};

typedef struct tide_temporary_file {
    int fd;           /* open for reading and writing; the caller closes it */
    size_t slot;      /* its place in the list */
    const char *path; /* owned by the list; valid until the file is removed or forgotten */
} tide_temporary_file;

/* Makes an empty file with an unpredictable name in the folder of `target`, and adds it to the
 * list. `mode` is its permissions, before the umask. Returns 0 or errno; EMFILE also when the list
 * is full, and EINTR when the process is about to end. */
int tide_temporary_file_open(const char *target, mode_t mode, tide_temporary_file *ret_file);

/* Unlinks the file, if it still exists, and takes it off the list. The descriptor stays open. */
void tide_temporary_file_remove(tide_temporary_file *file);

/* Takes the file off the list, because it has its final name now. The descriptor stays open. */
void tide_temporary_file_forget(tide_temporary_file *file);

/* For the handler of a signal that ends the process: unlinks all files of the list and allows no
 * more to be made. Files of a parent process are left alone. */
void tide_temporary_files_end(void);

#ifdef __cplusplus
}
#endif

#endif
