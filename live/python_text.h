/* python_text.h - texts of the interpreter's, as UTF-8.
 */
#ifndef TIDE_LIVE_PYTHON_TEXT_H
#define TIDE_LIVE_PYTHON_TEXT_H

#include "live/python_versions.h"

/* Copies a str object, cut off at the end of a character where the room ends; n_room > 0. "?" for
 * what is no text of a known form. */
void tide_python_text(const tide_python_version *version, const void *object, char *ret_text,
                      size_t n_room);

#endif
