/* progress.h - shows the progress of long work in one line on stderr that is rewritten, only on a
 * terminal.
 *
 * Not thread-safe.
 */
#ifndef TIDE_CLI_PROGRESS_H
#define TIDE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_progress {
    const char *label;  /* borrowed until the end: the name of the work */
    int64_t next_ns;    /* no line before this time */
    bool on_terminal;   /* false: nothing is ever shown */
    bool line_is_shown; /* a line is shown and must be wiped */
} tide_progress;

void tide_progress_begin(tide_progress *progress, const char *label);

/* Shows "label: 3 of 15", at most ten times a second. */
void tide_progress_update(tide_progress *progress, size_t n_done, size_t n_total);

/* Shows the caller's own line, also at most ten times a second. */
void tide_progress_say(tide_progress *progress, const char *format, ...) TIDE_PRINTF(2, 3);

/* Wipes the line. Call it before anything else is printed. */
void tide_progress_end(tide_progress *progress);

/* Wipes the line that any progress shows on the terminal of stderr, from any thread: the next step
 * shows it again. */
void tide_progress_wipe(void);

#ifdef __cplusplus
}
#endif

#endif
