#include "device/cards.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* CUBLAS_WORKSPACE_CONFIG's default as PyTorch sets it: 4096 KiB * 2 + 16 KiB * 8, and 32 MiB for
 * compute capability 9.0 exactly. */
#define WORKSPACE_HOPPER ((size_t)33554432)
#define WORKSPACE_OTHERS ((size_t)8519680)

#define TIDE_CARD(...) {__VA_ARGS__},
static const tide_card CARDS[] = {
#include "data/cards.def"
};

const tide_card *tide_cards(size_t *ret_n_cards) {
    *ret_n_cards = sizeof(CARDS) / sizeof(CARDS[0]);
    return CARDS;
}

const char *tide_card_name_at(const void *ctx, size_t i) {
    (void)ctx;
    return i < sizeof(CARDS) / sizeof(CARDS[0]) ? CARDS[i].name : NULL;
}

/* Compares a name with the first n bytes of `written`, ignoring case. */
static bool is_same(const char *name, const char *written, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (name[i] != tolower((unsigned char)written[i])) {
            return false; /* also if the name ends first */
        }
    }
    return true;
}

/* The bytes of the name without the unit of its size: "h100-80GB" is "h100-80". */
static size_t bytes_without_unit(const char *written) {
    size_t n = strlen(written);
    size_t n_left = n;
    n_left -= n_left > 0 && tolower((unsigned char)written[n_left - 1]) == 'b';
    n_left -= n_left > 0 && tolower((unsigned char)written[n_left - 1]) == 'g';
    bool has_unit = n_left < n && n_left > 0 && tolower((unsigned char)written[n_left]) == 'g' &&
                    isdigit((unsigned char)written[n_left - 1]) != 0;
    return has_unit ? n_left : n;
}

static bool is_named(const tide_card *card, const char *written, size_t n) {
    return (strlen(card->name) == n && is_same(card->name, written, n)) ||
           (card->other_name != NULL && strlen(card->other_name) == n &&
            is_same(card->other_name, written, n));
}

bool tide_card_is_begun(const tide_card *card, const char *written) {
    size_t n = bytes_without_unit(written);
    return n > 0 && is_same(card->name, written, n) && card->name[n] == '-';
}

const tide_card *tide_card_find(const char *name) {
    const tide_card *begun = NULL;
    size_t n = bytes_without_unit(name);
    size_t n_begun = 0;
    for (size_t i = 0; i < sizeof(CARDS) / sizeof(CARDS[0]); i++) {
        if (is_named(&CARDS[i], name, n)) {
            return &CARDS[i];
        }
        if (tide_card_is_begun(&CARDS[i], name)) {
            begun = &CARDS[i];
            n_begun++;
        }
    }
    return n_begun == 1 ? begun : NULL;
}

size_t tide_card_workspace_bytes(int compute_capability) {
    return compute_capability == 90 ? WORKSPACE_HOPPER : WORKSPACE_OTHERS;
}

static int distance(const tide_card *a, const tide_card *b) {
    int difference = a->board.n_multiprocessors - b->board.n_multiprocessors;
    return difference < 0 ? -difference : difference;
}

const tide_card *tide_card_with_like_context(const tide_card *card) {
    const tide_card *best = NULL;
    size_t n = 0;
    const tide_card *all = tide_cards(&n);
    for (size_t i = 0; i < n && card->context_bytes < 0; i++) {
        bool is_like =
            all[i].context_bytes >= 0 && all[i].compute_capability == card->compute_capability;
        if (is_like && (best == NULL || distance(&all[i], card) < distance(best, card))) {
            best = &all[i];
        }
    }
    return best;
}
