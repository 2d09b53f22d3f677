/* user_line.h - a call stack in words, by the line of the program in it.
 */
#ifndef TIDE_SNAPSHOT_USER_LINE_H
#define TIDE_SNAPSHOT_USER_LINE_H

#include <stdint.h>

#include "common/text/text.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds "forward (gpt.py:15)"; "gpt.py:15" at the top of a script, where "<module>" says nothing. */
void tide_user_line_add_frame(const tide_snapshot *snapshot, uint32_t frame, tide_text *to);

/* Adds "forward (gpt.py:15)", without folders; a function without a line has only its name. In a
 * library's own code it is the line of the program that called the library, followed by the
 * library's line: "main (run.py:8), in forward (model.py:104)". Nothing for TIDE_NONE. */
void tide_user_line_add(const tide_snapshot *snapshot, uint32_t stack, tide_text *to);

/* Adds `before`, the text of the frame's line in quotes, and `after`: ", `losses.append(loss)`". A
 * long line ends in "...". Nothing if the text was not recorded. */
void tide_user_line_add_quote(const tide_snapshot *snapshot, uint32_t frame, const char *before,
                              const char *after, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
