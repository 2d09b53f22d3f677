#define _POSIX_C_SOURCE 200809L
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "report/harmless.h"

enum { REFRESH_NS = 100 * 1000 * 1000, LINE_BYTES = 1024 };

static const char WIPE[] = "\r\033[K";

void tide_progress_begin(tide_progress *progress, const char *label) {
    *progress = (tide_progress){.label = label, .on_terminal = isatty(STDERR_FILENO) == 1};
}

void tide_progress_say(tide_progress *progress, const char *format, ...) {
    if (!progress->on_terminal) {
        return;
    }
    int64_t now_ns = tide_clock_now_ns();
    if (now_ns < progress->next_ns) {
        return;
    }
    progress->next_ns = now_ns + REFRESH_NS;
    progress->line_is_shown = true;
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fputs(WIPE, stderr);
    tide_harmless_print(stderr, text);
    (void)fflush(stderr); /* a message that cannot be shown is not a failure */
}

void tide_progress_update(tide_progress *progress, size_t n_done, size_t n_total) {
    tide_progress_say(progress, "%s: %zu of %zu", progress->label, n_done, n_total);
}

void tide_progress_end(tide_progress *progress) {
    if (progress->line_is_shown) {
        fputs(WIPE, stderr);
        (void)fflush(stderr); /* a message that cannot be shown is not a failure */
        progress->line_is_shown = false;
    }
}

void tide_progress_wipe(void) {
    if (isatty(STDERR_FILENO) == 1) {
        fputs(WIPE, stderr);
    }
}
