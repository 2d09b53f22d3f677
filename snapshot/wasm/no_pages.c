/* no_pages.c - in place of snapshot/kinds/page_source.c: the page takes a snapshot out of another
 * page before the engine reads it, because that one may be compressed, and the browser has the
 * decompressor.
 */
#include "snapshot/kinds/page_source.h"

void tide_page_source_init(tide_page_source *page, tide_kind kind, const tide_source *from) {
    (void)kind;
    page->from = from;
}

tide_status tide_page_source_read(void *page, char *to, size_t n_room, size_t *ret_bytes,
                                  tide_error *error) {
    (void)page;
    (void)to;
    (void)n_room;
    (void)ret_bytes;
    return tide_fail(error, TIDE_UNSUPPORTED, "the page has no snapshot");
}
