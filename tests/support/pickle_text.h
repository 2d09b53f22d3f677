/* pickle_text.h - pickles for tests, from what Python would print: "{'a': [1, (2, None)]}".
 */
#ifndef TIDE_TESTS_SUPPORT_PICKLE_TEXT_H
#define TIDE_TESTS_SUPPORT_PICKLE_TEXT_H

#include <stddef.h>

#include "snapshot/snapshot.h"

/* The value as a pickle of protocol 2: dicts, lists, tuples, 'texts' without escapes, integers of
 * 64 bits, True, False, None, reals with a point. malloc's; ends the program when `text` is no such
 * value. */
char *pickle_from_text(const char *text, size_t *ret_bytes);

/* The document that is imported from that pickle; `mem` NULL: default heap. error's message is ""
 * on success. The caller destroys it. */
TIDE_NODISCARD tide_status pytorch_import_text(const char *text, const tide_hostmem *mem,
                                               tide_snapshot **ret_snapshot, tide_error *error);

#endif
