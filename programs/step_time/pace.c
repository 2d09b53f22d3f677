#include "programs/step_time/pace.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sign, 17 digits, point, exponent and a space: 25 bytes hold each number. */
enum { N = sizeof(tide_time_pace) / sizeof(double), NUMBER_BYTES = 25 };
_Static_assert(sizeof(tide_time_pace) == N * sizeof(double), "a pace is numbers alone");
_Static_assert((int)N *(int)NUMBER_BYTES < (int)TIDE_TIME_PACE_TEXT, "the text has room");

void tide_time_pace_write(const tide_time_pace *pace, char ret_text[TIDE_TIME_PACE_TEXT]) {
    double numbers[N];
    size_t n = 0;
    memcpy(numbers, pace, sizeof(numbers));
    for (size_t i = 0; i < N; i++) { /* 17 digits reproduce the same number */
        n += (size_t)snprintf(ret_text + n, TIDE_TIME_PACE_TEXT - n, "%s%.17g", i > 0 ? " " : "",
                              numbers[i]);
    }
}

bool tide_time_pace_read(const char *text, tide_time_pace *ret_pace) {
    double numbers[N];
    for (size_t i = 0; i < N; i++) {
        char *end = NULL;
        numbers[i] = strtod(text, &end);
        if (end == text || !isfinite(numbers[i]) || numbers[i] < 0.0) {
            return false;
        }
        text = end;
    }
    if (*text != '\0' || numbers[0] <= 0.0) {
        return false;
    }
    memcpy(ret_pace, numbers, sizeof(*ret_pace));
    return true;
}
