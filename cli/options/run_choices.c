#include "cli/options/run_choices.h"

#include "device/cards.h"
#include "model/config.h"

const char *tide_choice_size(size_t i) {
    return tide_model_preset_name(i);
}

const char *tide_choice_workload(size_t i) {
    return i < TIDE_N_ARCHITECTURES ? tide_architecture_name((int)i) : NULL;
}

const char *tide_choice_mode(size_t i) {
    return i < TIDE_N_MODES ? tide_mode_name((int)i) : NULL;
}

const char *tide_choice_precision(size_t i) {
    return i < TIDE_N_PRECISIONS ? tide_precision_name((int)i) : NULL;
}

const char *tide_choice_attention(size_t i) {
    return i < TIDE_N_ATTENTIONS ? tide_attention_name((int)i) : NULL;
}

const char *tide_choice_recompute(size_t i) {
    return i < TIDE_N_RECOMPUTES ? tide_recompute_name((int)i) : NULL;
}

const char *tide_choice_emulate(size_t i) {
    return i < TIDE_N_EMULATIONS ? tide_emulation_name((int)i) : NULL;
}

const char *tide_choice_edition(size_t i) {
    return i < TIDE_N_EDITIONS ? tide_edition_name((int)i) : NULL;
}

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
