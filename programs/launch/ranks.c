#include "programs/launch/ranks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

bool tide_ranks_add(tide_ranks *to, int64_t rank) {
    size_t at = 0;
    while (at < to->n && to->ranks[at] < rank) {
        at++;
    }
    if (at < to->n && to->ranks[at] == rank) {
        return true;
    }
    if (to->n == TIDE_RANKS_MAX) {
        return false;
    }
    memmove(to->ranks + at + 1, to->ranks + at, (to->n - at) * sizeof(*to->ranks));
    to->ranks[at] = rank;
    to->n++;
    return true;
}

/* Reads a decimal number and advances past it. False if there is none. */
static bool read_number(const char **at, int64_t *ret) {
    char *end = NULL;
    if (**at < '0' || **at > '9') {
        return false;
    }
    *ret = strtoll(*at, &end, 10);
    *at = end;
    return true;
}

/* One rank, or a range of them. */
static tide_status read_item(const char **at, int64_t world, tide_ranks *to, tide_error *error) {
    const char *begin = *at;
    int64_t first = 0;
    bool is_right = read_number(at, &first);
    int64_t last = first;
    if (is_right && **at == '-') {
        (*at)++;
        is_right = read_number(at, &last);
    }
    if (!is_right || (**at != ',' && **at != '\0')) {
        return tide_fail(error, TIDE_INVALID,
                         "--ranks: \"%s\" is no list of ranks such as 0,7,500-511", begin);
    }
    if (last < first) {
        return tide_fail(error, TIDE_INVALID, "--ranks: the range %lld-%lld goes down",
                         (long long)first, (long long)last);
    }
    if (last >= world) {
        return tide_fail(error, TIDE_INVALID,
                         "--ranks: there is no rank %lld in a world of %lld: the last one is %lld",
                         (long long)last, (long long)world, (long long)world - 1);
    }
    for (int64_t rank = first; rank <= last; rank++) {
        if (!tide_ranks_add(to, rank)) {
            return tide_fail(error, TIDE_LIMIT, "--ranks: more than %d ranks cannot run at once",
                             (int)TIDE_RANKS_MAX);
        }
    }
    return TIDE_OK;
}

tide_status tide_ranks_parse(const char *text, int64_t world, tide_ranks *ret, tide_error *error) {
    tide_ranks found = {.n = 0};
    const char *at = text;
    TIDE_TRY(read_item(&at, world, &found, error));
    while (*at == ',') {
        at++;
        TIDE_TRY(read_item(&at, world, &found, error));
    }
    *ret = found;
    return TIDE_OK;
}

void tide_ranks_write(const int64_t *ranks, size_t n, tide_text *to) {
    for (size_t i = 0; i < n; i++) {
        tide_text_add(to, "%s%lld", i > 0 ? "," : "", (long long)ranks[i]);
    }
}

void tide_ranks_say(const int64_t *ranks, size_t n, tide_text *to) {
    for (size_t i = 0; i < n;) {
        size_t last = i;
        while (last + 1 < n && ranks[last + 1] == ranks[last] + 1) {
            last++;
        }
        tide_text_add(to, "%s%lld", i > 0 ? ", " : "", (long long)ranks[i]);
        if (last > i) {
            tide_text_add(to, "%s%lld", last == i + 1 ? ", " : "-", (long long)ranks[last]);
        }
        i = last + 1;
    }
}
