/* row_file.h - a file of the run's folder that grows by rows, and is whole up to the last row
 * whenever the process is killed: the rows are written through a mapping.
 *
 * The file is a header and then rows. Its end is longer than what was written, and zero there. Not
 * thread-safe: a lock of the caller guards it.
 */
#ifndef TIDE_VIRTUAL_CUDA_ROW_FILE_H
#define TIDE_VIRTUAL_CUDA_ROW_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tide_vc_row_file {
    const char *suffix; /* of the file's name, behind the process' number; static */
    const void *header; /* borrowed; written when the file is made */
    size_t header_bytes;
    bool has_failed; /* or there is no folder: nothing more is written */
    bool is_open;    /* the members below mean something */
    int fd;
    unsigned char *mapped; /* a piece of the file; NULL: none */
    size_t mapped_at;      /* its place in the file */
    size_t n_bytes;        /* written so far */
} tide_vc_row_file;

/* The largest number of bytes that one call may ask for. */
enum { TIDE_VC_ROW_FILE_MOST_BYTES = 65536 };

/* The next n_bytes of the file: zeros, in one piece, valid until the next call. The first call
 * makes the file. NULL: there is no folder, or no room on the disk, now and ever after. */
void *tide_vc_row_file_next(tide_vc_row_file *file, size_t n_bytes);

/* The child of a fork has a file of its own. */
void tide_vc_row_file_forget(tide_vc_row_file *file);

#endif
