#include "common/text/list.h"

#include <string.h>

bool tide_list_next(const char **list, tide_list_word *ret_word) {
    const char *at = *list;
    if (at == NULL || *at == '\0') {
        return false;
    }
    size_t n = strcspn(at, ",");
    *ret_word = (tide_list_word){at, n};
    *list = at + n + (at[n] == ',');
    return true;
}

bool tide_list_word_is(tide_list_word word, const char *text) {
    return strlen(text) == word.n_bytes && strncmp(word.text, text, word.n_bytes) == 0;
}

bool tide_list_has(const char *list, const char *text) {
    for (tide_list_word word; tide_list_next(&list, &word);) {
        if (tide_list_word_is(word, text)) {
            return true;
        }
    }
    return false;
}
