#include "programs/virtual_cuda/launches/kernels/readable.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/demangle.h"
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

/* Words that do not help to distinguish kernels. */
static const char *const DROPPED[] = {
    "(anonymous namespace)::",
    "at::native::",
    "at::cuda::",
    "at::",
    "c10::",
    "std::",
    "internal::",
    "binary_internal::",
    "detail::",
    "::operator()",
    "void ",
    " const",
};

static size_t dropped_bytes(const char *at) {
    for (size_t i = 0; i < sizeof(DROPPED) / sizeof(DROPPED[0]); i++) {
        size_t n = strlen(DROPPED[i]);
        if (strncmp(at, DROPPED[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* The length of a bracketed text, including the brackets. */
static size_t bracket_bytes(const char *at, char open, char close) {
    size_t depth = 0;
    for (size_t n = 0; at[n] != '\0'; n++) {
        depth += at[n] == open;
        depth -= at[n] == close;
        if (depth == 0) {
            return n + 1;
        }
    }
    return strlen(at);
}

/* The number of bytes to drop at this place of the symbol; 0: none. */
static size_t skipped_bytes(const char *at) {
    static const char LAMBDA[] = "::{lambda";
    size_t n = dropped_bytes(at);
    if (n > 0) {
        return n;
    }
    if (strncmp(at, LAMBDA, sizeof(LAMBDA) - 1) == 0) {
        return 2 + bracket_bytes(at + 2, '{', '}');
    }
    if (*at == '{') {
        return bracket_bytes(at, '{', '}');
    }
    return *at == '(' ? bracket_bytes(at, '(', ')') : 0;
}

void tide_vc_readable_symbol(const char *symbol, char *ret_text, size_t n_room) {
    size_t n = 0;
    for (const char *at = symbol; *at != '\0' && n + 1 < n_room;) {
        size_t skipped = skipped_bytes(at);
        if (skipped > 0) {
            at += skipped;
        } else {
            ret_text[n++] = *at++;
        }
    }
    if (n_room > 0) {
        ret_text[n] = '\0';
    }
}

void tide_vc_readable(const char *name, char *ret_text, size_t n_room) {
    char *symbol = tide_demangle(name);
    if (symbol == NULL) {
        (void)snprintf(ret_text, n_room, "%s", name);
        return;
    }
    tide_vc_readable_symbol(symbol, ret_text, n_room);
    free(symbol);
}
