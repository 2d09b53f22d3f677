/* sentences.h - how many sentences a text has.
 */
#ifndef TIDE_COMMON_SENTENCES_H
#define TIDE_COMMON_SENTENCES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sentence ends with a full stop, a question mark or an exclamation mark, at the end of the text
 * or before a blank that no small letter follows. Marks between backquotes are code. Text after the
 * last mark is one more sentence. */
size_t tide_count_sentences(const char *text);

#ifdef __cplusplus
}
#endif

#endif
