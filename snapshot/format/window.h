/* window.h - the part of a text that is being read. Bytes are read from a source on demand and
 * dropped afterwards, so the whole text is never in memory.
 *
 * Offsets count from the beginning of the text.
 */
#ifndef TIDE_SNAPSHOT_WINDOW_H
#define TIDE_SNAPSHOT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where bytes come from. */
typedef struct tide_source {
    /* At most n_room bytes; 0: the end. */
    tide_status (*read)(void *ctx, char *to, size_t n_room, size_t *ret_bytes, tide_error *error);
    void *ctx; /* borrowed; first argument of read */
} tide_source;

typedef struct tide_window {
    const char *bytes;         /* of the text from `begin` to `end` */
    size_t begin, end;         /* offsets */
    const tide_hostmem *mem;   /* borrowed; NULL: all bytes are here from the start */
    const tide_source *source; /* borrowed; NULL: no more bytes come */
    char *buffer;              /* owned: `bytes` points to it; NULL without a source */
    size_t capacity;           /* of buffer */
    tide_status status;        /* of the source */
} tide_window;

/* Over bytes that are all present; borrowed. */
void tide_window_init(tide_window *window, const char *bytes, size_t n_bytes);
/* Over a source, which must outlive the window. */
void tide_window_open(tide_window *window, const tide_source *source, const tide_hostmem *mem);
void tide_window_close(tide_window *window);

/* Adds at least one byte at the end. Bytes before the offset `keep` may be dropped. False: the text
 * has ended, or the source has failed (status, and a message in `error` unless it is
 * TIDE_NO_MEMORY). The buffer grows with the kept part. */
bool tide_window_more(tide_window *window, size_t keep, tide_error *error);

/* Whether n_bytes are available from offset `at` on; may read more. */
static inline bool tide_window_has(tide_window *window, size_t at, size_t n_bytes,
                                   tide_error *error) {
    while (window->end - at < n_bytes) {
        if (!tide_window_more(window, at, error)) {
            return false;
        }
    }
    return true;
}

#ifdef __cplusplus
}
#endif

#endif
