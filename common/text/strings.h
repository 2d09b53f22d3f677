/* strings.h - a table of distinct texts. Each has a number: 0, 1, 2, ... in the order of first
 * appearance.
 *
 * Not thread-safe. Texts live until the table is destroyed.
 */
#ifndef TIDE_COMMON_STRINGS_H
#define TIDE_COMMON_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_strings {
    const tide_hostmem *mem; /* borrowed; outlives the table */
    char **texts;            /* owned, and so is each text */
    size_t n_texts;
    size_t capacity;  /* of texts */
    tide_map by_hash; /* hash of a text -> its number; if another text has the hash, hash + 1 */
} tide_strings;

void tide_strings_init(tide_strings *strings, const tide_hostmem *mem);
void tide_strings_fini(tide_strings *strings);

/* The number of `text`, which is copied if it is new. TIDE_NONE (UINT32_MAX) for NULL text. */
TIDE_NODISCARD tide_status tide_strings_intern(tide_strings *strings, const char *text,
                                               uint32_t *ret_number);

/* The same for the first n_bytes of text, which must hold no NUL. */
TIDE_NODISCARD tide_status tide_strings_intern_n(tide_strings *strings, const char *text,
                                                 size_t n_bytes, uint32_t *ret_number);

/* The text of a number, valid until the table is destroyed; NULL for an unknown number. */
const char *tide_strings_text(const tide_strings *strings, uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
