/* text.h - a text that grows at its end, in storage of the caller: messages, labels, sentences.
 *
 * A text needs no memory of its own: it can be built when the host has no memory left, and adding
 * to it cannot fail. It is terminated after every call. The first piece that does not fit is cut
 * between two characters of UTF-8, "..." fills the last bytes of the storage, and later additions
 * are dropped: a text that was cut never looks complete.
 *
 * Not thread-safe.
 */
#ifndef TIDE_COMMON_TEXT_H
#define TIDE_COMMON_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_text {
    char *bytes;   /* borrowed; n_room bytes */
    size_t n_room; /* with the terminating NUL */
    size_t n_used; /* without it: the length of the text */
    bool is_cut;   /* a piece did not fit; the text ends with "..." */
} tide_text;

/* An empty text in `storage`, which must outlive it. With n_room 0, nothing is ever written. */
tide_text tide_text_in(char *storage, size_t n_room);

/* Adds a piece at the end. */
void tide_text_add(tide_text *to, const char *format, ...) TIDE_PRINTF(2, 3);
void tide_text_add_list(tide_text *to, const char *format, va_list arguments) TIDE_PRINTF(2, 0);

/* Adds an item of a list: the same, after `separator` unless the text is still empty. */
void tide_text_add_item(tide_text *to, const char *separator, const char *format, ...)
    TIDE_PRINTF(3, 4);
void tide_text_add_item_list(tide_text *to, const char *separator, const char *format,
                             va_list arguments) TIDE_PRINTF(3, 0);

#ifdef __cplusplus
}
#endif

#endif
