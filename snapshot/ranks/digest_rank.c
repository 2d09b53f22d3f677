/* Which rank a file is of, where the recording does not say it. */
#include <string.h>

#include "snapshot/ranks/digest.h"

enum { MAX_DIGITS = 9 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The number of 1 to MAX_DIGITS digits; -1. *ret_end is after them. */
static int64_t number_at(const char *text, const char **ret_end) {
    int64_t number = 0;
    size_t n = 0;
    for (; is_digit(text[n]); n++) {
        number = n < MAX_DIGITS ? number * 10 + (text[n] - '0') : number;
    }
    *ret_end = text + n;
    return n > 0 && n <= MAX_DIGITS ? number : -1;
}

/* "rank7", "rank_7", "rank-7", "rank=7", "rank.7", "rank 7"; the last one of the text. */
static int64_t behind_rank(const char *text) {
    int64_t found = -1;
    for (const char *at = text; (at = strstr(at, "rank")) != NULL;) {
        bool is_word = at == text || !is_letter(at[-1]) || at[-1] == '_';
        at += strlen("rank");
        const char *digits = at + (*at != '\0' && strchr("_-=. :", *at) != NULL ? 1 : 0);
        const char *end = digits;
        int64_t number = number_at(digits, &end);
        found = is_word && number >= 0 && !is_letter(*end) ? number : found;
    }
    return found;
}

/* "run-r7.pickle": a part of the name that is r and digits. */
static int64_t behind_r(const char *text) {
    int64_t found = -1;
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || strchr("-_.", at[-1]) != NULL;
        const char *end = at;
        int64_t number = begins && *at == 'r' ? number_at(at + 1, &end) : -1;
        found = number >= 0 && (*end == '\0' || strchr("-_.", *end) != NULL) ? number : found;
    }
    return found;
}

/* "snapshot.7.pickle": the last part between points that is digits alone. */
static int64_t between_points(const char *text) {
    int64_t found = -1;
    for (const char *at = text; *at != '\0'; at++) {
        const char *end = at;
        int64_t number = at > text && at[-1] == '.' ? number_at(at, &end) : -1;
        found = number >= 0 && *end == '.' ? number : found;
    }
    return found;
}

int64_t tide_digest_rank_of_path(const char *path) {
    enum { MOST = 256 };
    char folder[MOST];
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    int64_t (*const RULES[])(const char *) = {behind_rank, behind_r, between_points};
    for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        int64_t rank = RULES[i](name);
        if (rank >= 0) {
            return rank;
        }
    }
    const char *begin = slash;
    while (begin != NULL && begin > path && begin[-1] != '/') {
        begin--;
    }
    size_t n = begin != NULL ? (size_t)(slash - begin) : 0;
    if (n == 0 || n >= MOST) {
        return -1;
    }
    memcpy(folder, begin, n);
    folder[n] = '\0';
    return behind_rank(folder);
}

int64_t tide_digest_rank_of_text(const char *text) {
    const char *end = NULL;
    if (strncmp(text, "rank", 4) != 0 && strncmp(text, "RANK", 4) != 0) {
        return -1;
    }
    const char *at = text + 4;
    at += strspn(at, "_-=. :");
    int64_t rank = number_at(at, &end);
    return rank >= 0 && *end == '\0' ? rank : -1;
}
