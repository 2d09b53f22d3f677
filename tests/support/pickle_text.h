/* pickle_text.h - pickles for tests, from what Python would print: "{'a': [1, (2, None)]}".
 */
#ifndef TIDE_TESTS_SUPPORT_PICKLE_TEXT_H
#define TIDE_TESTS_SUPPORT_PICKLE_TEXT_H

#include <stddef.h>

#include "snapshot/pytorch/pickle.h"
#include "snapshot/document/snapshot.h"

/* The value as a pickle of protocol 2: dicts, lists, tuples, 'texts' without escapes, integers of
 * 64 bits, True, False, None, reals with a point. The result comes from malloc. Ends the program if
 * `text` is not such a value. */
char *pickle_from_text(const char *text, size_t *ret_bytes);

/* Bytes in memory as a source: read a few at a time, so that every value is split between two reads
 * in some test. */
typedef struct pickle_bytes {
    tide_source source; /* its ctx is this struct: do not copy it */
    const char *data;   /* borrowed */
    size_t n_bytes;
    size_t at; /* next byte */
} pickle_bytes;

const tide_source *pickle_bytes_init(pickle_bytes *bytes, const char *data, size_t n_bytes);

/* The tree of a pickle in memory; finished when the status is not TIDE_OK. */
TIDE_NODISCARD tide_status pickle_read_bytes(tide_pickle *pickle, const char *data, size_t n_bytes,
                                             const tide_hostmem *mem, tide_error *error);
/* The import of a pickle in memory. */
TIDE_NODISCARD tide_status pytorch_import_bytes(const char *data, size_t n_bytes,
                                                tide_snapshot *snapshot, tide_error *error);

/* The document that is imported from that pickle; `mem` NULL: default heap. error's message is ""
 * on success. The caller destroys it. */
TIDE_NODISCARD tide_status pytorch_import_text(const char *text, const tide_hostmem *mem,
                                               tide_snapshot **ret_snapshot, tide_error *error);

#endif
