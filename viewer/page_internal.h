/* page_internal.h - the built viewer page, which the build writes into arrays, and its data as
 * text. */
#ifndef TIDE_VIEWER_PAGE_INTERNAL_H
#define TIDE_VIEWER_PAGE_INTERNAL_H

#include <stddef.h>

#include "common/files/output_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* HTML up to where a report's data goes, and from there on. Not terminated. */
extern const unsigned char tide_page_head[];
extern const size_t tide_page_head_bytes;
extern const unsigned char tide_page_tail[];
extern const size_t tide_page_tail_bytes;

enum {
    TIDE_PAGE_PART_BYTES =
        3 * 16384 /* a multiple of 3, so that base64 needs no padding in between */
};

/* Writes `n` bytes (at most TIDE_PAGE_PART_BYTES) as base64; pads when n is no multiple of 3. `out`
 * keeps the first failure until its commit. */
void tide_page_write_base64(tide_output_file *out, const unsigned char *data, size_t n);

#ifdef __cplusplus
}
#endif

#endif
