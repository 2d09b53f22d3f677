/* The terminal while it is a screen: a second page that leaves no trace, and keys that are
 * delivered without Enter. */
#define _DEFAULT_SOURCE /* struct winsize */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/top/internal.h"
#include "report/terminal.h"
#include "report/text_width.h"

#define ENTER "\033[?1049h\033[?25l" /* the second page, without cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_ROW "\033[K" /* before its text: after a full row it would clear the last letter */
#define REST "\033[J"      /* clears everything below */

enum { NS_PER_MS = 1000000, CTRL_C = 3, LINE_BYTES = 64 };

/* A new size of the terminal only has to end the wait, for which a handler must exist. */
static void wake(int number) {
    (void)number;
}

void tide_screen_begin(tide_screen *screen) {
    struct termios raw;
    screen->has_keys = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->has_keys) {
        raw = screen->before;
        /* Ctrl-C is also a key: as a signal, a second one would end the program immediately and
         * leave the terminal as it is. */
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        screen->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    struct sigaction action = {.sa_handler = wake};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGWINCH, &action, NULL); /* can be caught, so this cannot fail */
    fputs(ENTER, stdout);
    (void)fflush(stdout); /* a failed output is not a failure */
}

void tide_screen_end(const tide_screen *screen) {
    fputs(LEAVE, stdout);
    (void)fflush(stdout);
    if (screen->has_keys) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
    }
}

/* Lines of the terminal; an unknown size has no limit. */
static size_t count_rows(void) {
    struct winsize size = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : SIZE_MAX;
}

/* A line that is too long for the terminal continues in the next row, from a space if there is one:
 * the terminal itself would push rows out at the top. Sets the bytes of the row, and returns the
 * beginning of the next one. */
static const char *next_row(const char *text, size_t columns, size_t *ret_bytes) {
    size_t n = tide_text_fit(text, columns);
    *ret_bytes = n;
    if (text[n] == '\0' || text[n] == ' ') {
        return text[n] == ' ' ? text + n + 1 : text + n;
    }
    for (size_t at = n; at > n / 2; at--) {
        if (text[at - 1] == ' ') {
            *ret_bytes = at - 1;
            return text + at;
        }
    }
    return text + n;
}

/* Writes as many rows of a line as there is room for, and returns the number of its rows. */
static size_t put_line(const char *line, size_t columns, size_t n_room) {
    size_t n = 0;
    do {
        size_t n_bytes = 0;
        const char *next = next_row(line, columns, &n_bytes);
        if (n < n_room) {
            fputs(CLEAR_ROW, stdout);
            (void)fwrite(line, 1, n_bytes, stdout);
            fputs("\n", stdout);
        }
        line = next;
        n++;
    } while (*line != '\0');
    return n;
}

static size_t put_lines(char *text, size_t columns, size_t n_room) {
    size_t n = 0;
    for (char *end = strchr(text, '\n'); end != NULL; end = strchr(text, '\n')) {
        *end = '\0';
        n += put_line(text, columns, n < n_room ? n_room - n : 0);
        *end = '\n';
        text = end + 1;
    }
    return n;
}

static void put_cut(const char *line, size_t columns) {
    fputs(CLEAR_ROW, stdout);
    (void)tide_text_put_cut(stdout, line, columns, "...");
}

/* Writes as many rows as fit, and prints the number of the others. */
static void put_page(const char *line, char *text, size_t columns, size_t n_rows) {
    char more[LINE_BYTES];
    size_t n_room = n_rows > 3 ? n_rows - 3 : 0; /* without the first two, and the last one */
    fputs(HOME, stdout);
    put_cut(line, columns);
    fputs("\n" CLEAR_ROW, stdout);
    if (n_rows > 3) {
        fputs("\n", stdout);
    }
    size_t n = put_lines(text, columns, n_room);
    if (n > n_room) {
        snprintf(more, sizeof(more), "(%zu more %s)", n - n_room,
                 n - n_room > 1 ? "lines" : "line");
        put_cut(more, columns);
    }
    fputs(REST, stdout);
    (void)fflush(stdout);
}

tide_status tide_screen_show(const char *line, const tide_report *report, tide_format format,
                             tide_error *error) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    if (out == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t columns = tide_terminal_columns(stdout);
    format.columns = format.is_wide ? 0 : columns;
    tide_status status = tide_report_print(report, format, out, out, error);
    bool is_whole = fclose(out) == 0;
    if (status == TIDE_OK && is_whole) {
        put_page(line, text, columns > 0 ? columns : SIZE_MAX, count_rows());
    }
    free(text);
    return status == TIDE_OK && !is_whole ? TIDE_NO_MEMORY : status;
}

bool tide_screen_wait(const tide_screen *screen, int64_t wait_ns) {
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    int n = poll(&keys, screen->has_keys ? 1 : 0, (int)(wait_ns / NS_PER_MS) + 1);
    if (n <= 0) {
        return false; /* the time is over, or a signal arrived, which the caller checks */
    }
    return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == CTRL_C;
}
