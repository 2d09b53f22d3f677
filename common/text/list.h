/* list.h - the words of a list that are separated by commas: "checkpoint:Block,fused".
 */
#ifndef TIDE_COMMON_LIST_H
#define TIDE_COMMON_LIST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word of a list. It is borrowed from the list, and has no 0 at its end. */
typedef struct tide_list_word {
    const char *text;
    size_t n_bytes;
} tide_list_word;

/* Reads the word at `*list` and moves `*list` to the next one. False at the end of the list; NULL
 * is an empty list. A word between two commas is empty, and a comma at the end is ignored:
 *
 *     const char *rest = words;
 *     for (tide_list_word word; tide_list_next(&rest, &word);) { ... }
 */
bool tide_list_next(const char **list, tide_list_word *ret_word);

/* Whether a word of a list is this text. */
bool tide_list_word_is(tide_list_word word, const char *text);

/* Whether a list has a word. */
bool tide_list_has(const char *list, const char *text);

#ifdef __cplusplus
}
#endif

#endif
