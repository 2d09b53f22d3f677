#define _POSIX_C_SOURCE 200809L
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

enum { REFRESH_NS = 100 * 1000 * 1000 };

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
    fputs("\r\033[K", stderr);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fflush(stderr); /* a message that cannot be shown is no failure */
}

void tide_progress_update(tide_progress *progress, size_t n_done, size_t n_total) {
    tide_progress_say(progress, "%s: %zu of %zu", progress->label, n_done, n_total);
}

void tide_progress_end(tide_progress *progress) {
    if (progress->line_is_shown) {
        fprintf(stderr, "\r\033[K");
        (void)fflush(stderr); /* a message that cannot be shown is no failure */
        progress->line_is_shown = false;
    }
}
