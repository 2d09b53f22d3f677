/* plural.h - the word after a count: 1 event, 2 events. */
#ifndef TIDE_COMMON_PLURAL_H
#define TIDE_COMMON_PLURAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns `one` for 1, otherwise `many`. */
static inline const char *tide_plural(uint64_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}

#ifdef __cplusplus
}
#endif

#endif
