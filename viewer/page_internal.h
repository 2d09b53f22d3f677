/* page_internal.h - the built viewer page, which the build writes into arrays. */
#ifndef TIDE_VIEWER_PAGE_INTERNAL_H
#define TIDE_VIEWER_PAGE_INTERNAL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* HTML up to where a report's data goes, and from there on. Not terminated. */
extern const unsigned char tide_page_head[];
extern const size_t tide_page_head_bytes;
extern const unsigned char tide_page_tail[];
extern const size_t tide_page_tail_bytes;

#ifdef __cplusplus
}
#endif

#endif
