/* bytes.h - sizes in bytes in the form that people write and read. */
#ifndef TIDE_COMMON_BYTES_H
#define TIDE_COMMON_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_BYTES_TEXT = 32 }; /* room for any text of tide_bytes_format */

/* "24GiB", "512 MiB", "1.5GiB", "2KiB", "100B" or plain bytes "1048576"; up to EiB. Every unit is
 * binary: "24G" and "24GB" are 24GiB; case does not matter. TIDE_INVALID for anything else,
 * TIDE_LIMIT beyond 2^63 - 1. */
TIDE_NODISCARD tide_status tide_bytes_parse(const char *text, uint64_t *ret_bytes,
                                            tide_error *error);

/* "1.50 GiB", "512 B"; exact bytes below 1 KiB, two decimals above. "-" for -1. Returns `text`. */
char *tide_bytes_format(int64_t n_bytes, char text[TIDE_BYTES_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
