#include "common/text/sentences.h"

#include <stdbool.h>

static bool is_mark(char c) {
    return c == '.' || c == '?' || c == '!';
}

/* Whether the text after a mark begins anew. */
static bool is_end(const char *after) {
    return after[0] == '\0' || (after[0] == ' ' && !(after[1] >= 'a' && after[1] <= 'z'));
}

size_t tide_count_sentences(const char *text) {
    size_t n = 0;
    bool is_code = false;
    bool is_open = false; /* there is text after the last sentence */
    for (size_t i = 0; text[i] != '\0'; i++) {
        is_code = text[i] == '`' ? !is_code : is_code;
        if (!is_code && is_mark(text[i]) && is_end(text + i + 1)) {
            n++;
            is_open = false;
        } else if (text[i] != ' ') {
            is_open = true;
        }
    }
    return n + is_open;
}
