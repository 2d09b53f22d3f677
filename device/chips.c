#include "device/chips.h"

#define TIDE_CHIP(...) {__VA_ARGS__},
static const tide_card_chip CHIPS[] = {
#include "data/chips.def"
};

const tide_card_chip *tide_card_chips(size_t *ret_n_chips) {
    *ret_n_chips = sizeof(CHIPS) / sizeof(CHIPS[0]);
    return CHIPS;
}

const tide_card_chip *tide_card_chip_find(int compute_capability) {
    for (size_t i = 0; i < sizeof(CHIPS) / sizeof(CHIPS[0]); i++) {
        if (CHIPS[i].compute_capability == compute_capability) {
            return &CHIPS[i];
        }
    }
    return NULL;
}
