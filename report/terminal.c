#define _DEFAULT_SOURCE /* struct winsize */
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_COLUMNS = 1000000 }; /* of $COLUMNS: no terminal is wider */

static size_t columns_of_environment(void) {
    const char *text = getenv("COLUMNS");
    if (text == NULL || text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return 0;
    }
    unsigned long columns = strtoul(text, NULL, 10);
    return columns <= MAX_COLUMNS ? columns : 0;
}

bool tide_terminal_is_one(FILE *out) {
    int file = fileno(out);
    return file >= 0 && isatty(file) == 1;
}

#ifdef TIOCGWINSZ
static size_t columns_of_device(FILE *out) {
    struct winsize size = {0};
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
#else /* WebAssembly has no terminals */
static size_t columns_of_device(FILE *out) {
    (void)out;
    return 0;
}
#endif

size_t tide_terminal_columns(FILE *out) {
    if (!tide_terminal_is_one(out)) {
        return 0;
    }
    size_t columns = columns_of_environment();
    return columns > 0 ? columns : columns_of_device(out);
}

bool tide_terminal_is_utf8(void) {
    static const char *const NAMES[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        const char *locale = getenv(NAMES[i]);
        if (locale != NULL && locale[0] != '\0') { /* the first that is set decides */
            return strstr(locale, "UTF-8") != NULL || strstr(locale, "utf8") != NULL ||
                   strstr(locale, "UTF8") != NULL || strstr(locale, "utf-8") != NULL;
        }
    }
    return false;
}
