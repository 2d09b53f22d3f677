/* bytes.c - parses and prints sizes with binary units. */
#include "common/bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double bytes;
} UNITS[] = {{"", 1.0},
             {"B", 1.0},
             {"KiB", 1024.0},
             {"MiB", 1048576.0},
             {"GiB", 1073741824.0},
             {"TiB", 1099511627776.0}};

tide_status tide_bytes_parse(const char *text, uint64_t *ret_bytes, tide_error *error) {
    size_t n_number = strspn(text, "0123456789.");
    const char *unit = text + n_number + strspn(text + n_number, " ");
    bool is_whole = memchr(text, '.', n_number) == NULL;
    char *end = NULL;
    double number = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1.0;
    if (end != text + n_number) { /* no digits, two points, or an exponent */
        return tide_fail(error, TIDE_INVALID,
                         "'%s' is not a size: write 24GiB, 512MiB or plain bytes", text);
    }
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (strcmp(unit, UNITS[i].name) != 0) {
            continue;
        }
        errno = 0;
        unsigned long long whole = strtoull(text, NULL, 10);
        /* A double is exact up to 2^53 only; plain bytes must be exact up to 2^63 - 1. */
        bool is_exact = is_whole && UNITS[i].bytes == 1.0;
        double bytes = number * UNITS[i].bytes;
        if (is_exact ? errno != 0 || whole > INT64_MAX : bytes >= 9223372036854775808.0) {
            return tide_fail(error, TIDE_LIMIT, "'%s' is beyond the limit of 2^63 - 1 bytes", text);
        }
        *ret_bytes = is_exact ? (uint64_t)whole : (uint64_t)bytes;
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_INVALID,
                     "'%s' is not a size: the units are B, KiB, MiB, GiB and TiB", text);
}

char *tide_bytes_format(int64_t n_bytes, char text[TIDE_BYTES_TEXT]) {
    if (n_bytes < 0) {
        snprintf(text, TIDE_BYTES_TEXT, "-");
        return text;
    }
    size_t unit = 1;
    double shown = (double)n_bytes;
    /* From 1023.995 on two decimals would read 1024.00: the next unit is better. */
    while (unit + 1 < sizeof(UNITS) / sizeof(UNITS[0]) &&
           shown >= (unit == 1 ? 1024.0 : 1023.995)) {
        shown /= 1024.0;
        unit++;
    }
    /* Halves are rounded up, as in the viewer. printf would round 1.125 to the even 1.12, and
     * binary sizes often end in such halves. */
    double rounded = (double)(uint64_t)(shown * 100.0 + 0.5) / 100.0;
    snprintf(text, TIDE_BYTES_TEXT, unit == 1 ? "%.0f %s" : "%.2f %s", unit == 1 ? shown : rounded,
             UNITS[unit].name);
    return text;
}
