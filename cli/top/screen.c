/* The terminal while it is a screen: a second page that leaves no trace, and keys that come without
 * Enter. */
#define _DEFAULT_SOURCE /* struct winsize */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/top/internal.h"
#include "report/terminal.h"

#define ENTER "\033[?1049h\033[?25l" /* the second page, no cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define END_OF_LINE "\033[K\n"
#define REST "\033[J" /* clears what is below */

enum { NS_PER_MS = 1000000, CTRL_C = 3 };

void tide_screen_begin(tide_screen *screen) {
    struct termios raw;
    screen->has_keys = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->has_keys) {
        raw = screen->before;
        /* Ctrl-C is a key, too: as a signal a second one would end the program at once, and leave
         * the terminal as it is. */
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        screen->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    fputs(ENTER, stdout);
    (void)fflush(stdout); /* what cannot be shown is no failure */
}

void tide_screen_end(const tide_screen *screen) {
    fputs(LEAVE, stdout);
    (void)fflush(stdout);
    if (screen->has_keys) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
    }
}

/* Lines of the terminal; a size that nobody knows has no bound. */
static size_t count_rows(void) {
    struct winsize size = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : SIZE_MAX;
}

/* Writes the lines that there is room for, and says how many there is none for. */
static void put_lines(const char *text, size_t n_room) {
    size_t n_lines = 0;
    for (const char *at = text; *at != '\0'; at++) {
        n_lines += *at == '\n';
    }
    size_t n_shown = n_lines <= n_room ? n_lines : n_room - 1;
    for (size_t i = 0; i < n_shown; i++) {
        const char *end = strchr(text, '\n');
        (void)fwrite(text, 1, (size_t)(end - text), stdout);
        fputs(END_OF_LINE, stdout);
        text = end + 1;
    }
    if (n_shown < n_lines) {
        printf("(%zu more lines)\033[K", n_lines - n_shown);
    }
}

tide_status tide_screen_show(const char *line, const tide_report *report, tide_format format,
                             tide_error *error) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    if (out == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n_rows = count_rows();
    format.columns = format.is_wide ? 0 : tide_terminal_columns(stdout);
    tide_status status = tide_report_print(report, format, out, out, error);
    bool is_whole = fclose(out) == 0;
    if (status == TIDE_OK && is_whole) {
        printf(HOME "%s" END_OF_LINE END_OF_LINE, line);
        put_lines(text, n_rows > 4 ? n_rows - 3 : 1);
        fputs(REST, stdout);
        (void)fflush(stdout);
    }
    free(text);
    return status == TIDE_OK && !is_whole ? TIDE_NO_MEMORY : status;
}

bool tide_screen_wait(const tide_screen *screen, int64_t wait_ns) {
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    int n = poll(&keys, screen->has_keys ? 1 : 0, (int)(wait_ns / NS_PER_MS) + 1);
    if (n <= 0) {
        return false; /* the time is over, or a signal came, which the caller asks for */
    }
    return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == CTRL_C;
}
