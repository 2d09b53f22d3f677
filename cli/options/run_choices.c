#include "cli/options/run_choices.h"

#include "device/cards.h"

/* The first n_kinds of `kinds`, then every card. */
static const char *kind_or_card(const char *const *kinds, size_t n_kinds, size_t i) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    if (i < n_kinds) {
        return kinds[i];
    }
    return i - n_kinds < n_cards ? cards[i - n_kinds].spec : NULL;
}

const char *tide_choice_device(size_t i) {
    static const char *const KINDS[] = {"auto", "cuda", "cpu", "virtual"};
    return kind_or_card(KINDS, sizeof(KINDS) / sizeof(KINDS[0]), i);
}

const char *tide_choice_virtual_device(size_t i) {
    static const char *const KINDS[] = {"virtual"};
    return kind_or_card(KINDS, sizeof(KINDS) / sizeof(KINDS[0]), i);
}

const char *tide_choice_clock(size_t i) {
    static const char *const NAMES[] = {"real", "virtual"};
    return i < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[i] : NULL;
}
