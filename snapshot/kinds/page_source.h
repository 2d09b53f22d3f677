/* page_source.h - the snapshot inside of a page: base64 in HTML, decoded while it is read.
 */
#ifndef TIDE_SNAPSHOT_PAGE_SOURCE_H
#define TIDE_SNAPSHOT_PAGE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/format/window.h"
#include "snapshot/kinds/kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PAGE_BUFFER = 16 * 1024 };

typedef struct tide_page_source {
    const tide_source *from; /* borrowed: the text of the page */
    const char *mark;        /* the data begins at `opener` after it */
    size_t n_matched;        /* characters of the mark */
    char opener;
    int step;      /* of the search: mark, opener, data, end */
    uint32_t bits; /* decoded, and not yet returned */
    unsigned n_bits;
    size_t n_in;    /* bytes in `in` */
    size_t n_taken; /* of those, decoded */
    char in[TIDE_PAGE_BUFFER];
} tide_page_source;

/* `kind` is TIDE_KIND_OWN_PAGE or TIDE_KIND_VIZ_PAGE; `from` outlives `page`. */
void tide_page_source_init(tide_page_source *page, tide_kind kind, const tide_source *from);

/* The next bytes of the first snapshot of the page; `page` is a tide_page_source; fits tide_source.
 * TIDE_FORMAT: the page has no snapshot, or is cut off inside of it. */
TIDE_NODISCARD tide_status tide_page_source_read(void *page, char *to, size_t n_room,
                                                 size_t *ret_bytes, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
