/* gzip_file.h - whole files, compressed or plain. A file is written under a temporary name and
 * renamed when complete.
 */
#ifndef TIDE_SNAPSHOT_GZIP_FILE_H
#define TIDE_SNAPSHOT_GZIP_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/format/window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_gzip_writer tide_gzip_writer;

/* Opens a temporary file in the folder of PATH, with links resolved. TIDE_IO: the folder cannot be
 * written, or PATH exists and is not a regular file. `mem` is borrowed. End with commit or abandon.
 */
TIDE_NODISCARD tide_status tide_gzip_writer_open(const char *path, const tide_hostmem *mem,
                                                 tide_gzip_writer **ret_writer, tide_error *error);
/* The same without compression. */
TIDE_NODISCARD tide_status tide_gzip_writer_open_plain(const char *path, const tide_hostmem *mem,
                                                       tide_gzip_writer **ret_writer,
                                                       tide_error *error);
/* Errors stick until commit. */
TIDE_NODISCARD tide_status tide_gzip_writer_write(tide_gzip_writer *writer, const char *text,
                                                  size_t n_bytes);
/* Completes the file, gives it its name and releases the writer. On failure the temporary file is
 * removed, an older file stays as it was, and the message names path and reason. */
TIDE_NODISCARD tide_status tide_gzip_writer_commit(tide_gzip_writer *writer, tide_error *error);

/* Instead of commit: removes the temporary file and releases the writer. */
void tide_gzip_writer_abandon(tide_gzip_writer *writer);

typedef struct tide_gzip_reader tide_gzip_reader;

/* Opens a gzip or a plain file for reading from beginning to end, at most max_bytes of text.
 * TIDE_IO: cannot be read. The caller closes the reader. */
TIDE_NODISCARD tide_status tide_gzip_reader_open(const char *path, const tide_hostmem *mem,
                                                 size_t max_bytes, tide_gzip_reader **ret_reader,
                                                 tide_error *error);
/* The same for a part of the file `path`, which may be compressed on its own: `part` returns its
 * bytes, and outlives the reader. */
TIDE_NODISCARD tide_status tide_gzip_reader_open_part(const char *path, const tide_source *part,
                                                      const tide_hostmem *mem, size_t max_bytes,
                                                      tide_gzip_reader **ret_reader,
                                                      tide_error *error);
/* Reads the next bytes of the text, at most n_room > 0; 0: the end. TIDE_FORMAT: truncated or
 * damaged; TIDE_LIMIT: more than max_bytes. `reader` is a tide_gzip_reader; fits tide_source. */
TIDE_NODISCARD tide_status tide_gzip_reader_read(void *reader, char *to, size_t n_room,
                                                 size_t *ret_bytes, tide_error *error);
void tide_gzip_reader_close(tide_gzip_reader *reader);

/* Whether the file can be opened and read again: false for a pipe. */
bool tide_gzip_reader_can_repeat(const char *path);

#ifdef __cplusplus
}
#endif

#endif
