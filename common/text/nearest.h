/* nearest.h - messages about a word that is not among the valid ones: the nearest valid word, and
 * all of them.
 */
#ifndef TIDE_COMMON_NEAREST_H
#define TIDE_COMMON_NEAREST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The valid words: word_at(ctx, 0), word_at(ctx, 1), ... up to NULL. */
typedef struct tide_words {
    const char *(*word_at)(const void *ctx, size_t i);
    const void *ctx;    /* borrowed; may be NULL where word_at needs none */
    const char *prefix; /* written before a word in messages, such as "--"; NULL: none */
} tide_words;

enum { TIDE_NEAREST_TEXT = 1280 }; /* room for a message about an unknown word */

/* The valid word that was most likely meant, or NULL when none is near enough. */
const char *tide_nearest_word(const tide_words *among, const char *word);

/* ": did you mean --count?", or "" when no word is near enough. Returns `text`. */
const char *tide_did_you_mean(const tide_words *among, const char *word,
                              char text[TIDE_NEAREST_TEXT]);

/* "'aple': did you mean apple? (valid: apple, pear)". Returns `text`. */
const char *tide_unknown_word(const tide_words *among, const char *word,
                              char text[TIDE_NEAREST_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
