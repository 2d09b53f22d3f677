/* answer_text.h - what tide_file_answer_read says about a text, as one text. */
#ifndef TIDE_TEST_ANSWER_TEXT_H
#define TIDE_TEST_ANSWER_TEXT_H

#include "snapshot/kinds/file_answer.h"

enum { ANSWER_BYTES = 16 * 1024 };

/* "oom: Out of memory ...\ncause: ...\n" and "requested_bytes=1024\n"; of a file that is not
 * answered "not answered\n", of one that is refused its message. */
void answer_text(const char *bytes, size_t n_bytes, char ret_text[ANSWER_BYTES]);

/* The answer about `text` must contain all of `expected`, NULL-terminated, and none of those after
 * it, NULL-terminated. */
void answer_expect(const char *text, const char *const *expected, const char *const *forbidden);

#endif
