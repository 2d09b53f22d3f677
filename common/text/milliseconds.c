#include "common/text/milliseconds.h"

#include <stdio.h>

char *tide_ms_format(double ms, char text[TIDE_MS_TEXT]) {
    int n_decimals = ms >= 99.95 ? 0 : ms >= 9.995 ? 1 : ms >= 0.9995 ? 2 : 3;
    snprintf(text, TIDE_MS_TEXT, "%.*f", n_decimals, ms);
    return text;
}
