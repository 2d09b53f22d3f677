#include "common/text/nearest.h"

#include <string.h>

#include "common/text/text.h"

enum { WORD_BYTES = 64 };

/* The number of edits (insert, delete, replace, swap neighbours) from a to b. Words of WORD_BYTES
 * letters or more count as far from everything, so the rows below have a fixed size. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n_a = strlen(a);
    size_t n_b = strlen(b);
    if (n_a >= WORD_BYTES || n_b >= WORD_BYTES) {
        return WORD_BYTES;
    }
    size_t rows[3][WORD_BYTES + 1]; /* row i of prefixes of b, and rows i - 1 and i - 2 */
    for (size_t j = 0; j <= n_b; j++) {
        rows[1][j] = j;
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        rows[2][0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t best = rows[1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            best = rows[1][j] + 1 < best ? rows[1][j] + 1 : best;
            best = rows[2][j - 1] + 1 < best ? rows[2][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[0][j - 2] + 1 < best) {
                best = rows[0][j - 2] + 1;
            }
            rows[2][j] = best;
        }
        memcpy(rows[0], rows[1], sizeof(rows[0]));
        memcpy(rows[1], rows[2], sizeof(rows[1]));
    }
    return rows[1][n_b];
}

const char *tide_nearest_word(const tide_words *among, const char *word) {
    const char *nearest = NULL;
    size_t n_word = strlen(word);
    /* One letter in three may be wrong, at most three in all; beyond that a guess would mislead. */
    size_t best = 1 + ((n_word + 1) / 3 < 3 ? (n_word + 1) / 3 : 3);
    for (size_t i = 0; among->word_at(among->ctx, i) != NULL; i++) {
        const char *candidate = among->word_at(among->ctx, i);
        size_t distance = edit_distance(word, candidate);
        /* "--prec" for "--precision": a prefix has no wrong letter. So "h100" is h100-80 and not
         * h200. */
        if (n_word >= 3 && strncmp(word, candidate, n_word) == 0) {
            distance = 0;
        }
        if (distance < best && distance < strlen(candidate)) {
            best = distance;
            nearest = candidate;
        }
    }
    for (size_t i = 0; nearest == NULL && n_word >= 3 && among->word_at(among->ctx, i) != NULL;
         i++) { /* "a6000" for rtxa6000 */
        nearest = strstr(among->word_at(among->ctx, i), word) != NULL
                      ? among->word_at(among->ctx, i)
                      : NULL;
    }
    return nearest;
}

static void add_guess(const tide_words *among, const char *word, tide_text *to) {
    const char *nearest = tide_nearest_word(among, word);
    if (nearest != NULL) {
        tide_text_add(to, ": did you mean %s%s?", among->prefix != NULL ? among->prefix : "",
                      nearest);
    }
}

const char *tide_did_you_mean(const tide_words *among, const char *word,
                              char text[TIDE_NEAREST_TEXT]) {
    tide_text to = tide_text_in(text, TIDE_NEAREST_TEXT);
    add_guess(among, word, &to);
    return text;
}

const char *tide_unknown_word(const tide_words *among, const char *word,
                              char text[TIDE_NEAREST_TEXT]) {
    tide_text to = tide_text_in(text, TIDE_NEAREST_TEXT);
    tide_text_add(&to, "'%.64s'", word);
    add_guess(among, word, &to);
    tide_text_add(&to, " (valid: ");
    for (size_t i = 0; among->word_at(among->ctx, i) != NULL; i++) {
        tide_text_add(&to, "%s%s%s", i > 0 ? ", " : "", among->prefix != NULL ? among->prefix : "",
                      among->word_at(among->ctx, i));
    }
    tide_text_add(&to, ")");
    return text;
}
