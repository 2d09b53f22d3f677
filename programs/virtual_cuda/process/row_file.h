/* row_file.h - a file of the run's folder that grows by rows. The rows are written through a
 * mapping, so the file is complete up to the last row even if the process is killed.
 *
 * The file is a header and then rows. It is longer than its contents and ends in zeros. Not
 * thread-safe: the caller holds a lock.
 */
#ifndef TIDE_VIRTUAL_CUDA_ROW_FILE_H
#define TIDE_VIRTUAL_CUDA_ROW_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tide_vc_row_file {
    const char *suffix; /* of the file's name, after the process' number; static */
    const void *header; /* borrowed; written when the file is created */
    size_t header_bytes;
    bool has_failed; /* or there is no folder: nothing more is written */
    bool is_open;    /* the members below are valid */
    int fd;
    unsigned char *mapped; /* a piece of the file; NULL: none */
    size_t mapped_at;      /* its place in the file */
    size_t n_bytes;        /* written so far */
} tide_vc_row_file;

/* The most bytes that one call may ask for. */
enum { TIDE_VC_ROW_FILE_MOST_BYTES = 65536 };

/* The next n_bytes of the file: zeros, in one piece, valid until the next call. The first call
 * creates the file. NULL: there is no folder, or the disk is full; then all later calls return
 * NULL. */
void *tide_vc_row_file_next(tide_vc_row_file *file, size_t n_bytes);

/* Called in the child of a fork, which gets its own file. */
void tide_vc_row_file_forget(tide_vc_row_file *file);

#endif
