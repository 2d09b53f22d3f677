/* bytes.c - parses and prints sizes with binary units. */
#define _POSIX_C_SOURCE 200809L /* strcasecmp */
#include "common/text/bytes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The units in which sizes are printed, the same as on the page (viewer/src/words/text.js). */
static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
enum { N_UNITS = sizeof(UNITS) / sizeof(UNITS[0]) };

/* "", "B", "G", "GB" and "GiB", in capitals or not, as the number of times that 1024 is multiplied;
 * -1 for anything else. A unit of one or two letters is binary as well, as in PyTorch's settings in
 * MB, card sizes in GB, and the sizes of Slurm and Docker. */
static int unit_power(const char *unit) {
    static const char LETTERS[] = "kmgtpe";
    if (unit[0] == '\0' || strcasecmp(unit, "b") == 0) {
        return 0;
    }
    const char *letter = strchr(LETTERS, tolower((unsigned char)unit[0]));
    const char *rest = unit + 1;
    bool is_unit = *rest == '\0' || strcasecmp(rest, "b") == 0 || strcasecmp(rest, "ib") == 0;
    return letter != NULL && is_unit ? (int)(letter - LETTERS) + 1 : -1;
}

tide_status tide_bytes_parse(const char *text, uint64_t *ret_bytes, tide_error *error) {
    size_t n_number = strspn(text, "0123456789.");
    int power = unit_power(text + n_number + strspn(text + n_number, " "));
    bool is_whole = memchr(text, '.', n_number) == NULL;
    char *end = NULL;
    double number = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1.0;
    if (end != text + n_number) { /* no digits, two points, or an exponent */
        return tide_fail(error, TIDE_INVALID,
                         "'%s' is not a size: write 24GiB, 512MiB or plain bytes", text);
    }
    if (power < 0) {
        return tide_fail(error, TIDE_INVALID,
                         "'%s' is not a size: the units are B, KiB, MiB, GiB, TiB, PiB and EiB, "
                         "and K or KB is a KiB",
                         text);
    }
    errno = 0;
    unsigned long long whole = strtoull(text, NULL, 10);
    /* A double is exact up to 2^53 only; plain bytes must be exact up to 2^63 - 1. */
    bool is_exact = is_whole && power == 0;
    double bytes = ldexp(number, 10 * power);
    if (is_exact ? errno != 0 || whole > INT64_MAX : bytes >= 9223372036854775808.0) {
        return tide_fail(error, TIDE_LIMIT, "'%s' is beyond the limit of 2^63 - 1 bytes", text);
    }
    *ret_bytes = is_exact ? (uint64_t)whole : (uint64_t)bytes;
    return TIDE_OK;
}

char *tide_bytes_format(int64_t n_bytes, char text[TIDE_BYTES_TEXT]) {
    if (n_bytes < 0) {
        snprintf(text, TIDE_BYTES_TEXT, "-");
        return text;
    }
    size_t unit = 0;
    double shown = (double)n_bytes;
    /* From 1023.995 on, two decimals would print 1024.00: use the next unit. */
    while (unit + 1 < N_UNITS && shown >= (unit == 0 ? 1024.0 : 1023.995)) {
        shown /= 1024.0;
        unit++;
    }
    /* Halves are rounded up, as in the viewer. printf would round 1.125 to the even 1.12, and
     * binary sizes often end in such halves. */
    double rounded = (double)(uint64_t)(shown * 100.0 + 0.5) / 100.0;
    snprintf(text, TIDE_BYTES_TEXT, unit == 0 ? "%.0f %s" : "%.2f %s", unit == 0 ? shown : rounded,
             UNITS[unit]);
    return text;
}
