/* beginning.h - a text whose first bytes were read to recognize its kind: a source that returns
 * them again.
 */
#ifndef TIDE_SNAPSHOT_BEGINNING_H
#define TIDE_SNAPSHOT_BEGINNING_H

#include "common/status.h"
#include "snapshot/format/window.h"
#include "snapshot/kinds/kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_beginning {
    tide_source from;                /* the text */
    tide_kind kind;                  /* of it */
    size_t n_bytes;                  /* of `bytes` */
    size_t n_taken;                  /* of them, returned again */
    char bytes[TIDE_KIND_BYTES + 1]; /* the first ones; a NUL follows them */
} tide_beginning;

/* Reads the first bytes of `from`, and recognizes the kind. */
TIDE_NODISCARD tide_status tide_beginning_init(tide_beginning *beginning, tide_source from,
                                               tide_error *error);

/* The whole text, from its first byte on; valid as long as `beginning`. */
tide_source tide_beginning_source(tide_beginning *beginning);

#ifdef __cplusplus
}
#endif

#endif
