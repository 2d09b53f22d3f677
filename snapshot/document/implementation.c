#include "snapshot/document/implementation.h"

#include <string.h>

const char *tide_implementation_words(const char *implementation) {
    if (strcmp(implementation, TIDE_IMPLEMENTATION_OWN) == 0) {
        return TIDE_WORDS_OWN;
    }
    if (strncmp(implementation, TIDE_IMPLEMENTATION_PYTORCH, strlen(TIDE_IMPLEMENTATION_PYTORCH)) ==
        0) {
        return TIDE_WORDS_PYTORCH;
    }
    return implementation;
}
