#include "common/text/count.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

char *tide_count_format(int64_t n, char text[TIDE_COUNT_TEXT]) {
    char digits[TIDE_COUNT_TEXT];
    int n_digits = snprintf(digits, sizeof(digits), "%" PRId64, n);
    size_t used = 0;
    for (int i = 0; i < n_digits; i++) {
        bool is_group = i > 0 && digits[i - 1] != '-' && (n_digits - i) % 3 == 0;
        if (is_group) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}
