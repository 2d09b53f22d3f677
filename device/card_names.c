#include "device/card_names.h"

#include "common/text/text.h"
#include "device/cards.h"

const char *tide_card_unknown(const char *name, char ret_text[TIDE_NEAREST_TEXT]) {
    static const tide_words NAMES = {.word_at = tide_card_name_at};
    char text[TIDE_NEAREST_TEXT];
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    const tide_card *last = NULL; /* the latest match, not written yet */
    const char *separator = "";
    tide_text to = tide_text_in(ret_text, TIDE_NEAREST_TEXT);
    for (size_t i = 0; i < n_cards; i++) {
        if (!tide_card_is_begun(&cards[i], name)) {
            continue;
        }
        if (last == NULL) {
            tide_text_add(&to, "'%.64s' is not one card: write ", name);
        } else {
            tide_text_add(&to, "%s%s", separator, last->name);
            separator = ", ";
        }
        last = &cards[i];
    }
    if (last != NULL) {
        tide_text_add(&to, " or %s", last->name);
    } else {
        tide_text_add(&to, "there is no card %s", tide_unknown_word(&NAMES, name, text));
    }
    return ret_text;
}
